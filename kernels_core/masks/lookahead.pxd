from libc.stdint cimport int32_t, int64_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.automata.identity cimport Identities, Identity
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.token_sets cimport TokenSet
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.trie_walk cimport Suffix


cdef class Lookahead:
    cdef readonly Machine machine
    cdef vector[vector[int32_t]] targets     # by rule: states in which its callers may go on
    cdef vector[SetRec*] follow              # by rule: their closure, NULL until asked for
    cdef vector[Identity] identities         # by rule: of what follows, 0 until asked for

    cdef int64_t filter(self, shared_ptr[TokenSet]& tokens, int32_t rule, TokenTrie trie,
                        shared_ptr[TokenSet]& result) except -1 nogil
    cdef int _find_kept(self, TokenSet* tokens, int32_t rule, TokenTrie trie, vector[Suffix]& kept) except -1 nogil
    cdef int identity(self, int32_t rule, Identities states, bytes key, Identity& result) except -1 nogil
    cdef SetRec* _after(self, int32_t rule) except NULL nogil
