from libc.stdint cimport int32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.automata.lengths cimport Room
from kernels_core.automata.tables cimport Tables
from kernels_core.earley.machine cimport Item, Machine
from kernels_core.masks.interiors cimport Insides
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.unions cimport Dense


cdef class Bounded:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly Insides insides
    cdef unordered_map[uint64_t, unordered_map[int32_t, shared_ptr[TokenSet]]] known    # by code of bytes and state
    cdef unordered_map[int32_t, int32_t] reserves       # by state: characters that have to follow, at most
    cdef vector[shared_ptr[vector[int32_t]]] lists      # of the mask that is made
    cdef vector[int32_t] candidates     # scratch

    cdef bint find(self, int32_t state, const Room& room, uint64_t narrowed, const uint64_t* goes_on,
                   shared_ptr[TokenSet]& result) except -1 nogil
    cdef int accept(self, int32_t state, const Room& room, TokenSet* tokens, vector[Dense]& dense,
                    vector[int32_t]& ids) except -1 nogil
    cdef int32_t _reserve(self, int32_t state) except -1 nogil


cdef bint is_near_bound(Tables tables, int32_t longest, Item* item, Room* room) noexcept nogil
