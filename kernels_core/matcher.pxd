from libc.stdint cimport int64_t

from kernels_core.drafts cimport DraftTree
from kernels_core.masks.mask_table cimport MaskRec
from kernels_core.steps cimport Step
from kernels_core.text_in_time cimport TextInTime


cdef class GrammarMatcher(TextInTime):
    cdef Step _asked                    # where `_answer` is the mask without what predicates refuse
    cdef MaskRec* _answer

    cpdef bint is_prepared(self) noexcept
    cdef bint _is_found(self) noexcept
    cdef MaskRec* _mask(self) except NULL
    cdef MaskRec* _mask_once(self) except NULL
    cdef MaskRec* _without_refused(self, MaskRec* mask) except NULL
    cdef MaskRec* _traced_mask(self) except NULL
    cdef MaskRec* whole_mask(self, bint may_be_empty=*) except NULL
    cdef MaskRec* _with_stops(self, MaskRec* mask, bint may_be_empty) except NULL
    cdef bint _write(self, MaskRec* mask, bitmask, int index) except -1
    cdef bytes _forced(self, int most)
    cdef list _find_masks(self, DraftTree tree, int64_t started, double seconds)
