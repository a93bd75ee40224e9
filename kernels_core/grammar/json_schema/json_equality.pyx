"""Compare JSON values: a hash to look them up by, and the comparison that decides.

Two values are equal if they are written as the same text: members in the same order, numbers of the same type and
spelling.  Looking at values as they are costs a fraction of writing the text, and a hash looks at their beginning only,
however large they are.

Read on: `quick_reader.pyx` (schemas that say the same share a rule).
"""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject, PyObject_Hash
from libc.stdint cimport uint64_t

from kernels_core.grammar.canonical_json cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_COMPACT_ASCII

cdef int DEEPEST = 300      # values in values that are compared; what is deeper is like nothing
cdef int MEMBERS = 8        # of a value that a hash looks at
cdef int BELOW = 3          # of a value in it


cpdef uint64_t hash_of(value, uint64_t seed) except? 0:
    """Return the same number for equal values under one `seed`, and another for most others.

    Looks at the members of `value`, the names and texts in these, and no further: what lies deeper was not touched for
    long, and fetching it costs more than a comparison now and then.
    """
    return _add(value, seed, MEMBERS, True)


cdef inline uint64_t _mix(uint64_t hash, uint64_t more) noexcept nogil:
    hash = (hash ^ more) * 0x9E3779B97F4A7C15ULL
    return hash ^ (hash >> 29)


cdef uint64_t _add(value, uint64_t hash, int left, bint deeper) except? 0:
    """`hash` with what a value looks like, and the first `left` members of it."""
    cdef PyObject* name
    cdef PyObject* item
    cdef Py_ssize_t at = 0, i
    if type(value) is str:
        hash = _mix(hash, <uint64_t>PyUnicode_GET_LENGTH(value) << 8)
        if PyUnicode_IS_COMPACT_ASCII(value) and PyUnicode_GET_LENGTH(value):
            hash = _mix(hash, (<const unsigned char*>PyUnicode_DATA(value))[0])
    elif type(value) is dict:
        hash = _mix(hash, 2 * <uint64_t>len(<dict>value) + 1)
        while left > 0 and PyDict_Next(value, &at, &name, &item):
            left -= 1
            hash = _mix(hash, <uint64_t>PyObject_Hash(<object>name))
            if deeper or type(<object>item) is str:
                hash = _add(<object>item, hash, BELOW, False)
    elif type(value) is list:
        hash = _mix(hash, 2 * <uint64_t>len(<list>value))
        for i in range(min(left, len(<list>value))):
            if deeper or type((<list>value)[i]) is str:
                hash = _add((<list>value)[i], hash, BELOW, False)
    elif value is None or type(value) is bool:
        hash = _mix(hash, 3 + (value is True) + 2 * (value is None))
    else:
        hash = _mix(hash, <uint64_t>PyObject_Hash(value))
    return hash


cpdef bint are_equal(left, right, int depth=0) except -1:
    """Whether two JSON values are written as the same text; perhaps False for what is nested deeply."""
    cdef PyObject* name
    cdef PyObject* item
    cdef PyObject* other_name
    cdef PyObject* other_item
    cdef Py_ssize_t at = 0, other_at = 0, i
    if left is right:
        return True
    if type(left) is not type(right) or depth > DEEPEST:
        return False
    if type(left) is str:
        return <str>left == <str>right
    if type(left) is dict:
        if len(<dict>left) != len(<dict>right):
            return False
        while PyDict_Next(left, &at, &name, &item) and PyDict_Next(right, &other_at, &other_name, &other_item):
            if name is not other_name and not are_equal(<object>name, <object>other_name, depth + 1):
                return False
            if not are_equal(<object>item, <object>other_item, depth + 1):
                return False
        return True
    if type(left) is list:
        if len(<list>left) != len(<list>right):
            return False
        for i in range(len(<list>left)):
            if not are_equal((<list>left)[i], (<list>right)[i], depth + 1):
                return False
        return True
    return left == right and repr(left) == repr(right)
