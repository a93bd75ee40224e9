"""What may come next, as a graph: members of an object with needs, items of an array that are counted.

A graph says nothing of text: labels are what is written on the way.  `objects.py` and `arrays.py` write it.

Read on: `kinds.py` (members), `arrays.py` (items).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache, partial
from typing import Generic, Literal, TypeVar, get_args

from ..ir import Node
from ..regular.dfa import TooManyStates
from ..regular.graph import Graph
from ..rulebook import RuleBook
from .kinds import Kind, Kinds, Needs
from .shapes import Members
from .terms import AllOf, Term

Order = Literal["any", "declared", "loose"]
"""The order of members; each declared one comes at most once, and those that are required do.

`any`: none.  `declared`: that of the schema, in objects that allow no other names than the declared ones.  Where other
names may come, nobody can tell from the beginning of a name that it is a declared one which comes too late, so any
order is allowed there, too.  `loose`: none, each any number of times, and as many as there are required names,
whichever they are.
"""
ORDERS: tuple[str, ...] = get_args(Order)


def is_ordered(order: Order, kinds: Kinds) -> bool:
    """Whether members of these kinds come in the order of the schema."""
    return order == "declared" and not kinds.others


# Edges of one object's graph.
MAX_MEMBER_EDGES = 6_000

S = TypeVar("S", bound=Hashable)
L = TypeVar("L")


class Steps(Generic[S, L]):
    """States by number, `start` first.

    `behind(state)`: whether the end may be there, and what may come next, with the state behind it; where that is None
    nothing is written.  Raises `TooManyStates` for more edges than `limit`.
    """

    def __init__(self, start: S, behind: Callable[[S], tuple[bool, Iterable[tuple[L | None, S]]]], limit: int) -> None:
        self.edges: list[list[tuple[L | None, int]]] = [[]]
        self.final: set[int] = set()
        numbers, work, count = {start: 0}, [start], 0
        while work:
            state = work.pop()
            number = numbers[state]
            final, ways = behind(state)
            if final:
                self.final.add(number)
            for label, target in ways:
                if target not in numbers:
                    numbers[target] = len(self.edges)
                    self.edges.append([])
                    work.append(target)
                self.edges[number].append((label, numbers[target]))
                count += label is not None
                if count > limit:
                    raise TooManyStates(limit)

    def node(self, label: Callable[[L], Node], book: RuleBook, hint: str) -> Node:
        """All ways to an end as text."""
        graph = Graph(len(self.edges))
        for number, edges in enumerate(self.edges):
            if number in self.final:
                graph.finish(number)
            for what, target in edges:
                if what is None:
                    graph.skip(number, target)
                else:
                    graph.edge(number, label(what), target)
        return graph.node(book, hint)


# The kind, by place (declared ones, then others); its value; whether a member stands in front of it.
MemberStep = tuple[int, Term, bool]
# How far in the order, needs met, members counted, is there a member.
_State = tuple[int, Needs, int, bool]


def member_steps(members: Members, kinds: Kinds) -> Steps[_State, MemberStep]:
    """The members of an object, in declared order and then all others.  Raises `TooManyStates`."""
    all_needs = frozenset(range(len(members.needs)))
    cap = members.least if members.most is None else members.most
    # What may follow depends on the place and the needs alone, however many members were counted.
    moves = cache(partial(_moves, kinds))

    def behind(state: _State) -> tuple[bool, list[tuple[MemberStep | None, _State]]]:
        place, met, count, written = state
        done, after, reached = moves(place, met)
        ways: list[tuple[MemberStep | None, _State]] = [] if after is None else [(None, (after, met, count, written))]
        if members.most is None or count < members.most:
            counted = min(count + 1, cap)
            ways += [((kind, term, written), (then, now, counted, True)) for kind, term, then, now in reached]
        return written and done and met == all_needs and count >= members.least, ways

    return Steps((0, frozenset(), 0, False), behind, MAX_MEMBER_EDGES)


# The kind, its value, and the place and the needs met behind it.
_Move = tuple[int, Term, int, Needs]


def _moves(kinds: Kinds, place: int, met: Needs) -> tuple[bool, int | None, list[_Move]]:
    """May the object end at a place in the order; the place after leaving out the next name; what may come there.

    `met`: the needs that are met.
    """
    count = len(kinds.named)
    if place == count:
        done, after, next_ones = True, None, [(count + i, kind, place) for i, kind in enumerate(kinds.others)]
    else:
        done, after = False, None if kinds.required[place] else place + 1
        next_ones = [(place, kinds.named[place], place + 1)]
    reached = [
        (number, term, then, met | meets) for number, kind, then in next_ones for meets, term in _useful(kind, met)
    ]
    return done, after, reached


def _useful(kind: Kind, met: Needs) -> list[tuple[Needs, Term]]:
    """Options of a member that say something new: needs that are met already ask for nothing."""
    if len(kind.options) == 1:
        return kind.options
    groups: dict[Needs, list[Term]] = {}
    for meets, term in kind.options:
        groups.setdefault(meets - met, []).append(term)
    return [(new, term) for new, terms in groups.items() for term in _widest(terms)]


def _widest(terms: list[Term]) -> list[Term]:
    """Without terms that only narrow others."""
    if len(terms) == 1:
        return terms
    parts = {term: frozenset(term.parts if isinstance(term, AllOf) else (term,)) for term in dict.fromkeys(terms)}
    return [term for term in parts if not any(parts[other] < parts[term] for other in parts)]
