"""A full factorial: what each factor is worth over all combinations of the others, and how factors interact.

Read on: `ablating.py` (on a grammar of one's own), `experiments/factorial.py` (over many schemas).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations, product

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]


def subsets(count: int) -> list[tuple[int, ...]]:
    """All choices of `count` factors by their places, smaller ones first; the first is empty."""
    return list(chain.from_iterable(combinations(range(count), size) for size in range(count + 1)))


def contrasts(times: Mapping[tuple[bool, ...], npt.ArrayLike]) -> dict[tuple[int, ...], Times]:
    """Of every choice of factors the contrast of log(time), unit by unit, by the places of the chosen factors.

    times: of each combination (which factors are on) the times of the same units.  `ValueError` if one is missing.

    Of one factor: log(time without / time with), averaged over the combinations of the others.  Of two: the same of the
    first without the second, less that with it: 0 where each is worth the same whatever the other does, above 0 where
    both do the same work.  Of more: how far that depends on a third, and so on.
    """
    count = len(next(iter(times), ()))
    missing = set(product((False, True), repeat=count)) - set(times)
    if missing or not count:
        raise ValueError(f"{len(missing)} of {2**count} combinations are missing")
    logs = {on: np.log(np.asarray(one, dtype=float)) for on, one in times.items()}
    return {
        chosen: np.sum([(-1) ** sum(on[at] for at in chosen) * log for on, log in logs.items()], axis=0)
        / 2 ** (count - len(chosen))
        for chosen in subsets(count)[1:]
    }
