"""Times of several engines on the same inputs, input by input, for claims.

`samples` of `measurement.py` throws the times of all inputs together; an interval over inputs needs them apart.
An input that an engine refused stays: its compile time is *censored*, at least what was spent until it was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.claims import Effect
from experiments.measurement import FLOOR
from experiments.tails import OURS

__all__ = ["Together", "best_peer", "together"]

Times = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Together:
    """What several engines needed for the same inputs.

    compile: microseconds by engine, shape (inputs,), the least of all repetitions.  took: by engine, bool, shape
    (inputs,): False where it refused the input, and the time is a lower bound.  mask: by engine and input, microseconds
    of the masks that *all* engines made; empty for inputs that one of them refused.
    """

    compile: Mapping[str, Times]
    took: Mapping[str, npt.NDArray[np.bool_]]
    mask: Mapping[str, list[Times]]

    def __len__(self) -> int:
        return len(next(iter(self.compile.values()), ()))

    @property
    def by_all(self) -> npt.NDArray[np.bool_]:
        """Inputs that every engine took."""
        found: npt.NDArray[np.bool_] = np.all([*self.took.values()], axis=0)
        return found

    @property
    def by_any(self) -> npt.NDArray[np.bool_]:
        """Inputs that some engine took: what none takes says nothing about any."""
        found: npt.NDArray[np.bool_] = np.any([*self.took.values()], axis=0)
        return found

    def masks(self, engine: str) -> list[Times]:
        """Of the inputs that have masks in common."""
        return [times for times in self.mask[engine] if times.size]


def together(frame: pd.DataFrame, keys: Sequence[str], engines: Sequence[str] | None = None) -> Together | None:
    """Inputs (named by `keys`) that were tried in all `engines` (default: all in the frame); None where there are none.

    Repetitions (a column `repeat`) of one input count as one: the least time of each call.
    """
    done = frame[(frame["status"] == "ok") & (frame["engine"] != FLOOR)]
    names = list(engines or done["engine"].unique())
    rows: dict[str, dict[tuple[object, ...], list[dict[str, Any]]]] = {name: {} for name in names}
    for row in done.to_dict("records"):
        if row["engine"] in rows:
            rows[row["engine"]].setdefault(tuple(row[key] for key in keys), []).append(row)
    tried = [case for case in rows[names[0]] if all(case in rows[name] for name in names)] if names else []
    if not tried:
        return None
    compiled = {
        name: np.array([min(one["compile_ns"] for one in rows[name][case]) for case in tried]) / 1e3 for name in names
    }
    took = {
        name: np.array([all(one["compiled"] is True for one in rows[name][case]) for case in tried]) for name in names
    }
    mask: dict[str, list[Times]] = {name: [] for name in names}
    for number, case in enumerate(tried):
        common = all(took[name][number] for name in names)
        shared = _shared([one for name in names for one in rows[name][case]]) if common else []
        for name in names:
            mask[name].append(_masks(rows[name][case], shared))
    return Together(compiled, took, mask)


def _shared(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """How many masks of each text everybody made."""
    return [min(len(one["mask_ns"]) for one in walks) for walks in zip(*(row["cold"] for row in rows), strict=True)]


def _masks(rows: Sequence[Mapping[str, Any]], shared: Sequence[int]) -> Times:
    if not shared:
        return np.empty(0)
    each = [
        np.concatenate([walk["mask_ns"][:count] for walk, count in zip(row["cold"], shared, strict=True)])
        for row in rows
    ]
    found: Times = np.min(each, axis=0).astype(float) / 1e3
    return found


def best_peer(together: Together | None, statistic: Callable[[Times], float], what: str, unit: str) -> Effect | None:
    """Ours over the best peer's; `statistic` of "compile" or "mask" times, for each peer by itself.

    None where ours or all peers are missing.
    """
    if together is None or OURS not in together.compile or len(together.compile) < 2:
        return None
    if what == "compile":
        keep = together.by_all
        times: dict[str, Any] = {name: list(values[keep, None]) for name, values in together.compile.items()}
    else:
        times = {name: together.masks(name) for name in together.mask}
    ours = times.pop(OURS)

    def of(chosen: npt.NDArray[np.int64]) -> float:
        best = min(statistic(np.concatenate([peer[at] for at in chosen])) for peer in times.values())
        return statistic(np.concatenate([ours[at] for at in chosen])) / best

    return Effect(len(ours), unit, of)
