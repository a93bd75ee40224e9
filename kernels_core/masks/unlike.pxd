from libc.stdint cimport int32_t, uint64_t

from kernels_core.automata.tables cimport Tables
from kernels_core.earley.machine cimport Machine, SetRec


cdef int find_unlike(Machine machine, SetRec* a, SetRec* b, uint64_t* unlike) except -1 nogil
cdef int32_t passed_on(Tables tables, int32_t state) except -1 nogil
