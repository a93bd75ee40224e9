"""Sets of strings as extended regular expressions over code points: closed under union, intersection and complement.

A `Language` is immutable and compares by content.  It stays symbolic (`{0,10000}` is one node, not ten thousand
states) until an automaton is asked for; the constructors below keep it small:

- a finite set of strings (`Words`) is filtered, not intersected: membership is decided here and now;
- complements are pushed down to the leaves; lengths (`any{l,h}`) are complemented to lengths;
- what surely covers everything or nothing becomes `ALL` or `NOTHING`.

Membership and automata come from Brzozowski derivatives (J. ACM 11, 1964): `derivative(L, c)` is the set of all w
with `cw` in L.  Derivatives know intersection and complement as well as union, so no product construction is needed.

Read on: `dfa.py` (automata), `assertions.py`, `patterns.py` and `from_rules.py` (who builds languages).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from math import prod

from .. import charset
from ..charset import Ranges

__all__ = [
    "ALL",
    "ANY_CHARACTER",
    "EPSILON",
    "MAX_SIZE",
    "NOTHING",
    "Alt",
    "And",
    "Cat",
    "Chars",
    "Language",
    "Loop",
    "Not",
    "TooLarge",
    "TooManyStates",
    "Unfolding",
    "Words",
    "bounded",
    "character",
    "complement",
    "concat",
    "derivative",
    "intersection",
    "length_bounds",
    "limited_work",
    "loop",
    "matches",
    "union",
    "words",
]


class TooManyStates(Exception):
    """An automaton would need more states than its budget."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"more than {limit:,} states")


class TooLarge(TooManyStates):
    """A language would be too large to write out, or nested too deeply to follow."""

    def __init__(self, what: str) -> None:
        self.limit = MAX_SIZE
        Exception.__init__(self, what)


# Of languages that are built from what a user wrote.
MAX_SIZE = 200_000
MAX_DEPTH = 100
# More than so many members are not compared with each other.
_FEW = 64


class Language:
    """A set of strings.  Equal content, equal object for all purposes; `nullable` says whether "" is in it.

    `size` counts nodes and letters as they would be written out (parts that are shared count each time), `depth` how
    far they are nested: what is to be written, or followed by recursion, is bounded by them.  `unfolds` is true of
    an `Unfolding` and of everything that holds one.
    """

    __slots__ = ("_hash", "_key", "depth", "nullable", "size", "unfolds")
    nullable: bool
    unfolds: bool
    size: int
    depth: int

    def __init__(self, key: object, nullable: bool, parts: Iterable[Language] = (), size: int = 1) -> None:
        self._key = key
        self._hash = hash((type(self), key))
        self.nullable = nullable
        depth = 0
        self.unfolds = False
        for part in parts:
            size += part.size
            depth = max(depth, part.depth)
            self.unfolds = self.unfolds or part.unfolds
        self.size = size
        self.depth = depth + 1

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented if not isinstance(other, Language) else False
        assert isinstance(other, Language)
        return self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._key!r})"


class Words(Language):
    """A finite set of strings."""

    __slots__ = ("words",)

    def __init__(self, words: frozenset[str]) -> None:
        self.words = words
        super().__init__(words, "" in words, size=1 + sum(map(len, words)))


class Chars(Language):
    """One character out of `ranges`, a canonical non-empty set of code points."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        super().__init__(ranges, False)


class Cat(Language):
    """Concatenation of two or more languages."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Language, ...]) -> None:
        self.items = items
        super().__init__(items, all(item.nullable for item in items), items)


class Loop(Language):
    """`item` from `least` to `most` times; None is without bound."""

    __slots__ = ("item", "least", "most")

    def __init__(self, item: Language, least: int, most: int | None) -> None:
        self.item, self.least, self.most = item, least, most
        super().__init__((item, least, most), least == 0 or item.nullable, (item,))


