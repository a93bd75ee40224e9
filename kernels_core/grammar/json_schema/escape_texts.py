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
            options += [seq((Literal(b"u"), node)) for node in _digits(low, min(high, 0xFFFF), 4)]
        if high > 0xFFFF:
            options += _pairs(max(low, 0x10000) - 0x10000, high - 0x10000)
    return choice(options)


def _pairs(low: int, high: int) -> list[Node]:
    first, last = low >> 10, high >> 10
    spans: list[tuple[int, int, int, int]] = []
    if first == last:
        spans.append((first, last, low & 0x3FF, high & 0x3FF))
    else:
        if low & 0x3FF:
            spans.append((first, first, low & 0x3FF, 0x3FF))
            first += 1
        if high & 0x3FF != 0x3FF:
            spans.append((last, last, 0, high & 0x3FF))
            last -= 1
        if first <= last:
            spans.append((first, last, 0, 0x3FF))
    options: list[Node] = []
    for lead_low, lead_high, trail_low, trail_high in spans:
        leads = choice(_digits(0xD800 + lead_low, 0xD800 + lead_high, 4))
        trails = choice(_digits(0xDC00 + trail_low, 0xDC00 + trail_high, 4))
        options.append(seq((Literal(b"u"), leads, Literal(b"\\u"), trails)))
    return options


def _digits(low: int, high: int, width: int) -> list[Node]:
    """Hexadecimal numbers of `width` digits between two bounds."""
    if width == 1:
        return [_hex_digit(low, high)]
    unit = 16 ** (width - 1)
    first, last = low // unit, high // unit
    if first == last:
        return [seq((_hex_digit(first, first), node)) for node in _digits(low % unit, high % unit, width - 1)]
    options: list[Node] = []
    if low % unit:
        options += [seq((_hex_digit(first, first), node)) for node in _digits(low % unit, unit - 1, width - 1)]
        first += 1
    if high % unit != unit - 1:
        options += [seq((_hex_digit(last, last), node)) for node in _digits(0, high % unit, width - 1)]
        last -= 1
    if first <= last:
        rest = repeat(_hex_digit(0, 15), width - 1, width - 1)
        options.append(seq((_hex_digit(first, last), rest)))
    return options


def _hex_digit(low: int, high: int) -> Node:
    pairs = []
    if low <= 9:
        pairs.append((0x30 + low, 0x30 + min(high, 9)))
    if high >= 10:
        start = max(low, 10) - 10
        pairs += [(0x41 + start, 0x41 + high - 10), (0x61 + start, 0x61 + high - 10)]
    return char_set(charset.normalise(pairs))
