"""A token of the masked distribution without the mask: adaptive weighted rejection (arXiv 2504.05410).

Tokens are drawn from the model's distribution without replacement, and the grammar is asked about each, until it takes
one.  Whatever was refused before, that one is distributed as under the mask.  The feasible mass, which a mask would
have said, is estimated by one draw more: with R the mass that was refused and t the token taken, the rest of what is
left, 1 - R - p(t), is counted as feasible if the next token of the sequence is, and as refused if not.  Given R and t,
that is right on average, so the weight is proper.

Read on: `particles.py`, whose particles are weighed by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from workbench.conditioning.arrays import FloatArray
from workbench.conditioning.drawing import WithoutReplacement

__all__ = ["draw_token"]


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
