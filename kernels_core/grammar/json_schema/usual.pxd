from cpython.object cimport PyObject


cdef bint is_usual(PyObject* schema) noexcept
