from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.earley.distinct cimport Item
from kernels_core.earley.interning cimport InternedStates


cdef int drop_covered(InternedStates states, vector[Item]& items) except -1 nogil
cdef bint covers(InternedStates states, int32_t frame, int32_t other) except -1 nogil
