from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec


cdef bytes forced_text(Machine machine, SetRec* at, int most)
