from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.automata.word_trie cimport Branch, Prefix
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.trie_walk cimport Visit


cdef struct WordPlace:
    # A node of the vocabulary's trie, and the words that begin as the path to it.
    int32_t node
    Branch branch


cdef bint find_words(TokenTrie trie, Machine machine, const Prefix& prefix, SetRec* start, SetRec* reference_start,
                     vector[int32_t]& removed, vector[Visit]& todo) except -1 nogil
