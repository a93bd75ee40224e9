from kernels_core.judging cimport Reading


cdef bytes forced_text(Reading reading, int most)
