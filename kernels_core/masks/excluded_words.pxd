from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables
from kernels_core.automata.word_trie cimport Prefix
from kernels_core.earley.machine cimport Machine, SetRec
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.masks.trie_walk cimport Visit


cdef bint find_words(TokenTrie trie, Machine machine, const Prefix& prefix, SetRec* start, SetRec* reference_start,
                     vector[int32_t]& removed, vector[Visit]& todo) except -1 nogil
cdef bint takes_plain(Tables tables, int32_t state) except -1 nogil
cdef bint are_plain(const uint64_t* bytes) noexcept nogil
