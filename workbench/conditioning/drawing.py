"""Drawing a place from weights by uniform numbers, and drawing places without replacement."""

from __future__ import annotations

import numpy as np

from workbench.conditioning.arrays import FloatArray, IntArray

__all__ = ["WithoutReplacement", "places_of", "systematic"]


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
