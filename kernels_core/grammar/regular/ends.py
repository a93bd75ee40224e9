"""The strings of a language whose first, or last, character is one of a set, without an intersection.

Word boundaries and other assertions of one character ask for this.  An intersection would say the same, but inside a
sequence it keeps a language from being written as it is, and from automata of places (`positions.pyx`).

Read on: `assertions.py`, which asks.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import charset
from ..charset import Ranges
from .languages import (
    MAX_SIZE,
    Alt,
    And,
    Cat,
    Chars,
    Language,
    Loop,
    Words,
    character,
    concat,
    intersection,
    loop,
    union,
)

_Part = Callable[[Language, Ranges], Language | None]


def starting_in(language: Language, ranges: Ranges) -> Language | None:
    """The strings of `language` that begin with one of `ranges`; None where it takes an intersection to say so."""
    if isinstance(language, Words):
        return Words(frozenset(text for text in language.words if text and charset.contains(ranges, ord(text[0]))))
    return _restricted(language, ranges, starting_in, lambda part, rest: concat(part, *rest), first=True)


def ending_in(language: Language, ranges: Ranges) -> Language | None:
    """The strings of `language` that end with one of `ranges`; None where it takes an intersection to say so."""
    if isinstance(language, Words):
        return Words(frozenset(text for text in language.words if text and charset.contains(ranges, ord(text[-1]))))
    return _restricted(language, ranges, ending_in, lambda part, rest: concat(*rest, part), first=False)


def _restricted(
    language: Language,
    ranges: Ranges,
    restrict: _Part,
    joined: Callable[[Language, tuple[Language, ...]], Language],
    *,
    first: bool,
) -> Language | None:
    match language:
        case Chars():
            return character(charset.intersection(language.ranges, ranges))
        case Alt():
            parts = [restrict(item, ranges) for item in language.items]
            return None if any(part is None for part in parts) else union(*(part for part in parts if part is not None))
        case And():
            part = restrict(language.items[0], ranges)
            return None if part is None else intersection(part, *language.items[1:])
        case Loop() if not language.item.nullable:
            part = restrict(language.item, ranges)
            others = loop(
                language.item, max(language.least - 1, 0), None if language.most is None else language.most - 1
            )
            return None if part is None else joined(part, (others,))
        case Cat():
            # The first part that is not empty has the character; what may be empty may also be left out.
            options: list[Language] = []
            items = language.items
            size = 0
            while items:
                head, items = (items[0], items[1:]) if first else (items[-1], items[:-1])
                part = restrict(head, ranges)
                if part is None:
                    return None
                option = joined(part, items)
                size += option.size
                if size > MAX_SIZE:
                    return None
                options.append(option)
                if not head.nullable:
                    break
            return union(*options)
        case _:
            return None
