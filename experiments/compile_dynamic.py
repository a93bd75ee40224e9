"""Compiling requests that always offer the same tools, and requests that choose theirs, in every engine.

Source: XGrammar-2, figure 6 (average compile time of 100 requests, static and dynamic, 5, 20 and 50 tools).
Claim: choosing tools anew costs our engine hardly more than offering the same, and it compiles both quicker than peers.
Refuted by: dynamic requests that take twice as long as static ones, or a peer that compiles them quicker.

One trial is one setting in one engine with empty caches: all requests of `reuse`, one after the other, as structural
tags.  "Ours" remembers no whole grammar, so that a static request compiles as well; "ours, grammars remembered" is the
compiler as it is by default, and XGrammar's remembers them, too: these two are compared on static requests.  LLGuidance
has no cache.  The first request, which finds nothing, is told apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets, reuse
from experiments.claims import Claim, Effect, ratio
from experiments.engines import open_engine
from experiments.figures import ENGINES as ENGINE_COLOURS
from experiments.measurement import rotate
from experiments.tails import OURS
from experiments.trial import Params
from experiments.walk import quiet
from workbench.peers.base import Engine, RefusedError
from workbench.peers.ours import Ours

__all__ = ["CLAIMS", "ENGINES", "grid", "plot", "tables", "trial"]

REMEMBERING: Final = "ours, grammars remembered"
ENGINES: Final = (OURS, REMEMBERING, "xgrammar", "llguidance")
# By preset: numbers of tools, requests, seeds.
EXTENT: Final = {"smoke": (reuse.SIZES[:1], 3, 1), "quick": (reuse.SIZES, 10, 5), "full": (reuse.SIZES, 100, 5)}
CASE: Final = ("setting", "tools", "seed")


def grid(preset: str) -> list[Params]:
    """Quick: 10 requests of 5, 20 and 50 tools.  Full: 100 requests.  Both: five draws."""
    sizes, requests, seeds = EXTENT[preset]
    shared = {"requests": requests, "vocabulary": datasets.defaults(preset)[1]}
    cases = [(setting, size, seed) for size in sizes for setting in reuse.SETTINGS for seed in range(seeds)]
    return [
        {"engine": engine, "setting": setting, "tools": size, "seed": seed, **shared}
        for number, (setting, size, seed) in enumerate(cases)
        for engine in rotate(ENGINES, number)
    ]


def trial(params: Params) -> dict[str, Any]:
    """`compile_ns` of each request that was taken, in order; `refused`: how many were not."""
    engine = _open(params["engine"], params["vocabulary"])
    engine.forget()
    spent: list[int] = []
    refused = 0
    for tools in reuse.requests_of(params):
        request = engine.tools_request(tools)
        with quiet():
            start = time.perf_counter_ns()
            try:
                engine.compile_tools(request)
            except RefusedError:
                refused += 1
                continue
            spent.append(time.perf_counter_ns() - start)
    return {"compile_ns": spent, "refused": refused, "version": engine.version}


@cache
def _remembering(vocabulary: str) -> Engine:
    return Ours(datasets.open_tokenizer(vocabulary), remember=True)


def _open(name: str, vocabulary: str) -> Engine:
    warm = open_engine(OURS if name == REMEMBERING else name, vocabulary)
    return _remembering(vocabulary) if name == REMEMBERING else warm


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By number of tools, setting and engine: the first request, and the others."""
    done = frame[frame["status"] == "ok"]
    rows: list[dict[str, object]] = []
    for (size, setting, engine), group in done.groupby(["tools", "setting", "engine"], sort=False):
        later = np.concatenate([np.asarray(spent[1:], dtype=float) for spent in group["compile_ns"]]) / 1e6
        row: dict[str, object] = {"tools": size, "setting": setting, "engine": engine}
        row["first request, ms"] = float(np.mean([spent[0] for spent in group["compile_ns"] if spent])) / 1e6
        row |= {"later ones, average, ms": later.mean() if later.size else float("nan")}
        high = np.quantile(later, 0.99, method="higher") if later.size else float("nan")
        rows.append(row | {"p99, ms": float(high), "n": later.size, "refused": int(group["refused"].sum())})
    return {"Compiling a request": pd.DataFrame(rows)}


