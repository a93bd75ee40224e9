from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.tables cimport Tables, EagerTables


cdef struct Identity:
    uint64_t high
    uint64_t low


cdef Identity siphash128(const uint8_t* data, size_t size, uint64_t k0, uint64_t k1) noexcept nogil


cdef class Identities:
    cdef Tables tables
    cdef uint64_t key_high, key_low

    cdef int identity(self, int32_t state, Identity* result) except -1 nogil
    cdef bint is_near(self, int32_t state) except -1 nogil


cdef class EagerIdentities(Identities):
    cdef vector[Identity] of
    cdef vector[uint8_t] known

    cdef void _run(self) noexcept nogil
    cdef void _component(self, vector[int32_t]& members) noexcept nogil
    cdef void _serialise(self, int32_t root, vector[int32_t]& place, int32_t size, vector[int32_t]& order,
                         vector[uint8_t]& out) noexcept nogil
