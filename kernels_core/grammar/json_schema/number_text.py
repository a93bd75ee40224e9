"""Sets of numbers as JSON text.

Which spellings of an allowed value are accepted (the language of all of them is not regular: `1000e-3` is 1):

- digits with an optional point, any number of trailing zeros, `-0` for 0: always, for every set;
- with an exponent, any spelling: for sets that only depend on the sign (all numbers, at least 0, less than 0, ...);
- with an exponent, as d.ddd e n with one digit other than 0 before the point: for intervals;
- with an exponent that is not negative and no fraction but zeros: for integers whose bounds depend only on the sign;
- otherwise (integers between bounds, multiples) without exponent; of 0 every spelling.

`canonical` narrows all of this to the shortest form without exponent: no `-0`, no trailing zeros, `5` for `5.0`.

A piece becomes an automaton that reads digits, compares them with both bounds and counts remainders, all at once; it
is minimised, and small enough to be spelt out.

Read on: `numbers.py` (the sets), `graph.py` (automata as rules).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any

from ...clock import look
from ..ir import CharSet, Empty, Literal, Never, Node
from ..nodes import char_set, choice, repeat, seq
from ..regular.dfa import Dfa, TooManyStates, minimal
from ..regular.graph import Graph
from ..regular.languages import Language
from ..regular.machines import Both, Stepped, explore, reader
from ..regular.memo import memo
from ..regular.patterns import full_match
from ..rulebook import RuleBook
from .digits import ANY_FRACTION, DIGIT, DIGITS, NATURAL, NONZERO, ZERO_FRACTION, decimals, maybe, naturals, places
from .numbers import EVERY, FEW_DIGITS, MOST_BEFORE, MOST_BEHIND, Numbers, Piece

MAX_NUMBER_STATES = 20_000
# So many values are written out one by one, where they are multiples of an integer or take too many states.
_MAX_VALUES = 256
# Bounds of integers below this are written out digit by digit, larger ones compared by an automaton.
_FEW_DIGITS = 10**16
# The same for bounds of decimals, in digits.
_FEW_PLACES = 60

_MINUS = Literal(b"-")
_E = CharSet(((0x45, 0x45), (0x65, 0x65)))
_ANY_EXPONENT = seq((_E, repeat(choice((Literal(b"+"), _MINUS)), 0, 1), DIGITS))
_GROWING_EXPONENT = seq((_E, repeat(Literal(b"+"), 0, 1), DIGITS))

# Positive numbers, any spelling: a digit other than 0 somewhere before the exponent.
_POSITIVE_PLAIN = choice(
    (
        seq((NATURAL, maybe(ANY_FRACTION))),
        seq((Literal(b"0."), repeat(Literal(b"0"), 0, None), NONZERO, repeat(DIGIT, 0, None))),
    )
)


def number_text(numbers: Numbers, book: RuleBook, *, canonical: bool) -> Node:
    """The JSON spellings of `numbers` (see the top of this file).

    Raises `TooManyStates` when remainders would need more than `MAX_NUMBER_STATES`.
    """
    if numbers.whole == numbers.pointed:
        return _value_text(numbers.whole, book, canonical=canonical, whole=True, pointed=True)
    whole = _value_text(numbers.whole, book, canonical=canonical, whole=True, pointed=False)
    if canonical:
        return whole if not numbers.pointed else choice((whole, _fractions_only(numbers.pointed, book)))
    return choice((whole, _value_text(numbers.pointed, book, canonical=False, whole=False, pointed=True)))


def _fractions_only(pieces: tuple[Piece, ...], book: RuleBook) -> Node:
    return _value_text(pieces, book, canonical=True, whole=False, pointed=True)


def _value_text(pieces: tuple[Piece, ...], book: RuleBook, *, canonical: bool, whole: bool, pointed: bool) -> Node:
    form = _Form(canonical=canonical, whole=whole, pointed=pointed)
    if pieces == (EVERY,) and whole and pointed and not canonical:
        return seq((maybe(_MINUS), choice((Literal(b"0"), NATURAL)), maybe(ANY_FRACTION), maybe(_ANY_EXPONENT)))
    options: list[Node] = []
    if any(Fraction(0) in piece for piece in pieces):
        options.append(form.zero())
    positive = tuple(part for piece in pieces if (part := _positive(piece)) is not None)
    below = (piece for piece in pieces if piece.low is None or piece.low < 0)
    negative = tuple(part for piece in below if (part := _positive(_negated(piece))) is not None)
    if positive and len(positive) == len(negative) and set(positive) == set(negative):
        options.append(seq((maybe(_MINUS), _magnitudes(positive, form, book))))
    else:
        options += [_magnitudes(positive, form, book), seq((_MINUS, _magnitudes(negative, form, book)))]
    return choice(options)


@dataclass(frozen=True, slots=True)
class _Form:
    """Which texts are wanted: digits alone (`whole`), with a point or exponent (`pointed`), only the shortest."""

    canonical: bool
    whole: bool
    pointed: bool

    @property
    def free(self) -> bool:
        """Whether every spelling is wanted."""
        return self.whole and self.pointed and not self.canonical

    def zero(self) -> Node:
        """The spellings of 0."""
        if self.canonical:
            return Literal(b"0") if self.whole else Never()
        digits = seq((maybe(_MINUS), Literal(b"0")))
        marked = choice((seq((ZERO_FRACTION, maybe(_ANY_EXPONENT))), _ANY_EXPONENT))
        if not self.pointed:
            return digits
        return seq((digits, maybe(marked) if self.whole else marked))


_FREE = _Form(canonical=False, whole=True, pointed=True)


def _negated(piece: Piece) -> Piece:
    low = None if piece.high is None else -piece.high
    high = None if piece.low is None else -piece.low
    return replace(piece, low=low, high=high, low_open=piece.high_open, high_open=piece.low_open)


def _positive(piece: Piece) -> Piece | None:
    """The part above 0."""
    if piece.high is not None and piece.high <= 0:
        return None
    if piece.low is None or piece.low < 0 or (piece.low == 0 and not piece.low_open):
        return replace(piece, low=Fraction(0), low_open=True)
    return piece


def _magnitudes(pieces: tuple[Piece, ...], form: _Form, book: RuleBook) -> Node:
    """Texts of the numbers of pieces that lie above 0."""
    values = [piece.point for piece in pieces if piece.point is not None]
    return choice([*_values(values, form), *(_of_piece(one, form, book) for one in pieces if one.point is None)])


def _values(values: list[Fraction], form: _Form) -> list[Node]:
    """Texts of decimals above 0: all that end in the same way share their end, since there may be thousands."""
    decimal = [places(value) for value in values]
    found = _digits_of(decimal, form)
    if form.pointed and not form.canonical:
        by_exponent: dict[int, list[tuple[object, str]]] = {}
        for whole, behind in decimal:
            digits = f"{whole}{behind}".lstrip("0")
            exponent = len(digits) - len(behind) - 1
            by_exponent.setdefault(exponent, []).append((digits[0], digits[1:].rstrip("0")))
        for exponent, mantissas in by_exponent.items():
            found.append(seq((choice(_digits_of(mantissas, _FREE)), _E, _exponents(exponent, exponent))))
    return found


def _of_piece(piece: Piece, form: _Form, book: RuleBook) -> Node:
    """Texts of the numbers of one piece, which lies above 0 and is no single number."""
    sign_only = piece.low == 0 and piece.high is None and not piece.gaps
    if sign_only and not form.canonical:
        if piece.step == 1:
            return _integers(form)
        if not piece.step and form.whole and form.pointed:
            return seq((_POSITIVE_PLAIN, maybe(_ANY_EXPONENT)))
    if form.canonical and form.whole and form.pointed and _is_above_0(piece):
        return _few_digits()
    if sign_only and form.canonical and piece.step == 1:
        return NATURAL if form.whole else Never()
    if piece.step and piece.step.denominator == 1 and not piece.gaps:
        digits = _between(piece)
        if digits is not None:
            return _as_integers(digits, form)
    options = [_plain(piece, form, book)]
    if form.pointed and not form.canonical and not piece.step and not piece.gaps:
        options.append(_scientific(piece, book))
    return choice(options)


def _is_above_0(piece: Piece) -> bool:
    """Whether a piece is all numbers of few digits above 0."""
    (few,) = FEW_DIGITS
    above_0 = piece.low == few.step or (piece.low == 0 and piece.low_open)
    endless = few.high is not None and piece.high in (few.high, few.high - few.step)
    return piece.step == few.step and not piece.gaps and above_0 and endless


def _few_digits() -> Node:
    """All numbers of few digits above 0."""
    fraction = seq((Literal(b"."), _digits_and_another(MOST_BEHIND)))
    natural = seq((NONZERO, repeat(DIGIT, 0, MOST_BEFORE - 1)))
    return choice((seq((natural, maybe(fraction))), seq((Literal(b"0"), fraction))))


def _between(piece: Piece) -> Node | None:
    """The digits of the integers of a piece above 0; None where they are very many, or multiples that are not few."""
    assert piece.low is not None
    low = floor(piece.low) + 1 if piece.low_open else ceil(piece.low)
    high = None if piece.high is None else ceil(piece.high) - 1 if piece.high_open else floor(piece.high)
    if low >= _FEW_DIGITS or ((high or 0) >= _FEW_DIGITS and high != 10**MOST_BEFORE - 1):
        return None
    step = int(piece.step)
    if step == 1:
        return naturals(low, high)
    if high is None or high - low > _MAX_VALUES * step:
        return None
    return choice([Literal(str(number).encode()) for number in range(-(-low // step) * step, high + 1, step)])


def _as_integers(digits: Node, form: _Form) -> Node:
    """What may stand behind the digits of an integer: a point and zeros, if anything."""
    if form.canonical or not form.pointed:
        return digits if form.whole else Never()
    return seq((digits, maybe(ZERO_FRACTION) if form.whole else ZERO_FRACTION))


def _integers(form: _Form) -> Node:
    marked = choice((seq((ZERO_FRACTION, maybe(_GROWING_EXPONENT))), _GROWING_EXPONENT))
    if not form.pointed:
        return NATURAL
    return seq((NATURAL, maybe(marked) if form.whole else marked))


def _plain(piece: Piece, form: _Form, book: RuleBook) -> Node:
    if piece.point is not None:
        return Never() if piece.low_open or piece.high_open else choice(_digits_of([places(piece.point)], form))
    if form.free and not piece.step and not piece.gaps:
        assert piece.low is not None
        low, high = places(piece.low), None if piece.high is None else places(piece.high)
        if max(len(str(whole)) + len(behind) for whole, behind in (low, high or low)) <= _FEW_PLACES:
            return decimals(low, high, low_open=piece.low_open, high_open=piece.high_open)
    try:
        dfa = _plain_dfa(piece, form)
    except TooManyStates:
        values = Numbers((piece,), (piece,)).finite(_MAX_VALUES)
        if values is None:
            raise
        return choice(_digits_of(map(places, values), form))
    return _spelt(dfa, book)


def _digits_of(decimals: Iterable[tuple[object, str]], form: _Form) -> list[Node]:
    """Numbers above 0, by their digits in front of the point and behind it: these, and any number of zeros behind."""
    integers: list[Node] = []
    others: list[Node] = []
    for whole, behind in decimals:
        look(20)
        (others if behind else integers).append(Literal(f"{whole}.{behind}".removesuffix(".").encode()))
    zeros = Empty() if form.canonical else repeat(Literal(b"0"), 0, None)
    found = [_as_integers(choice(integers), form)] if integers else []
    return [*found, seq((choice(others), zeros))] if others and form.pointed else found


def _spelt(dfa: Dfa, book: RuleBook) -> Node:
    graph = Graph(len(dfa.table))
    tails = _tails(dfa)
    end = graph.state(final=True)
    for state, accepts in enumerate(dfa.accepting):
        if accepts and state not in tails:
            graph.finish(state)
    for state, label, target in dfa.edges(char_set):
        if state in tails:
            continue
        if target in tails:
            tail = _digits_and_another(tails[target])
            graph.edge(state, seq((label, maybe(tail) if dfa.accepting[target] else tail)), end)
        else:
            graph.edge(state, label, target)
    return graph.node(book, "digits")


def _digits_and_another(most: int) -> Node:
    """1 to `most` digits, the last of which is not 0."""
    return seq((repeat(DIGIT, 0, most - 1), NONZERO))


def _tails(dfa: Dfa) -> dict[int, int]:
    """States behind which nothing counts but that the last digit is not 0, with how many digits may come.

    To spell them as a count keeps the states, two for each digit, out of the rules.
    """
    nothing = {state for state, row in enumerate(dfa.table) if dfa.accepting[state] and max(row) < 0}
    found: dict[int, int] = {}
    before = -1
    while before < len(found):
        before = len(found)
        for state, row in enumerate(dfa.table):
            zero, other = row[0], row[1]
            if state in found or other < 0 or any(one != other for one in row[2:10]) or row[10] >= 0:
                continue
            if zero < 0 and other in nothing:
                found[state] = 1
            elif found.get(zero, -1) == found.get(other, 0) and dfa.accepting[other] and not dfa.accepting[zero]:
                found[state] = found[zero] + 1
    return found if 0 not in found else {}


# -- the automaton that reads digits ------------------------------------------------------------------------------

# It is a product: digits in their form, and small machines, each of which keeps what it has to know of a condition.

_POINT = 10  # as a letter, behind the ten digits
_LETTERS = (*(((0x30 + digit, 0x30 + digit),) for digit in range(10)), ((0x2E, 0x2E),))
_LESS, _EQUAL, _GREATER = -1, 0, 1


def _digits(form: _Form) -> Language:
    """Digits, perhaps a point and digits, in some form: no zero in front of others, and of the shortest none at the
    end."""
    fraction = r"\.[0-9]*[1-9]" if form.canonical else r"\.[0-9]+"
    behind = fraction if not form.whole else f"(?:{fraction})?" if form.pointed else ""
    return full_match(f"(?:0|[1-9][0-9]*){behind}")


class _Bound:
    """Compares with a positive decimal, which is the greatest number or (`side` 1) the least one, if it is not out.

    State: (whether behind the point, digits read on this side of it, how they compare with as many of the bound).  Of
    what is settled behind the point the digits are not counted any more.
    """

    start = (False, 0, _EQUAL)

    def __init__(self, value: Fraction, side: int, *, is_open: bool) -> None:
        whole, behind = places(value)
        self.whole = [int(digit) for digit in str(whole)]
        self.fraction = [int(digit) for digit in behind]
        self.side = side
        self.is_open = is_open

    def step(self, state: tuple[bool, int, int], letter: int) -> tuple[bool, int, int] | None:
        point, count, order = state
        if letter == _POINT:
            point, count, order = True, 0, _LESS if count < len(self.whole) else order
        elif point and order == _EQUAL:
            order = _compare(letter, self.fraction[count] if count < len(self.fraction) else 0)
            count = min(count + 1, len(self.fraction)) if order == _EQUAL else 0
        elif not point and count >= len(self.whole):
            count, order = len(self.whole) + 1, _GREATER
        elif not point:
            count, order = count + 1, order or _compare(letter, self.whole[count])
        # Greater than the greatest, however the text goes on.
        is_over = self.side < 0 and order == _GREATER and (point or count >= len(self.whole))
        return None if is_over else (point, count, order)

    def accepts(self, state: tuple[bool, int, int]) -> bool:
        point, count, order = state
        if not point:
            order = _LESS if count < len(self.whole) else order
            count = 0
        if order == _EQUAL and count < len(self.fraction):
            order = _LESS
        return order * self.side > 0 or (order == _EQUAL and not self.is_open)


def _compare(left: int, right: int) -> int:
    return (left > right) - (left < right)


class _Divisor:
    """Counts remainders by positive decimals with as many digits behind the point: a number is to be a multiple of
    `step`, if that is one of them, and of no other.

    State: (digits behind the point that still matter, -1 in front of it; the remainder, -1 once it is no multiple).
    """

    start = (-1, 0)

    def __init__(self, digits: int, decimals: Iterable[Fraction], step: Fraction) -> None:
        self.places = digits
        scaled = {decimal: int(decimal * 10**digits) for decimal in decimals}
        self.modulus = lcm(*scaled.values())
        self.wanted = scaled.pop(step, 0)
        self.unwanted = tuple(scaled.values())

    def step(self, state: tuple[int, int], letter: int) -> tuple[int, int] | None:
        left, remainder = state
        if letter == _POINT:
            return self.places, remainder
        if left == 0 or remainder < 0:
            return state if letter == 0 or remainder < 0 else None if self.wanted else (0, -1)
        return max(left - 1, -1), (remainder * 10 + letter) % self.modulus

    def accepts(self, state: tuple[int, int]) -> bool:
        left, remainder = state
        if remainder < 0:
            return not self.wanted
        number = remainder * 10 ** (self.places if left < 0 else left)
        return (not self.wanted or number % self.wanted == 0) and all(number % gap for gap in self.unwanted)


def _divisors(piece: Piece) -> list[_Divisor]:
    """What reads the multiples of a piece.  Raises `TooManyStates` where too many remainders certainly come up."""
    by_places: dict[int, list[Fraction]] = {}
    for decimal in (*((piece.step,) if piece.step else ()), *piece.gaps):
        by_places.setdefault(len(places(decimal)[1]), []).append(decimal)
    found = [_Divisor(digits, decimals, piece.step) for digits, decimals in by_places.items()]
    remainders = lcm(*(one.modulus for one in found))
    if min(remainders, remainders if piece.high is None else floor(piece.high)) > MAX_NUMBER_STATES:
        raise TooManyStates(MAX_NUMBER_STATES)
    return found


@memo(1 << 9, 500_000, lambda dfa, piece, form: len(dfa.table) * len(dfa.letters))
def _plain_dfa(piece: Piece, form: _Form) -> Dfa:
    """Digits, perhaps a point and digits: all spellings (or the shortest) of the numbers of a piece above 0."""
    machines: list[Any] = []
    if piece.low is not None:
        machines.append(_Bound(piece.low, 1, is_open=piece.low_open))
    if piece.high is not None:
        machines.append(_Bound(piece.high, -1, is_open=piece.high_open))
    machines += _divisors(piece)
    conditions = [Stepped(machine.start, machine.step, machine.accepts, len(_LETTERS)) for machine in machines]
    both = Both([reader(_digits(form), _LETTERS), *conditions])
    return minimal(Dfa(_LETTERS, *explore(both, MAX_NUMBER_STATES)))


# -- with an exponent ----------------------------------------------------------------------------------------------


def _scientific(piece: Piece, book: RuleBook) -> Node:
    """d.ddd e n, one digit other than 0 in front of the point, for an interval above 0."""
    assert piece.low is not None
    low = None if piece.low == 0 else _exponent(piece.low)
    high = None if piece.high is None else _exponent(piece.high)
    options: list[Node] = []
    free = Piece(Fraction(1), Fraction(10), high_open=True)

    def mantissas(least: Fraction | None, most: Fraction | None) -> Node:
        part = free
        if least is not None:
            part = replace(part, low=least, low_open=piece.low_open)
        if most is not None:
            part = replace(part, high=most, high_open=piece.high_open)
        return _plain(part, _FREE, book)

    if low is not None and low == high:
        assert piece.high is not None
        scale = Fraction(10) ** low
        return seq((mantissas(piece.low / scale, piece.high / scale), _E, _exponents(low, low)))
    if low is not None:
        options.append(seq((mantissas(piece.low / Fraction(10) ** low, None), _E, _exponents(low, low))))
    if high is not None:
        assert piece.high is not None
        options.append(seq((mantissas(None, piece.high / Fraction(10) ** high), _E, _exponents(high, high))))
    between = _exponents(None if low is None else low + 1, None if high is None else high - 1)
    options.append(seq((NONZERO, maybe(ANY_FRACTION), _E, between)))
    return choice(options)


def _exponent(value: Fraction) -> int:
    """n with 10^n <= value < 10^(n+1)."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if Fraction(10) ** guess <= value else guess - 1


def _exponents(low: int | None, high: int | None) -> Node:
    """Signed integers between two bounds, with any number of leading zeros."""
    if low is not None and high is not None and low > high:
        return Never()
    zeros = repeat(Literal(b"0"), 0, None)
    options: list[Node] = []
    for sign, least, most in ((maybe(Literal(b"+")), low, high), (_MINUS, high, low)):
        bottom = None if least is None else (least if sign is not _MINUS else -least)
        top = None if most is None else (most if sign is not _MINUS else -most)
        if top is not None and top < 0:
            continue
        bottom = max(0, bottom) if bottom is not None else 0
        numbers = naturals(max(bottom, 1), top)
        if bottom == 0:
            options.append(seq((sign, zeros, choice((Literal(b"0"), numbers)))))
        else:
            options.append(seq((sign, zeros, numbers)))
    return choice(options)
