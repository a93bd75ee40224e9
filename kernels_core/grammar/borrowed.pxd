"""Python's own calls on objects whose references are not counted: what goes over a large value touches each object less.

Only for what lives as long as it is looked at: what was borrowed from a container is gone once Python code ran that
could change it.
"""

from cpython.object cimport PyObject


cdef extern from "Python.h":
    bint is_text "PyUnicode_CheckExact"(PyObject* value) noexcept
    bint is_dict "PyDict_CheckExact"(PyObject* value) noexcept
    bint is_list "PyList_CheckExact"(PyObject* value) noexcept
    bint is_ascii "PyUnicode_IS_COMPACT_ASCII"(PyObject* text) noexcept
    const void* text_data "PyUnicode_DATA"(PyObject* text) noexcept      # characters: bytes, where they are ASCII
    Py_ssize_t text_size "PyUnicode_GET_LENGTH"(PyObject* text) noexcept     # characters
    PyObject* list_item "PyList_GET_ITEM"(PyObject* values, Py_ssize_t at) noexcept
    bint next_member "PyDict_Next"(PyObject* members, Py_ssize_t* at, PyObject** name, PyObject** value) noexcept
    PyObject* TRUE "Py_True"
    PyObject* FALSE "Py_False"
    PyObject* NONE "Py_None"
