"""Deterministic automata over code points, made from a `Language` when its structure alone will not do.

The alphabet of an automaton is the coarsest partition of the code points that the language's own character sets tell
apart (a dozen classes for most patterns), so tables are dense and small.  An intersection with "any l to h characters"
is counted in integers beside the automaton of the rest.

Every construction has a budget of states; `TooManyStates` says that it was not enough.

Read on: `machines.pyx` (what is explored), `graph.py` and `to_rules.py` (automata as grammar rules).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...clock import look
from ..charset import Ranges, canonical, partition, union
from .dfa_tables import fans, smallest
from .languages import (
    Alt,
    And,
    Cat,
    Chars,
    Language,
    Loop,
    Not,
    TooLarge,
    TooManyStates,
    Unfolding,
    Words,
    intersection,
    length_bounds,
    limited_work,
)
from .machines import Both, Stepped, explore, inhabited, reader
from .memo import Memo, memo

__all__ = [
    "MAX_STATES",
    "Dfa",
    "TooManyStates",
    "determinise",
    "has_length",
    "is_empty",
    "minimal",
    "surely_some",
]

T = TypeVar("T")

MAX_STATES = 10_000
# Emptiness is asked often, and "perhaps not empty" is a safe answer.
_EMPTINESS_STATES = 2_000
# Entries of all tables that are remembered, and nodes of all languages that are.
_MOST_CELLS = 1_500_000
_MOST_NODES = 1_000_000
_HEAVY = 50_000
# Parts of languages that the derivatives of one automaton may look at: some seconds.
_MOST_WORK = 2_000_000
_DEAD = -1


@dataclass(slots=True)
class Dfa:
    """State 0 is the start.  `table[state][letter]` is a state or -1; `letters[letter]` is a set of code points.

    Many are remembered, and tuples of numbers are not what the garbage collector has to look at.
    """

    letters: tuple[Ranges, ...]
    table: Sequence[Sequence[int]]
    accepting: Sequence[bool]

    def __post_init__(self) -> None:
        self.table = tuple(map(tuple, self.table))
        self.accepting = tuple(self.accepting)

    def edges(self, label: Callable[[Ranges], T]) -> Iterator[tuple[int, T, int]]:
        """(source, label, target) for all edges, by source; `label` says what is read on one, for equal sets once."""
        known: dict[tuple[int, ...], T] = {}
        for state, fan in enumerate(fans(self.table)):
            for target, letters in fan.items():
                found = known.get(letters)
                if found is None:
                    ranges = canonical(union(*[self.letters[number] for number in letters]))
                    found = known[letters] = label(ranges)
                yield state, found, target

    @property
    def free(self) -> int:
        """The state from which on every text is accepted, of which a minimal automaton has one at most; -1: none."""
        states = (state for state, accepts in enumerate(self.accepting) if accepts)
        return next((state for state in states if set(self.table[state]) == {state}), -1)


def _letters(item: Language) -> tuple[Ranges, ...]:
    """The coarsest partition of all code points that respects every character set in `item`."""
    sets: set[Ranges] = set()
    stack = [item]
    seen: set[Language] = set()
    while stack:
        top = stack.pop()
        if top in seen:
            continue
        seen.add(top)
        match top:
            case Words():
                sets.update(((ord(letter), ord(letter)),) for text in top.words for letter in text)
            case Chars():
                sets.add(top.ranges)
            case Loop() | Not():
                stack.append(top.item)
            case Cat() | Alt() | And():
                stack.extend(top.items)
            case Unfolding():
                below, more = top.ingredients()
                stack.extend(below)
                sets.update(more)
    return partition(sets)


def _cells(dfa: Dfa, item: Language, limit: int) -> int:
    return len(dfa.table) * len(dfa.letters) + min(item.size, _HEAVY)


def determinise(item: Language, limit: int = MAX_STATES) -> Dfa:
    """The minimal automaton of `item`, without dead states (but for the start of an empty language)."""
    return _determinised(item, limit)


@memo(1 << 9, _MOST_CELLS, _cells)
def _determinised(item: Language, limit: int) -> Dfa:
    counted = _without_length(item)
    if counted is None:
        return minimal(explored(item, limit))
    rest, bounds = counted
    return minimal(_counted(determinise(rest, limit), bounds, limit))


def surely_some(item: Language, limit: int = MAX_STATES) -> bool:
    """Whether `item` has a member, and `determinise` will not raise.  Raises `TooManyStates` if it would."""
    counted = _without_length(item)
    if counted is None:
        return any(explored(item, limit).accepting)
    rest, (least, most) = counted
    whole = explored(rest, limit)
    if len(whole.table) * ((least if most is None else most) + 1) <= limit:
        return has_length(whole, least, most)
    return any(determinise(item, limit).accepting)


def _without_length(item: Language) -> tuple[Language, tuple[int, int | None]] | None:
    """An intersection with a length, of which there is one then: the rest, and the length."""
    if isinstance(item, And):
        for part in item.items:
            bounds = length_bounds(part)
            if bounds is not None:
                return intersection(*(other for other in item.items if other is not part)), bounds
    return None


def explored(item: Language, limit: int) -> Dfa:
    """An automaton of `item`, not minimal."""
    found = _EXPLORED.get(item)
    if isinstance(found, str):
        raise TooLarge(found)
    if found is None or (isinstance(found, int) and found < limit):
        try:
            found = _explore(item, limit)
        except TooManyStates as error:
            if not isinstance(_EXPLORED.get(item), Dfa):  # another thread had more states, and found it meanwhile
                _EXPLORED.put(item, str(error) if isinstance(error, TooLarge) else limit, min(item.size, _HEAVY))
            raise
        _EXPLORED.put(item, found, _cells(found, item, limit))
    if isinstance(found, int) or len(found.table) > limit:
        raise TooManyStates(limit)
    return found


# The same language is asked for with several limits, one after the other: its automaton, a number of states that was
# not enough, or why it takes too much work, which is so for every number of states.
_EXPLORED: Memo[Language, Dfa | int | str] = Memo(1 << 10, _MOST_CELLS)


def _explore(item: Language, limit: int) -> Dfa:
    letters = _letters(item)
    with limited_work(_MOST_WORK):
        return Dfa(letters, *explore(reader(item, letters), limit))


def _counted(dfa: Dfa, bounds: tuple[int, int | None], limit: int) -> Dfa:
    """`dfa` and a count of characters; counts above every bound are one."""
    least, most = bounds

    def step(state: int, letter: int) -> int | None:
        target = dfa.table[state][letter]
        return None if target == _DEAD else target

    def count(characters: int, _: int) -> int | None:
        if most is None:
            return min(characters + 1, least)
        return characters + 1 if characters < most else None

    width = len(dfa.letters)
    texts, lengths = Stepped(0, step, dfa.accepting.__getitem__, width), Stepped(0, count, least.__le__, width)
    return Dfa(dfa.letters, *explore(Both([texts, lengths]), limit))


def minimal(dfa: Dfa) -> Dfa:
    """The smallest automaton of the same texts, without dead states (but for the start of an empty language)."""
    table, accepting = smallest(dfa.table, dfa.accepting)
    return dfa if table is dfa.table else Dfa(dfa.letters, table, accepting)


def _nodes(_: bool, item: Language) -> int:
    if isinstance(item, Cat | Alt):
        return len(item.items)  # which are remembered themselves
    return min(item.size, _HEAVY)


@memo(1 << 12, _MOST_NODES, _nodes)
def is_empty(item: Language) -> bool:
    """Certainly empty?  False also when it takes too many states to tell."""
    match item:
        case Words():
            return not item.words
        case Chars() | Not(item=Words()):
            return False
        case Loop():
            return item.least > 0 and is_empty(item.item)
        case Cat():
            return any(is_empty(part) for part in item.items)
        case Alt():
            return all(is_empty(part) for part in item.items)
    if item.nullable:
        return False
    counted = _without_length(item)
    try:
        if counted is not None:
            rest, bounds = counted
            return not has_length(explored(rest, _EMPTINESS_STATES), *bounds)
        with limited_work(_MOST_WORK):
            return not inhabited(reader(item, _letters(item)), _EMPTINESS_STATES)
    except TooManyStates:
        return False


def has_length(dfa: Dfa, least: int, most: int | None) -> bool:
    """Is a string of `least` to `most` characters accepted?"""
    here = {0}
    after = [{target for target in row if target != _DEAD} for row in dfa.table]
    # Without a shorter way to go on, lengths repeat after as many steps as there are states.
    last = least + len(dfa.table) if most is None else most
    seen: set[frozenset[int]] = set()
    for length in range(last + 1):
        if not here:
            return False
        look(4 * len(here))
        if length >= least:
            if any(dfa.accepting[state] for state in here):
                return True
            if frozenset(here) in seen:
                return False
            seen.add(frozenset(here))
        here = set().union(*(after[state] for state in here))
    return False
