"""Sets of numbers: intervals, multiples and exclusions over exact rationals; closed under all Boolean operations.

A `Piece` is an interval together with "a multiple of m" and "no multiple of n" conditions; a set is a union of pieces.
Integers are the multiples of 1.  Nothing is ever a float: a bound of 2^53 + 1 or of 30 digits stays what it is.

Up to draft 4 a number's *spelling* counted (there `1.0` is no integer), so a `Numbers` has two sets: the values
allowed for texts made of digits alone, and those for texts with a point or an exponent.  From draft 6 on they are one.

Read on: `number_text.py` (their JSON spellings), `shapes.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from operator import attrgetter

from ...clock import look
from ..regular.memo import memo

# Looking for a value that several "no multiple of" conditions leave over.
_TRIES = 2_000
_MOST_HASHED = 32  # pieces


@dataclass(frozen=True, slots=True)
class Piece:
    """Numbers between `low` and `high` (None: unbounded; `*_open`: the bound itself is out) that are multiples of
    `step` (0: no condition) and of none of `gaps`."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False
    step: Fraction = Fraction(0)
    gaps: frozenset[Fraction] = frozenset()

    def __contains__(self, value: Fraction) -> bool:
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        if self.high is not None and (value > self.high or (self.high_open and value == self.high)):
            return False
        if self.step and not _is_multiple(value, self.step):
            return False
        return not any(_is_multiple(value, gap) for gap in self.gaps)

    @property
    def point(self) -> Fraction | None:
        """The value, if the interval is a single one."""
        low = self.low
        return low if low is not None and (low is self.high or low == self.high) else None


EVERY = Piece()


def _is_multiple(value: Fraction, step: Fraction) -> bool:
    """Whether `value` is a multiple of `step`, without the fraction that a division would make."""
    return value.numerator * step.denominator % (value.denominator * step.numerator) == 0


def _normal(piece: Piece) -> Piece | None:
    """Bounds moved to the nearest multiples inside, redundant conditions dropped; None if it is empty."""
    low, high, low_open, high_open = piece.low, piece.high, piece.low_open, piece.high_open
    step, gaps = piece.step, piece.gaps
    if low is not None and low == high:
        return Piece(low, high) if low in piece else None
    if step:
        if low is not None:
            count = floor(low / step) + 1 if low_open else ceil(low / step)
            low, low_open = count * step, False
        if high is not None:
            count = ceil(high / step) - 1 if high_open else floor(high / step)
            high, high_open = count * step, False
        if any(_is_multiple(step, gap) for gap in gaps):
            return None
        # "no multiple of n" among multiples of m is "no multiple of lcm(m, n)".
        gaps = frozenset(_common(step, gap) for gap in gaps)
    gaps = frozenset(g for g in gaps if not any(g != h and _is_multiple(g, h) for h in gaps))
    if low is not None and high is not None:
        if low > high or (low == high and (low_open or high_open)):
            return None
        if low == high:
            return Piece(low, high) if low in Piece(low, high, step=step, gaps=gaps) else None
        if step and gaps and (high - low) / step < _TRIES:
            values = [low + i * step for i in range(int((high - low) / step) + 1)]
            left = [value for value in values if not any(_is_multiple(value, gap) for gap in gaps)]
            if not left:
                return None
            low, high = left[0], left[-1]
            if low == high:
                return Piece(low, high)
        if step and gaps:
            covered = [gap for gap in gaps if floor(high / gap) * gap >= low]
            gaps = frozenset(covered)
    return Piece(low, high, low_open, high_open, step, gaps)


def _common(left: Fraction, right: Fraction) -> Fraction:
    """Least common multiple of two positive rationals."""
    return Fraction(lcm(left.numerator, right.numerator), gcd(left.denominator, right.denominator))


def _meet(left: Piece, right: Piece) -> Piece | None:
    for one, other in ((left, right), (right, left)):
        if one.point is not None:
            return one if one.point in other else None
    low, low_open = left.low, left.low_open
    if right.low is not None and (low is None or right.low >= low):
        low_open = right.low_open or (low == right.low and low_open)
        low = right.low
    high, high_open = left.high, left.high_open
    if right.high is not None and (high is None or right.high <= high):
        high_open = right.high_open or (high == right.high and high_open)
        high = right.high
    if low is not None and high is not None and low > high:
        return None
    step = _common(left.step, right.step) if left.step and right.step else left.step or right.step
    return _normal(Piece(low, high, low_open, high_open, step, left.gaps | right.gaps))


Pieces = tuple[Piece, ...]


