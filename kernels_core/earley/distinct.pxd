from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector


cdef struct Item:
    int32_t state
    int32_t frame
    int32_t counter


cdef struct Met:
    Item item
    int32_t list
    uint32_t round          # in which it was met; of another round: nobody is here


cdef struct Distinct:
    vector[Met] table       # open addressing; a power of two
    size_t count            # entries of this round
    uint32_t round


cdef void forget(Distinct* met) noexcept nogil
cdef int add_new(Distinct* met, vector[Item]& items, int32_t number, int32_t state, int32_t frame,
                 int32_t counter) except -1 nogil
