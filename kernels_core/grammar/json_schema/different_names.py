"""Names that are not declared, where it is counted how many different ones an object has (`minProperties`).

A set of few names is taken apart: each is a member that may come once.  For names without an end, "these two differ" is
no matter of a finite automaton.  So they are sorted into *cells* by their first and last characters and their length:
names of different cells certainly differ, and of those that are counted each has a cell of its own.  What is lost are
pairs of different names in one cell: of English words about one pair in a hundred.

Read on: `objects.py` (who asks), `../../automata/members.pxd` (members that come once).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ..charset import normalise
from ..regular.dfa import TooManyStates, explored, is_empty
from ..regular.languages import ANY_CHARACTER, EPSILON, Language, TooLarge, Words, character, concat, intersection, loop

if TYPE_CHECKING:
    from .kinds import Kinds
    from .shapes import Members

__all__ = ["NotCounted", "cells", "few_names", "several_needed"]

# So many names are taken apart.
_MOST_NAMES = 500
_MOST_STATES = 2_000
# Classes of names: of their first character, of their last one, of their length; of one-letter names, of the letter.
_FIRSTS, _LASTS, _LENGTHS, _LETTERS = 32, 16, 2, 64
# Beyond ASCII characters are sorted by range: Han characters into slices, all others into these.
_HAN = (0x4E00, 0x9FFF)
_OTHERS = ((0x80, 0x3FF), (0x400, 0x2FFF), (0x3000, 0x4DFF), (0xA000, 0x10FFFF))


class NotCounted(TooManyStates):
    """Different names cannot be counted here, because of `why`."""

    def __init__(self, why: str) -> None:
        super().__init__(0)
        self.why = why

    def __str__(self) -> str:
        return f"counting different names, {self.why}"


def several_needed(members: Members, kinds: Kinds) -> bool:
    """Whether more than one member that is not declared may be needed: it matters whether their names differ."""
    return bool(kinds.others) and members.least - sum(kinds.required) > 1


def few_names(keys: Language) -> frozenset[str] | None:
    """The strings of `keys` if they are certainly few, else None."""
    if isinstance(keys, Words):
        return keys.words if len(keys.words) <= _MOST_NAMES else None
    try:
        dfa = explored(keys, _MOST_STATES)
    except (TooLarge, TooManyStates):
        return None
    useful = _leading_to_an_end(dfa.table, dfa.accepting)
    found: list[str] = []
    work = [(0, "")] if 0 in useful else []
    while work:
        state, text = work.pop()
        if len(text) > len(dfa.table):
            return None  # some state was met twice: names have no end
        if dfa.accepting[state]:
            found.append(text)
        for target, ranges in dfa.edges(state).items():
            if target not in useful:
                continue
            if len(found) + len(work) + sum(high - low + 1 for low, high in ranges) > _MOST_NAMES:
                return None
            work += ((target, text + chr(point)) for low, high in ranges for point in range(low, high + 1))
    return frozenset(found)


def _leading_to_an_end(table: Sequence[Sequence[int]], accepting: Sequence[bool]) -> set[int]:
    useful = {state for state, accepts in enumerate(accepting) if accepts}
    changed = True
    while changed:
        more = {state for state, row in enumerate(table) if state not in useful and not useful.isdisjoint(row)}
        useful |= more
        changed = bool(more)
    return useful


def cells(keys: Language) -> list[Language]:
    """Languages without a common string that together are `keys`, none of them empty.  Raises `TooManyStates`."""
    found = (intersection(keys, cell) for cell in _cells())
    return [cell for cell in found if not is_empty(cell)]


@cache
def _cells() -> tuple[Language, ...]:
    letters, firsts, lasts = (_classes(count) for count in (_LETTERS, _FIRSTS, _LASTS))
    pairs = loop(loop(ANY_CHARACTER, _LENGTHS, _LENGTHS), 0, None)
    return (
        EPSILON,
        *letters,
        *(
            concat(first, pairs, loop(ANY_CHARACTER, length, length), last)
            for first in firsts
            for last in lasts
            for length in range(_LENGTHS)
        ),
    )


def _classes(count: int) -> list[Language]:
    """All characters in so many classes: neighbours in ASCII, such as the digits, are in different ones."""
    low, high = _HAN
    step = -(-(high - low + 1) // count)
    classes: list[list[tuple[int, int]]] = [[(code, code) for code in range(one, 0x80, count)] for one in range(count)]
    for number, ranges in enumerate(classes):
        first = low + number * step
        if first <= high:
            ranges.append((first, min(first + step - 1, high)))
    for number, pair in enumerate(_OTHERS):
        classes[number].append(pair)
    return [character(normalise(ranges)) for ranges in classes]
