from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.memory cimport shared_ptr, weak_ptr
from libcpp.mutex cimport mutex
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector


cdef struct Row:
    const uint32_t* words       # one bit an id
    int32_t population
    uint64_t hash


cdef struct Dense:
    Row row
    vector[int32_t]* lacking    # ids that are not allowed though they are in the row, ascending; NULL: none
    shared_ptr[void] owner      # which keeps the row where it is


cdef cppclass RowUnion:
    Row row
    vector[uint32_t] bits
    vector[const uint32_t*] made_of         # ascending
    vector[weak_ptr[void]] owners           # while they live, other rows lie elsewhere


cdef class RowUnions:
    cdef readonly int32_t words
    cdef readonly size_t max_bytes
    cdef mutex lock
    cdef unordered_map[uint64_t, shared_ptr[RowUnion]] known       # by hash: of two with one, the later

    cdef shared_ptr[RowUnion] find(self, vector[Dense]& parts) noexcept nogil


cdef shared_ptr[RowUnion] unite(RowUnions unions, vector[Dense]& rows, vector[int32_t]* lacking) noexcept nogil
