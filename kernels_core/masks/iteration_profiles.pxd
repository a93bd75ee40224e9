from libc.stdint cimport int32_t, uint64_t
from libcpp.memory cimport shared_ptr

from kernels_core.automata.tables cimport Tables
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.row_unions cimport Dense


cdef bint has_prefix_free_iterations(Tables tables, int32_t rule) except -1 nogil
cdef int compute_profile(TokenTrie trie, Tables tables, int32_t state, const uint64_t* follow,
                         shared_ptr[TokenSet]& result) except -1 nogil
cdef Dense row_of(const shared_ptr[TokenSet]& iterations, int32_t allowed) noexcept nogil
