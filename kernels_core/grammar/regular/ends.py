"""The strings of a language whose first, or last, character is one of a set, without an intersection.

Word boundaries and other assertions of one character ask for this.  An intersection would say the same, but inside a
sequence it keeps a language from being written as it is, and from automata of places (`machines.pyx`).

Read on: `assertions.py`, which asks.
"""

from __future__ import annotations

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


def starting_in(language: Language, ranges: Ranges) -> Language | None:
    """The strings of `language` that begin with one of `ranges`; None where it takes an intersection to say so."""
    return _restricted(language, ranges, first=True)


def ending_in(language: Language, ranges: Ranges) -> Language | None:
    """The strings of `language` that end with one of `ranges`; None where it takes an intersection to say so."""
    return _restricted(language, ranges, first=False)


def _restricted(language: Language, ranges: Ranges, *, first: bool) -> Language | None:
    match language:
        case Words():
            at = 0 if first else -1
            return Words(frozenset(w for w in language.words if w and charset.contains(ranges, ord(w[at]))))
        case Chars():
            return character(charset.intersection(language.ranges, ranges))
        case Alt():
            parts = [_restricted(item, ranges, first=first) for item in language.items]
            return None if any(part is None for part in parts) else union(*(part for part in parts if part is not None))
        case And():
            part = _restricted(language.items[0], ranges, first=first)
            return None if part is None else intersection(part, *language.items[1:])
        case Loop() if not language.item.nullable:
            part = _restricted(language.item, ranges, first=first)
            most = None if language.most is None else language.most - 1
            others = loop(language.item, max(language.least - 1, 0), most)
            return None if part is None else concat(part, others) if first else concat(others, part)
        case Cat():
            # The first part that is not empty has the character; what may be empty may also be left out.
            options: list[Language] = []
            items = language.items
            size = 0
            while items:
                head, items = (items[0], items[1:]) if first else (items[-1], items[:-1])
                part = _restricted(head, ranges, first=first)
                if part is None:
                    return None
                option = concat(part, *items) if first else concat(*items, part)
                size += option.size
                if size > MAX_SIZE:
                    return None
                options.append(option)
                if not head.nullable:
                    break
            return union(*options)
        case _:
            return None
