from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine, Passage
from kernels_core.earley.records cimport Marks, SetRec
from kernels_core.masks.item_ends cimport Endings, Ends, ItemEnds
from kernels_core.masks.trie cimport TokenTrie
from kernels_core.remembered cimport Judged, Remembered
from kernels_core.steps cimport Step


cdef class Reading:
    cdef Machine machine
    cdef TokenTrie trie
    cdef Step step                  # what was read before
    cdef SetRec* source             # where its next bytes are read
    cdef SetRec* at
    cdef Remembered remembered
    cdef bytearray more             # what was read since
    cdef dict texts                 # by frame: what a text had been before that
    cdef str refusing               # a rule whose text was refused with the last byte; None: none was

    cdef void rewind(self) noexcept
    cdef bint read(self, uint8_t byte) except -1
    cdef bint read_token(self, int32_t token) except -1
    cdef int take_whole(self, int32_t token, const Marks* marks) except -1
    cdef bint _may_go_on(self, SetRec* target) except -1
    cdef SetRec* _judge(self, uint8_t byte, Passage passed) except NULL
    cdef int32_t _refused(self, const Marks* marks, dict results) except -2
    cdef tuple _behind(self, int32_t frame, tuple memories)
    cdef object _ask(self, Judged judged, memory, bytes text)
    cdef int _pass(self, uint8_t byte, const vector[int32_t]& kept_open, Passage* found) except -1
    cdef bytes _text(self, int32_t frame)
    cdef int find_refused(self, ItemEnds item_ends, vector[int32_t]& refused) except -1
    cdef int _read_all(self, Ends ends, vector[int32_t]& refused) except -1
    cdef list _ending(self, int32_t frame, Endings endings)


cdef Reading reading_at(Machine machine, TokenTrie trie, Step step, SetRec* source)
