from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from kernels_core.earley.machine cimport Machine
from kernels_core.earley.spots cimport Spot


cdef struct Promise:
    int32_t rule            # that was not entered
    int32_t frame           # where parsing goes on when it has ended
    int32_t read            # what was read of it: `firsts.pxd`


cdef struct Prospect:
    # A place in a text: the parser is at `spot`, and rules that were not entered are at the promises
    # `first..past - 1`, of those that the walk keeps.
    Spot spot
    bint alive              # False: there are promises alone
    int32_t first
    int32_t past


cdef enum Answer:
    NO
    YES
    NOT_TOLD                # some rule would have to be entered


cdef enum:
    MOST_AHEAD = 64         # bytes that are worth being read ahead


cdef bint look(Machine machine, vector[Promise]& promises, Spot& at, Prospect& ahead) except -1 nogil
cdef int takes(Machine machine, const vector[Promise]& promises, const Prospect& at, uint8_t byte) except -1 nogil
cdef int read(Machine machine, vector[Promise]& promises, const Prospect& at, uint8_t byte,
              Prospect& to) except -1 nogil
