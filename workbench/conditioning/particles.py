"""`smc` and `awrs`: particles that write side by side, are weighed at each token, and are drawn anew by their weights.

A particle's weight is what its text should have been drawn with over what it was.  At a prefix it is multiplied by the
feasible mass there, before a token is drawn: so a particle that has written itself into a corner is light when it gets
there, not a token later (the twist by feasible mass, which costs nothing as the next token needs these logits anyway).
Where the effective sample size falls under a share of the particles, they are drawn anew by weight, systematically, and
have the mean weight from then on.  The mean of the weights at the end is an unbiased estimate of p(language).

`smc` masks, and particles that stand at the same prefix draw their tokens systematically, too: of 32 at the beginning,
a token of probability 1/4 is drawn by 8.  `awrs` draws each token by rejection, which gives an estimate of the feasible
mass for the weight (`drawing.py`).

Sources: arXiv 2504.13139, 2504.05410; the error of a single run: Lee and Whiteley 2018 (arXiv 1509.00394).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from workbench.conditioning.drawing import (
    FloatArray,
    IntArray,
    draw_token,
    log_mean_exp,
    log_sum_exp,
    places_of,
    sample_size,
    systematic,
)
from workbench.conditioning.genealogy import Generation, first_ancestors
from workbench.conditioning.language import Language
from workbench.conditioning.outcome import Outcome, run_together
from workbench.conditioning.tree import Prefix


class _Run:
    """Particles of one run.  here: their prefixes; log_weights: -inf for a dead one."""

    def __init__(self, root: Prefix, count: int, seed: list[int]) -> None:
        self.random = np.random.default_rng(seed)
        self.generations: list[Generation] = []
        self.here = [root] * count
        self.tokens: list[int | None] = [None] * count  # drawn by `awrs`, to be taken
        self.log_weights = np.zeros(count)

    @property
    def going(self) -> list[int]:
        """Particles that are alive and have not ended."""
        return [
            number for number, here in enumerate(self.here) if not here.ended and self.log_weights[number] != -math.inf
        ]

    def places(self) -> list[Prefix]:
        return [self.here[number] for number in self.going]

    def texts(self) -> Iterable[tuple[Prefix, float]]:
        return ((here, weight) for here, weight in zip(self.here, self._ended(), strict=True) if weight != -math.inf)

    def log_evidence(self) -> float:
        return log_mean_exp(self._ended())

    def _ended(self) -> FloatArray:
        """Log weights of the particles that have ended; -inf for the others."""
        return np.where([here.ended for here in self.here], self.log_weights, -math.inf)

    def resample(self, below: float) -> tuple[IntArray, bool, float]:
        """Draw the particles anew if their effective sample size is under a share `below` of their number."""
        count, ess = len(self.here), sample_size(self.log_weights)
        if not (ess < below * count and self.going):
            return np.arange(count), False, ess
        total = log_sum_exp(self.log_weights)
        parents = places_of(np.exp(self.log_weights - total), systematic(count, self.random))
        self.here = [self.here[parent] for parent in parents]
        self.tokens = [self.tokens[parent] for parent in parents]
        self.log_weights = np.full(count, total - math.log(count))
        return parents, True, ess

    def relative_error(self) -> float:
        """From who descends from whom; nan of one particle."""
        count, log_weights = len(self.here), self._ended()
        total = log_sum_exp(log_weights)
        if count < 2 or total == -math.inf:
            return math.nan
        weights = np.exp(log_weights - total)
        families = np.bincount(
            first_ancestors([generation.parents for generation in self.generations]), weights, minlength=count
        )
        resampled = sum(generation.resampled for generation in self.generations)
        apart = 1 - float((families**2).sum())
        return math.sqrt(max(0.0, 1 - (count / (count - 1)) ** (resampled + 1) * apart))


@dataclass
class Particles:
    """`runs` runs of `particles` each, under `masks` or drawing each token by rejection; they fill `outcome`."""

    language: Language
    outcome: Outcome
    runs: int
    particles: int
    seed: int
    masks: bool
    resample_below: float

    def run(self) -> None:
        tree = self.language.tree
        runs = [_Run(tree.root, self.particles, [self.seed, number]) for number in range(self.runs)]
        self.outcome.attempts = self.runs * self.particles
        run_together(tree, runs, self._step, self.outcome)

    def _step(self, going: list[_Run], places: list[Prefix]) -> None:
        """A token of every particle."""
        tree = self.language.tree
        if self.masks:
            self.language.prepare(places)
            choices = {place: self.language.choices(place) for place in places}
            mass = {place: log_sum_exp(log_probs) for place, (_, log_probs) in choices.items()}
        else:
            choices = {place: (np.empty(0, np.int64), tree.log_probs(place)) for place in places}
        probabilities = {place: np.exp(log_probs) for place, (_, log_probs) in choices.items()}
        for run in going:
            for number in run.going:
                here = run.here[number]
                run.log_weights[number] += mass[here] if self.masks else self._reject(run, number, probabilities[here])
            parents, resampled, ess = run.resample(self.resample_below)
            if self.masks:
                self._draw(run, {place: (ids, probabilities[place]) for place, (ids, _) in choices.items()})
            for number in run.going:
                token = run.tokens[number]
                child = None if token is None else self.language.step(run.here[number], token)
                if child is None:
                    run.log_weights[number] = -math.inf
                else:
                    run.here[number] = child
            run.generations.append(Generation.of(tree, run.here, run.log_weights.copy(), parents, resampled, ess))

    def _draw(self, run: _Run, choices: dict[Prefix, tuple[IntArray, FloatArray]]) -> None:
        """A token under the mask for each particle, those at one place together."""
        together: dict[Prefix, list[int]] = {}
        for number in run.going:
            together.setdefault(run.here[number], []).append(number)
        for here, numbers in together.items():
            ids, probabilities = choices[here]
            places = places_of(probabilities, systematic(len(numbers), run.random))
            for number, place in zip(numbers, places, strict=True):
                run.tokens[number] = int(ids[place])

    def _reject(self, run: _Run, number: int, probabilities: FloatArray) -> float:
        """A token by rejection for a particle; the log of the estimated feasible mass."""
        here = run.here[number]
        token, estimate, checks = draw_token(
            probabilities, lambda token: self.language.step(here, token) is not None, run.random
        )
        run.tokens[number] = token
        self.outcome.checks += checks
        return estimate
