from libc.stdint cimport int32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables
from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.unions cimport Dense


cdef struct Exit:
    int32_t token
    int32_t laps        # that are complete where the token leaves the rule


cdef bint has_plain_laps(Tables tables, int32_t rule) except -1 nogil
cdef int compute_laps(TokenTrie trie, Tables tables, int32_t state, const uint64_t* goes_on,
                      shared_ptr[TokenSet]& result) except -1 nogil
cdef Dense row_of(TokenSet* laps, int32_t allowed) noexcept nogil
cdef int find_exits(TokenSet* laps, Machine machine, SetRec* caller, vector[Exit]& exits) except -1 nogil
