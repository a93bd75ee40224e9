from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables
from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.graphs cimport Graph
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.unions cimport Dense


cdef bint has_plain_laps(Tables tables, int32_t rule) except -1 nogil
cdef int compute_laps(TokenTrie trie, Tables tables, int32_t state, const uint64_t* goes_on,
                      shared_ptr[TokenSet]& result) except -1 nogil
cdef int64_t count_characters(TokenTrie trie, const Graph& graph, const vector[int16_t]& next_state,
                              const vector[int16_t]& next_alike, int16_t start, shared_ptr[TokenSet]& result,
                              vector[int32_t]& doors) noexcept nogil
cdef void pair_laps(TokenSet* made, vector[uint64_t]& complete) noexcept nogil
cdef Dense row_of(TokenSet* laps, int32_t allowed) noexcept nogil
