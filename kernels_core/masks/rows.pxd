from libc.stdint cimport int64_t, uint32_t


cdef int get_row(bitmask, Py_buffer* view) except -1
cdef uint32_t* row_at(Py_buffer* view, int index, int words, int64_t* row_words) except NULL
cdef bint needs_masking(const uint32_t* row, int64_t words) noexcept
