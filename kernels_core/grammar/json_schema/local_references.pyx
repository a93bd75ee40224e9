# distutils: language = c++
"""Tell in one pass whether all references in a document are pointers into it.

That is so where no schema but the whole has a name, and no reference leads elsewhere or depends on the way to it.  Most
documents with references are of that kind; `resolve.py` knows about all others.
"""

from cpython.object cimport PyObject
from libc.string cimport memcmp

from kernels_core.grammar.borrowed cimport (
    is_ascii,
    is_dict,
    is_list,
    is_text,
    list_item,
    list_size,
    next_member,
    spells,
    text_data,
    text_size,
)

cdef int DEEPEST = 200          # values in values


def has_local_references(document, str identifier not None):
    """Whether `document`, whose schemas are named by the keyword `identifier`, certainly holds only pointers.

    It is looked at whole, constants and all, so False says nothing.
    """
    return _has_local_references(<PyObject*>document, <PyObject*>identifier, 0)


cdef bint _has_local_references(PyObject* value, PyObject* identifier, int depth) noexcept:
    cdef PyObject* word
    cdef PyObject* inner
    cdef Py_ssize_t at = 0
    if is_list(value):
        if depth > DEEPEST:
            return False
        for at in range(list_size(value)):
            if not _has_local_references(list_item(value, at), identifier, depth + 1):
                return False
    elif is_dict(value):
        if depth > DEEPEST:
            return False
        while next_member(value, &at, &word, &inner):
            if not is_text(word):
                return False
            if is_ascii(word) and text_size(word) > 1:
                if _begins(word, b"$dynamic", 8) or _begins(word, b"$recursive", 10):
                    return False
                # A fragment alone is no name, and as a reference it stays here.
                if spells(word, b"$ref", 4):
                    if is_text(inner) and not _begins(inner, b"#", 1):
                        return False
                elif depth > 0 and _same(word, identifier) and is_text(inner) and not _begins(inner, b"#", 1):
                    return False
            if not _has_local_references(inner, identifier, depth + 1):
                return False
    return True


cdef inline bint _begins(PyObject* text, const char* word, Py_ssize_t size) noexcept:
    return is_ascii(text) and text_size(text) >= size and memcmp(text_data(text), word, size) == 0


cdef inline bint _same(PyObject* text, PyObject* other) noexcept:
    """Whether two ASCII texts are equal."""
    return (text == other or is_ascii(other) and text_size(text) == text_size(other)
            and memcmp(text_data(text), text_data(other), text_size(text)) == 0)
