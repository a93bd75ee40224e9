"""Strings that are not JSON: written as they are, or with a few characters as XML entities; and JSON strings that keep
clear of certain texts.

Text between markers ends at the first closing marker, so nothing between them may hold it.  What a set of strings
loses by that is worked out on the strings themselves (`without`), before anything is spelt.

Read on: `spelling.py` (JSON's own spellings), `../structural_tag/elements.py` (who writes between markers).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .. import charset
from ..charset import Ranges
from ..ir import Node
from ..nodes import char_set, choice, literal, repeat
from ..regular.languages import (
    ALL,
    NOTHING,
    Alt,
    And,
    Cat,
    Chars,
    Language,
    Loop,
    Words,
    complement,
    concat,
    intersection,
    length_bounds,
    words,
)
from ..regular.memo import memo
from ..rulebook import RuleBook
from .spelling import Speller

__all__ = ["CarefulSpeller", "RawSpeller", "without"]


def without(language: Language, texts: Iterable[str]) -> Language:
    """The strings of `language` that hold none of `texts`."""
    held = frozenset(text for text in texts if _may_hold(language, text))
    return intersection(language, complement(concat(ALL, words(held), ALL))) if held else language


def _may_hold(language: Language, text: str) -> bool:
    """Perhaps; False is certain."""
    if isinstance(language, Words):
        return any(text in word for word in language.words)
    bounds = length_bounds(language)
    if bounds is not None and bounds[1] is not None and bounds[1] < len(text):
        return False
    letters = _letters(language)
    return all(charset.contains(letters, ord(letter)) for letter in text)


def _pairs(letters: Ranges, language: Language) -> int:
    return 1 + len(letters)


@memo(1 << 10, 1 << 16, _pairs)
def _letters(language: Language) -> Ranges:
    """All characters of its strings, and perhaps more."""
    match language:
        case Words():
            return charset.normalise((ord(letter), ord(letter)) for word in language.words for letter in word)
        case Chars():
            return language.ranges
        case Loop():
            return _letters(language.item)
        case Cat() | Alt():
            return charset.union(*map(_letters, language.items))
        case And():
            found = charset.ALL
            for item in language.items:
                found = charset.intersection(found, _letters(item))
            return found
        case _:
            return charset.ALL


class CarefulSpeller(Speller):
    """JSON strings that hold none of the texts in `avoid`: keys and values."""

    def __init__(self, book: RuleBook, avoid: Iterable[str], *, any_spelling: bool) -> None:
        super().__init__(book, any_spelling=any_spelling)
        self.avoid = tuple(avoid)

    def string(self, language: Language, hint: str = "string") -> Node:
        return super().string(without(language, self.avoid), hint)

    def word(self, text: str) -> Node:
        if any(avoided in text for avoided in self.avoid):
            return choice(())
        return super().word(text)


class RawSpeller(Speller):
    """Strings as they are, without quotes; `entities` says how some characters are written instead."""

    # A length on top of "without the closing marker" is counted by halving, whose size grows with these pairs.
    most_pairs = 700

    def __init__(self, book: RuleBook, entities: Mapping[str, str] | None = None) -> None:
        super().__init__(book, any_spelling=False)
        self._entities = dict(entities or {})
        self._special = charset.normalise((ord(letter), ord(letter)) for letter in self._entities)

    def text(self, text: str) -> Node:
        """One string."""
        return self._text(text)

    def texts(self, language: Language, hint: str) -> Node:
        """All strings of `language`, as a rule of their own.  Raises `TooManyStates`."""
        if language == NOTHING:
            return choice(())
        if language.single is not None:
            return self.text(language.single)
        return self.book.share(("raw", language, *self._entities), hint, lambda: self.content(language))

    def _text(self, text: str) -> Node:
        return literal("".join(self._entities.get(letter, letter) for letter in text).encode())

    def _characters(self, ranges: Ranges) -> Node:
        return self.book.remember(("raw", ranges, *self._entities), lambda: self._written_as(ranges))

    def _written_as(self, ranges: Ranges) -> Node:
        plain = char_set(charset.difference(ranges, self._special))
        named = (name for letter, name in self._entities.items() if charset.contains(ranges, ord(letter)))
        return choice((plain, *(literal(name.encode()) for name in named)))

    def _everything(self) -> Node:
        return repeat(self._characters(charset.ALL), 0, None)

    def _other(self, letters: str) -> Node:
        return self._characters(charset.complement(charset.normalise((ord(letter), ord(letter)) for letter in letters)))
