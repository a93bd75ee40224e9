"""What each mechanism of our engine buys, by leaving it out of the whole engine.

Source: none; the ladder of XGrammar-2, table 4 (`ablation`), depends on the order in which mechanisms are switched on.

One trial is one mechanism, one vocabulary and one repetition: two processes, forked one after the other from one that
has compiled nothing yet, run all inputs in the same order, one with everything on and one without the mechanism.  So
neither finds anything that the other has made, and what the machine does meanwhile hits both.  Which comes first
alternates, and mechanisms take turns in an order that rotates.  Each time is the least of all repetitions: what the
call costs.  Ratios are without / with, above 1 where the mechanism pays; one that moves time from masks to accepting
shows in neither sum.  Intervals are bootstrapped over the inputs; since the best of many places is told, they are so
wide that all of these together count as one look at 95 %.  The row "nothing" leaves nothing out: how far its ratio is
from 1, on either side, is what the measurement itself may be wrong by, so a gain counts only beyond the far end of its
interval at the same place.  Places with fewer than five inputs tell nothing.
Masks are not compared here: `tests/engine/test_laboratory.py` does.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import isnan
from multiprocessing import get_all_start_methods, get_context
from operator import methodcaller
from random import Random
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import FEWEST, Effect, claims_of, worst
from experiments.columns import Column, Row, Table
from experiments.engines import warm_up
from experiments.grammar_set import GRAMMARS
from experiments.measurement import rotate
from experiments.mechanisms import MECHANISMS, NOTHING, find_mechanism
from experiments.pairs import Pooled, Times
from experiments.tails import quantile
from experiments.tools import draw_tools
from experiments.trial import NotRunError, Params
from experiments.walk import walk
from kernels_core import GrammarCompiler, Options
from workbench.peers.base import Constraint, RefusedError, quiet
from workbench.peers.ours import Ours

# By preset: vocabularies, repetitions, schemas, tokens of each text, sets of tools and tools in each.
EXTENT: Final[Mapping[str, tuple[int, int, int, int, int, int]]] = {
    "smoke": (1, 1, 1, 10, 1, 5),
    "quick": (1, 2, 30, 60, 1, 500),
    "full": (2, 2, 300, 120, 10, 500),
}
WORKLOADS: Final = ("schemas", "tools", "grammars")
SIDES: Final = ("with", "without")
CALLS: Final = 8  # texts of one set of tools
WORTH: Final = 1.05
BUDGETS: Final = {"max_compile_ms": 20_000, "max_fill_ms": 10_000}


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: one vocabulary, two repetitions, 30 schemas.  Full: two vocabularies, two repetitions, 300 schemas.

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    vocabularies, repetitions, schemas, tokens, sets, size = EXTENT[preset]
    first = datasets.defaults(preset)[1]
    names = _names()
    shared = {"cases": limit or schemas, "max_tokens": tokens, "sets": sets, "tool_count": size, "preset": preset}
    return [
        {"left_out": name, "vocabulary": vocabulary, "repetition": repetition, **shared}
        for repetition in range(repetitions)
        for vocabulary in [first, *({"llama3", "tekken"} - {first})][:vocabularies]
        for name in rotate(names, repetition * len(names) // repetitions)
    ]


# -- one trial ---------------------------------------------------------------------------------------------------------


Compile: TypeAlias = Callable[[Ours], Constraint]


@dataclass(frozen=True, slots=True)
class Input:
    """Something to compile, and texts as tokens."""

    compile: Compile
    texts: list[list[int]]


def trial(params: Params) -> dict[str, object]:
    """All inputs once with everything on, and once without the mechanism.

    Returns for each of `SIDES` and `WORKLOADS`, by input: `compile` (nanoseconds, None where it was refused), `mask`
    and `accept` (lists of nanoseconds, text after text).
    """
    if "fork" not in get_all_start_methods():
        raise NotRunError("processes cannot be forked here")
    _work(params)
    _hold_vocabulary(params["vocabulary"])
    gc.collect()
    gc.freeze()
    found = {}
    for side in rotate(SIDES, params["repetition"] + len(params["left_out"])):
        with ProcessPoolExecutor(1, get_context("fork")) as process:  # which begins as this one is
            found[side] = process.submit(_run, params, side).result()
    return {side: found[side] for side in SIDES}


def _run(params: Params, side: str) -> dict[str, Any]:
    """One side, by workload."""
    out = find_mechanism(params["left_out"] if side == SIDES[1] else NOTHING)
    with out.left_out(), quiet():
        engine = Ours(datasets.open_tokenizer(params["vocabulary"]), Options.laboratory(**BUDGETS, **out.options))
        warm_up(engine)
        return {name: _measure(engine, inputs, params["max_tokens"]) for name, inputs in _work(params).items()}


@cache
def _hold_vocabulary(vocabulary: str) -> GrammarCompiler:
    """Make the trie of a vocabulary, and nothing else that compilers share."""
    return GrammarCompiler(datasets.open_tokenizer(vocabulary).info, options=Options(warm_start=False))


def _measure(engine: Ours, inputs: Sequence[Input], max_tokens: int) -> dict[str, Any]:
    found: dict[str, list[Any]] = {"compile": [], "mask": [], "accept": []}
    for one in inputs:
        start = time.perf_counter_ns()
        try:
            constraint = one.compile(engine)
        except RefusedError:
            found["compile"].append(None)
            found["mask"].append([])
            found["accept"].append([])
            continue
        found["compile"].append(time.perf_counter_ns() - start)
        walks = [walk(constraint, text, engine.stop_token_ids, limit=max_tokens) for text in one.texts]
        found["mask"].append([spent for each in walks for spent in each["mask_ns"][: len(each["accept_ns"])]])
        found["accept"].append([spent for each in walks for spent in each["accept_ns"]])
    return found


def _work(params: Params) -> dict[str, list[Input]]:
    """What a trial compiles and reads: a process that was forked has it."""
    return _inputs(*(params[name] for name in ("vocabulary", "preset", "cases", "sets", "tool_count")))


@lru_cache(maxsize=2)
def _inputs(vocabulary: str, preset: str, schemas: int, sets: int, tools: int) -> dict[str, list[Input]]:
    """By workload."""
    encode = datasets.open_tokenizer(vocabulary).encode
    cases = [datasets.load_case(name) for name in datasets.find_cases(datasets.defaults(preset)[0], schemas)]
    found: dict[str, list[tuple[Compile, Sequence[str]]]] = {
        "schemas": [
            (methodcaller("compile_source", "json_schema", one.schema), [it.text for it in one.instances])
            for one in cases
        ],
        "tools": [_tools(tools, number) for number in range(sets)],
        "grammars": [(methodcaller("compile_source", one.language, one.text), one.texts) for one in GRAMMARS.values()],
    }
    return {
        name: [Input(compile_one, [encode(text) for text in texts]) for compile_one, texts in inputs]
        for name, inputs in found.items()
    }


def _tools(count: int, number: int) -> tuple[Compile, list[str]]:
    drawn = draw_tools(count, number, 0)
    calls = datasets.calls_of(drawn)
    chosen = Random(f"leave one out {number}").sample(calls, min(CALLS, len(calls)))
    texts = [datasets.with_words(drawn, call) for call in chosen]
    return methodcaller("compile_tools", json.loads(drawn.as_tag())), texts


# -- reading trials together -------------------------------------------------------------------------------------------

METRICS: Final[Mapping[str, str]] = {
    "compile": "compile",
    "mask": "mask",
    "mask p99.9": "mask",
    "accept": "accept",
    "mask + accept": "mask + accept",
}
"""What is compared, and the times it is read from: averages, but for the tail."""
COUNTS: Final = ("compile", "mask p99.9", "mask + accept")
"""What a mechanism may be kept for: time that only moves between masks and accepting is no gain."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Times of the same calls with everything on and with one mechanism left out, input by input."""

    whole: list[Times]
    without: list[Times]

    def effect(self, metric: str) -> Effect:
        """Without / with, over the inputs; NaN where there are none."""
        if not self.whole:
            return Effect(0, "inputs", lambda chosen: float("nan"))
        whole, without = Pooled(self.whole), Pooled(self.without)
        of = partial(Pooled.quantile, share=0.999) if metric.endswith("p99.9") else Pooled.mean
        return Effect(len(self.whole), "inputs", lambda at: of(without, chosen=at) / of(whole, chosen=at))


