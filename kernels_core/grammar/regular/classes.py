"""What a backslash or a bracket means in a regular expression: code points and sets of them.

Each function takes the pattern and an offset, and returns what is written there and the offset after it.  A set that
is to ignore case is closed here, because the order matters: `[^k]` is the complement of what `k` matches.

Read on: `reader.py` (who calls this), `charset.py` (the named sets).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from ...clock import look
from ...errors import GrammarSyntaxError, UnsupportedFeatureError
from .. import charset
from ..charset import Ranges
from ..ir import MAX_CODE_POINT
from ..unicode_properties import NoProperty, unicode_property

LANGUAGE = "regex"

_CONTROL = {"n": 0x0A, "r": 0x0D, "t": 0x09, "f": 0x0C, "v": 0x0B}
_OTHER_CONTROL = {"a": 0x07, "e": 0x1B}  # of other dialects; ECMA-262 has no such escapes
# What to write for escapes of other dialects.
_INSTEAD = {"a": r"\x07", "e": r"\x1b", "A": "^", "Z": "$", "z": "$", "h": r"[ \t]", "H": r"[^ \t]", "R": r"\r?\n"}
_INSTEAD |= {"U": r"\u{...}", "N": "the character itself", "Q": "a backslash before each sign", "K": "the rest alone"}
_NAMED = {"d": charset.DIGIT, "w": charset.WORD, "s": charset.SPACE}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_BRACED = re.compile(r"\{([0-9A-Fa-f]+)\}")
_HEX = re.compile(r"[0-9A-Fa-f]*")
_LOW_SURROGATE = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_OF_POSIX = {"alpha": "A-Za-z", "alnum": "A-Za-z0-9", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": r"\s"}
_OF_POSIX |= {"xdigit": "0-9A-Fa-f", "word": r"\w", "blank": r" \t", "punct": "!-/:-@\\[-`{-~", "print": " -~"}
_PROPERTY = re.compile(r"\{(?:([A-Za-z_]+)=)?([A-Za-z_0-9]+)\}|(?P<category>[CLMNPSZ])")


_FLAGS = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "u": "strict"}


@dataclass(frozen=True, slots=True)
class Flags:
    """How a pattern is read; `strict` is the flag u, `ecma` leaves out the escapes that are not of ECMA-262."""

    ignore_case: bool = False
    dot_all: bool = False
    multiline: bool = False
    strict: bool = False
    ecma: bool = False

    def changed(self, letters: str, value: bool) -> Flags:
        """The same, but for the flags called so."""
        return replace(self, **{_FLAGS[letter]: value for letter in letters}) if letters else self


def fail(reason: str, source: str, offset: int) -> NoReturn:
    raise GrammarSyntaxError(reason, source, offset, language=LANGUAGE)


def refuse(reason: str, source: str, offset: int) -> NoReturn:
    raise UnsupportedFeatureError(reason, source, offset, language=LANGUAGE)


def single(code_point: int) -> Ranges:
    """The set of one code point."""
    return ((code_point, code_point),)


def escape(source: str, slash: int, flags: Flags, *, in_class: bool) -> tuple[int | Ranges, int]:
    """The escape that the backslash at `slash` begins: a code point, or a set for `\\d`, `\\p{...}` and their like.

    Sets come as they are written; closing them under case is left to the caller (but for `\\W`, which is the
    complement of the closed `\\w`).
    """
    i = slash + 1
    if i == len(source):
        fail("the pattern ends in a lone backslash", source, slash)
    letter = source[i]
    i += 1
    if letter in _CONTROL:
        return _CONTROL[letter], i
    if letter in _OTHER_CONTROL and not flags.strict and not flags.ecma:
        return _OTHER_CONTROL[letter], i
    if letter in "dDsSwW":
        named = _NAMED[letter.lower()]
        if letter == "W" and flags.ignore_case:
            named = charset.close_case(named)
        return (named if letter.islower() else charset.complement(named)), i
    if letter in "pP":
        return _property(source, slash, negated=letter == "P")
    if letter == "x":
        return _hex(source, slash, i, 2), i + 2
    if letter == "u":
        return _unicode(source, slash)
    if letter == "c":
        if i < len(source) and source[i].isascii() and source[i].isalpha():
            return ord(source[i]) % 32, i + 1
        fail("\\c needs a letter", source, slash)
    if letter == "0":
        if i < len(source) and source[i] in "0123456789":
            fail("octal escapes are ambiguous; use \\xHH", source, slash)
        return 0, i
    if letter == "b" and in_class:
        return 0x08, i
    if letter in "123456789" or letter == "k":
        refuse("back-references are not regular and cannot be supported", source, slash)
    if letter in _SYNTAX or (in_class and letter == "-"):
        return ord(letter), i
    if flags.strict or (letter.isascii() and letter.isalnum()):
        instead = f"; write {_INSTEAD[letter]}" if letter in _INSTEAD else ""
        fail(f"unknown escape \\{letter}{instead}", source, slash)
    return ord(letter), i


def _hex(source: str, slash: int, start: int, count: int) -> int:
    match = _HEX.match(source, start, start + count)
    if match is None or match.end() != start + count:
        instead = "; a code point in braces is written \\u{...}" if source.startswith("{", start) else ""
        fail(f"{source[slash:start]} needs {count} hex digits{instead}", source, slash)
    return int(match.group(), 16)


def _unicode(source: str, slash: int) -> tuple[int, int]:
    """`\\uHHHH`, `\\u{H...}`, or a pair of surrogates `\\uD83D\\uDE00`."""
    i = slash + 2
    if source.startswith("{", i):
        match = _BRACED.match(source, i)
        if match is None:
            fail("\\u{ needs hex digits and a closing brace", source, slash)
        digits = match.group(1).lstrip("0") or "0"
        if len(digits) > 6 or int(digits, 16) > MAX_CODE_POINT:
            fail("the code point is above U+10FFFF", source, slash)
        return int(digits, 16), match.end()
    code_point = _hex(source, slash, i, 4)
    if 0xD800 <= code_point <= 0xDBFF and (low := _LOW_SURROGATE.match(source, i + 4)):
        return 0x10000 + (code_point - 0xD800) * 0x400 + int(low.group(1), 16) - 0xDC00, low.end()
    return code_point, i + 4


def _property(source: str, slash: int, *, negated: bool) -> tuple[Ranges, int]:
    match = _PROPERTY.match(source, slash + 2)
    if match is None:
        fail(f"a property is written {source[slash : slash + 2]}{{Name}}", source, slash)
    try:
        found = unicode_property(match.group(1), match.group("category") or match.group(2))
    except NoProperty as error:
        refuse(f"{source[slash : match.end()]}: {error}", source, slash)
    return (charset.complement(found) if negated else found), match.end()


def set_at(source: str, start: int, flags: Flags) -> tuple[Ranges, int]:
    """The class that the bracket at `start` opens, closed under case where asked, and the offset after it."""
    i = start + 1
    negated = source.startswith("^", i)
    if negated:
        i += 1
    pairs: list[tuple[int, int]] = []
    while True:
        look(10)
        if i >= len(source):
            fail('the character class is never closed: no "]"', source, start)
        if source[i] == "]":
            break
        if source.startswith("&&[", i):
            refuse("intersections of classes are not supported; write the characters that are left", source, i)
        if _POSIX.match(source, i):
            named = source[i : source.index("]", i) + 1]
            instead = _OF_POSIX.get(named.strip("[:^]"), "its characters")
            refuse(
                f"POSIX classes are not supported; for {named} write {instead}, for a literal [ write \\[", source, i
            )
        begin = i
        first, i = _member(source, i, flags)
        # A "-" is itself at either end of the class; between two characters it makes a range.
        if source.startswith("-", i) and not source.startswith("-]", i) and i + 1 < len(source):
            last, i = _member(source, i + 1, flags)
            if isinstance(first, int) and isinstance(last, int):
                if last < first:
                    fail(f"the range {source[begin:i]} runs backwards", source, begin)
                pairs.append((first, last))
                continue
            if flags.strict:
                fail(f"{source[begin:i]} is not a range of two characters", source, begin)
            # Beside a set the "-" is itself, too, and what stands behind it begins no range (ECMA-262, annex B).
            pairs += [*single(ord("-")), *_pairs(last)]
        pairs += _pairs(first)
    ranges = charset.normalise(pairs)
    if flags.ignore_case:
        ranges = charset.close_case(ranges)
    return (charset.complement(ranges) if negated else ranges), i + 1


def _pairs(member: int | Ranges) -> Ranges:
    return single(member) if isinstance(member, int) else member


def _member(source: str, i: int, flags: Flags) -> tuple[int | Ranges, int]:
    if source[i] == "\\":
        return escape(source, i, flags, in_class=True)
    return ord(source[i]), i + 1
