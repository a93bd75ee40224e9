from libc.stdint cimport int32_t

from kernels_core.automata.tables cimport Tables
from kernels_core.automata.word_trie cimport Prefix
from kernels_core.masks.trie cimport TokenTrie


cdef struct ReferenceState:
    int32_t state
    int32_t counter
    bint leaves_words_out       # all that the other state does is leave words out, those of `prefix`
    Prefix prefix


cdef bint find_reference(TokenTrie trie, Tables tables, int32_t state, int32_t counter, int32_t least,
                         ReferenceState* reference) except -1 nogil
