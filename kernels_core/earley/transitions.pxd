from libc.stdint cimport int32_t, uint8_t, uint64_t

from kernels_core.automata.tables cimport Tables
from kernels_core.earley.arena cimport Arena
from kernels_core.earley.distinct cimport Item
from kernels_core.earley.records cimport SetRec


cdef int remember(Arena arena, SetRec* source, int32_t low, int32_t high, SetRec* target) except -1 nogil
cdef uint8_t last_alike(SetRec* source, uint8_t byte) noexcept nogil
cdef int add_live(Tables tables, const Item& item, uint64_t* live) except -1 nogil
