"""Draws under masks, natively: what a plain draw in float64 from the allowed logits says."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from kernels_core import BatchGrammarMatcher, Grammar, GrammarMatcher
from kernels_core.batch import draw_tokens
from kernels_core.mask_rows import MaskRows
from tests.engine.driver import compiled, mask

MANY = [b"a", b"b", b"c", *(bytes([65 + i % 26, 97 + i // 26]) for i in range(1_500))]
NOTHING, NOT_A_NUMBER = -1, -2


ROUNDING = 2e-6  # of a float32 weight beside the sum of all


def shares(
    logits: npt.NDArray[np.float32], allowed: list[int], temperature: float, min_p: float
) -> npt.NDArray[np.float64]:
    """The probability of each id, by the definition; the likeliest alone where the temperature is 0."""
    values = logits[allowed].astype(np.float64)
    found = np.zeros(len(logits))
    if temperature == 0:
        found[allowed[int(values.argmax())]] = 1
        return found
    weights = np.exp((values - values.max()) / temperature)
    found[allowed] = np.where(weights < min_p, 0, weights)
    return found / found.sum()


def masks_of_many_widths() -> tuple[list[GrammarMatcher | None], MaskRows]:
    texts = {
        "root ::= [^b]*": b"",
        'root ::= ("a" | "Aa" | "c") "b"': b"",
        'root ::= "a" [^QR]* "b"': b"a",
        "root ::= [a-zA-F]*": b"",
    }
    rows: list[GrammarMatcher | None] = [None]
    for grammar, text in texts.items():
        matcher = GrammarMatcher(compiled(Grammar.from_ebnf(grammar), MANY))
        assert matcher.accept_string(text)
        rows.append(matcher)
    return rows, BatchGrammarMatcher(1).read_masks(rows)


@pytest.mark.parametrize("beyond", [0, 1, 19, 600])
@pytest.mark.parametrize(("temperature", "min_p"), [(1.0, 0.0), (0.3, 0.0), (2.5, 0.05), (1.0, 1.0), (0.0, 0.0)])
def test_draws_are_the_plain_ones(beyond: int, temperature: float, min_p: float) -> None:
    """Rows wider than the vocabulary and not; rows out of order; three threads."""
    rows, masks = masks_of_many_widths()
    size = rows[1].compiled.tokenizer_info.vocab_size  # type: ignore[union-attr]
    width = size + beyond
    random, generator = Random(beyond), np.random.default_rng(beyond)
    count = 600
    logits = (generator.standard_normal((40, width)) * 4).astype(np.float32)
    logits[generator.random(logits.shape) < 0.1] = -np.inf
    before = logits.copy()
    onto = generator.integers(0, len(logits), count)
    chosen = generator.integers(-1, len(rows), count)
    uniforms = np.array([random.choice([0.0, random.random(), 1 - 2**-53]) for _ in range(count)])
    found = draw_tokens(
        logits, uniforms, [temperature] * count, [min_p] * count, masks=masks, rows=chosen, indices=onto, max_threads=3
    )
    assert np.array_equal(logits, before)
    everything = list(range(width))
    allowed = [everything if matcher is None else sorted(mask(matcher)) for matcher in rows]
    for draw in range(count):
        ids = everything if chosen[draw] < 0 else allowed[chosen[draw]]
        probabilities = shares(logits[onto[draw]], ids, temperature, min_p)
        past = probabilities.cumsum()[found[draw]]
        assert probabilities[found[draw]] > 0
        assert past - probabilities[found[draw]] - ROUNDING <= uniforms[draw] <= past + ROUNDING


def test_draws_follow_the_distribution_of_what_is_allowed() -> None:
    """Numbers at even distances draw each id as often as its probability says, to one draw."""
    rows, masks = masks_of_many_widths()
    logits = (np.random.default_rng(5).standard_normal((1, len(MANY) + 1)) * 2).astype(np.float32)
    count = 20_000
    uniforms = (np.arange(count) + 0.5) / count
    for row, matcher in enumerate(rows[1:], start=1):
        assert matcher is not None
        found = draw_tokens(
            logits,
            uniforms,
            np.full(count, 0.8),
            np.zeros(count),
            masks=masks,
            rows=np.full(count, row),
            indices=np.zeros(count, dtype=np.int64),
        )
        allowed = sorted(mask(matcher))
        weights = np.exp(logits[0, allowed].astype(np.float64) / 0.8)
        expected = np.zeros(logits.shape[1])
        expected[allowed] = weights / weights.sum()
        assert np.abs(np.bincount(found, minlength=len(expected)) - expected * count).max() <= 1.01


def test_rows_without_a_draw_are_named() -> None:
    """What a mask forbids does not count, whatever it is."""
    only_b = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "b"'), MANY))
    masks = BatchGrammarMatcher().read_masks([only_b])
    logits = np.zeros((1, len(MANY) + 1), dtype=np.float32)
    for temperature in (1.0, 0.0):
        for bad, here, without in (
            (np.nan, NOT_A_NUMBER, NOT_A_NUMBER),
            (np.inf, NOT_A_NUMBER, NOT_A_NUMBER),
            (-np.inf, NOTHING, 0),
        ):
            spoiled = logits.copy()
            spoiled[0, 1] = bad
            assert draw_tokens(spoiled, np.zeros(1), [temperature], [0.0], masks=masks).tolist() == [here]
            assert draw_tokens(spoiled, np.zeros(1), [temperature], [0.0]).tolist() == [without]
            spoiled = np.full_like(logits, bad)
            spoiled[0, 1] = 3
            assert draw_tokens(spoiled, np.zeros(1), [temperature], [0.0], masks=masks).tolist() == [1]
    assert draw_tokens(np.zeros((0, 5), dtype=np.float32), np.zeros(0), [], []).tolist() == []
    assert draw_tokens(np.zeros((1, 0), dtype=np.float32), np.zeros(1), [1.0], [0.0]).tolist() == [NOTHING]


@pytest.mark.parametrize("temperature", [1e-300, 1e-30, 1e30, 1e300])
def test_temperatures_at_the_ends(temperature: float) -> None:
    """Cold ones take the largest; hot ones everything alike, but for a logit that is as far off as they are hot."""
    logits = np.array([[0.0, 3.0, -3e38, 3.0, -np.inf, 3e38]], dtype=np.float32)[:, :5]
    uniforms = np.array([0.0, 0.49, 0.51, 1 - 2**-53])
    found = draw_tokens(logits, uniforms, [temperature] * 4, [0.0] * 4, indices=[0] * 4)
    assert found.tolist() == (
        [1, 1, 3, 3] if temperature < 1 else [0, 1, 1, 3] if temperature == 1e30 else [0, 1, 2, 3]
    )


@pytest.mark.parametrize("temperature", [1e30, 1e300])
def test_the_hottest_draw_from_all_that_is_allowed(temperature: float) -> None:
    """Also where whole stretches of the vocabulary are not."""
    grammar = compiled(
        Grammar.from_ebnf('root ::= "a" | "b" | "Zz"'), [b"a", b"b", *1000 * [b"-"], b"Zz", *1000 * [b"-"]]
    )
    masks = BatchGrammarMatcher(1).read_masks([GrammarMatcher(grammar)])
    logits, uniforms = np.zeros((1, 2004), dtype=np.float32), np.array([0.0, 0.5, 0.9])
    found = draw_tokens(logits, uniforms, [temperature] * 3, [0.0] * 3, masks=masks, rows=[0] * 3, indices=[0] * 3)
    assert found.tolist() == [0, 1, 1002]


def test_bad_draws_are_refused() -> None:
    logits = np.zeros((2, 9), dtype=np.float32)
    ones = [1.0, 1.0]
    with pytest.raises(ValueError, match="float32"):
        draw_tokens(logits.astype(np.float64), np.zeros(2), ones, ones)
    with pytest.raises(ValueError, match="side by side"):
        draw_tokens(np.asfortranarray(logits), np.zeros(2), ones, ones)
    with pytest.raises(ValueError, match="3 numbers for 2 rows"):
        draw_tokens(logits, np.zeros(3), ones, ones)
    with pytest.raises(ValueError, match="indices"):
        draw_tokens(logits, np.zeros(2), ones, ones, indices=[0, 2])
    with pytest.raises(ValueError, match="2 numbers for 2 masks, 2 rows, 1 and 2 settings"):
        draw_tokens(logits, np.zeros(2), [1.0], ones)
    with pytest.raises(ValueError, match="there is no row 4"):
        draw_tokens(logits, np.zeros(2), ones, ones, masks=BatchGrammarMatcher().read_masks([None]), rows=[0, 4])
