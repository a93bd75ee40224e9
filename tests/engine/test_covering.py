"""The options that tests take in turn: every two settings of two mechanisms meet in some of them."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from kernels_core import Options
from tests.covering import covering_rows
from tests.engine.driver import FOLLOWING, TOKEN_SETS, VARIANTS, Settings

DEFAULTS = Options().to_dict()


def whole(settings: Settings, mechanism: tuple[Settings, ...]) -> Settings:
    """`settings`, and the default values of what they could have set."""
    return {key: DEFAULTS[key] for each in mechanism for key in each} | settings


PAIRS = [
    whole(one, left) | whole(other, right)
    for left, right in combinations(FOLLOWING + TOKEN_SETS, 2)
    for one, other in product(left, right)
]
WITH_FEW = [
    whole(one, left) | {"parser": parser} for left in FOLLOWING for one in left for parser in ("earley", "naive")
]


def test_every_two_settings_meet_where_token_sets_are_made() -> None:
    made = [
        variant.to_dict()
        for variant in VARIANTS.values()
        if variant.parser == "earley" and variant.mechanisms.direct_limit <= 2
    ]
    assert [pair for pair in PAIRS if not any(pair.items() <= options.items() for options in made)] == []
    assert len(made) < len(PAIRS) / 8


def test_every_way_to_follow_a_text_meets_walks_and_the_naive_parser() -> None:
    made = [variant.to_dict() for variant in VARIANTS.values() if variant.mechanisms.direct_limit > 2]
    assert [few for few in WITH_FEW if not any(few.items() <= options.items() for options in made)] == []


@pytest.mark.parametrize(("factors", "most"), [((2, 2), 4), ((3, 2, 1), 6), (19 * (2,), 12), ((2, 5, 3, 4, 2), 22)])
def test_rows_hold_every_pair(factors: tuple[int, ...], most: int) -> None:
    """With few more rows than the two largest factors have pairs."""
    rows = covering_rows({str(at): range(size) for at, size in enumerate(factors)})
    met = {(one, row[one], other, row[other]) for row in rows for one, other in combinations(row, 2)}
    wanted = {
        (str(left), one, str(right), other)
        for (left, few), (right, many) in combinations(enumerate(factors), 2)
        for one, other in product(range(few), range(many))
    }
    assert met == wanted
    assert len(rows) <= most
