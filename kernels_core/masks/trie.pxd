from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libcpp.vector cimport vector


cdef class TokenTrie:
    # Nodes in preorder; node 0 is the root.  The subtree of i is [i, skip[i]).
    cdef vector[uint8_t] byte
    cdef vector[uint16_t] depth
    cdef vector[int32_t] skip
    cdef vector[uint16_t] height         # bytes from a node to the deepest one below it
    cdef vector[int32_t] token_first     # one longer than the nodes; node i's own tokens: ids[token_first[i]:token_first[i + 1]]
    cdef vector[int32_t] ids             # token ids in trie order
    # Spellings of all tokens in one piece, by id
    cdef vector[uint8_t] spelling
    cdef vector[int32_t] spelling_first  # one longer than the vocabulary
    cdef vector[uint32_t] everything     # one bit an id: is it in the trie?
    cdef vector[uint32_t] spelt          # one bit an id: has it text, and is it no stop token?
    cdef int32_t[256] below_first        # tokens that begin with a byte
    cdef readonly int node_count, token_count, vocab_size, words, max_depth
    cdef object __weakref__
