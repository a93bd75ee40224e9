from cpython.object cimport PyObject


cdef bint is_common(PyObject* schema) noexcept
