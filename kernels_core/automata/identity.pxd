from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.lazy_dfa cimport LazyTables


cdef struct Identity:
    uint64_t high
    uint64_t low


cdef class Identities:
    cdef LazyTables tables
    cdef uint64_t key_high, key_low
    cdef dict rules                      # rule number -> 16 bytes
    cdef vector[Identity] of_rule
    cdef vector[uint8_t] named           # by rule: whether `of_rule` is known
    cdef vector[uint8_t] near            # by rule: 0 not looked at yet, 1 it reaches few rules, 2 it reaches many
    cdef vector[uint8_t] text            # scratch

    cdef int identity(self, int32_t state, Identity* result) except -1 nogil
    cdef bint is_near(self, int32_t state) except -1 nogil
    cdef bytes _hash(self, bytes text)
    cdef bint _calls_nothing(self, int32_t rule) noexcept nogil
