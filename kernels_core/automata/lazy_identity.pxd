from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.automata.lazy_dfa cimport LazyTables
from kernels_core.automata.identity cimport Identities, Identity


cdef class LazyIdentities(Identities):
    cdef LazyTables lazy           # `tables`
    cdef dict rules                      # rule number -> 16 bytes
    cdef vector[Identity] of_rule
    cdef vector[uint8_t] named           # by rule: whether `of_rule` is known
    cdef vector[uint8_t] near            # by rule: 0 not looked at yet, 1 it reaches few rules, 2 it reaches many
    cdef vector[uint8_t] text            # scratch

    cdef bytes _hash(self, bytes text)
    cdef bint _calls_nothing(self, int32_t rule) noexcept nogil
    cdef Identity _name_of_bytes(self, int32_t rule) noexcept nogil
