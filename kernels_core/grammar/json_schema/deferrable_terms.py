"""Which terms' rules may wait although their schemas are not plain: looked at by their shapes.

`deferrable_schemas.pyx` judges by what is written, in passing.  This looks at what was found to be meant: the shape of
a term, the kinds of its members, its strings and numbers.  That takes the schema algebra, but no text.  A rule may wait
if

- it can be written: no construction in it can go past a budget (`_Look.clean`);
- it and everything in it certainly has an instance, so that a parser that gets there can go on (`whole`).

What has an instance, but may not be possible to write, is written at once (`must_compile_now`), and what is above it
still waits.  Everything else is written at once as well, and all that it is a part of: the grammar's own analysis then
removes what is empty.

Read on: `emit.py` (who asks), `kinds.py`, `lazy_document.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ...laboratory import has_mechanism
from ..regular.dfa import TooManyStates
from ..regular.languages import NOTHING, Words
from .arrays import NotFinite, distinct_values, item_steps, needs_steps
from .kinds import Kinds
from .numbers import Numbers, Piece
from .schema_algebra import Circular, SchemaAlgebra, TooLarge
from .shapes import Items, Members
from .steps import AnyOrder, member_steps
from .terms import FALSE, Term

if TYPE_CHECKING:
    from .spelling import Speller

__all__ = ["DeferrableTerms"]

# Remainders of all conditions together, and digits behind the point, of multiples that certainly take few states.
_SMALL_MODULUS = 200
_FEW_PLACES = 3

_Way = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class _Look:
    """What one term shows.  `clean`: it can be written.  `below`: the values inside it.  `ways`: for each alternative
    terms that have to have an instance so that it has one; for those that may have none whatever those have, nothing.
    `sure`: these are all alternatives, and all conditions."""

    clean: bool
    sure: bool
    below: tuple[Term, ...]
    ways: tuple[_Way, ...]


_UNKNOWN = _Look(False, False, (), ())


class DeferrableTerms:
    """Answers for the terms of one compile.  `plain` answers for schemas as they are written."""

    def __init__(
        self,
        algebra: SchemaAlgebra,
        speller: Speller,
        kinds: Callable[[Members], Kinds],
        plain: Callable[[Term], bool],
        *,
        any_order: AnyOrder,
    ) -> None:
        self._algebra = algebra
        self._speller = speller
        self._kinds = kinds
        self._plain = plain
        self._any_order = any_order
        self._looks: dict[Term, _Look] = {}
        self._some: set[Term] = set()
        self._whole: set[Term] = set()
        self._waits: dict[Term, bool] = {}

    def is_deferrable(self, term: Term) -> bool:
        """Whether the rule of `term` can be made later without any surprise."""
        known = self._waits.get(term)
        if known is not None:
            return known
        if term is FALSE or not has_mechanism("deferrable terms"):
            return False
        self._explore(term)
        look = self._looks[term]
        found = look.clean and self._is_whole(term) and all(self._is_whole(other) for other in look.below)
        self._waits[term] = found
        return found

    def must_compile_now(self, term: Term) -> list[Term]:
        """The terms directly in `term`, which may wait, that have to be written at once; and those that may wait."""
        return [other for other in dict.fromkeys(self._looks[term].below) if not self._plain(other)]

    def _is_whole(self, term: Term) -> bool:
        """Whether each alternative has an instance."""
        if term in self._whole:
            return True
        if term not in self._looks:
            found = self._plain(term)
        else:
            look = self._looks[term]
            found = look.sure and bool(look.ways) and all(self._has(way) for way in look.ways)
        if found:
            self._whole.add(term)  # nothing that is found later takes an instance away
        return found

    def _has(self, way: _Way) -> bool:
        return all(term in self._some or term not in self._looks for term in way)

    def _explore(self, term: Term) -> None:
        """Look at `term` and everything in it; find those that have an instance, as the least set that follows."""
        found: list[Term] = []
        work = [term]
        while work:
            top = work.pop()
            if top in self._looks or (top is not term and self._plain(top)):
                continue
            look = self._looks[top] = self._look(top)
            found.append(top)
            work.extend(look.below)
            for way in look.ways:
                work.extend(way)
        found.reverse()
        changed = True
        while changed:
            changed = False
            for one in found:
                if one not in self._some and any(self._has(way) for way in self._looks[one].ways):
                    self._some.add(one)
                    changed = True

    # -- one term -------------------------------------------------------------------------------------------------

    def _look(self, term: Term) -> _Look:
        if term is FALSE:
            return _UNKNOWN
        try:
            shape = self._algebra.shape(term)
        except (TooLarge, Circular, RecursionError):
            return _UNKNOWN
        clean = sure = True
        ways: list[_Way] = []
        below: list[Term] = []
        if shape.null or shape.booleans:
            ways.append(())
        if shape.numbers:
            clean, sure = _numbers(shape.numbers)
            ways += [()] * sure
        if shape.strings != NOTHING:
            written, some = self._speller.outlook(shape.strings)
            clean, sure = clean and written, sure and some
            ways += [()] * some
        for members in shape.objects:
            written, some = self._members(members, below, ways)
            clean, sure = clean and written, sure and some
        for items in shape.arrays:
            written, some = self._items(items, below, ways)
            clean, sure = clean and written, sure and some
        return _Look(clean, sure, tuple(below), tuple(ways))

    def _members(self, members: Members, below: list[Term], ways: list[_Way]) -> tuple[bool, bool]:
        """(can be written, the way that is added is all it takes)."""
        try:
            kinds = self._kinds(members)
        except TooManyStates:
            return False, False
        clean = sure = True
        for kind in kinds.others:
            written, some = self._speller.outlook(kind.keys)
            clean, sure = clean and written, sure and some
        for kind in (*kinds.named, *kinds.others):
            below += (term for _, term in kind.options)
        plain_order = not self._any_order or len(kinds.named) < 2
        counted = members.least or members.most is not None
        if plain_order and not members.needs and (all(kinds.required) or not counted):
            # An expression, of any number of members.
            way = [kind.term for kind, needed in zip(kinds.named, kinds.required, strict=True) if needed]
            if members.least > len(way):
                more = [kind.term for kind in kinds.others if not isinstance(kind.keys, Words)]
                sure = sure and bool(more)
                way += more[:1]
            ways.append(tuple(way))
            return clean, sure
        try:
            steps = member_steps(members, kinds, any_order=not plain_order)
        except TooManyStates:
            return False, False
        if not (any(kinds.required) or members.needs or members.least):
            ways.append(())
            return clean, sure
        found = steps.cheapest(lambda step: self._cost(step[1]))
        if found is None:
            return clean, False
        ways.append(tuple(term for _, term, _ in found))
        return clean, sure

    def _cost(self, term: Term) -> int:
        """What surely has an instance is the better way."""
        return 1 if term in self._some or self._plain(term) else 4

    def _items(self, items: Items, below: list[Term], ways: list[_Way]) -> tuple[bool, bool]:
        rest = () if items.rest is FALSE else (items.rest,)
        if not needs_steps(items):
            below += items.prefix
            below += rest
            way = items.prefix[: items.least]
            if items.least > len(items.prefix):
                way += rest
            some = bool(rest) or items.least <= len(items.prefix)
            ways += [way] * some
            return True, some
        try:
            values = distinct_values(self._algebra, items)
            if values is not None:
                below += values
                ways.append(tuple(values[: items.least]))
                return True, True
            steps = item_steps(self._algebra, items)
        except (TooManyStates, NotFinite):
            # Who is to be told about that, is told when it is written.
            below += (*items.prefix, *rest)
            ways.append(items.prefix[: items.least] if items.least <= len(items.prefix) else (*items.prefix, *rest))
            return False, items.unique is None or (not items.counts and items.least < 2)
        below += (step[0] for edges in steps.edges for step, _ in edges if step is not None)
        if not items.least and items.unique is not False and not any(count.least for count in items.counts):
            ways.append(())
            return True, True
        found = steps.cheapest(lambda step: self._cost(step[0]))
        if found is None:
            return True, False
        ways.append(tuple(term for term, _ in found))
        return True, True


def _numbers(numbers: Numbers) -> tuple[bool, bool]:
    """(few states, surely some), by bounds and remainders."""
    clean = sure = True
    pieces: tuple[Piece, ...] = (*numbers.whole, *numbers.pointed)
    for piece in pieces:
        steps = (*((piece.step,) if piece.step else ()), *piece.gaps)
        if prod(step.numerator for step in steps) > _SMALL_MODULUS:
            clean = False
        if any(10**_FEW_PLACES % step.denominator for step in steps):
            clean = False
        # Of a short range of multiples some are left over (`numbers.py` has looked), and of an endless one always.
        if piece.step and len(piece.gaps) > 1 and piece.low is not None and piece.high is not None:
            sure = False
    return clean, sure