def _statistic(metric: str, values: Times) -> float:
    return quantile(values, 0.999) if metric.endswith("p99.9") else float(values.mean())


def _least_times(work: Sequence[Row]) -> dict[str, list[Times]]:
    """Each call's least time in any repetition, in microseconds, input by input; empty where it was refused."""
    found: dict[str, list[Times]] = {"compile": [], "mask": [], "accept": [], "mask + accept": []}
    for at, first in enumerate(work[0]["compile"]):
        refused = first is None
        compiled = [] if refused else [min(one["compile"][at] for one in work)]
        found["compile"].append(np.asarray(compiled, dtype=np.float64) / 1000)
        for metric in ("mask", "accept"):
            times = np.asarray([one[metric][at] for one in work], dtype=np.float64).min(axis=0) / 1000
            found[metric].append(times)
        both = np.asarray([[*map(sum, zip(one["mask"][at], one["accept"][at], strict=True))] for one in work])
        found["mask + accept"].append(both.astype(np.float64).min(axis=0) / 1000)
    return found


def _pairs(trials: pd.DataFrame) -> Iterator[tuple[str, str, str, Mapping[str, Pair]]]:
    """(vocabulary, workload, mechanism, times by name) of everything that was measured."""
    for vocabulary, rows in trials.groupby("vocabulary", sort=False):
        groups = {name: group.to_dict("records") for name, group in rows.groupby("left_out", sort=False)}
        for workload in WORKLOADS:
            for name in (name for name in _names() if name in groups):
                whole, without = (_least_times([row[side][workload] for row in groups[name]]) for side in SIDES)
                yield str(vocabulary), workload, name, _common(whole, without)


