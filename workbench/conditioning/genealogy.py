"""Who was resampled from whom: the particles of each run, step by step, as plain data.

Read on: `distinct.py`, `particles.py` (who write it), `figures.py` (the picture).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernels_core.inspect.snapshots import Table
from workbench.conditioning.drawing import FloatArray, IntArray

if TYPE_CHECKING:
    from workbench.conditioning.tree import Prefix, PrefixTree


@dataclass(frozen=True, slots=True)
class Generation:
    """All particles of a run after one step.

    parents: int64 (particles,), which particle of the step before each one continues.  resampled: whether these were
    drawn by weight (otherwise each continues itself).  log_weights: after the step's token, and after resampling if
    there was any; -inf for a particle that is dead.  ess: effective sample size before resampling.
    texts: what each has written; ended: whether it has written its stop token.
    """

    parents: IntArray
    resampled: bool
    log_weights: FloatArray
    ess: float
    texts: tuple[str, ...]
    ended: tuple[bool, ...]

    @classmethod
    def of(
        cls,
        tree: PrefixTree,
        here: Sequence[Prefix],
        log_weights: FloatArray,
        parents: IntArray,
        resampled: bool,
        ess: float,
    ) -> Generation:
        """Of particles at the prefixes `here`."""
        texts = {place: tree.text(place).decode(errors="backslashreplace") for place in dict.fromkeys(here)}
        ended = tuple(place.ended for place in here)
        return cls(parents, resampled, log_weights, ess, tuple(texts[place] for place in here), ended)


@dataclass(frozen=True)
class Genealogy(Table):
    """The generations of each run, in order."""

    runs: tuple[tuple[Generation, ...], ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each particle of each step of each run."""
        return [
            {
                "run": run,
                "step": step,
                "particle": particle,
                "parent": int(parent),
                "resampled": generation.resampled,
                "log_weight": float(generation.log_weights[particle]),
                "text": generation.texts[particle],
                "ended": generation.ended[particle],
            }
            for run, generations in enumerate(self.runs)
            for step, generation in enumerate(generations)
            for particle, parent in enumerate(generation.parents)
        ]

    def __repr__(self) -> str:
        resampled = [sum(generation.resampled for generation in run) for run in self.runs]
        return f"<Genealogy of {len(self.runs):,} runs, resampled {sum(resampled):,} times>"


def first_ancestors(parents: Sequence[IntArray]) -> IntArray:
    """Of each particle at the end, the one of the beginning that it continues; `parents` of each step in order."""
    if not parents:
        return np.empty(0, dtype=np.int64)
    found = np.arange(len(parents[0]))
    for step in parents:
        found = found[step]
    return found
