"""Sets of strings that are written when the parser gets there, as shorthands.

They are large, and nothing can go wrong with them: what is made in full has the same language.

Read on: `spelling.py` (writes both), `..rules.DeferredRule`, `..shorthand`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from ..ir import DeferredRule, Node
from ..regular.languages import Language
from ..shorthand import Besides, Diagram

if TYPE_CHECKING:
    from .spelling import Speller

__all__ = ["ByAutomaton", "OtherKeys"]


class OtherKeys(DeferredRule):
    """All strings but for some words, with the closing quote."""

    __slots__ = ("_excluded", "_speller")

    def __init__(self, name: str, speller: Speller, excluded: frozenset[str]) -> None:
        super().__init__(name)
        self._speller = speller
        self._excluded = excluded

    @property
    def key(self) -> bytes:
        return _digest(("other_key", sorted(self._excluded)))

    def make(self, brief: bool) -> Node | Besides:
        return self._speller.besides(self._excluded) if brief else self._speller.key_but(self._excluded)


class ByAutomaton(DeferredRule):
    """The strings of a language, quotes included, which has some and for which there is an automaton."""

    __slots__ = ("_language", "_speller")

    def __init__(self, name: str, speller: Speller, language: Language) -> None:
        super().__init__(name)
        self._speller = speller
        self._language = language

    @property
    def key(self) -> bytes:
        return _digest(("string", self._speller.any_spelling, self._language))

    def make(self, brief: bool) -> Node | Diagram:
        return self._speller.diagram(self._language) if brief else self._speller.quoted(self._language)


def _digest(said: object) -> bytes:
    return blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()
