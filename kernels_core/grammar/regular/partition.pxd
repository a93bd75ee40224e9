from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector


cdef struct Arrow:
    int32_t label, source, target


cdef void coarsest_partition(int32_t size, vector[Arrow]& arrows, vector[uint8_t]& accepts,
                             vector[int32_t]& block_of) noexcept nogil
