from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables
from kernels_core.masks.graphs cimport Graph
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.unions cimport Dense


cdef int32_t reserve_of(Tables tables, const Graph& graph, vector[int32_t]& reserve) noexcept nogil
cdef void find_overlong(TokenTrie trie, Tables tables, const Graph& graph, int32_t left, const vector[int32_t]& candidates,
                        vector[int32_t]& found) noexcept nogil
cdef bint split_by_need(TokenTrie trie, Tables tables, const Graph& graph, int32_t left, const Dense& row,
                        vector[int32_t]& found) noexcept nogil
