from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t


cdef class CancelToken:
    cdef int flag


cdef struct Clock:
    Clock* outer
    const int* cancelled        # a CancelToken's flag, NULL: none
    PyObject* where             # what the time is for, a str that outlives the clock; NULL: nothing to say
    int64_t limit_ms            # of processor time of this thread, 0: any time
    int64_t looks               # left before it counts as passed, -1: any number
    int64_t began               # processor time when it was first looked at, -1: it was not yet
    int64_t due                 # when to look at processor time next, by the steady clock: it cannot pass before; -1: unset


cdef void start_clock(Clock* clock, int64_t limit_ms, const int* cancelled, PyObject* where) noexcept nogil
cdef void stop_clock(Clock* clock) noexcept nogil
cdef int breathe(int32_t work) except -1 nogil
cdef int rest(int32_t work) except -1
