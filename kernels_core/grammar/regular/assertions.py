"""Trees with assertions as languages: exactly, and without a matching engine.

`rest(nodes, after, before)` is the language of the texts that match `nodes` one after the other, and then `after`.
Because `after` describes the text up to its end, assertions are algebra: where a `Look` stands, what follows is
intersected with "begins with this" or with its complement.  A `Behind` needs the one character before; of that, only
which of the sets that are asked for it is in, so a language in front of it is split by its last character.

Inside a repetition this would never end.  There the language stays as it is written, `Rest`, and its derivatives are
taken when they are asked for: they are unions, over the ways to reach a character, of intersections of what the
assertions on that way demand.  Rules that call themselves are treated likewise, so a grammar's rules are a language
too wherever that is regular; where it is not, a budget ends the search.

Read on: `tree.py`, `languages.pyx` (derivatives), `patterns.py` and `from_rules.py` (who calls this).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...clock import look
from .. import charset
from ..charset import Ranges
from .ends import ending_in, starting_in
from .languages import (
    ALL,
    ANY_CHARACTER,
    EPSILON,
    NOTHING,
    Chars,
    Language,
    TooManyStates,
    Unfolding,
    Words,
    character,
    complement,
    concat,
    derivative,
    intersection,
    loop,
    spend,
    union,
)
from .memo import memo
from .tree import Alternatives, Behind, Call, Counted, InOrder, Look, Tree

# What `before` says at the start of the text; elsewhere it is one code point that stands for its class.
START = -1
# Ways from one character to the next through nested repetitions, and parts that wait behind a rule's call.
_MAX_WAYS = 1_000
_MAX_WAITING = 200
# Such a way is hashed with whatever it waits for, and counts as so many parts of languages that are looked at.
_WAY = 40

_SOMETHING = loop(ANY_CHARACTER, 1, None)


@dataclass(frozen=True, slots=True)
class _Moved:
    """A round of a repetition ends here, and must have read something."""


@dataclass(frozen=True, slots=True)
class _Still:
    """A round of a repetition ends here, and must not have read anything."""


_Part = Tree | _Moved | _Still
_Parts = tuple[_Part, ...]


@memo(1 << 12, 1 << 18, lambda found, nodes, after, before: 1 + len(nodes))
def rest(nodes: _Parts, after: Language, before: int | None) -> Language:
    """The texts that match `nodes`, whose leaves are languages, one after the other, and then `after`.

    `before` is the character in front of them, `START`, or None where that does not matter.
    """
    look(4)
    if not nodes:
        return after
    head, tail = nodes[0], nodes[1:]
    before = _class_of(before, nodes)
    match head:
        case Language():
            return _behind(head, tail, after, before)
        case Look(item, negative):
            follows = rest(tail, after, before)
            ranges = _one_of(item)
            if ranges is not None:
                begun = starting_in(follows, charset.complement(ranges) if negative else ranges)
                if begun is not None:
                    return union(EPSILON, begun) if negative and follows.nullable else begun
            # "Some character follows" is a length, which stays symbolic.
            ahead = _SOMETHING if item == ANY_CHARACTER else rest((item,), ALL, before)
            return intersection(follows, complement(ahead) if negative else ahead)
        case Behind():
            return rest(tail, after, before) if _holds(head, before) else NOTHING
        case InOrder(items):
            return rest((*items, *tail), after, before)
        case Alternatives(items):
            return union(*(rest((item, *tail), after, before) for item in items))
        case Counted(item, 0, 1):
            return union(rest(tail, after, before), rest((item, *tail), after, before))
        case Counted() | Call():
            return Rest(nodes, after, before)
    raise TypeError(f"not a tree of languages: {head!r}")


def _one_of(item: Tree) -> Ranges | None:
    """The characters that `item` is one of; None if it is anything else, or any character."""
    if isinstance(item, Chars) and item != ANY_CHARACTER:
        return item.ranges
    if isinstance(item, Words) and item.words and all(len(text) == 1 for text in item.words):
        return charset.normalise((ord(text), ord(text)) for text in item.words)
    return None


def _behind(head: Language, tail: _Parts, after: Language, before: int | None) -> Language:
    """`head`, then the rest, which may ask what `head` ended with."""
    sets = _asked_behind(tail)
    if not sets:
        return concat(head, rest(tail, after, None))
    options = [rest(tail, after, before)] if head.nullable else []
    for atom in _atoms(sets):
        follows = rest(tail, after, atom[0][0])
        if follows == NOTHING:
            continue
        ended = ending_in(head, atom)
        if ended is None:
            ended = intersection(head, _SOMETHING if atom == charset.ALL else concat(ALL, character(atom)))
        options.append(concat(ended, follows))
    return union(*options)


class Rest(Unfolding):
    """What begins with a repetition that has assertions inside, or with a call; see `rest`."""

    __slots__ = ("after", "before", "nodes")

    def __init__(self, nodes: _Parts, after: Language, before: int | None) -> None:
        self.nodes, self.after, self.before = nodes, after, before
        may_end = after.nullable and any(True for _ in _ways(nodes, before, None))
        super().__init__((nodes, after, before), may_end, self.ingredients()[0])

    def derive(self, code_point: int) -> Language:
        options: list[Language] = []
        for parts, demand in _ways(self.nodes, self.before, code_point):
            if not parts:
                options.append(intersection(demand, derivative(self.after, code_point)))
                continue
            head = parts[0]
            assert isinstance(head, Language)
            left = derivative(head, code_point)
            if left != NOTHING and not any(isinstance(part, _Still) for part in parts):
                behind = tuple(part for part in parts[1:] if not isinstance(part, _Moved))
                options.append(intersection(demand, rest((left, *behind), self.after, code_point)))
        return union(*options)

    def ingredients(self) -> tuple[tuple[Language, ...], tuple[Ranges, ...]]:
        languages: list[Language] = [self.after]
        sets: list[Ranges] = []
        for part in _all_parts(self.nodes):
            if isinstance(part, Language):
                languages.append(part)
            elif isinstance(part, Behind):
                sets.append(part.ranges)
        return tuple(languages), tuple(sets)


def _ways(nodes: _Parts, before: int | None, code_point: int | None) -> Iterator[tuple[_Parts, Language]]:
    """All ways to a language that may read `code_point`, or to the end of `nodes`, and what assertions on the way
    demand of the text behind it.  None: the text ends here, so only ways to the end that read nothing."""
    stack: list[tuple[_Parts, Language]] = [(nodes, ALL)]
    seen: set[tuple[_Parts, Language]] = set()
    while stack:
        way = stack.pop()
        if way in seen:
            continue
        seen.add(way)
        if len(seen) > _MAX_WAYS:
            raise TooManyStates(_MAX_WAYS)
        spend(_WAY)
        parts, demand = way
        if not parts:
            yield way
            continue
        head, tail = parts[0], parts[1:]
        match head:
            case Language():
                if code_point is not None:
                    yield way
                if head.nullable:
                    stack.append((tail, demand))
            case Look(item, negative):
                ahead = rest((item,), ALL, _class_of(before, (item,)))
                if code_point is None:
                    demand = demand if ahead.nullable != negative else NOTHING
                else:
                    ahead = derivative(ahead, code_point)
                    demand = intersection(demand, complement(ahead) if negative else ahead)
                if demand != NOTHING:
                    stack.append((tail, demand))
            case Behind():
                if _holds(head, before):
                    stack.append((tail, demand))
            case Counted(item, least, most):
                if least == 0:
                    stack.append((tail, demand))
                else:
                    # A round that reads nothing asserts something, and once asserted it holds for all rounds.
                    stack.append(((item, _Still(), Counted(item, 0, most), *tail), demand))
                if code_point is not None:
                    again = Counted(item, max(0, least - 1), None if most is None else most - 1)
                    more: _Parts = () if again.most == 0 else (again,)
                    stack.append(((item, _Moved(), *more, *tail), demand))
            case Call(name, rules):
                if len(parts) > _MAX_WAITING:
                    raise TooManyStates(_MAX_WAITING)
                stack.append(((rules[name], *tail), demand))
            case _Still():
                stack.append((tail, demand))
            case InOrder(items):
                stack.append(((*items, *tail), demand))
            case Alternatives(items):
                stack += [((item, *tail), demand) for item in items]


def _holds(assertion: Behind, before: int | None) -> bool:
    assert before is not None
    return (before != START and charset.contains(assertion.ranges, before)) != assertion.negative


@memo(1 << 12, 1 << 16, lambda found, nodes: 1 + sum(map(len, found)))
def _asked_behind(nodes: _Parts) -> frozenset[Ranges]:
    """The sets of characters that assertions anywhere in `nodes` ask for."""
    return frozenset(part.ranges for part in _all_parts(nodes) if isinstance(part, Behind))


def _all_parts(nodes: _Parts) -> Iterator[_Part]:
    stack = list(nodes)
    called: set[str] = set()
    while stack:
        part = stack.pop()
        yield part
        match part:
            case InOrder(items) | Alternatives(items):
                stack.extend(items)
            case Counted(item) | Look(item):
                stack.append(item)
            case Call(name, rules) if name not in called:
                called.add(name)
                stack.append(rules[name])


@memo(1 << 10, 1 << 16, lambda found, sets: 1 + sum(map(len, found)) + sum(map(len, sets)))
def _atoms(sets: frozenset[Ranges]) -> tuple[Ranges, ...]:
    """The coarsest partition of the characters that tells `sets` apart."""
    return tuple(map(charset.canonical, charset.partition(sets)))


def _class_of(before: int | None, nodes: _Parts) -> int | None:
    """One code point for all that `nodes` do not tell from `before`, so that equal states are equal."""
    sets = _asked_behind(nodes)
    if not sets:
        return None
    if before is None or before == START:
        return before
    return next(atom[0][0] for atom in _atoms(sets) if charset.contains(atom, before))
