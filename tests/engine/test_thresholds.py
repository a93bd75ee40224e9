"""Whatever the thresholds are, masks are those of a recogniser that shares no code with the engine.

Thresholds are made for large vocabularies.  At the ends of their ranges they send small grammars down the ways that
only large vocabularies take, and these ways meet each other.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels_core import GrammarMatcher, Options
from kernels_core.laboratory import with_thresholds
from kernels_core.masks.thresholds import TABLE, read_threshold, set_threshold
from tests.covering import covering_rows
from tests.engine.driver import compiled, mask, named
from tests.engine.test_against_reference import Oracle
from tests.engine.test_laboratory import NEAR, check, expected, new_vocabulary
from tests.strategies import World, examples, texts, worlds

__all__ = ["expected", "new_vocabulary"]  # fixtures

ENDS: Final = (0, 1, 2, 1 << 40)


def values(name: str) -> list[int]:
    """Values at the ends of the range of a threshold."""
    return sorted({min(value, TABLE[name][1]) for value in ENDS})


SETTINGS: Final = st.dictionaries(st.sampled_from(sorted(TABLE)), st.sampled_from(ENDS), max_size=len(TABLE)).map(
    lambda drawn: {name: min(value, TABLE[name][1]) for name, value in drawn.items()}
)
SIZES: Final = st.sampled_from([0, 1, 2, 64, 1 << 20])
OPTIONS: Final = st.builds(
    Options.laboratory,
    direct_limit=SIZES,
    differential_from=SIZES,
    inline_limit=SIZES,
    unroll_limit=st.sampled_from([0, 2, 32]),
    iteration_profiles=st.booleans(),
    walk_shortcuts=st.booleans(),
    differential_masks=st.booleans(),
    cross_grammar_cache=st.booleans(),
    lazy_lowering=st.booleans(),
    memoize_sets=st.booleans(),
    lookahead=st.booleans(),
)


# What is set beside thresholds where they meet in pairs: options that make token sets of a small vocabulary.
BESIDE: Final[dict[str, tuple[int, ...]]] = {
    "direct_limit": (0, 64),
    "differential_from": (0, 256),
    "unroll_limit": (0, 32),
    "iteration_profiles": (False, True),
    "lazy_lowering": (False, True),
    "cross_grammar_cache": (False, True),
}
ROWS: Final = covering_rows({name: (0, values(name)[-1]) for name in TABLE} | BESIDE)
MORE_ROWS: Final = covering_rows({name: values(name) for name in TABLE} | BESIDE)


@pytest.mark.parametrize("row", [*ROWS, *(pytest.param(row, marks=pytest.mark.long) for row in MORE_ROWS)])
def test_masks_of_a_few_thousand_tokens(
    row: dict[str, int], expected: dict[str, list[list[NDArray[np.bool_]]]]
) -> None:
    """Every two thresholds at the ends of their ranges; with `--long` also beside them."""
    options = Options.laboratory(**{name: row[name] for name in BESIDE})
    with named(str(row)), with_thresholds(**{name: row[name] for name in TABLE}):
        check(expected, options)


@pytest.mark.parametrize("value", ENDS)
def test_all_thresholds_at_one_end(value: int, expected: dict[str, list[list[NDArray[np.bool_]]]]) -> None:
    with with_thresholds(**{name: min(value, row[1]) for name, row in TABLE.items()}):
        check(expected, NEAR)
        check(expected, Options.laboratory(direct_limit=0, differential_from=0))


# Thirty thresholds and a dozen options have to meet.
@examples(3)
@given(worlds(), OPTIONS, SETTINGS, st.data())
def test_masks_at_every_prefix(world: World, options: Options, thresholds: dict[str, int], data: st.DataObject) -> None:
    ir, vocab = world
    oracle = Oracle(ir, vocab)
    text = data.draw(texts(oracle.recogniser))
    with with_thresholds(**thresholds):
        matcher = GrammarMatcher(compiled(ir, vocab, options))
        assert mask(matcher) == oracle.mask(b"")
        for end in range(1, len(text) + 1):
            if not matcher.accept_string(text[end - 1 : end]):
                assert not oracle.state(text[:end]).alive
                break
            assert mask(matcher) == oracle.mask(text[:end])


def test_thresholds_are_back_afterwards() -> None:
    before = {name: read_threshold(name) for name in TABLE}
    assert before == {name: row[0] for name, row in TABLE.items()}
    with pytest.raises(ZeroDivisionError), with_thresholds(loop_nodes=0, wide_bytes=1):
        assert 1 / read_threshold("loop_nodes")
    assert {name: read_threshold(name) for name in TABLE} == before


def test_what_is_no_value_of_a_threshold_is_named() -> None:
    with pytest.raises(ValueError, match="no threshold 'loop_nods'; known: loop_children"):
        set_threshold("loop_nods", 1)
    with pytest.raises(ValueError, match="'follow_bytes' must be from 0 to 7, got 8"), with_thresholds(follow_bytes=8):
        pass
    assert read_threshold("follow_bytes") == TABLE["follow_bytes"][0]


def test_each_threshold_is_within_its_bound() -> None:
    assert [name for name, (value, most, _) in TABLE.items() if not 0 <= value <= most] == []
