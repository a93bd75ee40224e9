# distutils: language = c++
"""How the values of plain schemas begin, read from the schemas, so that their rules need not be made to know that.

What goes through the algebra is asked of it (`emit.Emitter.begin`).

Read on: `plain_reader.pyx` (makes the rules), `..first_bytes` (what is known of a beginning).
"""

from kernels_core.grammar.first_bytes cimport Beginnings, beginnings
from kernels_core.grammar.firsts cimport Firsts
from kernels_core.grammar.json_schema.plain cimport ARRAY, INTEGER, NUMBER, OBJECT, STRING
from kernels_core.grammar.json_schema.plain_reader cimport PlainReader, PlainRule, Words, bounds_of, fitting_of
from kernels_core.grammar.json_schema.plain_writer cimport Frame
from kernels_core.grammar.shorthand cimport Opening
from kernels_core.grammar.tree cimport Literal, Never, Node

from kernels_core.grammar.json_schema.formats import format_language
from kernels_core.grammar.regular.languages import ALL
from kernels_core.grammar.regular.languages import Words as WordsOf
from kernels_core.grammar.regular.patterns import search

__all__ = ["FirstBytesReader"]

cdef Literal TRUE_TEXT = Literal(b"true"), FALSE_TEXT = Literal(b"false"), NULL_TEXT = Literal(b"null")


cdef class FirstBytesReader(PlainReader):
    """A reader whose rules say how they begin."""

    cdef bint begins(self, PlainRule rule, Firsts* found, bint within) except -1:
        cdef Beginnings read
        cdef bint was_asked = rule.asked
        if rule.asked_within or rule.asked and not within:
            return False        # it begins with itself
        rule.asked, rule.asked_within = True, within
        try:
            read = beginnings(self.writer.book.rules, within)
            self._begin(rule, read)
            return read.tell(found)
        finally:
            rule.asked, rule.asked_within = was_asked, False

    cdef int _begin(self, PlainRule rule, Beginnings read) except -1:
        """Have `read` how the texts of a rule begin, from what its schema says."""
        cdef Words words
        cdef set texts = set()
        cdef Opening opened = self.opening(rule)
        if opened is not None:
            read.read(opened.opening)
            read.read(opened.empty)
            return 0
        if rule.schema is True:
            return read.read(self._anything(rule.level))
        words = self._said(rule)
        if words.options is not None:
            if self._unites(words.options):
                self.document.begin(rule.schema, rule.level, rule.name, read)
                return 0
            for one in words.options:
                read.read(self.value(one, rule.level, rule.name))
        elif words.constants is not None:
            for value in fitting_of(words):
                if type(value) is str:
                    texts.add(value)
                elif value is None:
                    read.read(NULL_TEXT)
                elif type(value) is bool:
                    read.read(TRUE_TEXT if value else FALSE_TEXT)
                else:
                    read.number(value <= 0, False)
            if texts:
                read.string(WordsOf(frozenset(texts)))
        elif words.types == OBJECT:
            self.document.begin(rule.schema, rule.level, rule.name, read)
        elif words.types == ARRAY:
            self._begin_array(words.listed or {}, rule, read)
        elif words.types == STRING:
            self._begin_string(words.spelt or {}, rule.name, read)
        elif words.types == INTEGER or words.types == NUMBER:
            self._begin_number(words.bounded or {}, read)
        else:
            for node in self._nodes(words, rule.level, rule.name):
                read.read(<Node>node)
        return 0

    cdef int _begin_array(self, dict said, PlainRule rule, Beginnings read) except -1:
        cdef Frame frame = self.writer.frame(rule.level)
        cdef Node item
        items = said.get("items", True)
        if type(items) is list:
            return read.any_array()
        if not said.get("minItems", 0):
            read.read(frame.no_array)
        if said.get("maxItems") != 0:
            item = self.value(items, frame.inner, "any" if items is True else f"{rule.name}_item")
            if type(item) is not Never:
                read.read_both(frame.open_array, item)
        return 0

    cdef int _begin_string(self, dict said, str name, Beginnings read) except -1:
        if "format" in said:
            language = format_language(said["format"])
            return read.string(ALL if language is None else language)
        if "pattern" in said:
            return read.string(search(said["pattern"]))
        least, most = said.get("minLength", 0), said.get("maxLength")
        if least or most is not None:
            return read.read(self.writer.counted(least, most))
        return read.string(ALL)

    cdef int _begin_number(self, dict said, Beginnings read) except -1:
        """A sign is for numbers below 0, and for 0 unless each has to be spelt in one way."""
        cdef bint signed = not (self.writer.options.canonical_numbers or self.writer.options.plain_integers)
        low, low_open, high, high_open = bounds_of(said)
        if low is not None and (low > 0 or low == 0 and low_open):
            return read.number(False, False)
        if high is None or high > 0 or high == 0 and not high_open:
            return read.number(True, signed or low is None)
        return read.number(True, low is None)
