from libcpp.vector cimport vector


cdef class Arena:
    cdef vector[void*] blocks       # of `BLOCK` bytes
    cdef vector[void*] others
    cdef size_t first               # bytes of the first block
    cdef char* free
    cdef size_t left
    cdef size_t held
    cdef void* take(self, size_t size) except NULL nogil
    cdef int _new_block(self, size_t size) except -1 nogil
