# distutils: language = c++
"""Write JSON values as text in one pass: the key of a request in the cache, and a copy for rules that are made later.

The text is that of `json.dumps(value, ensure_ascii=False)`, and a `Decimal` keeps all its digits.  Members stay in
their order, and `1` is not `1.0`.  Of each list under one key it is recorded where the list and its items stand, so
that an item can be read from the text long after the value was changed or is gone.

A large set of tools is written in some hundred microseconds, which is why this is not done in Python.

Read on: `structural_tag/load.py` (writes a request), `structural_tag/tag_lists.py` (reads its parts).
"""

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from kernels_core.clock cimport breathe
from kernels_core.grammar.borrowed cimport (
    FALSE,
    NONE,
    TRUE,
    is_ascii,
    is_dict,
    is_list,
    is_text,
    list_item,
    next_member,
    text_data,
    text_size,
)

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 largest)

from decimal import Decimal

from kernels_core.errors import BudgetExceededError

cdef int DEEPEST = 300          # values in values, each a call of C; what is deeper is left to `json.dumps`
cdef const char* HEX = "0123456789abcdef"
cdef const char* LETTERS = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"    # behind the backslash, for what is below a blank


cdef class CanonicalText:
    """The text of a value, and where lists stand in it; made by `write`."""

    def knows(self, list value):
        """Whether it is recorded where a list stands.

        Lists are found by `id`: ask only while the value that was written is alive and unchanged.
        """
        return self.lists.count(<size_t><void*>value) > 0

    def __repr__(self):
        return f"<CanonicalText: {len(self.text):,} characters, {self.lists.size():,} lists>"


def write_text(value):
    """The text alone, or None."""
    cdef _Writer writer = _Writer.__new__(_Writer)
    return writer.text() if writer.value(<PyObject*>value, 0, False) else None


def write(value, str key not None):
    """`value` as a `CanonicalText` that knows the lists under `key`.

    None for what is not plain JSON (other types and subclasses, keys that are not strings, numbers that are not finite,
    lone surrogates) or is nested deeply: `json.dumps` knows what to do then, or what to say.
    """
    cdef _Writer writer = _Writer.__new__(_Writer)
    writer.key = key
    writer.result = CanonicalText.__new__(CanonicalText)
    if not writer.value(<PyObject*>value, 0, False):
        return None
    writer.result.text = writer.text()
    return writer.result


# The buffer of the last writer, for the next one: a large text does not touch new pages each time.
cdef char* spare = NULL
cdef size_t spare_size = 0
cdef size_t KEPT = 1 << 20      # bytes; a larger buffer is freed
cdef size_t LONGEST = 1 << 24   # bytes of a text, in which a part that is held many times is written each time


