from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.trie cimport TokenTrie


cdef struct Loop:
    # Where most ASCII bytes lead from a set: `target`, by the bytes in `bytes` (bit b of two words).
    SetRec* target
    uint64_t bytes[2]
    uint8_t characters      # whether every character beyond ASCII leads back to the set: 0 not looked at, 1 yes, 2 no


cdef class Sweeps:
    cdef readonly Machine machine
    cdef unordered_map[size_t, Loop] loops     # by set

    cdef bint takes_all(self, TokenTrie trie, SetRec* source, int32_t node) except -1 nogil
    cdef Loop* _loop(self, SetRec* source) except NULL nogil
    cdef bint _takes_characters(self, SetRec* source) except -1 nogil
