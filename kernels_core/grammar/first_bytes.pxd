from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t

from kernels_core.grammar.firsts cimport Firsts
from kernels_core.grammar.regular.language cimport Language
from kernels_core.grammar.tree cimport Node


cdef struct Behind:
    # What follows a node: the rest of a sequence, or more rounds of a repetition.
    const Behind* then      # NULL: nothing
    PyObject* node          # the repetition, or all items of the sequence
    int32_t done            # items, or rounds


cdef class Beginnings:
    cdef dict rules
    cdef Firsts found
    cdef int32_t left           # nodes that may still be read
    cdef bint doubtful          # whether a node was read that may have no text
    cdef bint perhaps           # whether what is read now may have no text
    cdef bint within            # `DeferredRule.begins`

    cpdef int read(self, Node node) except -1
    cdef int read_both(self, Node first, Node second) except -1
    cpdef int read_perhaps(self, Node node) except -1
    cpdef int string(self, Language language) except -1
    cpdef int number(self, bint minus, bint surely) except -1
    cpdef int any_array(self) except -1
    cpdef int any_object(self) except -1
    cpdef int anything(self) except -1
    cdef int call(self, str name) except -1
    cdef bint tell(self, Firsts* found) noexcept
    cdef void mark(self, int32_t beginning, int32_t low, int32_t high, bint sure) noexcept
    cdef void give_up(self, int32_t beginning) noexcept
    cdef int _read(self, Node node, const Behind* behind, int32_t beginning) except -1
    cdef int _go_on(self, const Behind* behind, int32_t beginning) except -1
    cdef int _take(self, int32_t low, int32_t high, const Behind* behind, int32_t beginning) except -1
    cdef int _read_class(self, tuple ranges, const Behind* behind, int32_t beginning) except -1
    cdef int _call(self, str name, const Behind* behind, int32_t beginning) except -1
    cdef void _add(self, int32_t beginning, const Firsts* other, int32_t theirs) noexcept


cdef Beginnings beginnings(dict rules, bint within)