def _unite(pieces: Iterable[Piece]) -> Pieces:
    """Without duplicates and without pieces inside others; touching plain intervals are joined."""
    pieces = tuple(pieces)
    if len(pieces) < 2:
        return pieces
    single = {point: piece for piece in pieces if (point := piece.point) is not None}
    if all(piece.point is not None for piece in pieces):  # thousands, perhaps: integers are compared much sooner
        common = lcm(*(value.denominator for value in single))
        return tuple(
            single[value] for value in sorted(single, key=lambda one: one.numerator * (common // one.denominator))
        )
    unique = list(dict.fromkeys(pieces))
    groups: dict[tuple[Fraction, frozenset[Fraction]], list[Piece]] = {}
    for piece in unique:
        groups.setdefault((piece.step, piece.gaps), []).append(piece)
    joined: list[Piece] = []
    for group in groups.values():
        group.sort(key=lambda piece: (piece.low is not None, piece.low or 0, piece.low_open))
        for piece in group:
            before = joined[-1] if joined and joined[-1].step == piece.step and joined[-1].gaps == piece.gaps else None
            if before is not None and _touch(before, piece):
                ends_later = before.high is not None and (
                    piece.high is None
                    or piece.high > before.high
                    or (piece.high == before.high and not piece.high_open)
                )
                if ends_later:
                    joined[-1] = Piece(before.low, piece.high, before.low_open, piece.high_open, piece.step, piece.gaps)
            else:
                joined.append(piece)
    if len(groups) == 1:  # of one kind, none is left inside another one
        return tuple(joined)
    # A single number lies in no other one: only what is wider is looked at, what has most numbers first.
    wide = sorted((piece for piece in joined if piece.point is None), key=attrgetter("step"))
    look(200 * len(joined) * len(wide))
    return tuple(piece for piece in joined if not any(other is not piece and _inside(piece, other) for other in wide))


def _touch(first: Piece, second: Piece) -> bool:
    """Is there no number (of the right kind) between the end of `first` and the start of `second`?"""
    if first.high is None or second.low is None:
        return True
    if second.low < first.high:
        return True
    if second.low == first.high:
        return not (first.high_open and second.low_open)
    return bool(second.step) and not second.gaps and second.low - first.high <= second.step


def _inside(small: Piece, large: Piece) -> bool:
    """Certainly a subset?"""
    if small.point is not None:
        return small.point in large
    if large.step and (not small.step or not _is_multiple(small.step, large.step)):
        return False
    if not large.gaps <= small.gaps:
        return False
    return _meet(small, Piece(large.low, large.high, large.low_open, large.high_open)) == small


def _intersect(left: Pieces, right: Pieces) -> Pieces:
    if left == (EVERY,):
        return right
    if right == (EVERY,):
        return left
    # A single number is looked up among the others, of which there may be thousands.
    single = {point for piece in right if (point := piece.point) is not None}
    wide = [piece for piece in right if piece.point is None]
    met: list[Piece] = []
    for a in left:
        others = right if a.point is None else wide
        look(200 * len(others))
        met += [both for b in others if (both := _meet(a, b)) is not None]
        if a.point in single:
            met.append(a)
    return _unite(met)


@memo(1 << 12, 1 << 16, lambda found, pieces: 1 + len(found) + len(pieces))
def _complement(pieces: Pieces) -> Pieces:
    if len(pieces) > 1:
        middle = len(pieces) // 2
        return _intersect(_complement(pieces[:middle]), _complement(pieces[middle:]))
    outside: list[Piece] = [] if pieces else [EVERY]
    for piece in pieces:
        if piece.low is not None:
            outside.append(Piece(high=piece.low, high_open=not piece.low_open))
        if piece.high is not None:
            outside.append(Piece(low=piece.high, low_open=not piece.high_open))
        if piece.step:
            outside.append(Piece(gaps=frozenset((piece.step,))))
        outside.extend(Piece(step=gap) for gap in piece.gaps)
    return tuple(outside)


def _without(pieces: Pieces, taken: Pieces) -> Pieces:
    """What is taken away is cut to the bounds of `pieces` first.  Of multiples and what is no multiple it is taken away
    one by one, since their complements, which have no bounds, multiply."""
    taken = _intersect(pieces, taken)
    stepped = [piece for piece in taken if piece.step or piece.gaps]
    left = _intersect(pieces, _complement(tuple(piece for piece in taken if not (piece.step or piece.gaps))))
    for piece in stepped:
        left = _intersect(left, _complement((piece,)))
    return left


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values allowed for texts made of digits alone (`whole`) and for texts with a point or an exponent (`pointed`)."""

    whole: Pieces
    pointed: Pieces

    def __hash__(self) -> int:
        """Of a few, spread over all, since there may be thousands."""
        spread = (pieces[:: len(pieces) // _MOST_HASHED + 1] for pieces in (self.whole, self.pointed))
        return hash((len(self.whole), *spread))

    def of_few_digits(self) -> Numbers:
        """Those that a text without exponent spells in at most 20 digits in front of the point and 15 behind it.

        Where a range holds no such number, all of that range; and all multiples, but of 1.
        """
        whole = _of_few_digits(self.whole)
        return Numbers(whole, whole if self.pointed is self.whole else _of_few_digits(self.pointed))

    def __and__(self, other: Numbers) -> Numbers:
        whole = _intersect(self.whole, other.whole)
        if self.whole is self.pointed and other.whole is other.pointed:
            return Numbers(whole, whole)
        return Numbers(whole, _intersect(self.pointed, other.pointed))

    def __or__(self, other: Numbers) -> Numbers:
        return united((self, other))

    def __invert__(self) -> Numbers:
        whole = _complement(self.whole)
        return Numbers(whole, whole if self.whole is self.pointed else _complement(self.pointed))

    def __sub__(self, other: Numbers) -> Numbers:
        whole = _without(self.whole, other.whole)
        if self.whole is self.pointed and other.whole is other.pointed:
            return Numbers(whole, whole)
        return Numbers(whole, _without(self.pointed, other.pointed))

    @property
    def integral(self) -> bool:
        """Is each piece a single integer, or multiples of one?"""
        pieces = (*self.whole, *self.pointed)
        # A step of 0 is no condition.
        steps = (piece.step or Fraction(1, 2) if piece.point is None else piece.point for piece in pieces)
        return all(step.denominator == 1 for step in steps)

    def __bool__(self) -> bool:
        """Is there any number?  Texts of digits alone need an integer."""
        return bool(self.pointed) or (bool(self.whole) and bool(_intersect(self.whole, (Piece(step=Fraction(1)),))))

    def finite(self, limit: int) -> list[Fraction] | None:
        """All values, ascending, if there are at most `limit`; None otherwise (or if spelling matters)."""
        if self.whole != self.pointed:
            return None
        values: set[Fraction] = set()
        for piece in self.whole:
            if piece.point is not None:
                values.add(piece.point)
            elif piece.step and piece.low is not None and piece.high is not None:
                count = (piece.high - piece.low) / piece.step
                if count >= limit:
                    return None
                candidates = (piece.low + i * piece.step for i in range(int(count) + 1))
                values.update(value for value in candidates if value in piece)
            else:
                return None
            if len(values) > limit:
                return None
        return sorted(values)


# More digits than any 64-bit integer has, and than a double keeps of a fraction.
MOST_BEFORE, MOST_BEHIND = 20, 15
FEW_DIGITS: Pieces = (
    Piece(Fraction(-(10**MOST_BEFORE)), Fraction(10**MOST_BEFORE), True, True, Fraction(1, 10**MOST_BEHIND)),
)


def _of_few_digits(pieces: Pieces) -> Pieces:
    if all(piece.point is not None for piece in pieces):
        return pieces
    # Multiples are told by remainders, and with a count of digits there would be many times as many states.
    counted = [_intersect((piece,), FEW_DIGITS) if piece.step in (0, 1) and not piece.gaps else () for piece in pieces]
    return _unite(tuple(part for piece, few in zip(pieces, counted, strict=True) for part in (few or (piece,))))


def _same(pieces: Pieces) -> Numbers:
    return Numbers(pieces, pieces)


ALL_NUMBERS = _same((EVERY,))
NO_NUMBERS = _same(())


def points(values: Iterable[Fraction]) -> Numbers:
    """Exactly these values."""
    return _same(_unite(Piece(value, value) for value in values))


def united(sets: Iterable[Numbers]) -> Numbers:
    """The numbers in any of `sets`."""
    sets = [one for one in sets if one is not NO_NUMBERS]
    if len(sets) < 2:
        return sets[0] if sets else NO_NUMBERS
    whole = _unite(piece for one in sets for piece in one.whole)
    if all(one.whole is one.pointed for one in sets):
        return Numbers(whole, whole)
    return Numbers(whole, _unite(piece for one in sets for piece in one.pointed))


def in_one(sets: Sequence[Numbers]) -> Numbers:
    """The numbers in exactly one of `sets`, of which there is one at least."""
    any_of_them, twice = _shared(sets)
    return united([numbers - twice for numbers in sets]) if twice.whole or twice.pointed else any_of_them


def _shared(sets: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """The numbers in any of `sets`, and those in two of them."""
    if len(sets) < 2:
        return sets[0], NO_NUMBERS
    middle = len(sets) // 2
    (left, left_twice), (right, right_twice) = _shared(sets[:middle]), _shared(sets[middle:])
    return left | right, united((left_twice, right_twice, left & right))


def interval(low: Fraction | None, high: Fraction | None, *, low_open: bool, high_open: bool) -> Numbers:
    """Everything between two bounds."""
    piece = _normal(Piece(low, high, low_open, high_open))
    return _same((piece,) if piece else ())


def multiples(step: Fraction) -> Numbers:
    """All multiples of `step`, which is positive."""
    return _same((Piece(step=step),))
