from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec


cdef SetRec* crossed(Machine machine, SetRec* source, bint begins) except NULL nogil
cdef SetRec* unlimited(Machine machine, SetRec* source) except NULL nogil
cdef SetRec* begun(Machine machine, SetRec* source) except NULL nogil
cdef SetRec* settled(Machine machine, SetRec* source) except NULL nogil