def _common(whole: Mapping[str, list[Times]], without: Mapping[str, list[Times]]) -> dict[str, Pair]:
    """The inputs that both took, as far as both got."""
    found = {}
    for name, times in whole.items():
        both = [(a, b) for a, b in zip(times, without[name], strict=True) if a.size and b.size]
        found[name] = Pair(
            [a[: min(len(a), len(b))] for a, b in both],
            [b[: min(len(a), len(b))] for a, b in both],
        )
    return found


Cell = tuple[str, str, str]
"""Vocabulary, workload and metric."""


def _times(trials: pd.DataFrame) -> dict[str, list[dict[str, object]]]:
    """Of each vocabulary and workload, by caption."""
    parts: dict[str, list[dict[str, object]]] = {}
    for vocabulary, workload, name, pairs in _pairs(trials):
        row: dict[str, object] = {"left_out": name}
        for metric, source in METRICS.items():
            times = pairs[source].without
            spent = _statistic(metric, np.concatenate(times)) if times else float("nan")
            row |= {metric: spent / 1000 if metric == "compile" else spent}
            row |= {f"x {metric}": pairs[source].effect(metric).size}
        parts.setdefault(f"{vocabulary}, {workload}: times with each mechanism left out", []).append(row)
    return parts


def _worth_of(trials: pd.DataFrame) -> list[dict[str, Any]]:
    cells: dict[str, dict[Cell, Effect]] = {}
    for vocabulary, workload, name, pairs in _pairs(trials):
        for metric in COUNTS:
            cells.setdefault(name, {})[vocabulary, workload, metric] = pairs[METRICS[metric]].effect(metric)
    return _worth(cells)


