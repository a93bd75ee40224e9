from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Arena, Machine, SetRec
from kernels_core.masks.token_sets cimport StateTokens
from kernels_core.masks.trie cimport TokenTrie


cdef struct MaskRec:
    uint64_t hash
    uint32_t* words      # one bit an id; stop tokens' bits are 0, the matcher sets them
    int32_t number
    int32_t population


cdef class MaskCache:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef dict states                       # (state, clipped to_minimum, clipped to_maximum) -> StateTokens
    cdef Arena arena
    cdef vector[MaskRec*] table, masks
    cdef vector[uint32_t] everything, scratch
    cdef vector[void*] stack
    cdef int64_t mask_misses, mask_hits, state_misses, state_hits, sets_with_mask

    cdef MaskRec* mask_of(self, SetRec* record) except NULL
    cdef StateTokens state_tokens(self, int32_t state, int32_t counter)
    cdef MaskRec* _compute(self, SetRec* record) except NULL
    cdef MaskRec* _intern(self) except NULL
