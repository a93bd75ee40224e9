from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.trie cimport TokenTrie


cdef enum Storage:
    LIST = 0         # accepted ids
    COMPLEMENT = 1   # ids in the trie that are not accepted
    BITSET = 2       # one bit an id


cdef class StateTokens:
    # Accepted tokens, in the cheapest of three forms
    cdef Storage storage
    cdef vector[int32_t] listed
    cdef vector[uint32_t] bits
    cdef readonly int accepted_count, uncertain_count
    # Uncertain tokens: a trie of what remains after the rule was left, laid out like TokenTrie (node 0 is its root)
    cdef vector[uint8_t] byte
    cdef vector[int32_t] skip
    cdef vector[int32_t] depth
    cdef vector[int32_t] token_first
    cdef vector[int32_t] ids

    cdef void add_accepted(self, uint32_t* words, TokenTrie trie, const uint32_t* everything) noexcept
    cdef int add_resolved(self, uint32_t* words, Machine machine, SetRec* caller, vector[void*]& stack) except -1


cdef StateTokens compute_state_tokens(TokenTrie trie, Machine machine, int32_t state, int32_t counter)
