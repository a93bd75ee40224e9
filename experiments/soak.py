"""Strangers' schemas, valid, broken and hostile, at many matchers in many threads, for as long as one likes.

Source: none.
Claim: no request brings about an error that is not documented, or a mask with a token that is then refused; no mask
    takes more than a tenth longer than its limit; once caches are full memory grows by at most 5 MB a minute.
Refuted by: one such error; a mask a tenth beyond `Options.max_fill_ms`; memory that grows more in the second half of
    the windows that follow the first in which the caches of the compiler are full.

`python -m workbench soak --minutes 60` runs it with a length of its own.  A window of some seconds is what intervals
rest on.  Read on: `soaking.py` (what is done), `strangers.py` (the requests), `held.py` (who holds memory).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from experiments import datasets
from experiments.claims import Claim, Effect, worst
from experiments.soaking import NEVER, Load, Window, soak
from experiments.trial import Params

__all__ = ["CLAIMS", "TELL", "grid", "grid_of", "plot", "tables", "trial"]

GIVEN: Final = 500  # schemas of the data folder
# By preset: seconds, matchers, threads, seconds of a window.
EXTENT: Final = {"smoke": (2.0, 8, 2, 0.5), "quick": (40.0, 64, 8, 4.0), "full": (3600.0, 64, 8, 30.0)}
TELL: list[Callable[[Window], None]] = []
"""Who is told of each window while a trial of this process goes on."""


def grid(preset: str) -> list[Params]:
    """One soak: two seconds, forty seconds, an hour."""
    seconds, matchers, threads, window_s = EXTENT[preset]
    vocabulary = datasets.defaults(preset)[1]
    return grid_of(seconds, matchers=matchers, threads=threads, window_s=window_s, vocabulary=vocabulary)


def grid_of(
    seconds: float,
    *,
    matchers: int,
    threads: int,
    window_s: float | None = None,
    vocabulary: str | None = None,
    seed: int = 0,
) -> list[Params]:
    """One soak of `seconds`; its windows are a twentieth of it unless `window_s` says otherwise."""
    return [
        {
            "length_s": seconds,
            "matchers": matchers,
            "threads": threads,
            "window_s": window_s or max(0.2, seconds / 20),
            "vocabulary": vocabulary or datasets.default_vocabulary(),
            "seed": seed,
        }
    ]


def trial(params: Params) -> dict[str, Any]:
    """What `soaking.soak` gives, and how many `schemas` of the data folder were among the requests."""
    names = [name for name in datasets.default_schemas() if not name.startswith("synthetic")]
    cases = datasets.find_cases(names, GIVEN) if names and params["vocabulary"] != datasets.DEMO else []
    given = [datasets.load_case(case).schema for case in cases]
    load = Load(
        params["length_s"],
        params["matchers"],
        params["threads"],
        params["seed"],
        window_s=params["window_s"],
        given=given,
    )

    def tell(window: Window) -> None:
        for listener in TELL:
            listener(window)

    info = datasets.open_tokenizer(params["vocabulary"]).info
    return {**soak(info, load, tell), "schemas": len(given)}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Throughput and memory, who holds it, times, and what became of requests."""
    rows, times, errors, holders = [], [], [], []
    for _, row in frame[frame["status"] == "ok"].iterrows():
        windows = row["windows"]
        seconds = sum(window["seconds"] for window in windows)
        rows.append(
            {
                "seconds": round(seconds, 1),
                "matchers": row["matchers"],
                "threads": row["threads"],
                "tokens": row["tokens"],
                "tokens a second": round(row["tokens"] / seconds),
                "requests a second": round(sum(row["requests"].values()) / seconds, 1),
                "resident at the end, MB": round(windows[-1]["resident"] / 1e6),
                "caches full after, seconds": _full_after(windows),
                "resident grew since, second half, MB a minute": round(_growth(windows, "resident") / 1e6, 2),
                "must never be": sum(window["never"] for window in windows),
            }
        )
        holders += _holders(windows)
        for what, found in row["times"].items():
            times.append({"metric": what, **{name: found[name] for name in ("n", "p50", "p99", "p99.9", "max")}})
        errors += [{"kind": "asked", "part": kind, "reason": "", "n": n} for kind, n in sorted(row["requests"].items())]
        errors += [
            {
                "kind": kind,
                "part": where,
                "reason": f"{what}: {' '.join(sample.split())[:80]}" if kind in NEVER else what,
                "n": n,
            }
            for kind, where, what, n, sample in row["errors"]
        ]
    return {
        "The soak": pd.DataFrame(rows),
        "Who holds memory": pd.DataFrame(holders, columns=["holder", "when full, MB", "at the end, MB", "MB a minute"]),
        "Times in it, us": pd.DataFrame(times, columns=["metric", "n", "p50", "p99", "p99.9", "max"]),
        "What became of requests": pd.DataFrame(errors, columns=["kind", "part", "reason", "n"]),
    }


