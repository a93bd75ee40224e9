from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport SetRec


cdef enum Mapping:
    BEGIN
    SETTLE
    FORGET


cdef SetRec* crossed(Machine machine, SetRec* source, bint begins) except NULL nogil
cdef SetRec* at_boundary(Machine machine, SetRec* source, int how) except NULL nogil
