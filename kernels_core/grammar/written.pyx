# distutils: language = c++
"""JSON values as text, in one pass: what a request is known by, and the copy that work put off reads later.

The text is that of `json.dumps(value, ensure_ascii=False)`, and a `Decimal` keeps all its digits.  Where the items stand
in it is remembered for the lists under one key, so that an item can be taken out again long after the value itself was
changed or is gone.

A large set of tools is written in some hundred microseconds, which is why this is not done in Python.

Read on: `structural_tag/load.py` (writes a request), `structural_tag/tag_lists.py` (reads its parts).
"""

from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from decimal import Decimal

__all__ = ["Written", "write"]

cdef int DEEPEST = 300          # values in values; what is deeper is left to `json.dumps`
cdef const char* HEX = "0123456789abcdef"


cdef class Written:
    """The text of a value, and where lists stand in it; made by `write`.

    Lists are known by their identity, so only while the value that was written is as it was.
    """

    def knows(self, list value):
        """Whether a list is one whose place was remembered."""
        return self.lists.count(<size_t><void*>value) > 0

    def part(self, list value):
        """The text of a list that this `knows`; `KeyError` for others."""
        cdef Stretch found = self._place(value).whole
        return self.text[found.first:found.past]

    def item(self, list value, Py_ssize_t at):
        """The text of an item of a list that this `knows`."""
        cdef Stretch found
        cdef ListPlace place = self._place(value)
        if not 0 <= at < len(value):
            raise IndexError(f"the list has no item {at}")
        found = self.items[place.items + at]
        return self.text[found.first:found.past]

    cdef ListPlace _place(self, list value) except *:
        if not self.knows(value):
            raise KeyError("a list that was not remembered")
        return self.lists[<size_t><void*>value]

    def __repr__(self):
        return f"<Written: {len(self.text):,} characters, {self.lists.size():,} lists>"


def write(value, str key):
    """`value` as a `Written` that knows the lists under `key`.

    None for what is not plain JSON (other types and subclasses, keys that are not strings, numbers that are not finite,
    lone surrogates) or is nested deeply: `json.dumps` knows what to do then, or what to say.
    """
    cdef _Writer writer = _Writer(key)
    if not writer.value(value, 0, False):
        return None
    writer.done.text = PyUnicode_DecodeUTF8(<const char*>writer.buffer.data(), writer.size, NULL)
    return writer.done


