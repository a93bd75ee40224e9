cimport cython


@cython.final
cdef class Memo:
    cdef dict new, old
    cdef Py_ssize_t most
    cdef long long most_weight
    cdef readonly long long weight

    cpdef object get(self, object key)
    cpdef int put(self, object key, object value, long long weight) except -1
