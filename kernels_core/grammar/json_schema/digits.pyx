"""Numerals between two bounds as nodes, digit by digit.

As long as a numeral follows the digits of a bound, the next digit decides; once it is off both, any digits may follow.

There are a few nodes for each digit of the bounds, and no automaton is made.

Read on: `number_text.py` (what numerals of a set there are), `escape_texts.py` (characters by number).
"""

from kernels_core.grammar.nodes cimport choice, repeat, seq
from kernels_core.grammar.tree cimport CharSet, Empty, Literal, Never, Node

DIGIT = CharSet(((0x30, 0x39),))
NONZERO = CharSet(((0x31, 0x39),))
DIGITS = repeat(DIGIT, 1, None)
NATURAL = seq((NONZERO, repeat(DIGIT, 0, None)))
ANY_FRACTION = seq((Literal(b"."), DIGITS))
ZERO_FRACTION = seq((Literal(b"."), repeat(Literal(b"0"), 1, None)))
_ANY_DIGITS = repeat(DIGIT, 0, None)
_ZEROS = repeat(Literal(b"0"), 0, None)
# Not all of them zeros.
_SOME_DIGITS = seq((_ZEROS, NONZERO, _ANY_DIGITS))


# One of the digits between two.
cdef dict SPANS = {
    (first, last): CharSet(((0x30 + first, 0x30 + last),)) if first < last else Literal(b"%d" % first)
    for first in range(10)
    for last in range(first, 10)
}


def maybe(Node node not None):
    """`node` or nothing."""
    return repeat(node, 0, 1)


_MAYBE_FRACTION = maybe(ANY_FRACTION)


def places(value):
    """What stands in front of the point of a decimal that is not negative, and behind it, without zeros at the end."""
    whole, rest = divmod(value.numerator, value.denominator)
    behind = ""
    while rest:
        digit, rest = divmod(10 * rest, value.denominator)
        behind += str(digit)
    return whole, behind


def of_width(low, high, width, base, digit):
    """Numerals of `width` digits between two bounds.

    `digit(first, last, place)` is a node for the digits from `first` to `last`, with `place` digits behind them.
    """
    if not width:
        return Empty()
    place, unit = width - 1, base ** (width - 1)
    first, above_low = divmod(low, unit)
    last, above_last = divmod(high, unit)
    if first == last:
        return seq((digit(first, first, place), of_width(above_low, above_last, place, base, digit)))
    options = []
    if above_low:
        options.append(seq((digit(first, first, place), of_width(above_low, unit - 1, place, base, digit))))
        first += 1
    if above_last < unit - 1:
        options.append(seq((digit(last, last, place), of_width(0, above_last, place, base, digit))))
        last -= 1
    if first <= last:
        options.append(seq((digit(first, last, place), repeat(digit(0, base - 1, 0), place, place))))
    return choice(options)


def _decimal(first, last, place):
    return SPANS[first, last]


def naturals(low, high):
    """Integers from `low`, at least 1, without leading zeros."""
    if high is None:
        if low == 1:
            return NATURAL
        width = len(str(low))
        longer = seq((NONZERO, repeat(DIGIT, width, width), _ANY_DIGITS))
        return choice((naturals(low, 10**width - 1), longer))
    if low > high:
        return Never()
    shortest, longest = len(str(low)), len(str(high))
    if shortest == longest:
        return of_width(low, high, shortest, 10, _decimal)
    options = []
    if low > 10 ** (shortest - 1):
        options.append(of_width(low, 10**shortest - 1, shortest, 10, _decimal))
        shortest += 1
    if high < 10**longest - 1:
        options.append(of_width(10 ** (longest - 1), high, longest, 10, _decimal))
        longest -= 1
    if shortest <= longest:
        options.append(seq((NONZERO, repeat(DIGIT, shortest - 1, longest - 1))))
    return choice(options)


def decimals(low, high, *, bint low_open, bint high_open):
    """All spellings without an exponent of the numbers between two different bounds, both at least 0, as `places` gives
    them (no upper one: None); `*_open`: the bound itself is out.
    """
    first, behind = low
    last, under = high if high is not None else (None, "")
    if first == last:
        return seq((_text(first), _fraction_within(behind, under, low_open, high_open)))
    options = []
    if behind or low_open or not first:
        options.append(seq((_text(first), _fraction_from(behind, low_open))))
        first += 1
    options.append(seq((naturals(first, None if last is None else last - 1), _MAYBE_FRACTION)))
    if last is not None:
        options.append(seq((_text(last), _fraction_up_to(under, high_open))))
    return choice(options)


cdef Node _text(number):
    return Literal(str(number).encode())


# -- what may stand behind the integer of a bound: a point and digits, or nothing -----------------------------------


cdef Node _fraction_from(bound, bint is_open):
    """A fraction that is at least 0.bound."""
    if bound:
        return seq((Literal(b"."), _from(bound, is_open)))
    return seq((Literal(b"."), _SOME_DIGITS)) if is_open else _MAYBE_FRACTION


cdef Node _fraction_up_to(bound, bint is_open):
    """A fraction that is at most 0.bound."""
    if bound:
        return maybe(seq((Literal(b"."), _up_to(bound, is_open))))
    return Never() if is_open else maybe(ZERO_FRACTION)


cdef Node _fraction_within(low, high, bint low_open, bint high_open):
    """A fraction between 0.low and 0.high, which is more."""
    node = seq((Literal(b"."), _within(low, high, low_open, high_open)))
    return node if low or low_open else maybe(node)


# -- one or more digits behind the point ------------------------------------------------------------------------------


cdef Node _from(bound, bint is_open):
    """At least 0.bound; without a bound perhaps no digit."""
    rest = _SOME_DIGITS if is_open else _ANY_DIGITS
    for digit in reversed(bound):
        rest = choice((_digit(int(digit) + 1, 9), seq((Literal(digit.encode()), rest))))
    return rest


cdef Node _up_to(bound, bint is_open):
    """At most 0.bound, whose last digit is not 0, so a numeral that ends before it is less; without a bound zeros."""
    rest = Never() if is_open else _ZEROS
    for place in range(len(bound) - 1, -1, -1):
        digit = bound[place]
        rest = choice((_digit(0, int(digit) - 1), seq((Literal(digit.encode()), rest))))
        if place:
            rest = maybe(rest)
    return rest


cdef Node _within(low, high, bint low_open, bint high_open):
    """At least 0.low and at most 0.high, which is more."""
    common = 0
    while high[common] == (low[common] if common < len(low) else "0"):
        common += 1
    first, last = int(low[common]) if common < len(low) else 0, int(high[common])
    above, below = low[common + 1 :], high[common + 1 :]
    along_low = _from(above, low_open)
    along_high = _up_to(below, high_open)
    node = choice(
        (
            seq((Literal(str(first).encode()), along_low)),
            _digit(first + 1, last - 1),
            seq((Literal(str(last).encode()), maybe(along_high) if below else along_high)),
        )
    )
    for place in range(common - 1, -1, -1):
        if place + 1 >= len(low) and not low_open:
            node = maybe(node)
        node = seq((Literal(high[place].encode()), node))
    return node


cdef Node _digit(first, last):
    """A digit between two, and any digits behind it."""
    if first > last:
        return Never()
    return seq((SPANS[first, last], _ANY_DIGITS))
