"""Strangers' schemas, valid, broken and hostile, at many matchers in many threads, for as long as one likes.

Source: none.
Claim: no request brings about an error that is not documented, or a mask with a token that is then refused; no mask
    takes more than a tenth longer than its limit; once caches are full memory grows by at most 5 MB a minute.
Refuted by: one such error; a mask a tenth beyond `Options.max_fill_ms`; memory that grows more in the second half of
    the windows that follow the first in which the caches of the compiler are full.

`experiment run soak --set minutes=60` runs it with a length of its own.  A window of some seconds is what intervals
rest on.  Read on: `soaking.py` (what is done), `strangers.py` (the requests), `held.py` (who holds memory).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from experiments import datasets
from experiments.claims import Claim, Effect, worst
from experiments.columns import Column, Table
from experiments.soaking import NEVER, Load, Window, soak
from experiments.tails import TIMES
from experiments.trial import Params

__all__ = ["CLAIMS", "TABLES", "grid", "plot", "trial"]

ALL: Final = "of all threads together"
PROCESS: Final = "memory of the whole process"
NEVER_HELP: Final = "errors that are not documented, and tokens of a mask that were refused; 0 is right"
GIVEN: Final = 500  # schemas of the data folder
# By preset: seconds, matchers, threads, seconds of a window.
EXTENT: Final = {"smoke": (2.0, 8, 2, 0.5), "quick": (40.0, 64, 8, 4.0), "full": (3600.0, 64, 8, 30.0)}


def grid(
    preset: str, *, minutes: float = 0.0, matchers: int = 0, threads: int = 0, vocabulary: str = "", seed: int = 0
) -> list[Params]:
    """One soak: two seconds, forty seconds, an hour.  Of another length, its windows are a twentieth of it."""
    usual = EXTENT[preset]
    seconds = 60 * minutes or usual[0]
    return [
        {
            "length_s": seconds,
            "matchers": matchers or usual[1],
            "threads": threads or usual[2],
            "window_s": max(0.2, seconds / 20) if minutes else usual[3],
            "vocabulary": vocabulary or datasets.defaults(preset)[1],
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

    info = datasets.open_tokenizer(params["vocabulary"]).info
    return {**soak(info, load, _tell), "schemas": len(given)}


def _tell(window: Window) -> None:
    """One line for each window, while it goes on."""
    masks = window.times.get("mask", {})
    print(
        f"{window.tokens / window.seconds:10,.0f} tokens/s  {window.requests / window.seconds:8,.1f} requests/s  "
        f"mask p99.9 {masks.get('p99.9', float('nan')) / 1000:8.2f} ms  {window.resident / 1e6:8,.0f} MB  "
        f"{window.never} that must never be",
        file=sys.stderr,
    )


def _rate(trial: Mapping[str, Any], count: int) -> float:
    """A second."""
    return count / float(sum(window["seconds"] for window in trial["windows"]))


def _holder_rows(trials: pd.DataFrame) -> list[dict[str, Any]]:
    return [row for windows in trials["windows"] for row in _holders(windows)]


def _timed(trials: pd.DataFrame) -> list[dict[str, Any]]:
    return [{"metric": what, **found} for times in trials["times"] for what, found in times.items()]


def _ended(trials: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for row in trials.to_dict("records"):
        rows += [{"kind": "asked", "part": kind, "reason": "", "n": n} for kind, n in sorted(row["requests"].items())]
        for kind, part, what, n, sample in row["errors"]:
            reason = f"{what}: {' '.join(sample.split())[:80]}" if kind in NEVER else what
            rows.append({"kind": kind, "part": part, "reason": reason, "n": n})
    return rows


def _megabytes(windows: list[dict[str, Any]]) -> float:
    return round(float(windows[-1]["resident"]) / 1e6)


SOAK: Final = (
    Column("seconds", help="how long", of=lambda one: round(sum(w["seconds"] for w in one["windows"]), 1)),
    Column("matchers", help="texts that were under way at the same time"),
    Column("threads", help="how many"),
    Column("tokens", help="that were taken"),
    Column("token rate", "tokens a second", "", ALL, lambda one: round(_rate(one, one["tokens"]))),
    Column("rate", "requests a second", "", ALL, lambda one: round(_rate(one, sum(one["requests"].values())), 1)),
    Column("resident", "resident at the end", "MB", PROCESS, lambda one: _megabytes(one["windows"])),
    Column("full", "caches full after, seconds", "", "of the compiler", lambda one: _full_after(one["windows"])),
    Column(
        "growth",
        "resident grew since, second half",
        "MB a minute",
        PROCESS,
        lambda one: round(_growth(one["windows"], "resident") / 1e6, 2),
    ),
    Column("never", "must never be", "", NEVER_HELP, lambda one: sum(w["never"] for w in one["windows"])),
)
TABLES: Final = (
    Table("The soak", SOAK),
    Table(
        "Who holds memory",
        (
            Column("holder", help="the process, or a part of it; objects of Python in millions"),
            Column("when full", "when full", "MB", "when the caches of the compiler were full"),
            Column("end", "at the end", "MB", "held"),
            Column("growth", "MB a minute", help="growth, in the second half of the windows since caches were full"),
        ),
        rows=_holder_rows,
    ),
    Table("Times in it, us", [one for one in TIMES if one.key not in ("avg", "p90")], rows=_timed),
    Table(
        "What became of requests",
        (
            Column("kind", help="asked, or how it ended"),
            Column("part", help="of the requests, or where it ended"),
            Column("reason", help="why, with a sample of what must never be"),
            Column("n", help="how many"),
        ),
        rows=_ended,
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Memory and throughput over time."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    for windows in trials["windows"]:
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
            "when full": round(_bytes_of(first, holder) / 1e6, 1),
            "end": round(_bytes_of(windows[-1], holder) / 1e6, 1),
            "growth": round(_growth(windows, holder) / 1e6, 2),
        }
        for holder in ("resident", *windows[-1]["held"])
    ]


def _windows(trials: pd.DataFrame) -> list[dict[str, Any]]:
    return [window for found in trials["windows"] for window in found]


def _never(trials: pd.DataFrame) -> Effect:
    return worst([window["never"] for window in _windows(trials)], "windows")


def _slowest(trials: pd.DataFrame) -> Effect:
    found = [window["times"].get("mask, processor", {}).get("max", 0.0) / 1000 for window in _windows(trials)]
    return worst(found, "windows")


def _grown(trials: pd.DataFrame) -> Effect:
    half = _settled(_windows(trials))
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
