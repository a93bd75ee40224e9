from kernels_core.earley.machine cimport Machine, SetRec


cdef bytes forced_text(Machine machine, SetRec* at, int most)
