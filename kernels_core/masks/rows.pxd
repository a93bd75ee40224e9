from libc.stdint cimport int32_t, int64_t, uint32_t


# The rows of a bitmask: where the first begins, how many there are, 32-bit words in each, bytes from one to the next.
cdef struct BitmaskRows:
    char* first
    int64_t count
    int64_t words
    int64_t step


cdef object open_rows(bitmask, BitmaskRows* rows)
cdef uint32_t* row_at(const BitmaskRows* rows, int64_t index, int32_t words) except NULL
cdef bint needs_masking(const uint32_t* row, int64_t words) noexcept
