from libcpp.vector cimport vector


cdef class Arena:
    cdef vector[void*] blocks       # of the usual size
    cdef vector[void*] large
    cdef char* free
    cdef size_t left
    cdef size_t held
    cdef void* take(self, size_t size) except NULL nogil
    cdef int _new_block(self, size_t size) except -1 nogil
