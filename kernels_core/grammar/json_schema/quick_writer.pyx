"""Write what the deferrable schemas of a grammar share: brackets and commas by level, strings, names.

Read on: `quick_reader.pyx` (who writes with it), `layout.py`, `spelling.py`, `numerals.py`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy

from kernels_core.grammar.nodes cimport seq
from kernels_core.grammar.rulebook cimport RuleBook
from kernels_core.grammar.tree cimport Literal, Node, RuleRef, Seq
from kernels_core.grammar.canonical_json cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_COMPACT_ASCII

from kernels_core.grammar.json_schema.escape_texts import any_rest
from kernels_core.grammar.json_schema.formats import is_known
from kernels_core.grammar.json_schema.layout import Layout
from kernels_core.grammar.json_schema.numerals import Numerals
from kernels_core.grammar.json_schema.spelling import Speller

# Frames of layouts that differ in nothing are the same nodes in all grammars.
cdef dict FRAMES = {}
cdef int MOST_FRAMES = 256
cdef Literal QUOTE = Literal(b'"')
# Any string is the same node in all grammars, too, unless the rule that it calls had to be named otherwise.
cdef Node ANY_REST = any_rest()
cdef RuleRef REST = RuleRef("string_rest")
cdef Seq ANY_STRING = Seq((QUOTE, REST))


cdef Literal _quoted(str letters, bint opened):
    """ASCII and a closing quote, with `opened` behind an opening one."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(letters)
    cdef bytes value = PyBytes_FromStringAndSize(NULL, size + 1 + opened)
    cdef char* text = PyBytes_AS_STRING(value)
    cdef Literal found = Literal.__new__(Literal)
    text[0] = text[size + opened] = c'"'
    memcpy(text + opened, PyUnicode_DATA(letters), size)
    found.value = value
    return found


cdef class Frame:
    """What stands between values inside a value of one level."""

    def __init__(self, layout, int level):
        self.inner = layout.inner(level)
        self.colon, self.comma = layout.colon(level), layout.comma(level)
        self.open_member, self.next_member = seq((layout.opening(b"{", level), QUOTE)), seq((self.comma, QUOTE))
        self.close_object = layout.closing(b"}", level)
        self.open_array, self.close_array = layout.opening(b"[", level), layout.closing(b"]", level)
        self.no_object, self.no_array = layout.empty(b"{}"), layout.empty(b"[]")


cdef class QuickWriter:
    """Writes to `book` as `options` (`schema_options.SchemaOptions`) say.  `waits`: strings may be made when needed."""

    def __init__(self, RuleBook book not None, options, *, bint waits=True):
        self.book = book
        self.options = options
        self.waits = waits
        self.layout = Layout(book, options)
        self.speller = Speller(book, any_spelling=options.any_spelling, defer=waits)
        self.numerals = Numerals(book, canonical=options.canonical_numbers, plain_integers=options.plain_integers)
        self.own_spelling = not options.any_spelling
        self.frames, self.parts, self.way = {}, {}, object()

    cdef Frame frame(self, int level):
        """What stands between values; `level` as in `layout.py`."""
        found = self.frames.get(level)
        if found is None:
            options = self.options
            # The rule of blanks is all that a frame calls.
            key = (
                level,
                self.layout.gap,
                options.any_whitespace,
                options.whitespace_before_separators,
                options.indent,
                options.separators,
            )
            found = FRAMES.get(key)
            if found is None:
                if len(FRAMES) >= MOST_FRAMES:
                    FRAMES.clear()
                found = FRAMES[key] = Frame(self.layout, level)
            self.frames[level] = found
        return <Frame>found

    cdef Node string(self):
        """Any string."""
        cdef RuleRef rest = self.rest()
        return self.book.share_body("string", "string", ANY_STRING if rest.name == REST.name else Seq((QUOTE, rest)))

    cdef RuleRef rest(self):
        """Any string from behind the opening quote."""
        return self.book.share_body("rest", "string_rest", ANY_REST)

    cdef Node word(self, str text):
        """One string that `is_letters`, quotes included."""
        return _quoted(text, True)

    cdef Node name(self, str text):
        """One string from behind the opening quote."""
        if self.is_letters(text):
            return _quoted(text, False)
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
