from libc.stdint cimport int32_t

from kernels_core.automata.tables cimport Tables
from kernels_core.automata.word_tree cimport Prefix
from kernels_core.masks.trie cimport TokenTrie


cdef struct Base:
    int32_t state
    int32_t counter
    bint leaves_words_out       # all that the other state does is leave words out, those of `prefix`
    Prefix prefix


cdef bint find_base(TokenTrie trie, Tables tables, int32_t state, int32_t counter, int32_t least, Base* base) except -1 nogil
