from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.remembered cimport Remembered


cdef class Step:
    cdef SetRec* set
    cdef Step parent
    cdef bytes spelling
    cdef int token        # -1 for a string, whose bytes are then in `spelling`
    cdef int position     # bytes read, this step included
    cdef int count        # steps, this one included
    cdef int tokens       # those of them that are tokens
    cdef bint stop        # a stop token: the text has ended
    cdef bytes plan       # a text that ends it, where items are to differ and one was found; else None
    cdef Remembered remembered      # of items that differ, inside of texts that have any; else None


cdef Step root(Machine machine)
cdef bytes text_since(Step at, TokenTrie trie, int position)
cdef bint is_among(const vector[int32_t]& stops, int32_t token) noexcept
cdef list history_of(Step at)
cdef object shown(Step at, TokenTrie trie, const vector[int32_t]& stops)
cdef list all_shown(Step at, TokenTrie trie, const vector[int32_t]& stops)
