from kernels_core.repeats cimport Reading


cdef bytes forced_text(Reading reading, int most)
