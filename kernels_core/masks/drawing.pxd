from libc.stdint cimport int64_t, uint32_t


cdef int64_t draw_row(
    const float* row, int64_t width, const uint32_t* words, double temperature, double floor, double uniform,
    char* scratch,
) noexcept nogil
cdef int64_t scratch_bytes(int64_t width) noexcept nogil
