"""What a method has found so far; it stays usable wherever the method is stopped.

Read on: `attempts.py`, `particles.py`, `walk.py` (who fill it), `methods.py` (who makes `Samples` of it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from workbench.conditioning.arrays import log_sum_exp
from workbench.conditioning.genealogy import Genealogy
from workbench.conditioning.tree import Prefix

__all__ = ["Outcome"]


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