@cython.final
cdef class _Writer:
    cdef char* first                    # the text so far, in UTF-8, from here...
    cdef char* at                       # ... to here
    cdef size_t room                    # bytes from `first` on
    cdef Py_ssize_t continuation_bytes  # of UTF-8: those that begin no character
    cdef str key                        # of the lists to record; None for the text alone
    cdef CanonicalText result

    def __cinit__(self):
        global spare, spare_size
        self.first, self.room = spare, spare_size
        spare = NULL
        spare_size = 0
        if self.first == NULL:
            self.room = 4096
            self.first = <char*>malloc(self.room)
            if self.first == NULL:
                raise MemoryError
        self.at = self.first

    def __dealloc__(self):
        global spare, spare_size
        if spare == NULL and self.room <= KEPT:
            spare, spare_size = self.first, self.room
        else:
            free(self.first)

    cdef str text(self):
        cdef Py_ssize_t size = self.at - self.first
        if self.continuation_bytes:
            return PyUnicode_DecodeUTF8(self.first, size, NULL)
        cdef object text = PyUnicode_New(size, 127)
        memcpy(PyUnicode_DATA(text), self.first, size)
        return text

    cdef inline int need(self, size_t size) except -1:
        """Make room for `size` bytes more."""
        cdef size_t used = self.at - self.first
        if used + size > self.room:
            self.grow(used + size)
        return 0

    cdef int grow(self, size_t least) except -1:
        cdef size_t used = self.at - self.first, room = min(2 * least, LONGEST)
        cdef char* moved
        if least > LONGEST:
            raise BudgetExceededError("bytes of JSON text", LONGEST,
                                      "a schema or a tag, its parts counted wherever they stand")
        moved = <char*>realloc(self.first, room)
        if moved == NULL:
            raise MemoryError
        self.first, self.at, self.room = moved, moved + used, room
        return 0

    cdef inline int put(self, const char* text, size_t size) except -1:
        self.need(size)
        memcpy(self.at, text, size)
        self.at += size
        return 0

    cdef inline Py_ssize_t characters(self) noexcept:
        """How many there are so far."""
        return <Py_ssize_t>(self.at - self.first) - self.continuation_bytes

    cdef bint value(self, PyObject* value, int depth, bint recorded) except -1:
        """Write it; False if it is not plain JSON.  `recorded`: if it is a list, record where it stands."""
        if is_text(value):
            return self.string(value)
        if is_dict(value):
            return depth <= DEEPEST and self.members(value, depth)
        if is_list(value):
            return depth <= DEEPEST and self.entries(value, depth, recorded)
        return self.scalar(value)

    cdef bint members(self, PyObject* borrowed, int depth) except -1:
        cdef dict value = <dict>borrowed        # held: another thread may run where this breathes
        cdef PyObject* name
        cdef PyObject* item
        cdef Py_ssize_t at = 0
        cdef bint first = True, recorded
        self.put(b"{", 1)
        while next_member(<PyObject*>value, &at, &name, &item):
            if not first:
                self.put(b", ", 2)
            first = False
            if not is_text(name) or not self.string(name):
                return False
            self.put(b": ", 2)
            recorded = self.key is not None and is_list(item) and <str><object>name == self.key
            if not self.value(item, depth + 1, recorded):
                return False
            breathe(1)
        self.put(b"}", 1)
        return True

    cdef bint entries(self, PyObject* borrowed, int depth, bint recorded) except -1:
        cdef list value = <list>borrowed        # held, as in `members`
        cdef ListPlace place
        cdef Span span
        cdef Py_ssize_t at, size = len(value)
        if recorded:
            place.first_item, place.size = self.result.items.size(), size
            place.whole.first = self.characters()
            self.result.items.resize(place.first_item + size)
        self.put(b"[", 1)
        for at in range(size):
            if at:
                self.put(b", ", 2)
            span.first = self.characters()
            if not self.value(list_item(<PyObject*>value, at), depth + 1, False):
                return False
            if recorded:
                span.past = self.characters()
                self.result.items[place.first_item + at] = span
            breathe(1)
            if len(value) != size:
                return False        # another thread changed it
        self.put(b"]", 1)
        if recorded:
            place.whole.past = self.characters()
            self.result.lists[<size_t><PyObject*>value] = place
        return True

    cdef bint scalar(self, PyObject* borrowed) except -1:
        if borrowed == NONE:
            self.put(b"null", 4)
            return True
        if borrowed == TRUE:
            self.put(b"true", 4)
            return True
        if borrowed == FALSE:
            self.put(b"false", 5)
            return True
        value = <object>borrowed
        if type(value) is float and isfinite(PyFloat_AS_DOUBLE(value)):
            spelt = repr(value).encode()
        elif type(value) is int and -10**18 < value < 10**18:       # longer ones are rare, and may take long
            spelt = str(value).encode()
        elif type(value) is Decimal and value.is_finite():
            spelt = str(value).encode()
        else:
            return False
        self.put(spelt, len(spelt))
        return True

    cdef bint string(self, PyObject* value) except -1:
        cdef bytes spelt
        if is_ascii(value):
            self.quoted(<const uint8_t*>text_data(value), text_size(value))
            return True
        try:
            spelt = (<str><object>value).encode()
        except UnicodeEncodeError:
            return False
        self.quoted(<const uint8_t*><const char*>spelt, len(spelt))
        self.continuation_bytes += len(spelt) - text_size(value)
        return True

    cdef int quoted(self, const uint8_t* text, Py_ssize_t size) except -1:
        cdef uint8_t* to
        cdef Py_ssize_t at, escaped = 0
        for at in range(size):
            escaped += _is_escaped(text[at])
        self.need(size + 5 * escaped + 2)
        if not escaped:
            self.at[0] = c'"'
            memcpy(self.at + 1, text, size)
            self.at[size + 1] = c'"'
            self.at += size + 2
            return 0
        to = <uint8_t*>self.at
        to[0] = c'"'
        to += 1
        for at in range(size):
            if _is_escaped(text[at]):
                to = _escape(text[at], to)
            else:
                to[0] = text[at]
                to += 1
        to[0] = c'"'
        self.at = <char*>to + 1
        return 0


cdef inline bint _is_escaped(uint8_t byte) noexcept nogil:
    return (byte < 0x20) | (byte == c'"') | (byte == c"\\")


cdef uint8_t* _escape(uint8_t byte, uint8_t* to) noexcept nogil:
    """Write an escaped byte; returns the place behind it."""
    to[0] = c"\\"
    to[1] = LETTERS[byte] if byte < 0x20 else byte
    if to[1] != c"u":
        return to + 2
    to[2], to[3], to[4], to[5] = c"0", c"0", HEX[byte >> 4], HEX[byte & 15]
    return to + 6
