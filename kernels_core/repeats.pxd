from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, Passage
from kernels_core.earley.records cimport Marks, SetRec
from kernels_core.masks.item_ends cimport Endings, ItemEnds
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.remembered cimport Remembered, Seen
from kernels_core.steps cimport Step


cdef class Reading:
    cdef Machine machine
    cdef TokenTrie trie
    cdef Step step                  # what was read before
    cdef SetRec* source             # where its next bytes are read
    cdef SetRec* at
    cdef Remembered remembered
    cdef bytearray more             # what was read since
    cdef dict texts                 # by frame: what an item had been before that

    cdef void rewind(self) noexcept
    cdef bint read(self, uint8_t byte) except -1
    cdef bint read_token(self, int32_t token) except -1
    cdef int take_whole(self, const Marks* marks) except -1
    cdef SetRec* _compare(self, uint8_t byte, Passage passed) except NULL
    cdef int _pass(self, uint8_t byte, const vector[int32_t]& kept_open, Passage* found) except -1
    cdef bytes _text(self, int32_t frame)
    cdef list repeated(self, ItemEnds item_ends)
    cdef list _ending(self, int32_t frame, Endings endings)


cdef Reading reading_at(Machine machine, TokenTrie trie, Step step, SetRec* source)
