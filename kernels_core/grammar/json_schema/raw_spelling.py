"""Strings that are not JSON: written as they are, or with a few characters as XML entities; and JSON strings that keep
clear of certain texts.

Text between markers ends at the first closing marker, so nothing between them may hold it.  What a set of strings
loses by that is worked out on the strings themselves (`without`), before anything is spelt.  A bound on their length is
then one on top of an automaton, and the parser counts the characters (`../compact_body.pyx`, `Diagram`).

Read on: `spelling.py` (JSON's own spellings), `../structural_tag/elements.py` (who writes between markers).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .. import charset
from ..charset import Ranges
from ..compact_body import Diagram
from ..ir import Empty, Node
from ..nodes import char_set, choice, literal, repeat
from ..regular.languages import (
    ALL,
    ANY_CHARACTER,
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
    loop,
    union,
    words,
)
from ..regular.memo import memo
from ..rulebook import RuleBook
from .spelling import Speller

# Where strings are watched for, each state leads to each: what is counted by halving grows with the cube of the states.
_MOST_PAIRS_IN_FULL = 3_000


def without(language: Language, texts: Iterable[str]) -> Language:
    """The strings of `language` that hold none of `texts`."""
    held = frozenset(text for text in texts if _may_hold(language, text))
    if not held:
        return language
    kept = complement(concat(ALL, words(held), ALL))
    if isinstance(language, Alt) and any(map(_has_length, language.items)):
        # Each length is counted by itself.
        alone = [item for item in language.items if _has_length(item)]
        others = [item for item in language.items if not _has_length(item)]
        return union(*(intersection(item, kept) for item in (*alone, union(*others))))
    return intersection(language, kept)


def _has_length(language: Language) -> bool:
    parts = language.items if isinstance(language, And) else (language,)
    return any(length_bounds(part) is not None for part in parts)


def _may_hold(language: Language, text: str) -> bool:
    """Perhaps; False is certain."""
    if isinstance(language, Words):
        return any(text in word for word in language.words)
    bounds = length_bounds(language)
    if bounds is not None and bounds[1] is not None and bounds[1] < len(text):
        return False
    letters = _letters(language)
    return all(charset.contains(letters, ord(letter)) for letter in text)


@memo(1 << 10, 1 << 16, lambda letters, language: 1 + len(letters))
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
        self._counting = Speller(book, any_spelling=any_spelling, defer=True)
        self.most_pairs_in_full = self._counting.most_pairs_in_full = _MOST_PAIRS_IN_FULL

    def string(self, language: Language, hint: str = "string") -> Node:
        language = without(language, self.avoid)
        parts = language.items if isinstance(language, Alt) else (language,)
        counted = [part for part in parts if self.counted_beside(part) is not None]
        if not counted:
            return super().string(language, hint)
        ways = [self._counting.string(part, hint) for part in counted]
        others = union(*(part for part in parts if part not in counted))
        return choice(ways if others == NOTHING else (*ways, super().string(others, hint)))

    def word(self, text: str) -> Node:
        if any(avoided in text for avoided in self.avoid):
            return choice(())
        return super().word(text)


class RawSpeller(Speller):
    """Strings as they are, without quotes; `entities` says how some characters are written instead."""

    # Lengths that the parser does not count are counted by halving, whose size grows with these pairs.
    most_pairs = 700
    most_pairs_in_full = _MOST_PAIRS_IN_FULL

    def __init__(self, book: RuleBook, entities: Mapping[str, str] | None = None) -> None:
        super().__init__(book, any_spelling=False)
        self._entities = dict(entities or {})
        self._special = charset.normalise((ord(letter), ord(letter)) for letter in self._entities)
        self.way = ("raw", *self._entities.items())

    def texts(self, language: Language, hint: str) -> Node:
        """All strings of `language`, as a rule of their own.  Raises `TooManyStates`."""
        if language == NOTHING:
            return choice(())
        if language.single is not None:
            return self.text(language.single)
        return self.book.share(("raw", language, *self._entities), hint, lambda: self._texts(language, hint))

    def _texts(self, language: Language, hint: str) -> Node:
        parts = language.items if isinstance(language, Alt) else (language,)
        return choice([self._counted(part, hint) or self.content(part) for part in parts])

    def _counted(self, language: Language, hint: str) -> Node | None:
        """The strings of a language whose length the parser counts; None of any other."""
        some = intersection(language, loop(ANY_CHARACTER, 1, None))
        if self.counted_beside(some) is None:
            return None
        # A rule that is made later has to have no empty text.
        node = self.later(some, hint)
        return repeat(node, 0, 1) if language.nullable else node

    def compact(self, language: Language) -> Diagram:
        counted = self.counted_beside(language)
        assert counted is not None  # no other rule is made later
        return counted.diagram(self._written_as, Empty())

    def in_full(self, language: Language) -> Node:
        content = self._without_automaton(language, self.most_pairs_in_full)
        return self.automaton(language) if content is None else content

    def text(self, text: str) -> Node:
        return literal("".join(self._entities.get(letter, letter) for letter in text).encode())

    def characters(self, ranges: Ranges) -> Node:
        return self.book.remember(("raw", ranges, *self._entities), lambda: self._written_as(ranges))

    def _written_as(self, ranges: Ranges) -> Node:
        plain = char_set(charset.difference(ranges, self._special))
        named = (name for letter, name in self._entities.items() if charset.contains(ranges, ord(letter)))
        return choice((plain, *(literal(name.encode()) for name in named)))

    def everything(self) -> Node:
        return repeat(self.characters(charset.ALL), 0, None)
