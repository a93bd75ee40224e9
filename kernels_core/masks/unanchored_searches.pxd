from libc.stdint cimport int16_t, int32_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

from kernels_core.automata.lazy_dfa cimport Closure, LazyTables
from kernels_core.automata.tables cimport Tables
from kernels_core.masks.body_automata cimport BodyAutomaton
from kernels_core.masks.body_token_sets cimport StringBody


cdef cppclass UnanchoredSearch:
    int32_t rule
    vector[int32_t] loop             # NFA states, ascending, that any text comes back to
    # what is read from it, up to where it is back; `states` are not of the tables
    BodyAutomaton graph
    # by NFA state and place of `graph`: all that the state does is known to be in `graph`
    vector[uint8_t] seen
    shared_ptr[StringBody] body      # that `graph` is; set by whoever asks
    int16_t body_state                     # the first place of `graph` in `body`


cdef class UnanchoredSearches:
    cdef LazyTables tables        # None: their states have no NFA states
    cdef vector[shared_ptr[UnanchoredSearch]] searches    # by rule
    cdef vector[uint8_t] refused     # by rule

    cdef UnanchoredSearch* find(self, int32_t state) noexcept nogil
    cdef bint _begin(self, int32_t rule, int32_t state) noexcept nogil
    cdef bint _find_loop(self, UnanchoredSearch* search, int32_t state) noexcept nogil
    cdef bint _holds(self, UnanchoredSearch* search, int32_t state) noexcept nogil
    cdef Closure _closure(self, UnanchoredSearch* search, int32_t one) noexcept nogil
    cdef bint _collect(self, UnanchoredSearch* search) noexcept nogil
    cdef bint _follow(self, UnanchoredSearch* search, int32_t state) noexcept nogil
    cdef bint _closes(self, UnanchoredSearch* search, int32_t target, int32_t low, int32_t high) noexcept nogil
