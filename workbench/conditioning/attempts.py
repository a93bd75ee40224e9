"""`local`, `rejection`, `asap` and `cars`: attempts at a text, each from the beginning, many of them side by side.

They are one loop with two switches:

|                  | the mask at a new place | free at a new place |
| ---------------- | ----------------------- | ------------------- |
| learns nothing   | `local`                 | `rejection`         |
| learns           | `asap`                  | `cars`              |

*Free*: a token is drawn from all, and one that the grammar refuses ends the attempt in vain.  Then a text that comes
through has been drawn from the target itself.  *The mask*: no attempt is in vain, and a text has as its weight what it
should have been drawn with over what it was.

*Learns*: of each prefix that was read its value is kept, an upper bound of the probability that a text of the language
follows: the sum over allowed tokens of their probability times the value of the prefix behind each, which is 1 where
nothing was read.  Tokens are then drawn by probability times value, so nobody runs twice into what is known to fail.
With values V the draw of a text x has probability p(x) / V(root) for `cars`, for each x of the language, so what comes
through still follows the target; the probability to come through, p(language) / V(root), grows.

Attempts of a round go token by token together, all by the values of before the round, since a value that changes below
an attempt would change what it is drawn by.  Rounds begin small where there is something to learn.
Sources: arXiv 2405.21047 (`asap`), 2510.01902 (`cars`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from workbench.conditioning.drawing import FloatArray, IntArray, log_mean_exp, places_of
from workbench.conditioning.language import Language
from workbench.conditioning.outcome import Outcome
from workbench.conditioning.tree import ROWS, OutOfForwardsError, Prefix


@dataclass
class _Attempt:
    """A text being written.  ceiling: V(root) when it began.  log_weight: of what was drawn so far."""

    here: Prefix
    random: np.random.Generator
    ceiling: float
    log_weight: float = 0.0
    done: bool = False
    failed: bool = False


@dataclass
class Attempts:
    """Draws `count` texts (masks: makes as many attempts) and fills `outcome`."""

    language: Language
    outcome: Outcome
    count: int
    seed: int
    masks: bool
    learns: bool
    _all: list[_Attempt] = field(default_factory=list)

    def run(self) -> None:
        try:
            while not self._enough():
                self._round()
        finally:
            self._conclude()

    def _enough(self) -> bool:
        if self.masks:
            return len(self._all) >= self.count
        if self.language.tree.root.value == 0:
            return True  # there is no text: no attempt can succeed
        return sum(not attempt.failed for attempt in self._all) >= self.count

    def _size(self) -> int:
        """Attempts of the next round: what is missing, as far as can be told, but few while there is much to learn."""
        made, succeeded = len(self._all), sum(not attempt.failed for attempt in self._all)
        missing = self.count - (made if self.masks else succeeded)
        if not self.masks:
            missing = math.ceil(missing * (made + 1) / (succeeded + 1))
        return max(1, min(missing, ROWS, made + 1 if self.learns else ROWS))

    def _round(self) -> None:
        tree = self.language.tree
        if len(self._all) >= tree.max_forwards:
            raise OutOfForwardsError  # what was read before costs nothing, and each attempt something
        ceiling = 1.0 if tree.root.value is None else tree.root.value
        first = len(self._all)
        new = [
            _Attempt(tree.root, np.random.default_rng([self.seed, first + number]), ceiling)
            for number in range(self._size())
        ]
        self._all += new
        visited: dict[Prefix, None] = {}
        going = new
        while going:
            places = list(dict.fromkeys(attempt.here for attempt in going))
            tree.read(places)
            if self.masks or self.learns:
                self.language.prepare(places)
            visited.update(dict.fromkeys(places))
            together: dict[Prefix, list[_Attempt]] = {place: [] for place in places}
            for attempt in going:
                together[attempt.here].append(attempt)
            for place, attempts in together.items():
                self._draw(attempts, *self._weights(place))
            going = [attempt for attempt in going if not attempt.done]
        if self.learns:
            self._learn(visited)

    def _weights(self, here: Prefix) -> tuple[IntArray | None, FloatArray]:
        """Tokens (None: all) and what they are drawn by here."""
        if not self.masks and here.value is None:
            return None, np.exp(self.language.tree.log_probs(here))
        ids, log_probs = self.language.choices(here)
        return ids, np.exp(log_probs) * (_values(here, ids) if self.learns else 1.0)

    def _draw(self, attempts: list[_Attempt], ids: IntArray | None, weights: FloatArray) -> None:
        """A token of each attempt, all of which stand at one place."""
        total = float(weights.sum())
        uniforms = np.array([attempt.random.random() for attempt in attempts])
        # A refusal that no mask foretold may have lowered what is here since it was counted on: so much fails now.
        value = attempts[0].here.value
        share = 1.0 if self.masks or value is None or value <= total else total / value
        going = uniforms < share
        places = np.zeros(len(attempts), dtype=np.int64)
        places[going] = places_of(weights, uniforms[going] / share) if total > 0 else 0
        for attempt, place, goes in zip(attempts, places.tolist(), going.tolist(), strict=True):
            child = None
            if goes and total > 0:
                child = self.language.step(attempt.here, place if ids is None else int(ids[place]))
            if child is None:
                attempt.done = attempt.failed = True
                continue
            if self.masks:
                value = 1.0 if child.value is None or not self.learns else child.value
                attempt.log_weight += math.log(total) - math.log(value)
            attempt.here, attempt.done = child, child.ended

    def _learn(self, visited: Iterable[Prefix]) -> None:
        """Values of the prefixes of a round, the longest first."""
        for here in sorted(visited, key=lambda prefix: -prefix.depth):
            ids, log_probs = self.language.choices(here)
            here.value = min(1.0, float((np.exp(log_probs) * _values(here, ids)).sum()))

    def _conclude(self) -> None:
        """The attempts in their order, up to the first that did not come to its end or the last that is wanted.  The
        order is that of their numbers: in that of their ends short texts would come too often."""
        found = self.outcome
        counted: list[_Attempt] = []
        for attempt in self._all:
            if not attempt.done or len(found.ends) >= self.count:
                break
            counted.append(attempt)
            if not attempt.failed:
                found.ends.append(attempt.here)
                found.log_weights.append(attempt.log_weight)
        found.attempts = len(counted)
        root = self.language.tree.root.value
        if root is not None:
            found.most = math.log(root) if root > 0 else -math.inf
        if not counted:
            return
        if self.masks:
            weights = np.array([-math.inf if attempt.failed else attempt.log_weight for attempt in counted])
            found.log_evidence = log_mean_exp(weights)
            found.error = _relative_error(weights)
        elif self.learns:
            self._estimate_by_ceilings(counted)
        else:
            self._estimate_by_count(len(counted))

    def _estimate_by_count(self, attempts: int) -> None:
        """Of attempts until so many texts were drawn; from two texts on without bias (the last success was waited for,
        so it says nothing)."""
        found = self.outcome
        texts = len(found.ends)
        waited = texts == self.count and texts >= 2
        share = (texts - 1) / (attempts - 1) if waited else texts / attempts
        if share > 0:
            found.log_evidence = math.log(share)
            found.error = math.sqrt((1 - share) / texts)

    def _estimate_by_ceilings(self, counted: list[_Attempt]) -> None:
        """The likeliest p(language), if each attempt comes through with probability p(language) / ceiling."""
        found = self.outcome
        if not found.ends:
            return
        ceilings = np.array([attempt.ceiling for attempt in counted])
        vain = ceilings[[attempt.failed for attempt in counted]]
        low, high = found.least, min([found.most, *np.log(vain)])
        for _ in range(100):  # the slope of the likelihood falls with it
            middle = (low + high) / 2
            rest = vain - math.exp(middle)
            if (rest > 0).all() and len(found.ends) > (math.exp(middle) / rest).sum():
                low = middle
            else:
                high = middle
        found.log_evidence = low
        # Where nobody fails the estimate is the ceiling, and one failure in so many would not have been seen.
        doubt = 1 / (len(found.ends) + 1)
        information = float((math.exp(low) / np.maximum(ceilings - math.exp(low), 1e-300)).sum())
        found.error = min(max(1 / math.sqrt(information), doubt), found.most - found.least)


def _values(here: Prefix, ids: IntArray) -> FloatArray:
    """What is known of the prefixes behind `ids`, which are ascending."""
    found = np.ones(len(ids))
    for token, child in here.children.items():
        value = 0.0 if child is None else child.value
        if value is not None:
            place = int(np.searchsorted(ids, token))
            if place < len(ids) and ids[place] == token:
                found[place] = value
    return found


def _relative_error(log_weights: FloatArray) -> float:
    """Standard error of a mean of exponentials, over the mean: nan of fewer than two."""
    if len(log_weights) < 2 or not np.isfinite(log_weights).any():
        return math.nan
    return float(np.exp(log_weights - log_mean_exp(log_weights)).std(ddof=1)) / math.sqrt(len(log_weights))