def plot(frame: pd.DataFrame) -> go.Figure:
    """Memory and throughput over time."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    for _, row in frame[frame["status"] == "ok"].iterrows():
        windows = row["windows"]
        ends = np.cumsum([window["seconds"] for window in windows]) / 60
        rates = [window["tokens"] / window["seconds"] for window in windows]
        resident = [window["resident"] / 1e6 for window in windows]
        for at, values in enumerate((resident, rates), start=1):
            figure.add_scatter(x=ends, y=values, row=at, col=1, mode="lines", line={"color": "#2f6db5"})
    figure.update_xaxes(title="minutes", row=2, col=1)
    figure.update_yaxes(title="resident, MB", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="tokens a second", rangemode="tozero", row=2, col=1)
    figure.update_layout(showlegend=False)
    return figure


def _settled(windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The second half of the windows from the first on in which caches are full."""
    full = [window for window in windows if window["full"]]
    return full[len(full) // 2 :]


def _full_after(windows: list[dict[str, Any]]) -> float:
    before = [window["seconds"] for window in windows if not window["full"]]
    return round(sum(before), 1) if len(before) < len(windows) else float("nan")


def _ends(windows: list[dict[str, Any]]) -> Any:
    return np.cumsum([window["seconds"] for window in windows]) / 60


def _growth(windows: list[dict[str, Any]], holder: str) -> float:
    """Of memory or a holder of it, a minute, once caches are full: a line through the second half."""
    half = _settled(windows)
    if len(half) < 2:
        return float("nan")
    return float(np.polyfit(_ends(half), [_bytes_of(window, holder) for window in half], 1)[0])


def _bytes_of(window: dict[str, Any], holder: str) -> int:
    return int(window["resident"] if holder == "resident" else window["held"][holder])


def _holders(windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each holder; objects of Python in millions."""
    first = next((window for window in windows if window["full"]), windows[-1])
    return [
        {
            "holder": holder,
            "when full, MB": round(_bytes_of(first, holder) / 1e6, 1),
            "at the end, MB": round(_bytes_of(windows[-1], holder) / 1e6, 1),
            "MB a minute": round(_growth(windows, holder) / 1e6, 2),
        }
        for holder in ("resident", *windows[-1]["held"])
    ]


def _windows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [window for found in frame.loc[frame["status"] == "ok", "windows"] for window in found]


def _never(frame: pd.DataFrame) -> Effect:
    return worst([window["never"] for window in _windows(frame)], "windows")


def _slowest(frame: pd.DataFrame) -> Effect:
    found = [window["times"].get("mask, processor", {}).get("max", 0.0) / 1000 for window in _windows(frame)]
    return worst(found, "windows")


def _grown(frame: pd.DataFrame) -> Effect:
    half = _settled(_windows(frame))
    ends = _ends(half)
    held = np.array([window["resident"] / 1e6 for window in half])

    def slope(chosen: Any) -> float:
        return float(np.polyfit(ends[chosen], held[chosen], 1)[0]) if np.ptp(ends[chosen]) > 0 else float("nan")

    return Effect(len(half), "windows", slope)


CLAIMS: Final = (
    Claim(
        text="No request brings about an error that is not documented, nor a mask that is too wide.",
        what="such errors in a window",
        effect=_never,
        at_most=0,
        always=True,
    ),
    Claim(
        text="A mask takes at most a tenth longer than its limit.",
        what="the slowest mask of a window, ms of processor time",
        effect=_slowest,
        at_most=1_100,
        always=True,
    ),
    Claim(
        text="Once caches are full the process grows by at most 5 MB a minute under this load.",
        what="MB a minute that the process grew by, second half of the windows since caches were full",
        effect=_grown,
        at_most=5,
    ),
)
