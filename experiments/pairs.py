"""Times of several engines on the same inputs, input by input, for claims.

`samples` of `measurement.py` throws the times of all inputs together; an interval over inputs needs them apart.
An input that an engine refused stays, with what was spent until it was refused, for those who want a lower bound;
`best_peer` compares on the inputs that all engines took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.claims import Effect, ratio
from experiments.columns import finished
from experiments.measurement import Measured, first_valid, request_ns
from experiments.tails import OURS, quantile

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


def together(frame: pd.DataFrame, keys: Sequence[str], engines: Sequence[str] | None = None) -> Together:
    """Inputs (named by `keys`) that were tried in all `engines` (default: all in the frame).

    Repetitions (a column `repeat`) of one input count as one: the least time of each call.
    """
    done = finished(frame)
    names = list(engines or done["engine"].unique())
    rows: dict[str, dict[tuple[object, ...], list[Measured]]] = {name: {} for name in names}
    for row in done.to_dict("records"):
        if row["engine"] in rows:
            rows[row["engine"]].setdefault(tuple(row[key] for key in keys), []).append(row)
    tried = [case for case in rows[names[0]] if all(case in rows[name] for name in names)] if names else []
    compiled = {
        name: np.array([min(one["compile_ns"] for one in rows[name][case]) for case in tried]) / 1e3 for name in names
    }
    took = {
        name: np.array([all(one["compiled"] is True for one in rows[name][case]) for case in tried], dtype=bool)
        for name in names
    }
    mask: dict[str, list[Times]] = {name: [] for name in names}
    for number, case in enumerate(tried):
        common = all(took[name][number] for name in names)
        shared = _shared([one for name in names for one in rows[name][case]]) if common else []
        for name in names:
            mask[name].append(_masks(rows[name][case], shared))
    return Together(compiled, took, mask)


def _shared(rows: Sequence[Measured]) -> list[int]:
    """How many masks of each text everybody made."""
    return [min(len(one["mask_ns"]) for one in walks) for walks in zip(*(row["cold"] for row in rows), strict=True)]


def _masks(rows: Sequence[Measured], shared: Sequence[int]) -> Times:
    if not shared:
        return np.empty(0)
    each = [
        np.concatenate([walk["mask_ns"][:count] for walk, count in zip(row["cold"], shared, strict=True)])
        for row in rows
    ]
    found: Times = np.min(each, axis=0).astype(float) / 1e3
    return found


class Pooled:
    """The times of any choice of inputs as one sample, for intervals that ask for a thousand choices of millions.

    times: of each input.  A choice names inputs by their places, some of them several times.
    """

    def __init__(self, times: Sequence[Times]) -> None:
        self._sizes = np.array([len(one) for one in times])
        self._sums = np.array([one.sum() for one in times])
        every = np.concatenate(times)
        falling = np.argsort(-every, kind="stable")
        self._values = every[falling]
        self._inputs = np.repeat(np.arange(len(times)), self._sizes)[falling]

    def mean(self, chosen: npt.NDArray[np.int64]) -> float:
        often = np.bincount(chosen, minlength=len(self._sizes))
        return float(often @ self._sums / (often @ self._sizes))

    def quantile(self, share: float, chosen: npt.NDArray[np.int64]) -> float:
        """The least value that `share` of the sample do not exceed; of two candidates the higher one."""
        often = np.bincount(chosen, minlength=len(self._sizes))
        total = int(often @ self._sizes)
        above = total - 1 - ceil((total - 1) * share)  # how many of the sample come before it, the greatest first
        look = 2 * above + 64
        while True:
            counted = often[self._inputs[:look]].cumsum()
            if counted[-1] > above or look >= len(self._values):
                return float(self._values[np.searchsorted(counted, above, side="right")])
            look *= 2


def over(
    frame: pd.DataFrame, keys: Sequence[str], above: str, below: str, unit: str, *, what: str, censored: bool = False
) -> Effect:
    """What the engine `above` needed over what `below` did, for the inputs that both took.

    what: "compile", "mask" (all masks of an input), or "both" together.  censored: also for inputs that one refused,
    with what was spent until then.
    """
    both = together(frame, keys, [above, below])
    inputs = np.flatnonzero(both.by_any if censored else both.by_all)
    spent = {}
    for name in (above, below):
        masks = np.array([both.mask[name][at].sum() for at in inputs])
        compiling = both.compile[name][inputs]
        spent[name] = {"compile": compiling, "mask": masks, "both": compiling + masks}[what]
    return ratio(spent[above], spent[below], unit)


def request(frame: pd.DataFrame, keys: Sequence[str], unit: str, share: float | None = None) -> Effect | None:
    """What a request costs, ours over the best peer's: compiling, and all masks and accepts of its first valid text.

    share: of the times of all requests this quantile, of each engine by itself; None: their sum.  On inputs that all
    engines took and whose text all of them read to the end.  None where ours or all peers are missing.
    """
    spent: dict[str, dict[tuple[object, ...], float]] = {}
    for row in finished(frame).to_dict("records"):
        if row["compiled"] is True and (at := first_valid(row)) is not None:
            known, case = spent.setdefault(str(row["engine"]), {}), (at, *(row[key] for key in keys))
            took = request_ns(row, at) / 1e3
            known[case] = min(took, known.get(case, took))
    if OURS not in spent or len(spent) < 2:
        return None
    cases = [case for case in spent[OURS] if all(case in known for known in spent.values())]
    times = {name: np.array([known[case] for case in cases]) for name, known in spent.items()}

    def spent_by(engine: str, chosen: npt.NDArray[np.int64]) -> float:
        some = times[engine][chosen]
        return float(some.sum()) if share is None else quantile(some, share)

    return _over_best(times, spent_by, len(cases), unit)


def best_peer(together: Together, share: float | None, what: str, unit: str) -> Effect | None:
    """Ours over the best peer's: the quantile `share` of "compile" or "mask" times (None: their mean), of each peer by
    itself.  None where ours or all peers are missing.
    """
    if OURS not in together.compile or len(together.compile) < 2 or not len(together):
        return None
    if what == "compile":
        keep = together.by_all
        times = {name: list(values[keep, None]) for name, values in together.compile.items()}
    else:
        times, unit = {name: together.masks(name) for name in together.mask}, f"{unit} with texts"
    inputs = len(times[OURS])
    if not inputs:
        return Effect(0, unit, lambda chosen: float("nan"))
    pooled = {name: Pooled(some) for name, some in times.items()}

    def spent_by(engine: str, chosen: npt.NDArray[np.int64]) -> float:
        return pooled[engine].mean(chosen) if share is None else pooled[engine].quantile(share, chosen)

    return _over_best(pooled, spent_by, inputs, unit)


def _over_best(
    engines: Iterable[str], spent_by: Callable[[str, npt.NDArray[np.int64]], float], inputs: int, unit: str
) -> Effect:
    """Ours over the best of the others."""
    peers = [name for name in engines if name != OURS]
    return Effect(inputs, unit, lambda chosen: spent_by(OURS, chosen) / min(spent_by(name, chosen) for name in peers))
