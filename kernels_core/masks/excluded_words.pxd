from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.automata.word_trie cimport Prefix
from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.trie_walk cimport Visit


cdef bint find_words(TokenTrie trie, Machine machine, const Prefix& prefix, SetRec* start, SetRec* reference_start,
                     vector[int32_t]& removed, vector[Visit]& todo) except -1 nogil
