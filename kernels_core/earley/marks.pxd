from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.earley.distinct cimport Item
from kernels_core.earley.interning cimport InternedStates
from kernels_core.earley.records cimport Marks, SetRec


cdef Marks* note_marks(InternedStates states, const vector[Item]& kernel,
                       const vector[int32_t]& begun) except NULL nogil
cdef int find_watched(InternedStates states, const SetRec* at, vector[int32_t]& found) except -1 nogil
cdef bint goes_on_without(InternedStates states, const SetRec* at, vector[int32_t]& frames) except -1 nogil