class Alt(Language):
    """Union; `items` keeps an order for printing, equality does not look at it."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Language, ...]) -> None:
        self.items = items
        super().__init__(frozenset(items), any(item.nullable for item in items), items)


class And(Language):
    """Intersection."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Language, ...]) -> None:
        self.items = items
        super().__init__(frozenset(items), all(item.nullable for item in items), items)


class Not(Language):
    """All strings but those of `item`, which is none of Alt, And, Not."""

    __slots__ = ("item",)

    def __init__(self, item: Language) -> None:
        self.item = item
        super().__init__(item, not item.nullable, (item,))


class Unfolding(Language):
    """A language that says by itself what its derivatives are, for what the algebra has no name for."""

    __slots__ = ()

    def derive(self, code_point: int) -> Language:
        """See `derivative`.  Raises `TooManyStates`."""
        raise NotImplementedError

    def ingredients(self) -> tuple[tuple[Language, ...], tuple[Ranges, ...]]:
        """Languages and sets of characters that decide which code points its derivatives tell apart."""
        raise NotImplementedError


NOTHING = Words(frozenset())
EPSILON = Words(frozenset(("",)))
ANY_CHARACTER = Chars(charset.ALL)
ALL = Loop(ANY_CHARACTER, 0, None)


def bounded(item: Language) -> Language:
    """`item`, or `TooLarge`."""
    if item.size > MAX_SIZE:
        raise TooLarge(f"more than {MAX_SIZE:,} nodes")
    if item.depth > MAX_DEPTH:
        raise TooLarge(f"more than {MAX_DEPTH} levels of nesting")
    return item


def words(strings: Iterable[str]) -> Language:
    """The finite set of `strings`.  Strings with lone surrogates have no UTF-8 spelling and are left out."""
    return Words(frozenset(text for text in strings if not any("\ud800" <= letter <= "\udfff" for letter in text)))


def character(ranges: Ranges) -> Language:
    """One character out of `ranges`."""
    ranges = charset.canonical(ranges)
    return Chars(ranges) if ranges else NOTHING


def concat(*items: Language) -> Language:
    """One after the other.  Beside `ALL`, what may be empty says nothing, and loops need only their minimum."""
    flat: list[Language] = []
    for item in items:
        if item == NOTHING:
            return NOTHING
        for part in item.items if isinstance(item, Cat) else (item,):
            _append(flat, part)
    if not flat:
        return EPSILON
    return flat[0] if len(flat) == 1 else Cat(tuple(flat))


def _append(flat: list[Language], item: Language) -> None:
    if item == EPSILON:
        return
    if item == ALL:
        while flat and flat[-1].nullable:
            flat.pop()
        if flat and (core := _least(flat[-1])) is not None:
            flat[-1] = core
    elif flat and flat[-1] == ALL:
        if item.nullable:
            return
        item = _least(item) or item
    elif flat and isinstance(item, Words) and isinstance(flat[-1], Words):
        before = flat[-1].words
        if len(before) == 1 and len(item.words) == 1:
            flat[-1] = Words(frozenset((next(iter(before)) + next(iter(item.words)),)))
            return
    flat.append(item)


def _least(item: Language) -> Language | None:
    """`x{l,h}` beside ALL is as good as `x{l}`."""
    if isinstance(item, Loop) and item.most != item.least and item.least > 0:
        return loop(item.item, item.least, item.least)
    return None


def loop(item: Language, least: int, most: int | None) -> Language:
    """`item` from `least` to `most` times."""
    if most is not None and most < least:
        return NOTHING
    if most == 0 or item == EPSILON:
        return EPSILON
    if item == NOTHING:
        return EPSILON if least == 0 else NOTHING
    if least == most == 1:
        return item
    if item.nullable:
        least = 0
    if isinstance(item, Loop) and item.least <= 1 and item.most is None and least <= 1:
        return loop(item.item, min(item.least, least), None)
    return Loop(item, least, most)


