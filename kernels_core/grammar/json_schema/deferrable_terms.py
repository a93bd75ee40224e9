"""The judge of deferral: which terms' rules may wait, or the reason why a rule has to be written now.

It looks at what a schema was found to mean: the shape of a term, the kinds of its members, its strings and numbers.
That takes the schema algebra, but no text.  A rule may wait if

- it can be written: no construction in it can go past a budget (`_Look.failing`);
- it and everything in it certainly has an instance, so that a parser that gets there can go on (`_Look.doubt`).

The quick readers say "may wait" without the algebra, by what is written, and only where this judge says so, too:
`deferrable_schemas.pyx` of any schema, `common_schemas.pyx` of one that is seen at a glance.  Both read the table of
keywords, and `tests/json_schema/test_deferral.py` holds them to this judge.

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
from ..regular.languages import NOTHING, Language, Words
from .arrays import NotFinite, distinct_values, item_steps, needs_steps
from .kinds import Kinds, counts_others
from .numbers import Numbers, Piece
from .schema_algebra import Circular, SchemaAlgebra, TooLarge
from .shapes import Items, Members
from .steps import Order, is_ordered, member_steps
from .terms import FALSE, Place, Term

if TYPE_CHECKING:
    from .spelling import Speller

__all__ = ["DeferrableTerms"]

# Remainders of all conditions together, and digits behind the point, of multiples that certainly take few states.
_SMALL_MODULUS = 200
_FEW_PLACES = 3

_Way = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class _Look:
    """What one term shows.  `failing`: why it may be impossible to write; "" if it can be written.  `below`: the values
    inside it.  `ways`: for each alternative terms that have to have an instance so that it has one; for those that may
    have none whatever those have, nothing.  `doubt`: why these may not be all alternatives, or all conditions."""

    failing: str
    doubt: str
    below: tuple[Term, ...]
    ways: tuple[_Way, ...]


_Answer = tuple[str, str]
"""`failing` and `doubt` of a part."""

_NOTHING = _Look("no value is allowed", "no value is allowed", (), ())
_STRINGS = ("its conditions on strings may take too many states", "its conditions on strings may leave no string")
_MANY_STATES = "its conditions on members take too many states"
_MISSING = "some alternative of it, or of a value in it, may have no instance"
_ITEMS_DIFFER = "whether items differ is compared, or may take too many states"
_NAMES_DIFFER = "it is compared whether names differ"
_ITEM_STATES = "its conditions on items take too many states"
_REMAINDERS = "its remainders may take too many states"
_NUMBERS_LEFT = "its conditions on numbers may leave no number"


class DeferrableTerms:
    """Answers for the terms of one compile.  `plain` answers for schemas as they are written."""

    def __init__(
        self,
        algebra: SchemaAlgebra,
        speller: Speller,
        kinds: Callable[[Members], Kinds],
        plain: Callable[[Term], bool],
        *,
        order: Order,
    ) -> None:
        self._algebra = algebra
        self._speller = speller
        self._kinds = kinds
        self._plain = plain
        self._order = order
        self._looks: dict[Term, _Look] = {}
        self._some: set[Term] = set()
        self._whole: set[Term] = set()
        self._reasons: dict[Term, str] = {}

    def is_deferrable(self, term: Term) -> bool:
        """Whether the rule of `term` can be made later without any surprise."""
        return not self.reason(term)

    def reason(self, term: Term) -> str:
        """Why the rule of `term` has to be written now; "" if it can be made later without any surprise."""
        known = self._reasons.get(term)
        if known is not None:
            return known
        if term is FALSE:
            return _NOTHING.failing
        if not has_mechanism("deferrable terms"):
            return "the laboratory has left out deferrable terms"
        self._explore(term)
        look = self._looks[term]
        found = look.failing
        for one in (term, *look.below):
            found = found or self._missing(one)
        self._reasons[term] = found
        return found

    def must_compile_now(self, term: Term) -> list[Term]:
        """The terms directly in `term`, which may wait, that have to be written at once; and those that may wait."""
        return [other for other in dict.fromkeys(self._looks[term].below) if not self._plain(other)]

    def _missing(self, term: Term) -> str:
        """Why an alternative may have no instance; "" if each has one."""
        if term in self._whole:
            return ""
        look = self._looks.get(term)
        if look is None:
            found = "" if self._plain(term) else _MISSING
        else:
            found = look.doubt or ("" if look.ways and all(self._has(way) for way in look.ways) else _MISSING)
        if not found:
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
            return _NOTHING
        try:
            shape = self._algebra.shape(term)
        except (TooLarge, Circular, RecursionError) as error:
            reason = str(error) if isinstance(error, TooLarge) else "its schemas refer to each other without an end"
            return _Look(reason, reason, (), ())
        parts: list[_Answer] = []
        ways: list[_Way] = []
        below: list[Term] = []
        if shape.null or shape.booleans:
            ways.append(())
        if shape.numbers:
            parts.append(_numbers(shape.numbers))
            ways += [()] * (not parts[-1][1])
        if shape.strings != NOTHING:
            parts.append(self._strings(shape.strings))
            ways += [()] * (not parts[-1][1])
        parts += [self._members(members, below, ways) for members in shape.objects]
        parts += [self._items(items, below, ways) for items in shape.arrays]
        return _Look(*_together(parts), tuple(below), tuple(ways))

    def _strings(self, strings: Language) -> _Answer:
        written, some = self._speller.outlook(strings)
        return "" if written else _STRINGS[0], "" if some else _STRINGS[1]

    def _members(self, members: Members, below: list[Term], ways: list[_Way]) -> _Answer:
        """Adds the way that is all it takes, where nothing is in doubt."""
        try:
            kinds = self._kinds(members)
        except TooManyStates:
            return _MANY_STATES, _MANY_STATES
        failing, doubt = _together([self._strings(kind.keys) for kind in kinds.others])
        in_order = is_ordered(self._order, kinds)
        if counts_others(members, kinds):
            failing = failing or _NAMES_DIFFER
        counted = members.least or members.most is not None
        if not members.needs and (not in_order or all(kinds.required) or not counted):
            # One node, of any number of members; what never occurs is left out of it.
            below += (
                kind.term
                for kind, needed in zip(kinds.named, kinds.required, strict=True)
                if needed or not self._is_void(kind.term)
            )
            below += (kind.term for kind in kinds.others)
            way = [kind.term for kind, needed in zip(kinds.named, kinds.required, strict=True) if needed]
            if members.least > len(way) and not all(kinds.required):
                optional = [kind.term for kind, needed in zip(kinds.named, kinds.required, strict=True) if not needed]
                way += sorted(optional, key=self._cost)[: members.least - len(way)]
            if members.least > len(way):
                more = [kind.term for kind in kinds.others if not isinstance(kind.keys, Words)]
                doubt = doubt or ("" if more else "there may be fewer names than members")
                way += more[:1]
            ways.append(tuple(way))
            return failing, doubt
        for kind in (*kinds.named, *kinds.others):
            below += (term for _, term in kind.options)
        try:
            steps = member_steps(members, kinds)  # in any order there is a way if there is one in this
        except TooManyStates:
            return _MANY_STATES, _MANY_STATES
        if not (any(kinds.required) or members.needs or members.least):
            ways.append(())
            return failing, doubt
        found = steps.cheapest(lambda step: self._cost(step[1]))
        if found is None:
            return failing, doubt or _MISSING
        ways.append(tuple(term for _, term, _ in found))
        return failing, doubt

    def _is_void(self, term: Term) -> bool:
        """Whether a value never occurs, since no type that is asked for has one of the constants."""
        if not isinstance(term, Place) or not ("enum" in term.schema or "const" in term.schema) or self._plain(term):
            return False
        try:
            return self._algebra.is_void_shape(self._algebra.shape(term))
        except (TooLarge, Circular, RecursionError):
            return False

    def _cost(self, term: Term) -> int:
        """What surely has an instance is the better way."""
        return 1 if term in self._some or self._plain(term) else 4

    def _items(self, items: Items, below: list[Term], ways: list[_Way]) -> _Answer:
        rest = () if items.rest is FALSE else (items.rest,)
        if not needs_steps(items):
            below += items.prefix
            below += rest
            way = items.prefix[: items.least]
            if items.least > len(items.prefix):
                way += rest
            some = bool(rest) or items.least <= len(items.prefix)
            ways += [way] * some
            return "", "" if some else _MISSING
        try:
            values = distinct_values(self._algebra, items)
            if values is not None:
                some = items.least <= len(values)
                ways += [()] * some
                return "", "" if some else _MISSING
            steps = item_steps(self._algebra, items)
        except (TooManyStates, NotFinite):
            # Who is to be told about that, is told when it is written.
            below += (*items.prefix, *rest)
            ways.append(items.prefix[: items.least] if items.least <= len(items.prefix) else (*items.prefix, *rest))
            sure = items.unique is None or (not items.counts and items.least < 2)
            return _ITEMS_DIFFER if items.unique is not None else _ITEM_STATES, "" if sure else _MISSING
        below += (step[0] for edges in steps.edges for step, _ in edges if step is not None)
        if not items.least and items.unique is not False and not any(count.least for count in items.counts):
            ways.append(())
            return "", ""
        found = steps.cheapest(lambda step: self._cost(step[0]))
        if found is None:
            return "", _MISSING
        ways.append(tuple(term for term, _ in found))
        return "", ""


def _together(parts: list[_Answer]) -> _Answer:
    """The first reasons of some parts."""
    failing, doubt = "", ""
    for one, other in parts:
        failing, doubt = failing or one, doubt or other
    return failing, doubt


def _numbers(numbers: Numbers) -> _Answer:
    """By bounds and remainders: few states, surely some."""
    failing = doubt = ""
    pieces: tuple[Piece, ...] = (*numbers.whole, *numbers.pointed)
    for piece in pieces:
        steps = (*((piece.step,) if piece.step else ()), *piece.gaps)
        if prod(step.numerator for step in steps) > _SMALL_MODULUS:
            failing = _REMAINDERS
        if any(10**_FEW_PLACES % step.denominator for step in steps):
            failing = _REMAINDERS
        # Of a short range of multiples some are left over (`numbers.py` has looked), and of an endless one always.
        if piece.step and len(piece.gaps) > 1 and piece.low is not None and piece.high is not None:
            doubt = _NUMBERS_LEFT
    return failing, doubt
