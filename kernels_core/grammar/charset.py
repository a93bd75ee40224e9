"""Sets of code points (or bytes) as sorted tuples of inclusive ranges, and the named sets that grammars use.

`Ranges` is the one representation: pairs `(first, last)`, sorted, disjoint, not adjacent.  It is small (the class
"anything but a quote" is two pairs), hashable, and compares by content.  Surrogates have no UTF-8 spelling, so sets
that differ only there are one set of characters: `canonical` leaves surrogates out, except inside of a range that
holds both their neighbours.

Named sets follow ECMA-262: `\\d` and `\\w` are ASCII, `\\s` is white space and line terminators of all scripts,
`.` leaves out the four line terminators.  General categories come from the running Python's `unicodedata`.

Read on: `ranges.pyx` (their operations), `nodes.pyx` (sets become IR nodes), `regex.py` and `ebnf.py` (their spelling).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

from ..clock import look
from .ir import MAX_CODE_POINT
from .ranges import canonical, complement, contains, difference, intersection, normalise, size, union

__all__ = [
    "ALL",
    "DIGIT",
    "DOT",
    "LINE_TERMINATORS",
    "SPACE",
    "WORD",
    "Ranges",
    "canonical",
    "close_case",
    "complement",
    "contains",
    "difference",
    "general_category",
    "intersection",
    "normalise",
    "partition",
    "size",
    "union",
]

Ranges = tuple[tuple[int, int], ...]

ALL: Ranges = ((0, MAX_CODE_POINT),)
SURROGATES: Ranges = ((0xD800, 0xDFFF),)


def _characters(text: str) -> Ranges:
    return normalise((ord(character), ord(character)) for character in text)


DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = union(DIGIT, _characters("_"), ((0x41, 0x5A), (0x61, 0x7A)))
LINE_TERMINATORS: Ranges = _characters("\n\r\u2028\u2029")
# ECMA-262 "WhiteSpace" (tab, VT, FF, BOM and the category Zs) and "LineTerminator".
SPACE: Ranges = union(
    LINE_TERMINATORS,
    _characters("\t\v\f \u00a0\u1680\u202f\u205f\u3000\ufeff"),
    ((0x2000, 0x200A),),
)
DOT: Ranges = complement(LINE_TERMINATORS)

_LONG_NAMES = {
    "Letter": "L",
    "Cased_Letter": "LC",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Combining_Mark": "M",
    "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me",
    "Number": "N",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Letter_Number": "Nl",
    "Other_Number": "No",
    "Punctuation": "P",
    "punct": "P",
    "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe",
    "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po",
    "Symbol": "S",
    "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk",
    "Other_Symbol": "So",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp",
    "Other": "C",
    "Control": "Cc",
    "cntrl": "Cc",
    "Format": "Cf",
    "Surrogate": "Cs",
    "Private_Use": "Co",
    "Unassigned": "Cn",
}
_GROUPS = {"LC": ("Lu", "Ll", "Lt")}


def general_category(name: str) -> Ranges | None:
    """The set called `name` in `\\p{name}`: a Unicode general category (short or long name), `Any`, `ASCII` or
    `Assigned`.  `None` when there is no such set here.  The first call reads the whole Unicode table (0.2 s).
    """
    if name == "Any":
        return ALL
    if name == "ASCII":
        return ((0, 0x7F),)
    if name == "Assigned":
        return complement(_categories()["Cn"])
    short = _LONG_NAMES.get(name, name)
    table = _categories()
    if short in table:
        return table[short]
    members = _GROUPS.get(short) or (tuple(key for key in table if key[0] == short) if len(short) == 1 else ())
    return union(*(table[member] for member in members)) if members else None


@cache
def _categories() -> dict[str, Ranges]:
    """Two-letter general category -> its code points."""
    found: dict[str, list[tuple[int, int]]] = {}
    start = 0
    category_of = unicodedata.category
    category = category_of("\0")
    for code_point in range(1, MAX_CODE_POINT + 1):
        following = category_of(chr(code_point))
        if following != category:
            found.setdefault(category, []).append((start, code_point - 1))
            start, category = code_point, following
    found.setdefault(category, []).append((start, MAX_CODE_POINT))
    return {name: tuple(pairs) for name, pairs in found.items()}


def _simple_fold(character: str) -> str:
    """Unicode simple case folding of one character (one character in, one out).

    `str.casefold` is full folding; where that grows (sharp s), simple folding is the lower-case letter if it is one
    character, else the character itself.
    """
    folded = character.casefold()
    if len(folded) != 1:
        folded = character.lower()
    return folded if len(folded) == 1 else character


def partition(sets: Iterable[Ranges]) -> tuple[Ranges, ...]:
    """Classes of all characters: two are in one class where they are in the same of `sets`.  Ordered by their smallest
    members.
    """
    ((first_surrogate, last_surrogate),) = SURROGATES
    events: dict[int, int] = {0: 0, first_surrogate: 0, last_surrogate + 1: 0}
    for number, ranges in enumerate(sets):
        look((len(ranges) + 1) * (1 + (number >> 7)))
        for low, high in ranges:
            events[low] = events.get(low, 0) ^ (1 << number)
            events[high + 1] = events.get(high + 1, 0) ^ (1 << number)
    classes: dict[int, list[tuple[int, int]]] = {}
    member = 0
    starts = sorted(events)
    for i, start in enumerate(starts):
        look(1 + (member.bit_length() >> 7))
        member ^= events[start]
        last = starts[i + 1] - 1 if i + 1 < len(starts) else MAX_CODE_POINT
        if start <= last and start != first_surrogate:  # surrogates are no characters
            classes.setdefault(member, []).append((start, last))
    return tuple(normalise(pairs) for pairs in classes.values())


_BLOCK = 1024


@cache
def _case_partners() -> dict[int, tuple[int, ...]]:
    """Code point -> all code points equal to it when case is ignored, itself included (only where there are others)."""
    groups: dict[str, set[int]] = {}
    for first in range(0, MAX_CODE_POINT + 1, _BLOCK):
        block = "".join(map(chr, range(first, min(first + _BLOCK, MAX_CODE_POINT + 1))))
        if block.casefold() == block:
            continue  # as most are; a character that folding changes or lengthens changes its block, too
        for code_point, character in enumerate(block, first):
            folded = _simple_fold(character)
            if folded != character:
                groups.setdefault(folded, {ord(folded)}).add(code_point)
    return {member: tuple(sorted(group)) for group in groups.values() for member in group}


def close_case(ranges: Ranges) -> Ranges:
    """`ranges` and everything equal to a member when case is ignored, by Unicode simple case folding.

    As in other engines with Unicode rules, `k` also brings the Kelvin sign and `s` the long s.  The first call reads
    the whole Unicode table (30 ms).
    """
    partners = _case_partners()
    if size(ranges) < len(partners):
        cased = [value for low, high in ranges for value in range(low, high + 1) if value in partners]
    else:
        cased = [value for value in partners if contains(ranges, value)]
    return normalise([*ranges, *((other, other) for value in cased for other in partners[value])])
