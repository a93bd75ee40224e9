from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.earley.distinct cimport Item
from kernels_core.earley.interning cimport InternedStates
from kernels_core.earley.records cimport Marks


cdef Marks* note_marks(InternedStates states, const vector[Item]& kernel, const vector[int32_t]& ended,
                       const vector[int32_t]& begun) except NULL nogil
