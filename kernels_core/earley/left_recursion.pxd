from kernels_core.earley.interning cimport InternedStates


cdef int resolve_frames(InternedStates states) except -1 nogil