def plot(frame: pd.DataFrame) -> go.Figure:
    """Average compile time of later requests by number of tools; dashes: static."""
    rows = tables(frame)["Compiling a request"]
    figure = go.Figure()
    for (engine, setting), group in rows.groupby(["engine", "setting"], sort=False):
        figure.add_scatter(
            x=group["tools"],
            y=group["later ones, average, ms"],
            name=f"{engine}, {setting}",
            mode="lines+markers",
            line={"color": ENGINE_COLOURS[str(engine)], "dash": "dash" if setting == "static" else "solid"},
        )
    figure.update_xaxes(title="tools in a request")
    figure.update_yaxes(title="compiling, ms", type="log")
    return figure


def _means(frame: pd.DataFrame, engine: str, setting: str, size: int) -> dict[int, float]:
    """Average compile time by seed, without the first request."""
    rows = frame[(frame["status"] == "ok") & (frame["engine"] == engine) & (frame["setting"] == setting)]
    rows = rows[rows["tools"] == size].to_dict("records")
    return {row["seed"]: float(np.mean(row["compile_ns"][1:])) for row in rows if len(row["compile_ns"]) > 1}


def _over(
    above: tuple[str, str], below: tuple[str, str], size: int = reuse.SIZES[-1]
) -> Callable[[pd.DataFrame], Effect | None]:
    def effect(frame: pd.DataFrame) -> Effect | None:
        first, second = (_means(frame, engine, setting, size) for engine, setting in (above, below))
        seeds = sorted(first.keys() & second.keys())
        return ratio([first[seed] for seed in seeds], [second[seed] for seed in seeds], "draws") if seeds else None

    return effect


def _rise(frame: pd.DataFrame) -> Effect | None:
    """Average dynamic request of the most tools over that of the fewest, draw by draw."""
    many, few = (_means(frame, REMEMBERING, "dynamic", size) for size in (reuse.SIZES[-1], reuse.SIZES[0]))
    seeds = sorted(many.keys() & few.keys())
    return ratio([many[seed] for seed in seeds], [few[seed] for seed in seeds], "draws") if seeds else None


CLAIMS: Final = (
    Claim(
        text="Compiling 50 tools that are chosen anew costs us hardly more than compiling the same ones again.",
        what="compile 50 tools without a cache of grammars, dynamic / static, ours",
        effect=_over((OURS, "dynamic"), (OURS, "static")),
        at_most=1.5,
    ),
    Claim(
        text="With the cache of grammars requests that choose 50 tools take at most twice what they take without it.",
        what="compile 50 tools, dynamic, ours with a cache of grammars / without",
        effect=_over((REMEMBERING, "dynamic"), (OURS, "dynamic")),
        at_most=2.0,
    ),
    Claim(
        text="Dynamic requests of 50 tools take at most five times as long as those of 5 tools.",
        what="compile, dynamic, 50 tools / 5 tools, ours with a cache of grammars",
        effect=_rise,
        at_most=5.0,
        paper="much more gently with the number of tools than XGrammar (figure 6, without numbers)",
    ),
    *(
        Claim(
            text=f"Dynamic requests of 50 tools compile in at most half of {peer}'s time.",
            what=f"compile 50 tools, dynamic, ours with a cache of grammars / {peer}",
            effect=_over((REMEMBERING, "dynamic"), (peer, "dynamic")),
            at_most=0.5,
            paper=paper,
        )
        for peer, paper in (
            ("xgrammar", "much less (figure 6, without numbers)"),
            ("llguidance", ""),
        )
    ),
    Claim(
        text="Static requests of 50 tools take no longer than xgrammar's, both remembering whole grammars.",
        what="later static requests of 50 tools, ours with grammars remembered / xgrammar",
        effect=_over((REMEMBERING, "static"), ("xgrammar", "static")),
        at_most=1.0,
    ),
    Claim(
        text="Compiling each static request anew, ours takes no longer than xgrammar, which remembers them.",
        what="later static requests of 50 tools, ours without a cache of grammars / xgrammar with one",
        effect=_over((OURS, "static"), ("xgrammar", "static")),
        at_most=1.0,
    ),
)