def union(*items: Language) -> Language:
    """In any of `items`."""
    flat: dict[Language, None] = {}
    finite: set[str] = set()
    ranges: list[Ranges] = []
    for item in items:
        for part in item.items if isinstance(item, Alt) else (item,):
            if isinstance(part, Words):
                finite |= part.words
            elif isinstance(part, Chars):
                ranges.append(part.ranges)
            elif part == ALL:
                return ALL
            else:
                flat[part] = None
    if ranges:
        flat = {character(charset.union(*ranges)): None, **flat}
    if finite:
        finite = {text for text in finite if not any(_certainly_matches(part, text) for part in flat)}
    if finite:
        flat = {Words(frozenset(finite)): None, **flat}
    spans = _length_spans(flat)
    if spans is not None:
        return spans
    for part in flat:
        if isinstance(part, Not) and part.item in flat:
            return ALL
    if not flat:
        return NOTHING
    kept = _absorbed(flat) if any(part.unfolds for part in flat) else tuple(flat)
    return kept[0] if len(kept) == 1 else Alt(kept)


def _absorbed(flat: dict[Language, None]) -> tuple[Language, ...]:
    """Without members that are another member and a condition more: `a | (a & b)` is `a`.

    What unfolds goes round and round; with this and the distribution in `intersection` its derivatives are sets of
    sets of a few languages, and so are finitely many.
    """
    if len(flat) > _FEW:
        return tuple(flat)
    conditions = {part: frozenset(part.items) if isinstance(part, And) else frozenset((part,)) for part in flat}
    return tuple(
        part for part, wanted in conditions.items() if not any(other < wanted for other in conditions.values())
    )


def _certainly_matches(part: Language, text: str) -> bool:
    """Cheap membership, for merging only."""
    if isinstance(part, Chars):
        return len(text) == 1 and charset.contains(part.ranges, ord(text))
    bounds = length_bounds(part)
    return bounds is not None and bounds[0] <= len(text) and (bounds[1] is None or len(text) <= bounds[1])


def length_bounds(item: Language) -> tuple[int, int | None] | None:
    """`(l, h)` if the language is "any string of l to h characters", else None."""
    if isinstance(item, Loop) and item.item == ANY_CHARACTER:
        return item.least, item.most
    if item == ANY_CHARACTER:
        return 1, 1
    return (0, 0) if item == EPSILON else None


def _length_spans(flat: dict[Language, None]) -> Language | None:
    """Unions of lengths merge where they touch: "at most 3" or "at least 4" is everything."""
    spans = []
    for part in flat:
        bounds = length_bounds(part)
        if bounds is None:
            return None
        spans.append(bounds)
    if len(spans) < 2:
        return None
    spans.sort(key=lambda span: span[0])
    low, high = spans[0]
    for least, most in spans[1:]:
        if high is not None and least > high + 1:
            return None
        high = None if high is None or most is None else max(high, most)
    return loop(ANY_CHARACTER, low, high)


def intersection(*items: Language) -> Language:
    """In all of `items`."""
    flat: dict[Language, None] = {}
    excluded: set[str] = set()
    least, most = 0, None
    for item in items:
        for part in item.items if isinstance(item, And) else (item,):
            if isinstance(part, Words):
                others = [other for other in items if other is not item]
                if isinstance(item, And):
                    others += [other for other in item.items if other is not part]
                kept = frozenset(text for text in part.words if all(matches(other, text) for other in others))
                return Words(kept)
            bounds = length_bounds(part)
            if bounds is not None:
                least = max(least, bounds[0])
                most = bounds[1] if most is None else most if bounds[1] is None else min(most, bounds[1])
            elif isinstance(part, Not) and isinstance(part.item, Words):
                excluded |= part.item.words
            else:
                flat[part] = None
    if most is not None and most < least:
        return NOTHING
    for part in flat:
        if isinstance(part, Not) and part.item in flat:
            return NOTHING
    if least or most is not None:
        flat = {loop(ANY_CHARACTER, least, most): None, **flat}
        excluded = {text for text in excluded if least <= len(text) and (most is None or len(text) <= most)}
    excluded = {text for text in excluded if all(matches(part, text) for part in flat)}
    if excluded:
        flat[Not(Words(frozenset(excluded)))] = None
    if not flat:
        return ALL
    if len(flat) == 1:
        return next(iter(flat))
    if any(part.unfolds for part in flat):
        choices = [part.items if isinstance(part, Alt) else (part,) for part in flat]
        if 1 < prod(map(len, choices)) <= _FEW:
            return union(*(intersection(*chosen) for chosen in product(*choices)))
    return And(tuple(flat))


