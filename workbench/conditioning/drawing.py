"""Weights and their logarithms: sums, and draws of places by weight.

`draw_token`: a token of the masked distribution without the mask, by adaptive weighted rejection (arXiv 2504.05410).
Tokens are drawn from the model's distribution without replacement, and the grammar is asked about each, until it takes
one.  Whatever was refused before, that one is distributed as under the mask.  The feasible mass, which a mask would
have said, is estimated by one draw more: with R the mass that was refused and t the token taken, the rest of what is
left, 1 - R - p(t), is counted as feasible if the next token of the sequence is, and as refused if not.  Given R and t,
that is right on average, so the weight is proper.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def log_sum_exp(values: FloatArray) -> float:
    """log of the sum of exponentials; -inf of nothing."""
    most = float(values.max()) if len(values) else -math.inf
    return most if most == -math.inf else most + math.log(float(np.exp(values - most).sum()))


def log_mean_exp(values: FloatArray) -> float:
    """log of the mean of exponentials; -inf of nothing."""
    return log_sum_exp(values) - math.log(len(values)) if len(values) else -math.inf


def sample_size(log_weights: FloatArray) -> float:
    """Effective sample size: how many draws of one weight so many weighted ones are worth; 0 of nothing."""
    total = log_sum_exp(log_weights)
    return 0.0 if total == -math.inf else 1 / float((np.exp(log_weights - total) ** 2).sum())


def places_of(weights: FloatArray, uniforms: FloatArray) -> IntArray:
    """The place of each uniform number (0 <= u < 1) in the cumulative weights; never one of weight 0.

    At least one weight is above 0.
    """
    support = np.flatnonzero(weights)
    cumulative = np.cumsum(weights[support])
    places = np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")
    found: IntArray = support[np.minimum(places, len(support) - 1)]
    return found


def systematic(count: int, random: np.random.Generator) -> FloatArray:
    """`count` uniform numbers at equal distances: each is uniform by itself, and together they are spread evenly, so
    what they draw comes as often as its probability says, to within one."""
    numbers: FloatArray = (np.arange(count) + random.random()) / count
    return numbers


class WithoutReplacement:
    """Places drawn one after another by their weights, none of them twice."""

    def __init__(self, weights: FloatArray, random: np.random.Generator) -> None:
        self._weights = weights
        self._random = random
        self._cumulative = np.cumsum(weights)
        self._taken: set[int] = set()
        self._lost = 0.0  # weight of those taken since the sums were made

    def take(self) -> int | None:
        """The next place; None when all of weight above 0 were taken."""
        total = float(self._cumulative[-1])
        if self._lost > total / 2:
            # A place that was taken is drawn again; before that takes long the sums are made anew.
            self._weights = self._weights.copy()
            self._weights[list(self._taken)] = 0.0
            self._cumulative, self._lost = np.cumsum(self._weights), 0.0
            total = float(self._cumulative[-1])
        if total <= 0:
            return None
        place = -1
        while place < 0 or place in self._taken or self._weights[place] == 0:  # at least half of the sum is left
            place = int(np.searchsorted(self._cumulative, self._random.random() * total, side="right"))
            place = min(place, len(self._weights) - 1)
        self._taken.add(place)
        self._lost += float(self._weights[place])
        return place


def draw_token(
    probabilities: FloatArray, takes: Callable[[int], bool], random: np.random.Generator
) -> tuple[int | None, float, int]:
    """A token that `takes` holds for, an estimate of the log feasible mass, and how many tokens were asked about.

    None and -inf where it holds for no token of positive probability.
    """
    pool = WithoutReplacement(probabilities, random)
    left, checks = float(probabilities.sum()), 0
    while (token := pool.take()) is not None:
        checks += 1
        if takes(token):
            break
        left -= float(probabilities[token])
    if token is None:
        return None, -math.inf, checks
    own = float(probabilities[token])
    following = pool.take()
    if following is None:
        return token, math.log(own), checks
    estimate = max(own, left) if takes(following) else own
    return token, math.log(estimate), checks + 1
