"""Sets of numbers as nodes: each is written once for a grammar, and once for all grammars where it needs no rules.

Read on: `numbers.py` (the sets), `number_text.py` (what is written).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ...clock import look
from ..ir import Node, RuleRef
from ..rulebook import RuleBook
from .number_text import number_text
from .numbers import ALL_NUMBERS, Numbers, Piece, interval, points
from .values import to_fraction

_WHOLE: tuple[Piece, ...] = (Piece(step=Fraction(1)),)
INTEGERS = Numbers(_WHOLE, _WHOLE)
# Draft 4 looks at how a number is written.
INTEGERS_BEFORE_6 = Numbers(_WHOLE, ())
# So few values are written where they stand.
_FEW = 4


class Numerals:
    """Numbers in one grammar.

    canonical: of numbers of few digits (`Numbers.of_few_digits`), and the shortest spelling of each.
    plain_integers: the shortest spelling of sets of integers.
    """

    def __init__(self, book: RuleBook, *, canonical: bool, plain_integers: bool) -> None:
        self._book = book
        self._canonical = canonical
        self._plain_integers = plain_integers
        self._shared: dict[Numbers, RuleRef] = {}
        self.known: dict[int, RuleRef] = {}  # by the identity of a constant

    def node(self, numbers: Numbers) -> Node:
        """A few values as they are, other sets as a call of their rule.  Raises `TooManyStates`."""
        if numbers.finite(_FEW) is not None:
            return self.text(numbers)
        for known in (ALL_NUMBERS, INTEGERS, INTEGERS_BEFORE_6):
            if numbers == known:
                return self.common(known)
        found = self._shared.get(numbers)
        if found is None:
            found = self._shared[numbers] = self._book.add("bounded_number", self.text(numbers))
        return found

    def common(self, numbers: Numbers) -> RuleRef:
        """A call of the rule of all numbers, or all integers; `numbers` is one of the constants."""
        found = self.known.get(id(numbers))
        if found is None:
            hint = "number" if numbers is ALL_NUMBERS else "integer"
            found = self.known[id(numbers)] = self._book.add(hint, self.text(numbers))
        return found

    def between(self, numbers: Numbers, bounds: tuple[object, bool, object, bool]) -> Node:
        """The spellings of those of `numbers`, one of the constants, between two bounds: (least, whether it is out,
        most, whether it is out), JSON numbers or None.  Raises `TooManyStates`."""
        return self.text(_between(id(numbers), *bounds))

    def these(self, values: list[object], numbers: Numbers) -> Node:
        """The spellings of those of some JSON numbers that are in `numbers`, one of the constants."""
        found = []
        for value in map(to_fraction, values):
            look(20)
            if value is not None:
                found.append(value)
        return self.text(numbers & points(found))

    def text(self, numbers: Numbers) -> Node:
        """The spellings, not shared.  Raises `TooManyStates`."""
        if self._canonical:
            numbers = _COMMON_OF_FEW_DIGITS.get(id(numbers)) or numbers.of_few_digits()
        canonical = self._canonical or (self._plain_integers and numbers.integral)
        found = _alone(numbers, canonical)
        return found if found is not None else number_text(numbers, self._book, canonical=canonical)


_COMMON = {id(numbers): numbers for numbers in (ALL_NUMBERS, INTEGERS, INTEGERS_BEFORE_6)}
_COMMON_OF_FEW_DIGITS = {which: numbers.of_few_digits() for which, numbers in _COMMON.items()}


@lru_cache(maxsize=1024)
def _between(which: int, low: object, low_open: bool, high: object, high_open: bool) -> Numbers:
    bounds = [None if bound is None else to_fraction(bound) for bound in (low, high)]
    return _COMMON[which] & interval(*bounds, low_open=low_open, high_open=high_open)


@lru_cache(maxsize=1024)
def _alone(numbers: Numbers, canonical: bool) -> Node | None:
    """The spellings of a set, if they need no rules of their own."""
    book = RuleBook()
    node = number_text(numbers, book, canonical=canonical)
    return None if book.rules else node
