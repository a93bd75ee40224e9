from libc.stdint cimport uint64_t


cpdef uint64_t hash_of(value, uint64_t seed) except? 0
cpdef bint are_equal(left, right, int depth=*) except -1
