"""Readings of a whole text are as many as there are derivations, counted by hand or by a table of its own."""

from __future__ import annotations

from functools import cache
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.inspect.derivation import derivation
from kernels_core.inspect.forest import ENDLESS, MAX_WAYS, readings, written
from tests.inspection.test_derivation import PAIRS, SUMS, matcher_of
from visualizers.tree import said_readings

MIXED = 'root ::= S\nS ::= S S | S "b" S | "a" | "a" "a"'


@pytest.mark.parametrize(
    ("grammar", "text", "count"),
    [
        (SUMS, b"1", 1),
        (SUMS, b"1+2*3", 2),
        (SUMS, b"1+2*3+4", 5),
        (SUMS, b"1+", 0),
        (PAIRS, b"a" * 30, MAX_WAYS),
        ('root ::= L\nL ::= L | "a"', b"a", ENDLESS),
        ('root ::= A "x"\nA ::= B | "a"\nB ::= A', b"ax", ENDLESS),
        ('root ::= x | y\nx ::= "a" z*\ny ::= "a" z+\nz ::= "b"{2,3}', b"abb", 2),
    ],
)
def test_known_numbers(grammar: str, text: bytes, count: int) -> None:
    assert derivation(matcher_of(grammar, text)).whole == count


def test_catalan() -> None:
    for size in range(1, 12):
        assert derivation(matcher_of(PAIRS, b"a" * size)).whole == comb(2 * size - 2, size - 1) // size


@given(st.text("ab", min_size=1, max_size=9))
def test_as_many_as_a_table_of_spans_has(text: str) -> None:
    @cache
    def count(begin: int, end: int) -> int:
        here = text[begin:end]
        total = int(here == "a") + int(here == "aa")
        for middle in range(begin + 1, end):
            total += count(begin, middle) * count(middle, end)
            if text[middle] == "b" and middle + 1 < end:
                total += count(begin, middle) * count(middle + 1, end)
        return total

    wanted = count(0, len(text))
    matcher = matcher_of(MIXED, b"")
    taken = matcher.accept_string(text.encode())
    assert (derivation(matcher).whole if taken else 0) == wanted


def test_a_budget_is_kept_and_work_goes_on_from_it() -> None:
    matcher = matcher_of(PAIRS, b"a" * 12)
    forest = written(matcher.compiled)
    with forest.lock:
        forest.seek(matcher.steps())
        assert readings(forest, limit=20) is None
        found = [readings(forest, limit=20) for _ in range(40)]
    assert found[-1] == comb(22, 11) // 12


def test_for_people() -> None:
    assert [said_readings(count) for count in (0, 1, 2, MAX_WAYS)] == [
        "",
        "",
        "2 parses",
        "1,000,000 or more parses",
    ]
    assert said_readings(None) == "many parses"
    assert "no end" in said_readings(ENDLESS)
