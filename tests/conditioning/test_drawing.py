"""Draws that estimate what they should: places kept by weight, without replacement, and tokens by rejection."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch")

from workbench.conditioning.distinct import keep_by_weight
from workbench.conditioning.drawing import WithoutReplacement, draw_token, places_of, systematic


@pytest.mark.parametrize("room", [0.3, 1.0, 2.5, 5.0, 7.9])
def test_weights_are_kept_on_average(room: float) -> None:
    random = np.random.default_rng(1)
    weights = random.random(12) ** 6
    runs = 4000
    seen = np.zeros((runs, 12))
    for run in range(runs):
        places, threshold = keep_by_weight(weights, room, random)
        seen[run, places] = np.maximum(weights[places], threshold)
        assert abs(len(places) - room) < 1 + 1e-9
        spread = np.sqrt(weights * threshold / runs)
        assert set(np.flatnonzero(weights >= threshold)) <= set(places.tolist())
    assert (abs(seen.mean(axis=0) - weights) < 5 * spread + 1e-12).all()


def test_what_has_room_stays() -> None:
    places, threshold = keep_by_weight(np.array([0.1, 0.0, 0.5]), 2.0, np.random.default_rng(0))
    assert (places.tolist(), threshold) == ([0, 2], 0.0)


def test_places_follow_their_weights() -> None:
    random = np.random.default_rng(2)
    weights = np.array([0.0, 1.0, 0.0, 3.0, 0.0])
    assert np.bincount(places_of(weights, systematic(8, random)), minlength=5).tolist() == [0, 2, 0, 6, 0]
    assert places_of(weights, np.array([0.0, 0.2499, 0.25, 1 - 2**-53])).tolist() == [1, 1, 3, 3]


def test_nothing_is_drawn_twice() -> None:
    random = np.random.default_rng(3)
    weights = np.array([1e-9, 5.0, 0.0, 1.0, 1e-3])
    firsts = np.zeros(5)
    for _ in range(2000):
        pool = WithoutReplacement(weights, random)
        order = [pool.take() for _ in range(5)]
        assert order[-1] is None
        assert sorted(order[:4]) == [0, 1, 3, 4]  # type: ignore[type-var]
        firsts[order[0]] += 1
    assert abs(firsts[1] / 2000 - 5 / 6.001) < 0.03


def test_a_token_by_rejection_is_one_of_the_mask_with_a_proper_weight() -> None:
    random = np.random.default_rng(4)
    probabilities = np.array([0.4, 0.05, 0.25, 0.1, 0.2])
    feasible = {1, 3, 4}
    runs = 20_000
    weighed, counts, weights = np.zeros(5), np.zeros(5), np.zeros(runs)
    for run in range(runs):
        token, log_weight, checks = draw_token(probabilities, feasible.__contains__, random)
        assert token in feasible
        assert 1 <= checks <= 5
        weights[run] = math.exp(log_weight)
        counts[token] += 1
        weighed[token] += weights[run]
    assert weights.mean() == pytest.approx(0.35, abs=4 * weights.std() / math.sqrt(runs))
    for token in feasible:
        assert counts[token] / runs == pytest.approx(probabilities[token] / 0.35, abs=0.015)
        assert weighed[token] / runs == pytest.approx(probabilities[token], abs=0.01)


def test_where_nothing_is_feasible_everything_was_asked() -> None:
    token, log_weight, checks = draw_token(np.full(4, 0.25), lambda token: False, np.random.default_rng(5))
    assert (token, log_weight, checks) == (None, -math.inf, 4)


def test_the_last_token_of_all_is_certain() -> None:
    only = np.array([0.0, 0.25, 0.0])
    token, log_weight, _ = draw_token(only, lambda token: True, np.random.default_rng(6))
    assert token == 1
    assert log_weight == pytest.approx(math.log(0.25))
