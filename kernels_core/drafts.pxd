from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp.vector cimport vector

from kernels_core.masks.mask_table cimport MaskRec


cdef class DraftTree:
    cdef vector[int64_t] first, sibling, tokens     # by node; -1 for no child, no sibling
    cdef vector[int32_t] parents                    # by node; -1 for the root, and where nothing leads to
    cdef vector[int32_t] order                      # nodes that the root leads to, each with what is below it first
    cdef vector[uint32_t*] rows                     # of the nodes in `order`
    cdef vector[MaskRec*] masks                     # the same, as many as are known; NULL: nothing is allowed
    cdef int64_t row_words
    cdef object bitmask                             # which keeps the rows where they are

    cdef int take_rows(self, bitmask, int32_t words) except -1
    cdef int write(self, int32_t words) noexcept nogil
    cdef int _put_in_order(self) except -1