def complement(item: Language) -> Language:
    """All strings that are not in `item`."""
    if item == NOTHING:
        return ALL
    bounds = length_bounds(item)
    if bounds is not None:
        below = loop(ANY_CHARACTER, 0, bounds[0] - 1) if bounds[0] else NOTHING
        above = NOTHING if bounds[1] is None else loop(ANY_CHARACTER, bounds[1] + 1, None)
        return union(below, above)
    match item:
        case Not():
            return item.item
        case Alt():
            return intersection(*(complement(part) for part in item.items))
        case And():
            return union(*(complement(part) for part in item.items))
        case _:
            return Not(item)


class _Work(threading.local):
    """How much work is left for derivatives in this thread; None: any amount."""

    left: int | None = None


_WORK = _Work()


@contextmanager
def limited_work(most: int) -> Iterator[None]:
    """Derivatives made inside look at `most` parts of languages in all.  Raises `TooLarge` beyond that.

    States alone do not bound them: each derivative of nested counts is larger than the one before.
    """
    before = _WORK.left
    _WORK.left = most if before is None else min(most, before)
    try:
        yield
    finally:
        _WORK.left = before


def _spend(amount: int) -> None:
    if _WORK.left is not None:
        _WORK.left -= amount
        if _WORK.left < 0:
            raise TooLarge("too much work")


@lru_cache(maxsize=1 << 12)
def derivative(item: Language, code_point: int) -> Language:
    """All w such that the character `code_point` followed by w is in `item`.

    Raises `TooLarge` inside `limited_work`.
    """
    _spend(len(item.items) if isinstance(item, Alt | And | Cat) else 1)
    match item:
        case Words():
            first = chr(code_point)
            return Words(frozenset(text[1:] for text in item.words if text.startswith(first)))
        case Chars():
            return EPSILON if charset.contains(item.ranges, code_point) else NOTHING
        case Loop():
            inner = derivative(item.item, code_point)
            if inner == NOTHING:
                return NOTHING
            rest = loop(item.item, max(0, item.least - 1), None if item.most is None else item.most - 1)
            return concat(inner, rest)
        case Cat():
            parts = []
            for i, part in enumerate(item.items):
                head = derivative(part, code_point)
                if head != NOTHING:
                    parts.append(concat(head, *item.items[i + 1 :]))
                if not part.nullable:
                    break
            return union(*parts)
        case Alt():
            return union(*(derivative(part, code_point) for part in item.items))
        case And():
            return intersection(*(derivative(part, code_point) for part in item.items))
        case Not():
            return complement(derivative(item.item, code_point))
        case Unfolding():
            return item.derive(code_point)
        case _:
            raise TypeError(f"not a language: {item!r}")


@lru_cache(maxsize=1 << 12)
def matches(item: Language, text: str) -> bool:
    """Is `text` in the language?"""
    if isinstance(item, Words):
        return text in item.words
    bounds = length_bounds(item)
    if bounds is not None:
        return bounds[0] <= len(text) and (bounds[1] is None or len(text) <= bounds[1])
    match item:
        case And():
            return all(matches(part, text) for part in item.items)
        case Alt():
            return any(matches(part, text) for part in item.items)
        case Not():
            return not matches(item.item, text)
    for letter in text:
        item = derivative(item, ord(letter))
        if item == NOTHING:
            return False
        if item == ALL:
            return True
    return item.nullable
