"""Patterns that are what they look like, and certain facts about them as keys, for `deferrable_schemas.pyx`.

A key that a pattern and a name (or two patterns) both speak of has to follow both, which may be impossible or take
many states.  Where they have nothing in common, the patterns are automata side by side, whose sizes say enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod

from ...errors import GrammarError
from ..charset import contains
from ..regular.dfa import Dfa, TooManyStates, explored, is_empty
from ..regular.languages import NOTHING, intersection
from ..regular.patterns import ecma_search

# Letters, escapes, classes, groups and small counts; anchors at the two ends only, no assertions, no references.
_SIMPLE = re.compile(
    r"\^?(?:[\w /:,@#%&=~!<>'\"\-]|\\[.dwsDWS\\/+*?()\[\]{}|$^\-]"
    r"|\[\^?(?:[\w /:,@.#+*?(){}|$%&=~!'\"\-]|\\[dws.\\/\]\[\-])+\]"
    r"|\((?:\?:|(?!\?))|\)|\||[*+?.]|\{[0-9]{1,2}(?:,[0-9]{0,2})?\})*\$?",
    re.ASCII,
)
# Of one pattern.
_LONGEST = 200
_MAX_STATES = 1_000
# Of all patterns together, and letters of all names: far below what writing keys may take.
_MAX_PRODUCT = 2_000
_MAX_LETTERS = 4_000
_MAX_PATTERNS = 6


def is_simple(pattern: str) -> bool:
    """Whether a regular expression is written out as it stands, and certainly matches something."""
    return len(pattern) <= _LONGEST and _is_simple(pattern)


@lru_cache(maxsize=4096)
def _is_simple(pattern: str) -> bool:
    if not _SIMPLE.fullmatch(pattern):
        return False
    try:
        return ecma_search(pattern) != NOTHING
    except GrammarError:
        return False


def are_disjoint(patterns: Sequence[str], names: Iterable[str]) -> bool:
    """Whether each key matches at most one of `patterns` (simple ones) or is one of `names`, and that takes few states.

    Every key of a pattern can then be written, and so can those of none.
    """
    names = tuple(names)
    if len(patterns) > _MAX_PATTERNS or sum(map(len, names)) > _MAX_LETTERS:
        return False
    found = [_key_pattern(pattern) for pattern in patterns]
    automata = [one for one in found if one is not None]
    if len(automata) < len(found) or prod(len(one.dfa.table) for one in automata) > _MAX_PRODUCT:
        return False
    if any(one.accepts(name) for one in automata for name in names):
        return False
    return len(patterns) < 2 or _all_disjoint(tuple(patterns))


class _KeyPattern:
    """A pattern's automaton, for names."""

    def __init__(self, dfa: Dfa) -> None:
        self.dfa = dfa
        self._letters: dict[str, int] = {}

    def accepts(self, name: str) -> bool:
        """Is `name` a key of the pattern?"""
        state = 0
        for letter in name:
            number = self._letters.get(letter)
            if number is None:
                code = ord(letter)
                found = (i for i, ranges in enumerate(self.dfa.letters) if contains(ranges, code))
                number = self._letters[letter] = next(found, -1)  # lone surrogates are in no set
            state = self.dfa.table[state][number] if number >= 0 else -1
            if state < 0:
                return False
        return self.dfa.accepting[state]


@lru_cache(maxsize=1024)
def _key_pattern(pattern: str) -> _KeyPattern | None:
    try:
        return _KeyPattern(explored(ecma_search(pattern), _MAX_STATES))
    except TooManyStates:
        return None


@lru_cache(maxsize=1024)
def _all_disjoint(patterns: tuple[str, ...]) -> bool:
    return all(is_empty(intersection(ecma_search(one), ecma_search(other))) for one, other in combinations(patterns, 2))
