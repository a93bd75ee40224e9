# distutils: language = c++
"""Recognise the most common schemas in one pass, without asking anything else.

Common are any value, the scalar types, some strings in a list, lists of what is common, and objects with common
members, required or not; with notes about them that say nothing.  Each is deferrable in every draft, and always has an
instance.  Other schemas may be deferrable all the same: `deferrable_schemas.pyx` looks closer.  Which words mean the
same in every draft, and which are notes, comes from the table of keywords (`keywords/quick.pyx`).

Nine of ten schemas of tools are common, and a request brings hundreds of them: so this reads each object once and keeps
nothing.
"""

from cpython.object cimport PyObject

from kernels_core.grammar.borrowed cimport (
    FALSE,
    TRUE,
    is_ascii,
    is_dict,
    is_list,
    is_text,
    list_item,
    list_size,
    member,
    next_member,
    spells,
)
from kernels_core.grammar.json_schema.keywords.quick cimport (
    CONSTANTS, ITEMS, MEMBERS, NAMES, NOTE, OTHER_MEMBERS, QuickTable, TYPE,
)

from kernels_core.grammar.json_schema.keywords import QUICK

__all__ = ["is_common_schema"]

cdef QuickTable TABLE = QUICK
cdef int DEEPEST = 60           # schemas in schemas
cdef int NO_TYPE = 0, SCALAR = 1, TEXT = 2, ARRAY = 3, OBJECT = 4, OTHER = 5


def is_common_schema(schema):
    """Whether `schema` is common."""
    return is_common(<PyObject*>schema)


cdef bint is_common(PyObject* schema) noexcept:
    return _is_common(schema, 0)


cdef bint _is_common(PyObject* schema, int depth) noexcept:
    cdef PyObject* word
    cdef PyObject* value
    cdef PyObject* properties = NULL
    cdef PyObject* required = NULL
    cdef PyObject* others = NULL
    cdef PyObject* items = NULL
    cdef PyObject* constants = NULL
    cdef Py_ssize_t at = 0
    cdef int number, quick, kind = NO_TYPE
    if schema == TRUE:
        return True
    if not is_dict(schema) or depth > DEEPEST:
        return False
    while next_member(schema, &at, &word, &value):
        if not is_text(word):
            return False
        number = TABLE.at_a_glance(word)
        if number < 0:
            return False
        quick = TABLE.quick[number]
        if quick == TYPE:
            kind = _kind(value)
            if kind == OTHER:
                return False
        elif quick == MEMBERS:
            properties = value
        elif quick == NAMES:
            required = value
        elif quick == ITEMS:
            items = value
        elif quick == CONSTANTS:
            constants = value
        elif quick == OTHER_MEMBERS:
            others = value
        elif quick != NOTE:
            return False
    if constants != NULL:
        return ((kind == TEXT or kind == NO_TYPE) and properties == required == others == items == NULL
                and _are_texts(constants))
    if kind == OBJECT:
        return items == NULL and _has_common_members(properties, required, others, depth)
    if properties != NULL or required != NULL or others != NULL:
        return False
    return items == NULL or (kind == ARRAY and _is_common(items, depth + 1))


cdef bint _has_common_members(PyObject* properties, PyObject* required, PyObject* others, int depth) noexcept:
    cdef PyObject* name
    cdef PyObject* value
    cdef Py_ssize_t at = 0
    if properties != NULL:
        if not is_dict(properties):
            return False
        while next_member(properties, &at, &name, &value):
            if not is_text(name) or not is_ascii(name) or not _is_common(value, depth + 1):
                return False
    if required != NULL:
        if not is_list(required):
            return False
        for at in range(list_size(required)):
            name = list_item(required, at)
            # ASCII, so that looking it up hashes and compares texts, and nothing else.
            if properties == NULL or not is_text(name) or not is_ascii(name) or member(properties, name) == NULL:
                return False
    return others == NULL or others == FALSE or _is_common(others, depth + 1)


cdef bint _are_texts(PyObject* values) noexcept:
    """Whether this is a list of ASCII texts, and not empty."""
    cdef Py_ssize_t at
    if not is_list(values):
        return False
    for at in range(list_size(values)):
        if not is_text(list_item(values, at)) or not is_ascii(list_item(values, at)):
            return False
    return list_size(values) > 0


cdef int _kind(PyObject* name) noexcept:
    if not is_text(name):
        return OTHER
    if spells(name, b"string", 6):
        return TEXT
    if spells(name, b"object", 6):
        return OBJECT
    if spells(name, b"array", 5):
        return ARRAY
    if (spells(name, b"integer", 7) or spells(name, b"boolean", 7) or spells(name, b"number", 6)
            or spells(name, b"null", 4)):
        return SCALAR
    return OTHER
