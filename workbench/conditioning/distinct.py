"""`smc`: particles that are all different, with as much of what may follow them as there are particles for.

A text is made of tokens, so two particles at one prefix say no more than one.  Here a particle is a prefix with a
weight, and a step looks at everything that may follow the particles: each allowed token behind each of them, weighed by
the particle's weight times the token's probability (together they weigh what the particle did times its feasible mass).
A stop token ends a text, which is put aside with its weight and costs nothing more.  Of the others there is room for so
many as their share of all weight says.  The heaviest keep their place and their weight; of the rest some are drawn,
systematically, and each that is drawn has the same weight, the threshold under which they fell (Fearnhead and Clifford
2003, the resampling of the least variance).  A prefix keeps its weight on average, so the weights of texts estimate
their probabilities without bias, and their sum that of the language.  Where everything has room nothing is left to
chance.

The error of one run: each lot was drawn with a probability, and what came of it in the end is known.

Read on: `particles.py`, with particles as others have them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.conditioning.drawing import FloatArray, IntArray, log_sum_exp, sample_size
from workbench.conditioning.genealogy import Generation
from workbench.conditioning.language import Language
from workbench.conditioning.outcome import Outcome, run_together
from workbench.conditioning.tree import Prefix


class _Particle(NamedTuple):
    """A prefix with its log weight.  lots: those that it has drawn, by number.  parent: its number a step before."""

    here: Prefix
    log_weight: float
    lots: tuple[int, ...] = ()
    parent: int = 0


class _Run:
    """Particles that go on, and those that have ended.  chances: by lot, the probability that it had to be drawn."""

    def __init__(self, root: Prefix, seed: list[int]) -> None:
        self.random = np.random.default_rng(seed)
        self.generations: list[Generation] = []
        self.going = [_Particle(root, 0.0)]
        self.ended: list[_Particle] = []
        self.chances: list[float] = []

    def places(self) -> list[Prefix]:
        return [particle.here for particle in self.going]

    def texts(self) -> Iterable[tuple[Prefix, float]]:
        return ((particle.here, particle.log_weight) for particle in self.ended)

    def log_evidence(self) -> float:
        return log_sum_exp(np.array([particle.log_weight for particle in self.ended]))

    def relative_error(self) -> float:
        total = self.log_evidence()
        if total == -math.inf:
            return math.nan
        came_of = np.zeros(len(self.chances))
        for particle in self.ended:
            for lot in particle.lots:
                came_of[lot] += math.exp(particle.log_weight - total)
        return math.sqrt(float(((1 - np.array(self.chances)) * came_of**2).sum()))


@dataclass
class DistinctParticles:
    """`runs` runs of at most `particles` each, which fill `outcome`."""

    language: Language
    outcome: Outcome
    runs: int
    particles: int
    seed: int

    def run(self) -> None:
        tree = self.language.tree
        runs = [_Run(tree.root, [self.seed, number]) for number in range(self.runs)]
        self.outcome.attempts = self.runs * self.particles
        try:
            run_together(tree, runs, self._step, self.outcome)
        finally:
            if not any(run.chances or run.going for run in runs):
                self.outcome.most = self.outcome.least  # nothing was left out

    def _step(self, going: list[_Run], places: list[Prefix]) -> None:
        self.language.prepare(places)
        for run in going:
            self._go_on(run)

    def _go_on(self, run: _Run) -> None:
        """Everything behind the particles of a run; what ends is put aside, and of the rest what there is room for."""
        before = len(run.ended)  # they stand first in a generation, so a particle that goes on has a number behind
        ended = [particle._replace(parent=number) for number, particle in enumerate(run.ended)]
        owners: list[IntArray] = []
        tokens: list[IntArray] = []
        log_weights: list[FloatArray] = []
        for number, particle in enumerate(run.going):
            following = self.language.following(particle.here)
            for _, end, log_prob in following.found:
                assert end is not None  # each stop token is a text of its own
                weight = particle.log_weight + log_prob - particle.here.log_prob
                ended.append(_Particle(end, weight, particle.lots, before + number))
            owners.append(np.full(len(following.ids), number))
            tokens.append(following.ids)
            log_weights.append(particle.log_weight + following.log_probs)
        owner, token, log_weight = np.concatenate(owners), np.concatenate(tokens), np.concatenate(log_weights)
        going, lots = self._select(run, ended, log_weight)
        found = []
        for place, kept, chance in going:
            particle = run.going[owner[place]]
            child = self.language.step(particle.here, int(token[place]))
            if child is None:
                continue  # the mask allowed more than the grammar takes, so nothing weighs anything here
            mine = particle.lots
            if chance < 1:
                mine = (*mine, len(run.chances))
                run.chances.append(chance)
            found.append(_Particle(child, kept, mine, before + int(owner[place])))
        run.ended, run.going = ended, found
        run.generations.append(self._generation(lots, [*ended, *found]))

    def _select(
        self, run: _Run, ended: list[_Particle], log_weights: FloatArray
    ) -> tuple[list[tuple[int, float, float]], bool]:
        """Which of the weights stay: place, log weight, and with what probability; and whether some were drawn."""
        going = log_sum_exp(log_weights)
        if going == -math.inf:
            return [], False
        aside = log_sum_exp(np.array([particle.log_weight for particle in ended]))
        room = self.particles / (1 + math.exp(min(700.0, aside - going)))
        weights = np.exp(log_weights - going)
        places, threshold = keep_by_weight(weights, room, run.random)
        found = []
        for place in places.tolist():
            weight = float(weights[place])
            chance = 1.0 if weight >= threshold else weight / threshold
            found.append((place, going + math.log(max(weight, threshold)), chance))
        return found, threshold > 0

    def _generation(self, resampled: bool, particles: Sequence[_Particle]) -> Generation:
        here, log_weights, _, parents = zip(*particles, strict=True) if particles else ((), (), (), ())
        weights, before = np.array(log_weights, dtype=np.float64), np.array(parents, dtype=np.int64)
        return Generation.of(self.language.tree, here, weights, before, resampled, sample_size(weights))


def keep_by_weight(weights: FloatArray, room: float, random: np.random.Generator) -> tuple[IntArray, float]:
    """Places of about `room` of `weights` (all of them where there is room), ascending, and the threshold.

    Weights from the threshold up stay; one below it stays with probability weight / threshold, and weighs as much as
    the threshold then.  The threshold is 0 where all stay; otherwise these probabilities sum to `room`.
    """
    positive = np.flatnonzero(weights)
    if len(positive) <= room:
        return positive, 0.0
    most = min(len(positive), math.ceil(room))
    heaviest = positive[np.argpartition(-weights[positive], most - 1)[:most]]
    heaviest = heaviest[np.argsort(-weights[heaviest], kind="stable")]
    kept, left = 0, float(weights.sum())
    threshold = left / room
    while kept < most and room - kept > 1 and weights[heaviest[kept]] >= threshold:
        left -= float(weights[heaviest[kept]])
        kept += 1
        threshold = left / (room - kept)
    stays = np.zeros(len(weights), dtype=np.bool_)
    stays[heaviest[:kept]] = True
    chances = np.where(stays, 0.0, weights / threshold)
    # Systematically: a point in each interval of length 1 of the sum of the probabilities.
    sums = np.floor(np.cumsum(chances) + random.random())
    stays |= np.diff(sums, prepend=0.0) > 0
    return np.flatnonzero(stays & (weights > 0)), threshold
