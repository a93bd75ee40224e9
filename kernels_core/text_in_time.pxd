from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from kernels_core.earley.records cimport SetRec
from kernels_core.masks.endings cimport ShortestEnds
from kernels_core.masks.mask_table cimport MaskRec
from kernels_core.steps cimport Step
from kernels_core.text cimport Text


cdef class TextInTime(Text):
    cdef int64_t _room                  # tokens more than the parser says that an end needs: there are enough
    cdef bint _redraws                  # whoever draws takes no for an answer, once
    cdef Step _asked_in_time            # where `_answer_in_time` is the mask, if items are to differ
    cdef MaskRec* _answer_in_time

    cdef int64_t _to_end(self) except -1
    cdef int64_t _to_end_with_room(self) except -1
    cdef int _refuse_endless(self) except -1
    cdef bint _is_planned(self) except -1
    cdef int64_t _cut(self, bytes text, ShortestEnds endings, int64_t left, vector[int32_t]& first) except -1
    cdef bytes _plan(self, ShortestEnds endings, int most)
    cdef int64_t _least_to_end(self, SetRec* at) except -1
    cdef bint _is_far(self) noexcept
    cdef MaskRec* _known_in_time(self, MaskRec* mask) noexcept
    cdef MaskRec* _in_time(self, MaskRec* mask) except NULL
    cdef MaskRec* _in_time_distinct(self, MaskRec* mask, ShortestEnds endings) except NULL
    cdef bint _is_in_time_behind(self, int token, int64_t left) except -1
    cdef int64_t _behind(self, int token) except -1
    cdef bint _takes(self, int token) except -1
