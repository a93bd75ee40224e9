"""Defer large sets of strings: write them as compact bodies when the parser predicts them.

They certainly have instances; what is made in full has the same language.

Read on: `spelling.py` (writes both), `..rules.DeferredRule`, `..compact_body`.
"""

cimport cython

from kernels_core.grammar.rulebook cimport RuleBook
from kernels_core.grammar.rules cimport DeferredRule
from kernels_core.grammar.compact_body cimport ExcludedWords
from kernels_core.grammar.tree cimport Node

from hashlib import blake2b

from kernels_core.grammar.json_schema.escape_texts import PLAIN as PLAIN_LETTERS
from kernels_core.grammar.json_schema.escape_texts import any_but_plain, any_rest

# What names are made of is the same in all grammars, and known by its identity (`compact_bodies.pyx`).
cdef tuple PLAIN = PLAIN_LETTERS
cdef Node ANY_BUT_PLAIN = any_but_plain(), ANY_REST = any_rest()


@cython.final
cdef class OtherKeys(DeferredRule):
    """All strings but for `excluded`, which are plain letters, with the closing quote."""

    def __init__(self, str name not None, speller, frozenset excluded not None):
        self.name = name
        self.notes = ()
        self.speller = speller
        self.excluded = excluded

    @property
    def key(self):
        """Bytes that stand for the language."""
        return digest(("other_key", sorted(self.excluded)))

    def make(self, compact):
        """The body, or with `compact` a compact body for it."""
        cdef ExcludedWords found
        if not compact:
            return self.speller.key_but(self.excluded)
        found = ExcludedWords.__new__(ExcludedWords)
        found.words = frozenset([(<str>word).encode() for word in self.excluded])
        found.letters, found.beyond, found.end = PLAIN, ANY_BUT_PLAIN, c'"'
        found.rest = (<RuleBook?>self.speller.book).share_body("rest", "string_rest", ANY_REST)
        return found


@cython.final
cdef class ByAutomaton(DeferredRule):
    """The strings of a language as a speller writes them: it has some, and there is an automaton for them."""

    cdef object speller, language

    def __init__(self, str name not None, speller, language):
        self.name = name
        self.notes = ()
        self.speller = speller
        self.language = language

    @property
    def key(self):
        """Bytes that stand for the language."""
        return digest((self.speller.way, self.language))

    def make(self, compact):
        """The body, or with `compact` a compact body for it."""
        return self.speller.compact(self.language) if compact else self.speller.in_full(self.language)


def digest(said):
    """Bytes that stand for what is `said`, by its representation."""
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()
