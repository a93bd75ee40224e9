from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.trie cimport TokenTrie


cdef enum Storage:
    LIST = 0         # accepted ids
    COMPLEMENT = 1   # ids in the trie that are not accepted
    BITSET = 2       # one bit an id


cdef cppclass TokenSet:
    # Verdicts on all tokens at one (state, lap counter).  Immutable once computed.
    shared_ptr[TokenSet] base       # if set: the verdicts are those of `base`, but for the tokens in `removed`,
    vector[int32_t] removed         # which are rejected unless they are found below
    Storage storage                 # accepted tokens (beyond those of `base`)
    vector[int32_t] listed
    vector[uint32_t] bits
    vector[uint8_t] byte            # uncertain tokens (beyond those of `base`): a trie of what remains after the
    vector[int32_t] skip            # rule was left, laid out like TokenTrie; node 0 is its root
    vector[int32_t] depth
    vector[int32_t] token_first
    vector[int32_t] ids


cdef int compute_token_set(TokenTrie trie, Machine machine, int32_t state, int32_t counter,
                           shared_ptr[TokenSet]& base, SetRec* base_start, shared_ptr[TokenSet]& result) except -1 nogil
cdef int add_tokens(TokenSet* tokens, uint32_t* words, TokenTrie trie, Machine machine, vector[SetRec*]& callers,
                    vector[void*]& stack) except -1 nogil
cdef size_t token_set_bytes(TokenSet* tokens) noexcept nogil
