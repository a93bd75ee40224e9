"""What a method has found so far; it stays usable wherever the method is stopped.

Read on: `attempts.py`, `distinct.py`, `particles.py` (who fill it), `methods.py` (which makes `Samples` of it).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from workbench.conditioning.drawing import log_mean_exp, log_sum_exp
from workbench.conditioning.genealogy import Genealogy, Generation
from workbench.conditioning.tree import Prefix, PrefixTree


@dataclass
class Outcome:
    """Fields are those of `Samples`.  ends: the prefixes of the texts drawn.  most: upper bound of the log evidence."""

    ends: list[Prefix] = field(default_factory=list)
    log_weights: list[float] = field(default_factory=list)
    log_evidence: float = -math.inf
    error: float = math.nan
    most: float = 0.0
    attempts: int = 0
    checks: int = 0
    stopped: str | None = None
    genealogy: Genealogy | None = None

    @property
    def least(self) -> float:
        """Log probability of all different token sequences that were found."""
        return log_sum_exp(np.array([end.log_prob for end in dict.fromkeys(self.ends)]))


class Run(Protocol):
    """Particles of one run.  places: prefixes of those that go on.  texts: those that have ended, with log weights.
    log_evidence, and its relative_error: what this run alone says of the probability of the language."""

    generations: list[Generation]

    def places(self) -> list[Prefix]: ...
    def texts(self) -> Iterable[tuple[Prefix, float]]: ...
    def log_evidence(self) -> float: ...
    def relative_error(self) -> float: ...


R = TypeVar("R", bound=Run)


def run_together(
    tree: PrefixTree, runs: Sequence[R], step: Callable[[list[R], list[Prefix]], None], outcome: Outcome
) -> None:
    """All runs token by token: `step` takes those that go on, and where they stand; prefixes are read once for all.

    Wherever this ends the texts that have ended are in `outcome`; a particle that is still writing counts as none.
    """
    try:
        while going := [(run, here) for run in runs if (here := run.places())]:
            places = list(dict.fromkeys(place for _, here in going for place in here))
            tree.read(places)
            step([run for run, _ in going], places)
    finally:
        for run in runs:
            for end, log_weight in run.texts():
                outcome.ends.append(end)
                outcome.log_weights.append(log_weight)
        evidences = np.array([run.log_evidence() for run in runs])
        outcome.log_evidence = log_mean_exp(evidences)
        if len(runs) == 1:
            outcome.error = runs[0].relative_error()
        elif outcome.log_evidence != -math.inf:
            outcome.error = float(np.exp(evidences - outcome.log_evidence).std(ddof=1)) / math.sqrt(len(runs))
        outcome.genealogy = Genealogy(tuple(tuple(run.generations) for run in runs))
