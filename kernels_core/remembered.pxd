from libc.stdint cimport int32_t

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport Marks, Pair


cdef class Judged:
    cdef readonly str name      # of the rule
    cdef readonly object predicate      # None: no text of the rule is judged
    cdef Py_ssize_t number      # of the predicate
    cdef list scopes            # numbers of predicates whose memory begins anew in each text of the rule
    cdef list restored          # ... and is behind it what it was before


cdef class Judges:
    cdef list predicates        # all of a grammar, by number; the first is `DIFFERENT`
    cdef dict by_rule           # `Judged`
    cdef str names              # of all rules that are judged, for errors
    cdef bint watches           # whether some of them are judged by their beginnings, too

    cdef Judged of(self, Machine machine, int32_t frame)
    cdef object fresh(self, Py_ssize_t number, str place)
    cdef int refuse(self, Py_ssize_t position) except -1


cdef class Remembered:
    cdef dict at                # by place: what each predicate remembers there, by its number
    # by frame: how many bytes came before its text, what was remembered there, and `at` of the places it returns to
    cdef dict begun

    cdef tuple behind(self, Machine machine, const Pair* pair, dict results)
    cdef Remembered after(self, Machine machine, const Marks* marks, dict results, Py_ssize_t position)
    cdef Remembered outside(self)
    cdef int _begin(self, Machine machine, const Marks* marks, Py_ssize_t position) except -1


cdef Judges judges_of(Machine machine)
cdef Remembered at_the_start(Machine machine)
cdef bint are_equal(Machine machine, int32_t frame, one, other) except -1
cdef bint is_inside(Remembered remembered)
cdef tuple with_memory(tuple memories, Py_ssize_t number, memory)
