from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector


cdef struct Slot:
    uint32_t tag        # of the hash of what is here: two with one tag are compared
    int32_t number      # of what is here, plus one; 0: nothing


cdef inline size_t after(vector[Slot]& slots, size_t at) noexcept nogil:
    """The slot that is tried behind slot `at`."""
    return (at + 1) & (slots.size() - 1)


cdef void put(vector[Slot]& slots, size_t at, uint32_t tag, int32_t number) noexcept nogil
