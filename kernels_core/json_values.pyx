"""JSON text as a value that can be compared: numbers by what they are worth, objects without the order of members.

A value is `bytes`, its first byte the kind: strings are `"` and their characters in UTF-8, numbers their digits and
exponent, arrays and objects a digest of what is in them.  Of members with one name the last counts.  Text is fed in
pieces, and a reader can be copied on the way: many ends of one value are tried.

Read on: `remembered.pyx`.
"""

import json
import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from hashlib import blake2b

from kernels_core.clock cimport rest

cdef enum:
    BETWEEN
    STRING
    ESCAPE          # behind a backslash
    WORD            # a number, true, false, null

cdef enum:          # what may come next
    VALUE
    FIRST_ITEM      # or the end of an array
    NAME
    FIRST_NAME      # or the end of an object
    COLON
    COMMA           # or the end of what is around

cdef object NUMBER = re.compile(rb"(-?)(0|[1-9][0-9]*+)(?:\.([0-9]++))?+(?:[eE]([-+]?+)([0-9]++))?+")
cdef object DECODER = json.JSONDecoder(strict=False)
cdef dict WORDS = {b"true": b"t", b"false": b"f", b"null": b"n"}
# For exponents: an int of so many digits takes the square of their time.
cdef object EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)


cdef bytes value_of(bytes text):
    """The value of a whole text; None if it is no JSON."""
    cdef JsonReader reader = JsonReader.__new__(JsonReader)
    reader.feed(text)
    return reader.finished()


cdef class JsonReader:
    """Reads one value."""

    def __cinit__(self):
        self.open = []
        self.scalar = bytearray()

    cdef JsonReader copy(self):
        cdef JsonReader other = JsonReader.__new__(JsonReader)
        other.open = []
        for entries, name in self.open:
            rest(<int>(1 + len(entries) // 16))
            other.open.append([entries.copy(), name])
        other.scalar = bytearray(self.scalar)
        other.value, other.mode, other.awaited, other.broken = self.value, self.mode, self.awaited, self.broken
        return other

    cdef int feed(self, bytes text) except -1:
        """Read on."""
        cdef uint8_t byte
        for byte in text:
            rest(1)
            if self.mode == ESCAPE:
                self.scalar.append(byte)
                self.mode = STRING
                continue
            if self.mode == STRING:
                if byte == c'"':
                    self.mode = BETWEEN
                    self._add(_characters(bytes(self.scalar)))
                    continue
                self.scalar.append(byte)
                if byte == c"\\":
                    self.mode = ESCAPE
                continue
            if byte > 0x20 and byte not in b'{}[]:,"':
                if self.mode == BETWEEN:
                    self.mode = WORD
                    self.scalar.clear()
                self.scalar.append(byte)
                continue
            self._end_word()
            if self.broken:
                return 0
            if byte == c'"':
                self.mode = STRING
                self.scalar.clear()
            elif byte == c"[" or byte == c"{":
                self.broken = self.awaited > FIRST_ITEM
                self.open.append([[] if byte == c"[" else {}, None])
                self.awaited = FIRST_ITEM if byte == c"[" else FIRST_NAME
            elif byte == c"]" or byte == c"}":
                if not self._ends(byte):
                    self.broken = True
                    return 0
                self.awaited = VALUE        # as what has ended stands where one was awaited
                self._add(_digest(self.open.pop()[0]))
            elif byte == c",":
                self.broken = not self.open or self.awaited != COMMA
                self.awaited = NAME if self.open and type(self.open[-1][0]) is dict else VALUE
            elif byte == c":":
                self.broken = self.awaited != COLON
                self.awaited = VALUE
            else:
                self.broken = byte not in b" \t\n\r"
        return 0

    cdef bint _ends(self, uint8_t byte) except -1:
        """Whether a bracket closes what is open."""
        if not self.open or (type(self.open[-1][0]) is dict) != (byte == c"}"):
            return False
        return self.awaited in (FIRST_ITEM, FIRST_NAME, COMMA)

    cdef bytes finished(self):
        """The value, if the text may end here, else None."""
        if self.mode == WORD and self.awaited == VALUE and not self.open and not self.broken:
            return _word(bytes(self.scalar))
        return None if self.broken or self.open or self.mode != BETWEEN else self.value

    cdef bytes string_so_far(self):
        """What a string would be that ended here; None where the whole is no string, or a character is half read."""
        cdef bytes found
        if self.mode != STRING or self.open or self.value is not None:
            return None
        found = _characters(bytes(self.scalar))
        # Half of a pair of surrogates, as \ud83d, is not a character yet.
        return None if found is None or b"\xed\xa0" <= found[-3:-1] <= b"\xed\xaf\xff" else found

    cdef uint8_t kind(self) noexcept:
        """The first byte of the value that is being read; 0 where nothing of it was read."""
        if self.value is not None:
            return (<const uint8_t*><const char*>self.value)[0]
        if self.open:
            return c"{" if type((<list>self.open[0])[0]) is dict else c"["
        if self.mode == BETWEEN:
            return 0
        if self.mode == WORD:
            return self.scalar[0] if self.scalar[0] in b"tfn" else c"#"
        return c'"'

    cdef int _add(self, bytes value) except -1:
        """A value was read, whole, or a name of a member."""
        cdef list top = self.open[-1] if self.open else None
        cdef bint is_name = self.awaited == NAME or self.awaited == FIRST_NAME
        if value is None or self.awaited >= COLON or is_name and value[:1] != b'"':
            self.broken = True
        elif is_name:
            top[1] = value
            self.awaited = COLON
            return 0
        elif top is None:
            self.value = value
        elif type(top[0]) is list:
            (<list>top[0]).append(value)
        else:
            (<dict>top[0])[top[1]] = value
        self.awaited = COMMA
        return 0

    cdef int _end_word(self) except -1:
        if self.mode == WORD:
            self.mode = BETWEEN
            self._add(_word(bytes(self.scalar)))
        return 0


cdef bytes _word(bytes text):
    """The value of a number, or of another word; None if it is none."""
    rest(<int>(1 + len(text) // 16))
    return WORDS.get(text) or _number(text)


cdef bytes _characters(bytes text):
    """The value of a string, from what is between its quotes; None if that is none."""
    if b"\\" not in text:
        return b'"' + text
    try:
        return b'"' + DECODER.decode('"' + text.decode() + '"').encode("utf-8", "surrogatepass")
    except ValueError:
        return None


cdef bytes _number(bytes text):
    """The value of a number; None if it is none."""
    match = NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, below, power = match.groups()
    digits = (whole + (fraction or b"")).lstrip(b"0")
    shown = digits.rstrip(b"0")
    if not shown:
        return b"#0"
    exponent = Decimal(((below or b"") + (power or b"0")).decode())
    exponent = EXACT.add(exponent, <object>(len(digits) - len(shown) - len(fraction or b"")))
    return b"#%s%se%s" % (sign, shown, str(exponent).encode())


cdef bytes _digest(entries):
    """The value of an array or object."""
    cdef list parts = []
    if type(entries) is dict:
        for name in sorted(entries):
            parts += [name, entries[name]]
    else:
        parts = entries
    mixed = blake2b(digest_size=24)
    for part in parts:
        mixed.update(b"%d:" % len(part))
        mixed.update(part)
    return (b"{" if type(entries) is dict else b"[") + mixed.digest()
