from libc.string cimport memcmp
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)


cdef inline bint is_word(object text, const char* word, Py_ssize_t size) noexcept:
    """Whether a `str` is the `size` bytes of ASCII at `word`; inlined, so that constants cost nothing."""
    return (PyUnicode_GET_LENGTH(text) == size and PyUnicode_IS_COMPACT_ASCII(text)
            and memcmp(PyUnicode_DATA(text), word, size) == 0)


cdef struct Span:
    Py_ssize_t first      # in characters
    Py_ssize_t past


cdef struct ListPlace:
    Span whole
    Py_ssize_t first_item       # in `CanonicalText.items`
    Py_ssize_t size             # items


cdef class CanonicalText:
    cdef readonly str text
    cdef unordered_map[size_t, ListPlace] lists     # by `id`
    cdef vector[Span] items
