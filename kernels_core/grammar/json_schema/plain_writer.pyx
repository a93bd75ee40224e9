"""What the plain schemas of a grammar share: brackets and commas by level, strings, names.

Read on: `plain_reader.pyx` (who writes with it), `layout.py`, `spelling.py`, `numerals.py`.
"""

from kernels_core.grammar.rulebook cimport RuleBook
from kernels_core.grammar.tree cimport Literal, Never, Node
from kernels_core.grammar.written cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_COMPACT_ASCII

from kernels_core.grammar.json_schema.formats import is_known
from kernels_core.grammar.json_schema.layout import Layout
from kernels_core.grammar.json_schema.numerals import Numerals
from kernels_core.grammar.json_schema.spelling import Speller
from kernels_core.grammar.nodes import seq
from kernels_core.grammar.regular.languages import ALL

__all__ = ["PlainWriter"]

# Frames of layouts that differ in nothing are the same nodes in all grammars.
cdef dict FRAMES = {}
cdef int MOST_FRAMES = 256
cdef Literal QUOTE = Literal(b'"')


cdef class Frame:
    """What stands between values inside a value of one level."""

    def __init__(self, layout, int level):
        self.inner = layout.inner(level)
        self.colon, self.comma = layout.colon(level), layout.comma(level)
        self.open_member, self.next_member = seq((layout.opening(b"{", level), QUOTE)), seq((self.comma, QUOTE))
        self.close_object = layout.closing(b"}", level)
        self.open_array, self.close_array = layout.opening(b"[", level), layout.closing(b"]", level)
        self.no_object, self.no_array = layout.empty(b"{}"), layout.empty(b"[]")
        self.opening = Opening(self.open_member, Never())
        self.opening_or_none = Opening(self.open_member, self.no_object)


cdef class PlainWriter:
    """Writes to `book` as `options` (`compile.SchemaOptions`) say."""

    def __init__(self, RuleBook book not None, options):
        self.book = book
        self.options = options
        self.layout = Layout(
            book,
            any_whitespace=options.any_whitespace,
            indent=options.indent,
            separators=options.separators,
            max_whitespace_cnt=options.max_whitespace_cnt,
        )
        self.speller = Speller(book, any_spelling=options.any_spelling, defer=True)
        self.numerals = Numerals(book, canonical=options.canonical_numbers, plain_integers=options.plain_integers)
        self.own_spelling = not options.any_spelling
        self.frames = {}

    cdef Frame frame(self, int level):
        """What stands between values; `level` as in `layout.py`."""
        found = self.frames.get(level)
        if found is None:
            options = self.options
            # The rule of blanks is all that a frame calls.
            key = (level, self.layout.gap, options.any_whitespace, options.indent, options.separators)
            found = FRAMES.get(key)
            if found is None:
                if len(FRAMES) >= MOST_FRAMES:
                    FRAMES.clear()
                found = FRAMES[key] = Frame(self.layout, level)
            self.frames[level] = found
        return <Frame>found

    cdef Node string(self):
        """Any string."""
        if self.known_string is None:
            self.known_string = self.speller.string(ALL)
        return self.known_string

    cdef Node word(self, str text):
        """One string, quotes included."""
        if self.is_letters(text):
            return Literal(b'"%b"' % text.encode())
        return self.speller.word(text)

    cdef Node name(self, str text):
        """One string from behind the opening quote."""
        if self.is_letters(text):
            return Literal(b'%b"' % text.encode())
        return self.speller.name(text)

    cdef bint enforces(self, str format) except -1:
        """Whether a format says something of strings."""
        return self.options.formats and is_known(format)

    cdef bint is_letters(self, str text) except -1:
        """Whether a text is spelt in one way, as it is."""
        cdef Py_ssize_t i
        cdef const unsigned char* letters
        if not self.own_spelling or not PyUnicode_IS_COMPACT_ASCII(text):
            return False
        letters = <const unsigned char*>PyUnicode_DATA(text)
        for i in range(PyUnicode_GET_LENGTH(text)):
            if not 0x20 <= letters[i] < 0x7F or letters[i] == c'"' or letters[i] == c"\\" or letters[i] == c"/":
                return False
        return True
