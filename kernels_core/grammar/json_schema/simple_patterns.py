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
from ..regular.dfa import TooManyStates, explored, is_empty
from ..regular.languages import NOTHING, intersection, matches
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
    keys = [ecma_search(pattern) for pattern in patterns]
    try:
        states = prod(len(explored(one, _MAX_STATES).table) for one in keys)
    except TooManyStates:
        return False
    if states > _MAX_PRODUCT or any(matches(one, name) for one in keys for name in names):
        return False
    return all(is_empty(intersection(one, other)) for one, other in combinations(keys, 2))
