"""Integers between two bounds as a regular expression, against counting."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.compat.xgrammar.range_regex import range_regex

BOUND = st.none() | st.integers(-1200, 1200) | st.integers()


@given(BOUND, BOUND, st.lists(st.integers(-1300, 1300) | st.integers(), max_size=20))
def test_it_matches_what_lies_between(start: int | None, end: int | None, numbers: list[int]) -> None:
    pattern = re.compile(range_regex(start, end))
    bounds = [bound for bound in (start, end) if bound is not None]
    near = [bound + step for bound in bounds for step in (-10, -1, 0, 1, 10)]
    for number in [*numbers, *near, 0, 9, 10, -1, -10]:
        inside = (start is None or start <= number) and (end is None or number <= end)
        assert bool(pattern.match(str(number))) == inside, number


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 15), (-20, None), (None, 15), (-105, 1999), (990, 1010)])
def test_every_number_of_a_small_range(start: int | None, end: int | None) -> None:
    pattern = re.compile(range_regex(start, end))
    for number in range(-3000, 3000):
        inside = (start is None or start <= number) and (end is None or number <= end)
        assert bool(pattern.match(str(number))) == inside, number
    assert not [text for text in ("-0", "007", "+5", "5.0", "") if pattern.match(text)]


def test_bounds_that_cross_and_no_bounds() -> None:
    assert not re.match(range_regex(5, 3), "4")
    assert re.match(range_regex(), "-12")
