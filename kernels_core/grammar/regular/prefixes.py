"""Whether a text of a language may be the beginning of another: read off the language, without an automaton.

Behind a pattern that ends once any text may follow, and what reads that text need not know the pattern.

Read on: `json_schema/spelling.py`, which asks.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import AnyStr

from ...clock import look
from .. import charset
from ..charset import Ranges
from .languages import Cat, Chars, Language, Loop, Words


def common_beginning(texts: Collection[AnyStr]) -> AnyStr:
    """What some texts all begin with: what the least and the greatest have in common, those between them have, too."""
    least, most = min(texts), max(texts)
    return least[: next((i for i, letter in enumerate(least) if letter != most[i]), len(least))]


def ends_once(language: Language) -> bool:
    """Whether certainly no text of `language` is the beginning of another one of it.  False says nothing."""
    match language:
        case Words():
            return not any(after.startswith(before) for before, after in pairwise(sorted(language.words)))
        case Chars():
            return True
        case Loop():
            return language.least == language.most and ends_once(language.item)
        case Cat():
            return _end_once(language.items)
        case _:
            return False


def _end_once(items: tuple[Language, ...]) -> bool:
    """The same of a sequence: each part ends once, or a character tells whether it goes on."""
    following: Ranges | None = None
    for item in reversed(items):
        look(len(following or ()) + 4)
        first = _first(item.item if isinstance(item, Loop) else item)
        if not ends_once(item):
            if not isinstance(item, Loop) or not ends_once(item.item) or first is None or following is None:
                return False
            if charset.intersection(first, following):
                return False
        if isinstance(item, Loop) and item.least == 0:
            following = None if first is None or following is None else charset.union(first, following)
        else:
            following = first
    return True


def _first(language: Language) -> Ranges | None:
    """The characters that its texts begin with; None if it has the empty text, or where that is not plain to see."""
    match language:
        case Words() if "" not in language.words:
            return charset.normalise(tuple((ord(word[0]), ord(word[0])) for word in language.words))
        case Chars():
            return language.ranges
        case Cat() if not language.items[0].nullable:
            return _first(language.items[0])
        case Loop() if language.least > 0:
            return _first(language.item)
        case _:
            return None
