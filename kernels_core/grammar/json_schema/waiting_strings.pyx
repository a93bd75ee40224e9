"""Sets of strings that are written when the parser gets there, as shorthands.

They are large, and nothing can go wrong with them: what is made in full has the same language.

Read on: `spelling.py` (writes both), `..rules.DeferredRule`, `..shorthand`.
"""

cimport cython

from kernels_core.grammar.rules cimport DeferredRule

from hashlib import blake2b

__all__ = ["ByAutomaton", "OtherKeys"]


@cython.final
cdef class OtherKeys(DeferredRule):
    """All strings but for `excluded`, with the closing quote."""

    def __init__(self, str name not None, speller, frozenset excluded not None):
        self.name = name
        self.notes = ()
        self.speller = speller
        self.excluded = excluded

    @property
    def key(self):
        """Bytes that stand for the language."""
        return _digest(("other_key", sorted(self.excluded)))

    def make(self, brief):
        """The body, or with `brief` a shorthand for it."""
        return self.speller.besides(self.excluded) if brief else self.speller.key_but(self.excluded)


@cython.final
cdef class ByAutomaton(DeferredRule):
    """The strings of a language, quotes included, which has some and for which there is an automaton."""

    cdef object speller, language

    def __init__(self, str name not None, speller, language):
        self.name = name
        self.notes = ()
        self.speller = speller
        self.language = language

    @property
    def key(self):
        """Bytes that stand for the language."""
        return _digest(("string", self.speller.any_spelling, self.language))

    def make(self, brief):
        """The body, or with `brief` a shorthand for it."""
        return self.speller.brief(self.language) if brief else self.speller.quoted(self.language)


cdef bytes _digest(said):
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()
