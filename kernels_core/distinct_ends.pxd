from kernels_core.masks.endings cimport Endings
from kernels_core.judging cimport Reading


cdef bytes distinct_end(Reading reading, Endings endings)
cdef bint is_end(Reading reading, bytes text) except -1
