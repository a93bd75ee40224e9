"""Averages and tails of times, and how many times ours is the best peer's.  Times come in nanoseconds, go out in us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.columns import Column

OURS: Final = "ours"
QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
STATISTICS: Final = ("avg", *QUANTILES, "max")

ENGINE: Final = Column(
    "engine", help="whose numbers; ours / best peer: below 1 ours is less, the best peer taken column by column"
)
N: Final = Column("n", help="how many values it was measured on")
TIMES: Final = (
    Column(
        "metric",
        help="what was timed; request: compiling, and all masks and accepts of the first valid text; first visits: a "
        "parser state for the first time; seen before: the texts once more",
    ),
    ENGINE,
    N,
    Column("avg", help="the average"),
    Column("p50", help="half of the values are at most this"),
    *(
        Column(name, help="quantile: this percentage of the values are at most this")
        for name in QUANTILES
        if name != "p50"
    ),
    Column("max", help="the greatest value"),
)
"""Of the table that `compare` gives."""

Times = Sequence[int] | npt.NDArray[np.int64]


def describe(times: Times) -> dict[str, float]:
    """`n`, and `avg`, `p50`, `p90`, `p99`, `p99.9`, `max` in microseconds.

    Quantiles are measured values, never in between two (numpy's "higher").  Above the median one that no value exceeds
    is NaN: it would be the maximum by another name.
    """
    values = np.asarray(times, dtype=np.float64) / 1000
    if not values.size:
        return {"n": 0.0} | dict.fromkeys(STATISTICS, float("nan"))
    tails = np.quantile(values, list(QUANTILES.values()), method="higher")
    last = values.size - 1
    named = {
        name: float(value) if name == "p50" or ceil(last * share) < last else float("nan")
        for (name, share), value in zip(QUANTILES.items(), tails, strict=True)
    }
    return {"n": float(values.size), "avg": float(values.mean())} | named | {"max": float(values.max())}


def quantile(values: npt.ArrayLike, share: float) -> float:
    """The least value that `share` of them do not exceed, one that was measured (numpy's "higher"); NaN of none."""
    found = np.asarray(values, dtype=float)
    return float(np.quantile(found, share, method="higher")) if found.size else float("nan")


def compare(times: Mapping[str, Mapping[str, Times]]) -> pd.DataFrame:
    """One row for each metric and engine; where ours and a peer were measured, a third kind of row, "ours / best peer".

    times: metric -> engine -> nanoseconds.  Columns: `metric`, `engine`, `n`, the `STATISTICS` in microseconds.
    The best peer is taken for each statistic by itself (one that is alone is named); the ratio's `n` is missing.
    """
    rows: list[dict[str, object]] = []
    for metric, engines in times.items():
        found = {engine: describe(values) for engine, values in engines.items() if len(values)}
        rows += [{"metric": metric, "engine": engine, **numbers} for engine, numbers in found.items()]
        peers = {engine: numbers for engine, numbers in found.items() if engine != OURS}
        if OURS in found and peers:
            ratios = {name: found[OURS][name] / min(peer[name] for peer in peers.values()) for name in STATISTICS}
            best = "best peer" if len(peers) > 1 else next(iter(peers))
            rows.append({"metric": metric, "engine": f"ours / {best}", **ratios})
    return pd.DataFrame(rows, columns=[column.key for column in TIMES])
