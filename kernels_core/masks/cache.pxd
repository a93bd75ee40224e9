from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from kernels_core.automata.identity cimport Identities
from kernels_core.earley.machine cimport Arena, Machine, SetRec
from kernels_core.masks.lookahead cimport Lookahead
from kernels_core.masks.pool cimport PoolKey, TokenSetPool
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie


cdef struct MaskRec:
    uint64_t hash
    uint32_t* words      # one bit an id; NULL for a sparse mask.  Stop tokens' bits are 0, the matcher sets them
    int32_t* ids         # the allowed ids of a sparse mask, ascending
    int32_t population   # how many tokens are allowed
    int32_t number


cdef class MaskCache:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly TokenSetPool pool        # None: nothing is shared between grammars
    cdef readonly bint differential
    cdef readonly int32_t differential_from
    cdef readonly int64_t max_fill_ms      # 0: no limit
    cdef unordered_map[int32_t, int64_t] measured        # by state: nanoseconds its last token set took
    cdef readonly bint memoize             # False: a mask is computed at every fill
    cdef readonly Lookahead lookahead      # None: uncertain tokens are not filtered
    cdef bint in_base                      # a base is being computed
    cdef Identities identities
    cdef unordered_map[uint64_t, shared_ptr[TokenSet]] states    # (state, clipped counter) -> verdicts
    cdef unordered_map[uint64_t, shared_ptr[TokenSet]] settled   # the same after the lookahead
    cdef Arena arena
    cdef vector[MaskRec*] table, masks
    cdef vector[uint32_t] scratch
    cdef vector[void*] stack
    cdef int64_t mask_misses, mask_hits, state_misses, state_hits, pool_hits, partial_hits, sets_with_mask

    cdef size_t held(self) noexcept nogil
    cdef MaskRec* mask_of(self, SetRec* record, const int* cancelled) except NULL nogil
    cdef int64_t _estimate(self, int32_t state) noexcept nogil
    cdef MaskRec* remember(self, SetRec* record, MaskRec* mask) noexcept nogil
    cdef MaskRec* compute(self, SetRec* record) except NULL nogil
    cdef uint64_t _pool_key(self, int32_t state, int32_t counter, PoolKey& key) noexcept nogil
    cdef int token_set(self, int32_t state, int32_t counter, bint to_filter,
                       shared_ptr[TokenSet]& result) except -1 nogil
    cdef int settled_set(self, int32_t state, int32_t counter, shared_ptr[TokenSet]& result) except -1 nogil
    cdef int _compute_token_set(self, int32_t state, int32_t counter, shared_ptr[TokenSet]& result) except -1 nogil
    cdef int32_t _usual_target(self, int32_t state, int32_t* live) except -2 nogil
    cdef int _add_whole_tokens(self, int32_t state) except -1 nogil
    cdef MaskRec* _intern(self) except NULL nogil


cdef void write_mask(MaskRec* mask, uint32_t* row, int32_t words) noexcept nogil
