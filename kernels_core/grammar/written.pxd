from libcpp.unordered_map cimport unordered_map


cdef struct Stretch:
    Py_ssize_t first      # in characters
    Py_ssize_t past


cdef class Written:
    cdef readonly str text
    cdef unordered_map[size_t, Stretch] stretches

    cdef bint holds(self, value) noexcept
