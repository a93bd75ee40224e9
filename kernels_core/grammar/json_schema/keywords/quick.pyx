# distutils: language = c++
"""What the quick readers in C know of keywords: a number for each word, and what they do with it.

Everything here is made of the keyword table when that is imported, so no reader has a list of words of its own.

Read on: `entry.py` (`Keyword.quick`), `../deferrable_schemas.pyx`, `../quick_reader.pyx` (the readers).
"""

from cpython.object cimport PyObject

from kernels_core.grammar.borrowed cimport member

__all__ = ["Quick", "QuickTable"]

cdef extern from "Python.h":
    long as_long "PyLong_AsLong"(PyObject* number) noexcept

Quick.__doc__ = """What the quick readers do with a keyword; `NEVER`: a schema with it is compiled now."""

cdef int MOST_DIALECTS = 64
# What can be read at a glance, where every draft knows it.
cdef frozenset GLANCED = frozenset((
    Quick.NOTE, Quick.TYPE, Quick.CONSTANTS, Quick.MEMBERS, Quick.NAMES, Quick.OTHER_MEMBERS, Quick.ITEMS,
))

# What the readers ask for by its name: another word with one of these ways would be checked, and then forgotten.
cdef dict BY_NAME = {
    Quick.BOUND: frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    Quick.LENGTH: frozenset(("minLength", "maxLength")),
    Quick.ITEM_COUNT: frozenset(("minItems", "maxItems")),
}


cdef class QuickTable:
    """The numbers of `entries`, which are those of the keyword table in its order."""

    def __init__(self, tuple entries not None, int every_draft):
        cdef int number
        if len(entries) > MOST_KEYWORDS:
            raise ValueError(f"more than {MOST_KEYWORDS} keywords")
        self.glance, self.numbers, self.by_dialect = {}, {}, {}
        self.names, self.why = [], []
        for number, entry in enumerate(entries):
            if entry.name not in BY_NAME.get(entry.quick, (entry.name,)):
                raise ValueError(f"no reader in C asks for {entry.name!r}: quick={entry.quick.name} is for "
                                 f"{', '.join(sorted(BY_NAME[entry.quick]))}; say why= instead, or teach the readers")
            self.names.append(entry.name)
            self.why.append(entry.why)
            self.numbers[entry.name] = number
            self.quick[number] = entry.quick
            self.types[number] = entry.types
            known = not entry.names if entry.quick == Quick.NOTE else entry.drafts & every_draft == every_draft
            if entry.quick in GLANCED and known:
                self.glance[entry.name] = number

    cdef dict words_of(self, keywords):
        """The numbers of the words that a dialect knows; the same dictionary for the same set."""
        found = self.by_dialect.get(keywords)
        if found is None:
            if len(self.by_dialect) >= MOST_DIALECTS:
                self.by_dialect.clear()
            found = self.by_dialect[keywords] = {
                word: number for word, number in self.numbers.items() if word in keywords
            }
        return <dict>found

    cdef int at_a_glance(self, PyObject* word) noexcept:
        """The number of a word that can be read at a glance; -1 for all others."""
        cdef PyObject* number = member(<PyObject*>self.glance, word)
        return -1 if number == NULL else <int>as_long(number)