def _worth(cells: Mapping[str, Mapping[Cell, Effect]]) -> list[dict[str, Any]]:
    """Each mechanism where the lower end of what it buys is farthest beyond what leaving nothing out shows.

    Intervals are wider than 95 %: so much that all the places that are looked at count as one look.
    """
    enough = {
        name: {cell: effect for cell, effect in found.items() if effect.units >= FEWEST and not isnan(effect.size)}
        for name, found in cells.items()
    }
    looks = max(map(len, enough.values()), default=0)
    level = 1 - 0.05 / max(looks, 1)
    ends = {cell: effect.interval(level) for cell, effect in enough.get(NOTHING, {}).items()}
    # Where nothing was left out one side may seem slower than the other, or quicker.
    error = {cell: max(high, 1 / low) for cell, (low, high) in ends.items()}
    rows: list[dict[str, object]] = []
    for name, found in enough.items():
        known = {cell: effect for cell, effect in found.items() if cell in error}
        if not known:
            continue
        beyond = {cell: effect.interval(level) for cell, effect in known.items() if effect.size > error[cell]}
        if beyond:
            cell = max(beyond, key=lambda one: beyond[one][0] / error[one])
        else:
            cell = max(known, key=lambda one: known[one].size / error[one])
        gain, (low, high) = known[cell].size, beyond.get(cell) or known[cell].interval(level)
        vocabulary, workload, metric = cell
        most = max(effect.size for effect in known.values())
        row = {"mechanism": name, "lines": find_mechanism(name).lines(), "gain": gain, "low": low, "high": high}
        row |= {"error": error[cell], "there": f"{metric}, {workload}, {vocabulary}", "most": most}
        clear = low > error[cell] and gain >= WORTH
        row["worth"] = "yes" if clear else f"below {WORTH}" if most < WORTH else "within the error"
        rows.append(row)
    return sorted(rows, key=lambda row: float(row["gain"]))


LEFT_OUT: Final = Column("left_out", "left out", help="the mechanism that was left out")
WORTH_TABLE: Final = Table(
    "What each mechanism buys where that is clearest",
    (
        Column("mechanism", help="what was left out"),
        Column("lines", help="of code that would go with it"),
        Column("gain", "times slower without", help="without / with, where the gain is clearest of the error"),
        Column("low", "at least", help="the lower end of its interval; all the places looked at count as one look"),
        Column("high", "at most", help="the upper end of that interval"),
        Column(
            "error",
            "nothing left out, off by",
            help="how far from 1 that interval reaches without a mechanism left out",
        ),
        Column("there", help="where the gain is"),
        Column("most", "most anywhere", help="the greatest ratio of all places, however uncertain"),
        Column("worth", "worth it", help="whether the gain is clear, and large enough"),
    ),
    rows=_worth_of,
)
TABLES: Final = (
    WORTH_TABLE,
    Table(
        "",
        (
            LEFT_OUT,
            *(Column(one, one, "ms" if one == "compile" else "us", "without the mechanism") for one in METRICS),
            *(Column(f"x {one}", help="without the mechanism / with it; above 1 it pays") for one in METRICS),
        ),
        rows=_times,
    ),
)


def _names() -> list[str]:
    return [NOTHING, *(mechanism.name for mechanism in MECHANISMS)]


def plot(trials: pd.DataFrame) -> go.Figure:
    """The greatest gain of each mechanism anywhere, greatest first, with its lines of code."""
    worth = WORTH_TABLE.cells(trials)
    worth["named"] = [f"{name} ({lines:,})" for name, lines in zip(worth["mechanism"], worth["lines"], strict=True)]
    worth = worth.assign(above=worth["high"] - worth["gain"], below=worth["gain"] - worth["low"])
    reach = {"error_x": "above", "error_x_minus": "below", "hover_name": "there"}
    titles = {"gain": f"times slower without, anywhere (dotted: {WORTH})", "named": "mechanism (lines of code)"}
    figure = px.scatter(worth, x="gain", y="named", color="worth", log_x=True, **reach, labels=titles)
    figure.update_layout(height=160 + 20 * len(worth))
    figure.add_vline(x=WORTH, line_dash="dot")
    return figure.update_yaxes(tickmode="linear", automargin=True)


def _least(of: Callable[[pd.DataFrame], pd.Series], trials: pd.DataFrame) -> Effect | None:
    """The least of all mechanisms; "nothing" is none."""
    found = WORTH_TABLE.cells(trials)
    return worst(of(found[found["mechanism"] != NOTHING]), "mechanisms", least=True) if len(found) else None


CLAIMS: Final = claims_of(
    "leave-one-out",
    {
        "most": partial(_least, lambda found: found["most"]),
        "clear": partial(_least, lambda found: found["low"] / found["error"]),
    },
)
