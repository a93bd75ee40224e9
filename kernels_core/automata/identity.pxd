from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables


cdef struct Identity:
    uint64_t high
    uint64_t low


cdef class Identities:
    cdef Tables tables
    cdef uint64_t key_high, key_low
    cdef vector[Identity] of
    cdef vector[uint8_t] known

    cdef Identity identity(self, int32_t state) noexcept nogil
    cdef void _run(self) noexcept nogil
    cdef void _component(self, vector[int32_t]& members) noexcept nogil
    cdef void _serialise(self, int32_t root, vector[int32_t]& place, int32_t size, vector[int32_t]& order,
                         vector[uint8_t]& out) noexcept nogil
