from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from kernels_core.automata.members cimport MemberSet
from kernels_core.automata.tables cimport Gate, Tables
from kernels_core.automata.unordered cimport Read
from kernels_core.earley.arena cimport Arena
from kernels_core.earley.slots cimport Slot


cdef struct Register:
    const MemberSet* members    # what may be in it
    Read read


cdef class Registers:
    cdef Arena arena
    cdef vector[Slot] slots
    cdef vector[Register*] known        # by number, less one: 0 is the empty register of every rule
    cdef vector[uint64_t] bits          # scratch

    cdef Read at(self, const MemberSet* members, int32_t number) noexcept nogil
    cdef bint may_enter(self, Tables tables, int32_t state, int32_t number) except -1 nogil
    cdef bint enter(self, Tables tables, int32_t state, int32_t* number) except -1 nogil
    cdef bint is_next(self, Tables tables, int32_t state, int32_t number) noexcept nogil
    cdef bint may_end(self, const MemberSet* members, int32_t number) except -1 nogil
    cdef int add_live(self, Tables tables, int32_t state, int32_t number, uint64_t* live) except -1 nogil
    cdef int32_t _with(self, const MemberSet* members, int32_t number, int32_t update) except -1 nogil
