from kernels_core.earley.records cimport SetRec
from kernels_core.masks.cache cimport MaskCache
from kernels_core.masks.mask_table cimport MaskRec


cdef class NaiveMasks(MaskCache):
    cdef MaskRec* compute(self, SetRec* record) except NULL nogil


cdef class FsmMasks(MaskCache):
    cdef MaskRec* compute(self, SetRec* record) except NULL nogil
