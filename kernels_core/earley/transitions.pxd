from libc.stdint cimport int32_t

from kernels_core.earley.arena cimport Arena
from kernels_core.earley.machine cimport SetRec


cdef int remember(Arena arena, SetRec* source, int32_t low, int32_t high, SetRec* target) except -1 nogil
