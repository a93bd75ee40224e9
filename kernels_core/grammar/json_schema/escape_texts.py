r"""Characters of JSON strings as text: raw, by a short escape (`\n`, `\"`, ...), or as `\uXXXX`, pairs of them
beyond U+FFFF.

What strings of all schemas are made of is one node each: what was found out about one is known for all grammars.

Read on: `spelling.py`, which writes sets of strings with it (RFC 8259, section 7).
"""

from __future__ import annotations

from functools import cache

from .. import charset
from ..charset import Ranges
from ..ir import CharSet, Literal, Node
from ..nodes import char_set, choice, repeat, seq
from ..regular.memo import memo
from .digits import of_width

MUST_ESCAPE: Ranges = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C))
_SHORT = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x2F: "/", 0x5C: "\\"}
# Characters that constrained strings do not spell as \uXXXX: printable ASCII but for the quote and the backslash.
PLAIN: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E))
BEYOND_ASCII: Ranges = ((0x7F, 0x10FFFF),)
QUOTE = Literal(b'"')


@cache
def any_characters() -> Node:
    """Any characters of a string, in any spelling."""
    tails = choice((short_escapes(charset.ALL), hex_escapes(BEYOND_ASCII), hex_escapes(((0, 0x7E),))))
    return repeat(choice((CharSet(charset.complement(MUST_ESCAPE)), seq((Literal(b"\\"), tails)))), 0, None)


@cache
def any_rest() -> Node:
    """Any characters and the closing quote."""
    return seq((any_characters(), QUOTE))


@cache
def needed_escapes() -> Node:
    """Every escape of a character that is not plain."""
    controls = hex_escapes(charset.difference(((0, 0x7E),), PLAIN))
    return seq((Literal(b"\\"), choice((short_escapes(charset.ALL), hex_escapes(BEYOND_ASCII), controls))))


@cache
def any_but_plain() -> Node:
    """Any character that is not plain, raw or escaped."""
    return choice((CharSet(BEYOND_ASCII), needed_escapes()))


def short_escapes(ranges: Ranges) -> Node:
    """What stands behind the backslash of the characters of `ranges` that have a short escape."""
    letters = sorted(ord(letter) for code_point, letter in _SHORT.items() if charset.contains(ranges, code_point))
    return char_set(charset.normalise((letter, letter) for letter in letters))


@memo(1 << 12, 1 << 16, lambda node, ranges: len(ranges))
def hex_escapes(ranges: Ranges) -> Node:
    """`uXXXX` (or a pair of them) for the characters of `ranges`; surrogates never stand alone."""
    options: list[Node] = []
    for low, high in charset.difference(ranges, charset.SURROGATES):
        if low <= 0xFFFF:
            options.append(seq((Literal(b"u"), of_width(low, min(high, 0xFFFF), 4, 16, _hex_digit))))
        if high > 0xFFFF:
            options.append(of_width(max(low, 0x10000) - 0x10000, high - 0x10000, 2, 1 << 10, _surrogate))
    return choice(options)


def _surrogate(low: int, high: int, place: int) -> Node:
    """One half of a pair as a digit of ten bits: the first has a `place` behind it."""
    first = 0xD800 if place else 0xDC00
    return seq((Literal(b"u" if place else b"\\u"), of_width(first + low, first + high, 4, 16, _hex_digit)))


def _hex_digit(low: int, high: int, place: int) -> Node:
    pairs = []
    if low <= 9:
        pairs.append((0x30 + low, 0x30 + min(high, 9)))
    if high >= 10:
        start = max(low, 10) - 10
        pairs += [(0x41 + start, 0x41 + high - 10), (0x61 + start, 0x61 + high - 10)]
    return char_set(charset.normalise(pairs))
