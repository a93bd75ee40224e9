"""Range algebra against Python's own sets, and the named sets against what they are meant to hold."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar import charset

LAST = 40
PAIRS = st.lists(st.tuples(st.integers(0, LAST), st.integers(0, LAST)).map(lambda p: (min(p), max(p))), max_size=8)


def as_set(ranges: charset.Ranges) -> set[int]:
    return {value for low, high in ranges for value in range(low, high + 1)}


@given(PAIRS)
def test_normalise_keeps_the_set_and_separates_the_ranges(pairs: list[tuple[int, int]]) -> None:
    ranges = charset.normalise(pairs)
    assert as_set(ranges) == as_set(tuple(pairs))
    assert all(left[1] + 1 < right[0] for left, right in pairwise(ranges))
    assert charset.size(ranges) == len(as_set(ranges))


@given(PAIRS, PAIRS)
def test_algebra_is_that_of_sets(left_pairs: list[tuple[int, int]], right_pairs: list[tuple[int, int]]) -> None:
    left, right = charset.normalise(left_pairs), charset.normalise(right_pairs)
    a, b = as_set(left), as_set(right)
    for result, expected in [
        (charset.union(left, right), a | b),
        (charset.intersection(left, right), a & b),
        (charset.difference(left, right), a - b),
        (charset.complement(left, LAST), set(range(LAST + 1)) - a),
    ]:
        assert as_set(result) == expected
        assert result == charset.normalise(result)
    assert [value for value in range(LAST + 1) if charset.contains(left, value)] == sorted(a)


def test_a_backward_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="backwards"):
        charset.normalise([(3, 2)])


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (((0xD800, 0xDFFF),), ()),
        (((0x61, 0x61), (0xD900, 0xD901)), ((0x61, 0x61),)),
        (((0xD7FF, 0xD7FF), (0xE000, 0xE000)), ((0xD7FF, 0xE000),)),
        (((0xD7FE, 0xDAAA), (0xDBBB, 0xE001)), ((0xD7FE, 0xE001),)),
        (((0xD7FF, 0xDAAA),), ((0xD7FF, 0xD7FF),)),
        (charset.ALL, charset.ALL),
    ],
)
def test_surrogates_make_no_difference(ranges: charset.Ranges, expected: charset.Ranges) -> None:
    assert charset.canonical(ranges) == expected
    assert charset.canonical(charset.canonical(ranges)) == expected


def test_named_sets_are_those_of_ecma_262() -> None:
    # ECMA-262 WhiteSpace and LineTerminator, written out from the categories they are defined by.
    blanks = {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0xFEFF, 0x2028, 0x2029}
    blanks |= {c for c in range(0x110000) if unicodedata.category(chr(c)) == "Zs"}
    assert as_set(charset.SPACE) == blanks
    assert as_set(charset.WORD) == {c for c in range(128) if re.match(r"\w", chr(c))}
    assert as_set(charset.complement(charset.DOT)) == {0x0A, 0x0D, 0x2028, 0x2029}


@pytest.mark.parametrize("name", ["Lu", "Nd", "Zs", "L", "P", "LC", "Cn", "Cs"])
def test_general_categories_agree_with_unicodedata(name: str) -> None:
    members = {"LC": ("Lu", "Ll", "Lt")}.get(name, (name,))
    ranges = charset.general_category(name)
    assert ranges
    expected = {c for c in range(0x110000) if unicodedata.category(chr(c)).startswith(members)}
    assert as_set(ranges) == expected
    assert ranges == charset.normalise(ranges)


def test_long_names_and_unknown_names() -> None:
    assert charset.general_category("Uppercase_Letter") == charset.general_category("Lu")
    assert charset.general_category("Any") == charset.ALL
    assert charset.general_category("ASCII") == ((0, 0x7F),)
    assigned, unassigned = charset.general_category("Assigned"), charset.general_category("Cn")
    assert assigned
    assert unassigned
    assert charset.union(assigned, unassigned) == charset.ALL
    assert charset.general_category("Klingon") is None
    assert charset.general_category("Q") is None


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("a", "aA"),
        ("k", "kK\u212a"),
        ("S", "sS\u017f"),
        ("ß", "ßẞ"),
        ("σ", "σΣς"),
        ("ı", "ı"),  # dotless i has no simple folding, nor has the dotted capital
        ("İ", "İ"),
        ("i", "iI"),
        ("1-", "1-"),
        ("ǆ", "ǄǅǆǄ"),
    ],
)
def test_case_is_closed_by_simple_folding(text: str, closed: str) -> None:
    ranges = charset.normalise((ord(c), ord(c)) for c in text)
    assert as_set(charset.close_case(ranges)) == {ord(c) for c in closed}


def test_closing_large_sets_equals_closing_each_member() -> None:
    large = ((0, 0x24F), (0x370, 0x3FF), (0x10000, 0x10FFFF))
    small = [charset.close_case(((c, c),)) for low, high in large[:2] for c in range(low, high + 1)]
    assert charset.intersection(charset.close_case(large), ((0, 0xFFFF),)) == charset.union(*small)