cdef class _Writer:
    cdef vector[uint8_t] buffer         # the first `size` bytes are the text so far, in UTF-8
    cdef size_t size
    cdef Py_ssize_t hidden              # bytes that are no characters of their own
    cdef str key
    cdef Written done

    def __cinit__(self, str key):
        self.key = key
        self.done = Written.__new__(Written)
        self.buffer.resize(4096)

    cdef inline void put(self, const char* text, size_t size) noexcept:
        if self.size + size > self.buffer.size():
            self.buffer.resize(2 * (self.size + size))
        memcpy(self.buffer.data() + self.size, text, size)
        self.size += size

    cdef inline Py_ssize_t place(self) noexcept:
        """How many characters there are so far."""
        return <Py_ssize_t>self.size - self.hidden

    cdef bint value(self, value, int depth, bint known) except -1:
        """Write it; False if it is not plain.  `known`: it is a list to remember."""
        if type(value) is str:
            return self.string(value)
        if type(value) is dict:
            return depth <= DEEPEST and self.members(<dict>value, depth)
        if type(value) is list:
            return depth <= DEEPEST and self.entries(<list>value, depth, known)
        return self.scalar(value)

    cdef bint members(self, dict value, int depth) except -1:
        cdef PyObject* name
        cdef PyObject* item
        cdef Py_ssize_t at = 0
        cdef bint first = True, known
        self.put(b"{", 1)
        while PyDict_Next(value, &at, &name, &item):        # nothing here runs code that could change the value
            if not first:
                self.put(b", ", 2)
            first = False
            if type(<object>name) is not str or not self.string(<object>name):
                return False
            self.put(b": ", 2)
            known = type(<object>item) is list and <str><object>name == self.key
            if not self.value(<object>item, depth + 1, known):
                return False
        self.put(b"}", 1)
        return True

    cdef bint entries(self, list value, int depth, bint known) except -1:
        cdef ListPlace place
        cdef Stretch stretch
        cdef Py_ssize_t at = 0
        place.items = self.done.items.size()
        place.whole.first = self.place()
        if known:
            self.done.items.resize(place.items + len(value))
        self.put(b"[", 1)
        for item in value:
            if at:
                self.put(b", ", 2)
            stretch.first = self.place()
            if not self.value(item, depth + 1, False):
                return False
            if known:
                stretch.past = self.place()
                self.done.items[place.items + at] = stretch
            at += 1
        self.put(b"]", 1)
        if known:
            place.whole.past = self.place()
            self.done.lists[<size_t><void*>value] = place
        return True

    cdef bint scalar(self, value) except -1:
        if value is None:
            self.put(b"null", 4)
            return True
        if value is True:
            self.put(b"true", 4)
            return True
        if value is False:
            self.put(b"false", 5)
            return True
        if type(value) is float and isfinite(PyFloat_AS_DOUBLE(value)):
            spelt = repr(value).encode()
        elif type(value) is int and -10**18 < value < 10**18:
            spelt = str(value).encode()
        elif type(value) is Decimal and value.is_finite():
            spelt = str(value).encode()
        else:
            return False
        self.put(spelt, len(spelt))
        return True

    cdef bint string(self, value) except -1:
        cdef Py_ssize_t size = PyUnicode_GET_LENGTH(value)
        cdef bytes spelt
        if PyUnicode_IS_COMPACT_ASCII(value):
            self.quoted(<const uint8_t*>PyUnicode_DATA(value), size)
            return True
        try:
            spelt = (<str>value).encode()
        except UnicodeEncodeError:
            return False
        self.quoted(<const uint8_t*><const char*>spelt, len(spelt))
        self.hidden += len(spelt) - size
        return True

    cdef void quoted(self, const uint8_t* text, Py_ssize_t size) noexcept:
        cdef size_t most = self.size + 6 * size + 2
        cdef uint8_t* to
        cdef Py_ssize_t at = 0, past
        cdef uint64_t eight
        if most > self.buffer.size():
            self.buffer.resize(2 * most)
        to = self.buffer.data() + self.size
        to[0] = c'"'
        to += 1
        while at < size:
            if at + 8 <= size:
                memcpy(&eight, text + at, 8)
                if not _needs_escape(eight):
                    memcpy(to, &eight, 8)
                    to += 8
                    at += 8
                    continue
            past = min(at + 8, size)
            while at < past:
                if text[at] < 0x20 or text[at] == c'"' or text[at] == c"\\":
                    to = _escape(text[at], to)
                else:
                    to[0] = text[at]
                    to += 1
                at += 1
        to[0] = c'"'
        self.size = to + 1 - self.buffer.data()


cdef inline bint _needs_escape(uint64_t eight) noexcept nogil:
    """Whether one of eight bytes is escaped: below a blank, a quote, or a backslash."""
    cdef uint64_t quotes = eight ^ 0x2222222222222222ULL, slashes = eight ^ 0x5C5C5C5C5C5C5C5CULL
    # (x - n) & ~x has the high bit of some byte where one is less than n, and no high bit where none is.
    return ((((eight - 0x2020202020202020ULL) & ~eight) | ((quotes - 0x0101010101010101ULL) & ~quotes)
             | ((slashes - 0x0101010101010101ULL) & ~slashes)) & 0x8080808080808080ULL) != 0


cdef uint8_t* _escape(uint8_t byte, uint8_t* to) noexcept nogil:
    """Write an escaped byte; returns the place behind it."""
    cdef uint8_t letter = 0
    if byte == c'"' or byte == c"\\":
        letter = byte
    elif byte == c"\b":
        letter = c"b"
    elif byte == c"\f":
        letter = c"f"
    elif byte == c"\n":
        letter = c"n"
    elif byte == c"\r":
        letter = c"r"
    elif byte == c"\t":
        letter = c"t"
    to[0] = c"\\"
    if letter:
        to[1] = letter
        return to + 2
    to[1], to[2], to[3], to[4], to[5] = c"u", c"0", c"0", HEX[byte >> 4], HEX[byte & 15]
    return to + 6
