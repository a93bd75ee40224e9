"""What each mechanism of our engine buys, by leaving it out of the whole engine.

Source: none; the ladder of XGrammar-2, table 4 (`ablation`), depends on the order in which mechanisms are switched on.
Claim: every mechanism that is kept makes compiling, masks and accepting together, or the slowest masks quicker by 5 %
    at least, on schemas, on 500 tools or on grammars of other languages, with one of two vocabularies.
Refuted by: a mechanism whose greatest gain in the first table is below 1.05.

One trial is one mechanism left out, one vocabulary and one repetition: a new vocabulary's trie, a new compiler, then
all inputs in the same order, so that a trial is what a process does that lives for a while.  Mechanisms take turns in
an order that rotates from one repetition to the next.  Each time is the least of all repetitions: what the call costs,
and not what else the machine did.  Ratios are without / with, above 1 where the mechanism pays; a mechanism that moves
time from masks to accepting shows in neither sum.  Intervals (95 %) are bootstrapped over the inputs (`scipy.stats`).
Masks are not compared here: `tests/engine/test_laboratory.py` does.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from scipy import stats

from experiments import datasets, variants
from experiments.grammar_set import GRAMMARS
from experiments.measurement import rotate
from experiments.mechanisms import EVERYTHING, MECHANISMS, find_mechanism
from experiments.tools import draw_tools
from experiments.trial import Params
from experiments.walk import quiet, walk
from workbench.peers.base import Constraint, RefusedError
from workbench.peers.ours import Ours

__all__ = ["METRICS", "WORKLOADS", "grid", "plot", "tables", "trial"]

# By preset: vocabularies, repetitions, schemas, tokens of each text, sets of tools and tools in each.
EXTENT: Final[Mapping[str, tuple[int, int, int, int, int, int]]] = {
    "smoke": (1, 1, 1, 10, 1, 5),
    "quick": (1, 2, 30, 60, 1, 500),
    "full": (2, 4, 100, 120, 3, 500),
}
WORKLOADS: Final = ("schemas", "tools", "grammars")
CALLS: Final = 8  # texts of one set of tools
WORTH: Final = 1.05
RESAMPLES: Final = 200
BUDGETS: Final = {"max_compile_ms": 20_000, "max_fill_ms": 10_000}

Times = npt.NDArray[np.float64]


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: one vocabulary, two repetitions, 30 schemas.  Full: two vocabularies, four repetitions, 100 schemas.

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    vocabularies, repetitions, schemas, tokens, sets, size = EXTENT[preset]
    first = datasets.defaults(preset)[1]
    names = [EVERYTHING, *(mechanism.name for mechanism in MECHANISMS)]
    shared = {"cases": limit or schemas, "max_tokens": tokens, "sets": sets, "tool_count": size, "preset": preset}
    return [
        {"left_out": name, "vocabulary": vocabulary, "repetition": repetition, **shared}
        for repetition in range(repetitions)
        for vocabulary in [first, *({"llama3", "tekken"} - {first})][:vocabularies]
        for name in rotate(names, repetition * len(names) // repetitions)
    ]


# -- one trial ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Input:
    """Something to compile, and texts as tokens."""

    compile: Callable[[Ours], Constraint]
    texts: tuple[tuple[int, ...], ...]


def trial(params: Params) -> dict[str, Any]:
    """All inputs once.

    Returns for each of `WORKLOADS`, by input: `compile` (nanoseconds, None where it was refused), `mask` and `accept`
    (lists of nanoseconds, text after text), and `taken`: how many tokens were taken.
    """
    mechanism = find_mechanism(params["left_out"])
    tokenizer = datasets.open_tokenizer(params["vocabulary"])
    work = {name: _inputs(name, *_extent(params)) for name in WORKLOADS}
    gc.collect()  # the last trial's vocabulary, with all that was kept with it, goes
    gc.freeze()
    with mechanism.left_out(), quiet():
        engine = Ours(tokenizer, variants.options_with({**BUDGETS, **mechanism.options}))
        engine.compile_ebnf('root ::= "warm up"').fill()
        return {name: _measure(engine, inputs, params["max_tokens"]) for name, inputs in work.items()}


def _extent(params: Params) -> tuple[Any, ...]:
    return tuple(params[name] for name in ("vocabulary", "preset", "cases", "sets", "tool_count"))


def _measure(engine: Ours, inputs: Sequence[Input], max_tokens: int) -> dict[str, Any]:
    found: dict[str, list[Any]] = {"compile": [], "mask": [], "accept": [], "taken": []}
    for one in inputs:
        start = time.perf_counter_ns()
        try:
            constraint = one.compile(engine)
        except RefusedError:
            found["compile"].append(None)
            for metric in ("mask", "accept", "taken"):
                found[metric].append([])
            continue
        found["compile"].append(time.perf_counter_ns() - start)
        walks = [walk(constraint, text, engine.stop_token_ids, limit=max_tokens) for text in one.texts]
        found["mask"].append([spent for each in walks for spent in each.mask_ns[: len(each.accept_ns)]])
        found["accept"].append([spent for each in walks for spent in each.accept_ns])
        found["taken"].append([each.taken for each in walks])
    return found


@lru_cache(maxsize=16)
def _inputs(name: str, vocabulary: str, preset: str, schemas: int, sets: int, tools: int) -> tuple[Input, ...]:
    return tuple(_MAKERS[name](vocabulary, preset, schemas, sets, tools))


def _schemas(vocabulary: str, preset: str, schemas: int, sets: int, tools: int) -> Iterator[Input]:
    encode = datasets.open_tokenizer(vocabulary).encode
    for name in datasets.find_cases(datasets.defaults(preset)[0], schemas):
        case = datasets.load_case(name)
        texts = tuple(tuple(encode(instance.text)) for instance in case.instances)
        yield Input(lambda engine, schema=case.schema: engine.compile_schema(schema), texts)  # type: ignore[misc]


def _tools(vocabulary: str, preset: str, schemas: int, sets: int, tools: int) -> Iterator[Input]:
    encode = datasets.open_tokenizer(vocabulary).encode
    for number in range(sets):
        drawn = draw_tools(tools, number, 0)
        names = {tool.name for tool in drawn.tools}
        calls = [call for call in datasets.load_calls(0) if call.name in names]
        chosen = Random(f"leave one out {number}").sample(calls, min(CALLS, len(calls)))
        texts = [f"I will look this up.\n{drawn.call(call.name, call.arguments)}" for call in chosen]
        request = Ours.tools_request(None, drawn)  # type: ignore[arg-type]
        yield Input(
            lambda engine, request=request: engine.compile_tools(request),  # type: ignore[misc]
            tuple(tuple(encode(text)) for text in texts),
        )


def _grammars(vocabulary: str, preset: str, schemas: int, sets: int, tools: int) -> Iterator[Input]:
    encode = datasets.open_tokenizer(vocabulary).encode
    for grammar in GRAMMARS.values():
        texts = tuple(tuple(encode(text)) for text in grammar.texts())
        read = {"ebnf": Ours.compile_ebnf, "regex": Ours.compile_regex, "lark": Ours.compile_lark}[grammar.language]
        yield Input(lambda engine, read=read, text=grammar.text: read(engine, text), texts)  # type: ignore[misc]


_MAKERS: Final[Mapping[str, Callable[..., Iterator[Input]]]] = {
    "schemas": _schemas,
    "tools": _tools,
    "grammars": _grammars,
}

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

    def ratio(self, metric: str) -> float:
        """Without / with."""
        return self._ratio(metric, np.arange(len(self.whole)))

    def interval(self, metric: str) -> tuple[float, float]:
        """Of the ratio, 95 %, over the inputs; nowhere without at least two of them."""
        if len(self.whole) < 2:
            return float("nan"), float("nan")
        found = stats.bootstrap(
            (np.arange(len(self.whole)),),
            lambda chosen: self._ratio(metric, chosen),
            n_resamples=RESAMPLES,
            method="percentile",
            vectorized=False,
            rng=np.random.default_rng(0),
        ).confidence_interval
        return float(found.low), float(found.high)

    def _ratio(self, metric: str, chosen: npt.NDArray[np.int64]) -> float:
        values = [np.concatenate([times[at] for at in chosen]) for times in (self.whole, self.without)]
        if not values[0].size:
            return float("nan")
        whole, without = (_statistic(metric, one) for one in values)
        return without / whole


def _statistic(metric: str, values: Times) -> float:
    return float(np.quantile(values, 0.999, method="higher") if metric.endswith("p99.9") else values.mean())


def _least(rows: Sequence[Mapping[str, Any]], workload: str) -> dict[str, list[Times]]:
    """Each call's least time in any repetition, in microseconds, input by input; empty where it was refused."""
    found: dict[str, list[Times]] = {"compile": [], "mask": [], "accept": [], "mask + accept": []}
    work = [row[workload] for row in rows]
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


