from kernels_core.earley.machine cimport Machine
from kernels_core.earley.records cimport Marks


cdef class Seen:
    cdef dict values            # of items, numbered as they came; those below `count` are here, others are of forks
    cdef Py_ssize_t count
    cdef bytes last             # of the item that ended last, and may yet go on; None: there is none

    cdef bint has(self, bytes value) except -1
    cdef Seen ending(self, bytes value)
    cdef Seen beginning(self)


cdef class Remembered:
    cdef dict begun             # by frame of an item: its `distinct` frame, and how many bytes came before it
    cdef dict seen              # by frame of a `distinct` rule: `Seen`

    cdef Remembered copy(self)
    cdef int begin(self, const Marks* marks, Py_ssize_t position) except -1


cdef Remembered nothing_yet()
cdef Remembered at_the_start(Machine machine)
