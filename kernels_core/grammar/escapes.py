"""Decode what stands between quotes, brackets and braces in EBNF: escapes, character classes and repetition counts.

Functions that can fail take the whole source and the half-open range to read, so that an error points at the character.
The lexer has found the delimiters, so behind every backslash there is a character.

Read on: `ebnf.py` (who calls this).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from ..clock import look
from ..errors import GrammarSyntaxError
from . import charset
from .ir import MAX_CODE_POINT
from .nodes import MAX_REPEAT

_SIMPLE = {
    '"': 0x22,
    "'": 0x27,
    "\\": 0x5C,
    "/": 0x2F,
    "?": 0x3F,
    "n": 0x0A,
    "r": 0x0D,
    "t": 0x09,
    "b": 0x08,
    "f": 0x0C,
    "a": 0x07,
    "v": 0x0B,
    "0": 0x00,
    "e": 0x1B,
    "[": 0x5B,
    "]": 0x5D,
}
_IN_CLASS = _SIMPLE | {character: ord(character) for character in "^$.*+()[]{}|-"}
_SETS = {"d": charset.DIGIT, "w": charset.WORD, "s": charset.SPACE}

QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}

_HEX = re.compile(r"[0-9A-Fa-f]*")
_COUNT = re.compile(r"\{\s*([0-9]*)\s*(,?)\s*(-1|[0-9]*)\s*\}")


def _fail(reason: str, source: str, offset: int) -> NoReturn:
    raise GrammarSyntaxError(reason, source, offset)


def text(source: str, start: int, end: int) -> bytes:
    """The text between the quotes of a string, in UTF-8."""
    inside = source[start:end]
    if "\\" in inside:
        out: list[str] = []
        i = start
        while i < end:
            look(10)
            slash = source.find("\\", i, end)
            if slash < 0:
                out.append(source[i:end])
                break
            out.append(source[i:slash])
            code_point, i = _escape(source, slash, end, _SIMPLE)
            if 0xD800 <= code_point <= 0xDFFF:
                _fail(f"the surrogate U+{code_point:04X} cannot be written in UTF-8; use \\UXXXXXXXX", source, slash)
            out.append(chr(code_point))
        inside = "".join(out)
    try:
        return inside.encode()
    except UnicodeEncodeError:
        # Escapes were checked above, so the surrogate stands in the source itself.
        offset = next(i for i in range(start, end) if "\ud800" <= source[i] <= "\udfff")
        _fail(f"the surrogate U+{ord(source[offset]):04X} cannot be written in UTF-8", source, offset)


def raw_bytes(source: str, start: int, end: int) -> bytes:
    """The bytes between the quotes of a byte string."""
    inside = source[start:end]
    if "\\" not in inside and inside.isascii():
        return inside.encode()
    out = bytearray()
    i = start
    while i < end:
        look(10)
        value, i = _byte(source, i, end, _SIMPLE)
        out.append(value)
    return bytes(out)


def char_class(source: str, start: int, end: int, *, raw: bool = False) -> charset.Ranges:
    """The class `[...]` or `[^...]` at `start..end`, brackets included, as a set of code points; `raw`: of bytes."""
    i, end = start + 1, end - 1
    negated = i < end and source[i] == "^"
    if negated:
        i += 1
    pairs: list[tuple[int, int]] = []
    while i < end:
        look(10)
        begin = i
        if source[i] == "\\" and source[i + 1] in "dwsDWS":
            pairs += _named(source[i + 1], raw)
            i += 2
            continue
        first, i = _member(source, i, end, raw)
        last = first
        # A "-" makes a range only between two single characters; elsewhere it is itself.
        if i + 1 < end and source[i] == "-" and not (source[i + 1] == "\\" and source[i + 2] in "dwsDWS"):
            last, i = _member(source, i + 1, end, raw)
            if last < first:
                _fail(f"the range {source[begin:i]} runs backwards", source, begin)
        pairs.append((first, last))
    ranges = charset.normalise(pairs)
    return charset.complement(ranges, 0xFF if raw else MAX_CODE_POINT) if negated else ranges


def _named(letter: str, raw: bool) -> charset.Ranges:
    ranges = _SETS[letter.lower()]
    if raw:
        # Over bytes the named sets are their ASCII part.
        ranges = charset.intersection(ranges, ((0, 0x7F),))
    if letter.islower():
        return ranges
    return charset.complement(ranges, 0xFF if raw else MAX_CODE_POINT)


def _member(source: str, i: int, end: int, raw: bool) -> tuple[int, int]:
    if raw:
        return _byte(source, i, end, _IN_CLASS)
    return _escape(source, i, end, _IN_CLASS) if source[i] == "\\" else (ord(source[i]), i + 1)


def _escape(source: str, slash: int, end: int, simple: dict[str, int]) -> tuple[int, int]:
    """The code point that the backslash at `slash` begins, and the offset after it."""
    letter = source[slash + 1]
    if letter in simple:
        return simple[letter], slash + 2
    start = slash + 2
    match letter:
        case "x":
            stop = _digits(source, start, end)
            if stop == start:
                _fail("\\x needs hex digits", source, slash)
        case "u" | "U":
            stop = start + (4 if letter == "u" else 8)
            if _digits(source, start, min(stop, end)) != stop:
                _fail(f"\\{letter} needs {stop - start} hex digits", source, slash)
        case _:
            _fail(f"unknown escape \\{letter}", source, slash)
    # Leading zeros go first: `int` itself refuses thousands of digits.
    digits = source[start:stop].lstrip("0")
    if len(digits) > 6 or (code_point := int(digits or "0", 16)) > MAX_CODE_POINT:
        _fail(f"\\{letter}{source[start:stop][:12]} is above U+10FFFF", source, slash)
    return code_point, stop


def _byte(source: str, i: int, end: int, simple: dict[str, int]) -> tuple[int, int]:
    """The byte written at `i`, and the offset after it."""
    character = source[i]
    if character != "\\":
        if not character.isascii():
            _fail(f"{character!r} is not one byte; write its bytes as \\xHH", source, i)
        return ord(character), i + 1
    letter = source[i + 1]
    if letter in simple:
        return simple[letter], i + 2
    if letter != "x":
        _fail(f"unknown escape \\{letter} in raw bytes", source, i)
    if _digits(source, i + 2, min(i + 4, end)) != i + 4:
        _fail("\\x needs exactly two hex digits in raw bytes", source, i)
    return int(source[i + 2 : i + 4], 16), i + 4


def _digits(source: str, start: int, end: int) -> int:
    """The offset after the hex digits at `start`."""
    match = _HEX.match(source, start, end)
    return match.end() if match else start


def bounds(source: str, start: int, end: int) -> tuple[int, int | None]:
    """The bounds in `{n}`, `{n,}`, `{n,m}`, `{,m}` or `{n,-1}` at `start..end`; an open end is `None`."""
    match = _COUNT.fullmatch(source, start, end)
    if match is None:
        _fail("a count is written {n}, {n,}, {n,m} or {,m}", source, start)
    low = bound(match, 1, _fail) if match.group(1) else 0
    if not match.group(2):
        return low, low
    if match.group(3) in ("", "-1"):
        return low, None
    high = bound(match, 3, _fail)
    if high < low:
        _fail(f"the count runs backwards: {low} is more than {high}", source, match.start(1))
    return low, high


def bound(match: re.Match[str], group: int, fail: Callable[[str, str, int], NoReturn]) -> int:
    """The count in a group of `match`; where it is more than `MAX_REPEAT` calls `fail` with reason, text and offset."""
    count = whole_number(match.group(group), MAX_REPEAT)
    if count is None:
        fail(f"a count may be at most {MAX_REPEAT:,}", match.string, match.start(group))
    return count


def whole_number(text: str, most: int) -> int | None:
    """The number that ASCII digits spell; None for any other text of ASCII, and for more than `most`."""
    digits = text.lstrip("0") or text[-1:]
    # `int` refuses thousands of digits itself.
    return int(digits) if digits.isdigit() and len(digits) <= len(str(most)) and int(digits) <= most else None
