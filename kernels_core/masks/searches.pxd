from libc.stdint cimport int16_t, int32_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.automata.growing cimport Closure, GrowingTables
from kernels_core.automata.tables cimport Tables
from kernels_core.masks.graphs cimport Graph
from kernels_core.masks.views cimport Interior


cdef cppclass Search:
    int32_t rule
    vector[int32_t] loop             # NFA states, ascending, that any text comes back to
    Graph graph                      # what is read from it, up to where it is back; `states` are not of the tables
    vector[uint8_t] seen             # by NFA state and place of `graph`: all that the state does is known to be in `graph`
    shared_ptr[Interior] inside      # that `graph` is; set by whoever asks
    int16_t home                     # the first place of `graph` in `inside`


cdef class Searches:
    cdef GrowingTables tables        # None: their states have no NFA states
    cdef vector[shared_ptr[Search]] searches    # by rule
    cdef vector[uint8_t] refused     # by rule

    cdef Search* find(self, int32_t state) noexcept nogil
    cdef bint _begin(self, int32_t rule, int32_t state) noexcept nogil
    cdef bint _find_loop(self, Search* search, int32_t state) noexcept nogil
    cdef bint _holds(self, Search* search, int32_t state) noexcept nogil
    cdef Closure _closure(self, Search* search, int32_t one) noexcept nogil
    cdef bint _draw(self, Search* search) noexcept nogil
    cdef bint _follow(self, Search* search, int32_t state) noexcept nogil
    cdef bint _leaves(self, Search* search, int32_t target, int32_t low, int32_t high) noexcept nogil
