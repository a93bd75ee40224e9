from libc.stdint cimport uint64_t

from kernels_core.earley.machine cimport Machine, SetRec


cdef int find_unlike(Machine machine, SetRec* a, SetRec* b, uint64_t* unlike) except -1 nogil