def _pairs(frame: pd.DataFrame) -> Iterator[tuple[str, str, str, Mapping[str, Pair]]]:
    """(vocabulary, workload, mechanism, times by name) of everything that was measured."""
    done = frame[frame["status"] == "ok"]
    for vocabulary, rows in done.groupby("vocabulary", sort=False):
        # The last row of a repetition counts: another size of the experiment is another grid.
        groups = {name: group.to_dict("records") for name, group in rows.groupby("left_out", sort=False)}
        if EVERYTHING not in groups:
            continue
        repetitions = min(map(len, groups.values()))
        for workload in WORKLOADS:
            whole = _least(groups[EVERYTHING][:repetitions], workload)
            for mechanism in MECHANISMS:
                if mechanism.name not in groups:
                    continue
                without = _least(groups[mechanism.name][:repetitions], workload)
                yield str(vocabulary), workload, mechanism.name, _common(whole, without)


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


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What each mechanism buys at most, with its lines; then all times, by vocabulary and workload; then verdicts."""
    best: dict[str, tuple[float, str, str]] = {}
    parts: dict[str, list[dict[str, object]]] = {}
    for vocabulary, workload, name, pairs in _pairs(frame):
        rows = parts.setdefault(f"{vocabulary}, {workload}: the average of each mechanism left out", [])
        row: dict[str, object] = {"left out": name}
        if not rows:
            rows.append({"left out": EVERYTHING, **_times(pairs, whole=True)})
        row |= _times(pairs, whole=False)
        for metric, source in METRICS.items():
            ratio = pairs[source].ratio(metric)
            row[f"x {metric}"] = ratio
            if metric in COUNTS and ratio > best.get(name, (0.0, "", ""))[0]:
                low, high = pairs[source].interval(metric)
                best[name] = ratio, f"{low:.2f} to {high:.2f}", f"{metric}, {workload}, {vocabulary}"
        rows.append(row)
    worth = [
        {
            "mechanism": mechanism.name,
            "lines": mechanism.lines(),
            "times slower without, at most": best[mechanism.name][0],
            "95 %": best[mechanism.name][1],
            "there": best[mechanism.name][2],
            "worth it": "yes" if best[mechanism.name][0] >= WORTH else f"below {WORTH}",
        }
        for mechanism in MECHANISMS
        if mechanism.name in best
    ]
    worth.sort(key=lambda row: float(str(row["times slower without, at most"])))
    return {
        "What each mechanism buys at most, anywhere": pd.DataFrame(worth),
        **{caption: pd.DataFrame(rows) for caption, rows in parts.items()},
        "Texts": _taken(frame),
    }


def _times(pairs: Mapping[str, Pair], *, whole: bool) -> dict[str, object]:
    found: dict[str, object] = {}
    for metric, source in METRICS.items():
        times = pairs[source].whole if whole else pairs[source].without
        value = _statistic(metric, np.concatenate(times)) if times else float("nan")
        found[f"{metric}, ms" if metric == "compile" else f"{metric}, us"] = (
            value / 1000 if metric == "compile" else value
        )
    return found


def _taken(frame: pd.DataFrame) -> pd.DataFrame:
    """How many inputs were refused and tokens taken without each mechanism, where that is not as with everything on."""
    rows: list[dict[str, object]] = []
    done = frame[frame["status"] == "ok"]
    whole: dict[tuple[object, str], object] = {}
    for row in sorted(done.to_dict("records"), key=lambda row: row["left_out"] != EVERYTHING):
        for workload in WORKLOADS:
            taken = row[workload]["taken"]
            key = row["vocabulary"], workload
            if row["left_out"] == EVERYTHING:
                whole.setdefault(key, taken)
            if row["left_out"] == EVERYTHING or taken != whole.get(key):
                refused = sum(spent is None for spent in row[workload]["compile"])
                tokens = sum(map(sum, taken))
                rows.append(
                    {"left out": row["left_out"], "vocabulary": key[0], "workload": workload}
                    | {"inputs": len(taken), "refused": refused, "tokens taken": tokens}
                )
    return pd.DataFrame(rows).drop_duplicates()


def plot(frame: pd.DataFrame) -> go.Figure:
    """The greatest gain of each mechanism against its lines of code."""
    worth = tables(frame)["What each mechanism buys at most, anywhere"]
    figure = go.Figure()
    figure.add_scatter(
        x=worth["lines"],
        y=worth["times slower without, at most"],
        text=worth["mechanism"],
        hovertext=worth["there"],
        mode="markers+text",
        textposition="top center",
    )
    figure.add_hline(y=WORTH, line_dash="dot")
    figure.update_xaxes(title="lines of code")
    figure.update_yaxes(type="log", title="times slower without, at most")
    return figure
