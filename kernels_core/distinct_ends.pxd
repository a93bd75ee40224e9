from kernels_core.judging cimport Reading
from kernels_core.masks.endings cimport ShortestEnds


cdef bytes distinct_end(Reading reading, ShortestEnds endings, int most)
cdef bint is_end(Reading reading, bytes text) except -1
