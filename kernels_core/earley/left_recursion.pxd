from kernels_core.earley.machine cimport Machine


cdef int resolve_frames(Machine machine) except -1 nogil
