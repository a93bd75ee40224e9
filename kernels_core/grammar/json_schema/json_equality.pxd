from libc.stdint cimport uint64_t


cpdef uint64_t outline(value, uint64_t seed) except? 0
cpdef bint alike(left, right, int depth=*) except -1
