from libcpp.vector cimport vector


cdef class Arena:
    cdef vector[void*] blocks
    cdef char* free
    cdef size_t left
    cdef size_t held
    cdef void* take(self, size_t size) except NULL nogil
