"""Compiling requests that always offer the same tools, and requests that choose theirs, in every engine.

Source: XGrammar-2, figure 6 (average compile time of 100 requests, static and dynamic, 5, 20 and 50 tools).

One trial is one setting in one engine with empty caches: all requests of `reuse`, one after the other, as structural
tags.  "Ours" remembers no whole grammar, so that a static request compiles as well; "ours, grammars remembered" is the
compiler as it is by default, and XGrammar's remembers them, too: these two are compared on static requests.  LLGuidance
has no cache.  The first request, which finds nothing, is told apart.
"""

from __future__ import annotations

import time
from functools import cache, partial
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets, reuse
from experiments.claims import Effect, claims_of, ratio
from experiments.columns import Column, Table, where
from experiments.engines import open_engine
from experiments.figures import BY_ENGINE
from experiments.measurement import in_turns
from experiments.tails import ENGINE, OURS, quantile
from experiments.trial import Params
from workbench.peers.base import Engine, RefusedError, quiet
from workbench.peers.ours import Ours

REMEMBERING: Final = "ours, grammars remembered"
ENGINES: Final = (OURS, REMEMBERING, "xgrammar", "llguidance")
# By preset: numbers of tools, requests, seeds.
EXTENT: Final = {"smoke": (reuse.SIZES[:1], 3, 1), "quick": (reuse.SIZES, 10, 5), "full": (reuse.SIZES, 100, 10)}
CASE: Final = ("setting", "tools", "seed")


def grid(preset: str) -> list[Params]:
    """Quick: 10 requests of 5, 20 and 50 tools.  Full: 100 requests.  Quick: five draws, full: ten."""
    sizes, requests, seeds = EXTENT[preset]
    shared = {"requests": requests, "vocabulary": datasets.defaults(preset)[1]}
    cases = [
        {"setting": setting, "tools": size, "seed": seed}
        for size, setting, seed in product(sizes, reuse.SETTINGS, range(seeds))
    ]
    return in_turns("engine", ENGINES, cases, shared)


def trial(params: Params) -> dict[str, object]:
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


def _later(trials: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Milliseconds of all requests but the first of each trial."""
    return np.array([spent / 1e6 for one in trials["compile_ns"] for spent in one[1:]])


REQUESTS: Final = Table(
    "Compiling a request",
    (
        Column("tools", help="how many tools a request has"),
        Column("setting", help="static: the same tools in every request; dynamic: drawn anew"),
        ENGINE,
        Column(
            "first",
            "first request",
            "ms",
            "compiling the first request of a process",
            lambda trials: float(np.mean([spent[0] for spent in trials["compile_ns"] if spent])) / 1e6,
        ),
        Column(
            "later",
            "later ones, average",
            "ms",
            "compiling one of the others",
            lambda trials: later.mean() if (later := _later(trials)).size else float("nan"),
        ),
        Column(
            "p99", "p99", "ms", "99 % of the others take at most this", lambda trials: quantile(_later(trials), 0.99)
        ),
        Column("n", help="how many other requests were compiled", of=lambda trials: _later(trials).size),
        Column("refused", help="requests that it refused", of=lambda trials: int(trials["refused"].sum())),
    ),
    by=("tools", "setting", "engine"),
)
TABLES: Final = (REQUESTS,)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Compile time of later requests, by number of tools."""
    apart = {**BY_ENGINE, "line_dash": "setting", "line_dash_map": {"static": "dash", "dynamic": "solid"}}
    titles = {"tools": "tools in a request", "later": "compiling, ms"}
    return px.line(REQUESTS.cells(trials), x="tools", y="later", **apart, markers=True, log_y=True, labels=titles)


def _means(trials: pd.DataFrame, engine: str, setting: str, size: int) -> dict[int, float]:
    """Average compile time by seed, without the first request."""
    rows = where(trials, engine=engine, setting=setting, tools=size).to_dict("records")
    return {row["seed"]: float(np.mean(row["compile_ns"][1:])) for row in rows if len(row["compile_ns"]) > 1}


MOST, FEWEST = reuse.SIZES[-1], reuse.SIZES[0]


def _over(
    above: tuple[str, str], below: tuple[str, str], trials: pd.DataFrame, *, sizes: tuple[int, int] = (MOST, MOST)
) -> Effect:
    """The average request of an engine in a setting over another's, draw by draw; sizes: the numbers of tools."""
    first, second = (_means(trials, *one, size) for one, size in zip((above, below), sizes, strict=True))
    seeds = sorted(first.keys() & second.keys())
    return ratio([first[seed] for seed in seeds], [second[seed] for seed in seeds], "draws")


CLAIMS: Final = claims_of(
    "compile-dynamic",
    {
        "dynamic / static": partial(_over, (OURS, "dynamic"), (OURS, "static")),
        "remembering / not": partial(_over, (REMEMBERING, "dynamic"), (OURS, "dynamic")),
        "50 tools / 5": partial(_over, (REMEMBERING, "dynamic"), (REMEMBERING, "dynamic"), sizes=(MOST, FEWEST)),
        "dynamic, xgrammar": partial(_over, (REMEMBERING, "dynamic"), ("xgrammar", "dynamic")),
        "dynamic, llguidance": partial(_over, (REMEMBERING, "dynamic"), ("llguidance", "dynamic")),
        "static, both remember": partial(_over, (REMEMBERING, "static"), ("xgrammar", "static")),
        "static, xgrammar remembers": partial(_over, (OURS, "static"), ("xgrammar", "static")),
    },
)
