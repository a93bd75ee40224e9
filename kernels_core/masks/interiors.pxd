from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.masks.graphs cimport Graph
from kernels_core.masks.searches cimport Searches
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.views cimport Interior, View


cdef class Interiors:
    cdef mutex lock
    cdef unordered_map[uint64_t, vector[shared_ptr[Interior]]] known     # by what their first states read
    cdef readonly size_t nbytes
    cdef readonly int32_t made

    cdef shared_ptr[Interior] find(self, const Graph& graph, vector[int16_t]& home) noexcept nogil
    cdef View* view(self, TokenTrie trie, const shared_ptr[Interior]& inside, int16_t state, int64_t* nodes) noexcept nogil


cdef struct Home:
    int32_t inside          # a place in `held`; -1: not looked at
    int16_t state


cdef class Insides:
    cdef readonly TokenTrie trie
    cdef readonly Machine machine
    cdef readonly Interiors shared
    cdef Searches searches
    cdef vector[shared_ptr[Interior]] held
    cdef vector[Home] homes          # by state of the tables
    cdef vector[uint8_t] refused     # by rule
    cdef vector[int32_t] place_of    # scratch of `draw`
    cdef vector[int16_t] home        # scratch

    cdef bint drawn(self, int32_t state, Graph& graph) except -1 nogil
    cdef bint token_set(self, int32_t state, uint64_t narrowed, const uint64_t* goes_on,
                        shared_ptr[TokenSet]& result) except -1 nogil
    cdef bint _search_set(self, int32_t state, uint64_t narrowed, const uint64_t* goes_on,
                          shared_ptr[TokenSet]& result) except -1 nogil
    cdef int _try_tables(self, int32_t state, View* view, vector[uint8_t]& open_doors, int64_t* nodes) except -1 nogil
    cdef void _put_together(self, View* view, const vector[uint8_t]& open_doors, bint agreed, uint64_t narrowed,
                            const uint64_t* goes_on, shared_ptr[TokenSet]& result) noexcept nogil
    cdef void _verdicts(self, const Graph& graph, const shared_ptr[Interior]& inside, uint64_t narrowed,
                        const uint64_t* goes_on, int64_t* nodes, shared_ptr[TokenSet]& result) noexcept nogil
