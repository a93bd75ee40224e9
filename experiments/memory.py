"""What our engine keeps in memory: over many different schemas, over a long text, and over texts that are never alike.

Source: the bounded cross-grammar pool is our own; XGrammar-2 (section 3.3) keeps a global pool without naming a bound.
Claim: the pool stays within its budget however many schemas pass, memory levels off with it, a step of a text whose
    parser states are all known allocates nothing that stays but the step itself, and where every text leads to new
    parser states, these stay within their budget too.
Refuted by: a pool or parser states above their budget, memory that goes on growing after it is full, or more bytes a
    step for the second half of a long text than for the first.

One trial is one way to use memory: `schemas` compiles synthetic schemas one after the other and drops each, `steps`
follows one text that goes on and on, `states` reads JSON texts with brackets nested at random under one grammar.
Numbers are samples along the way, so that a trend can be seen.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from experiments import datasets
from experiments.claims import Claim, Effect, worst
from experiments.columns import Column, Table, where
from experiments.datasets import CaseName, load_case
from experiments.trial import Params
from experiments.walk import walk
from kernels_core import Options
from workbench.peers.ours import Ours

__all__ = ["CLAIMS", "TABLES", "grid", "plot", "resident_bytes", "trial"]

SAMPLES: Final = 50
TOKENS_OF_A_SCHEMA: Final = 40
WAYS: Final = ("schemas", "steps", "states")
DEPTHS: Final = (10, 40)
# By preset: runs, bytes of the pool, bytes of parser states, schemas, steps, texts.
EXTENT: Final = {
    "smoke": (1, 1 << 16, 1 << 20, 20, 500, 50),
    "quick": (2, 1 << 19, 1 << 21, 200, 5_000, 500),
    "full": (10, 1 << 22, 1 << 25, 10_000, 1_000_000, 20_000),
}
BUDGETS: Final = {"schemas": "pool_bytes", "states": "max_bytes"}
UNITS: Final = {"schemas": "schemas", "steps": "steps of a text", "states": "texts of new states"}
COLOURS: Final = {"schemas": "#2f6db5", "steps": "#2f8f5b", "states": "#b5402f"}
EACH: Final = "growth of the process for each schema, step or text"
LONG_RUN: Final = 5_000  # schemas
LONG_TEXT: Final = '["the quick river", {"under": [1, 2.5e3, null]}, true, "near an old harbour"], '


def grid(preset: str) -> list[Params]:
    """Quick: 200 schemas, 5,000 steps, 500 texts, twice.  Full: 10,000 schemas, 1,000,000 steps, 20,000 texts, ten
    times, with other schemas and texts.

    The budgets are small, so that they fill.
    """
    runs, pool_bytes, max_bytes, *counts = EXTENT[preset]
    shared = {"pool_bytes": pool_bytes, "max_bytes": max_bytes, "vocabulary": datasets.defaults(preset)[1]}
    return [
        {"way": way, "count": count, "seed": seed, **shared}
        for seed in range(runs)
        for way, count in zip(WAYS, counts, strict=True)
    ]


def trial(params: Params) -> dict[str, Any]:
    """Samples after `at` schemas or steps: `resident` bytes of the process, and what the engine says it holds:
    `pool` (bytes of the cross-grammar pool) or `held` (bytes of the one compiled grammar's states and masks)."""
    options = Options(pool_bytes=params["pool_bytes"])
    if params["way"] == "states":
        options = replace(options, max_bytes=params["max_bytes"])
    engine = Ours(datasets.open_tokenizer(params["vocabulary"]), options)
    if params["way"] == "schemas":
        return _many_schemas(engine, params["count"], params["seed"])
    if params["way"] == "steps":
        return _long_text(engine, params["count"])
    if params["way"] == "states":
        return _nested_texts(engine, params["count"], params["seed"])
    raise KeyError(f"no way {params['way']!r}; known: {', '.join(WAYS)}")


def _many_schemas(engine: Ours, count: int, seed: int) -> dict[str, Any]:
    pool = engine.compiler.pool
    assert pool is not None, "the default options have a cross-grammar pool"
    at, resident, held = [], [], []
    every = max(1, count // SAMPLES)
    for number in range(count):
        case = load_case(CaseName(f"synthetic:{seed}", number))
        constraint = engine.compile_schema(case.schema)
        walk(constraint, engine.tokenizer.encode(case.instances[0].text), [], limit=TOKENS_OF_A_SCHEMA)
        del constraint
        if (number + 1) % every == 0:
            gc.collect()
            at.append(number + 1)
            resident.append(resident_bytes())
            held.append(int(pool.nbytes))
    return {"at": at, "resident": resident, "pool": held, "evictions": int(pool.evictions)}


def _long_text(engine: Ours, count: int) -> dict[str, Any]:
    constraint = engine.compile_schema("true")
    tokens = engine.tokenizer.encode(LONG_TEXT)
    matcher = constraint.matcher
    opened = matcher.accept_string("[")
    assert opened, "an array is JSON"
    every = max(1, count // SAMPLES)
    at, resident, held = [], [], []
    for number in range(count):
        constraint.fill()
        token = tokens[number % len(tokens)]
        if not constraint.accept(token):
            raise AssertionError(f"token {token} was refused at step {number}")
        if (number + 1) % every == 0:
            at.append(number + 1)
            resident.append(resident_bytes())
            held.append(int(constraint.compiled.memory_size_bytes))
    return {"at": at, "resident": resident, "held": held}


def _nested_texts(engine: Ours, count: int, seed: int) -> dict[str, Any]:
    constraint = engine.compile_schema("true")
    random = Random(f"nested texts {seed}")
    every = max(1, count // SAMPLES)
    at, resident, held = [], [], []
    for number in range(count):
        opened = [random.choice("[{") for _ in range(random.randint(*DEPTHS))]
        text = "".join(bracket if bracket == "[" else '{"a": ' for bracket in opened)
        text += "1" + "".join("]" if bracket == "[" else "}" for bracket in reversed(opened))
        walked = walk(constraint, engine.tokenizer.encode(text), engine.stop_token_ids)
        if not walked.accepted:
            raise AssertionError(f"text {number} was refused: {text}")
        if (number + 1) % every == 0:
            at.append(number + 1)
            resident.append(resident_bytes())
            held.append(int(constraint.compiled.masks.nbytes))
    return {"at": at, "resident": resident, "held": held, "renewals": constraint.compiled.renewals}


def resident_bytes() -> int:
    """Bytes of this process that are in memory (Linux)."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _slopes(trial: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes for each schema, step or text, in the first half and in the second."""
    at, resident = trial["at"], trial["resident"]
    middle = len(at) // 2
    first = (resident[middle] - resident[0]) / (at[middle] - at[0])
    return first, (resident[-1] - resident[middle]) / (at[-1] - at[middle])


def _late(row: Mapping[str, Any]) -> float:
    """Bytes for each schema, step or text that the process grew by in the last quarter."""
    start = 3 * len(row["at"]) // 4
    return float((row["resident"][-1] - row["resident"][start]) / max(row["at"][-1] - row["at"][start], 1))


def _held(trial: Mapping[str, Any]) -> list[int]:
    return list(trial["pool"] if trial["way"] == "schemas" else trial["held"])


def _budget(trial: Mapping[str, Any]) -> float:
    return trial[BUDGETS[trial["way"]]] / 1e6 if trial["way"] in BUDGETS else float("nan")


TABLES: Final = (
    Table(
        "Memory",
        (
            Column("way", help="schemas: compiled and dropped; steps: of one text; states: texts that are never alike"),
            Column("count", help="how many schemas, steps or texts"),
            Column("budget", "budget", "MB", "what the engine may hold; blank: not bounded here", _budget),
            Column("most", "held at most", "MB", "what the engine itself counts", lambda one: max(_held(one)) / 1e6),
            Column("end", "held at the end", "MB", "what the engine itself counts", lambda one: _held(one)[-1] / 1e6),
            Column("rss", "resident at the end", "MB", "of the whole process", lambda one: one["resident"][-1] / 1e6),
            Column("first", "bytes each, first half", "", EACH, lambda one: _slopes(one)[0]),
            Column("second", "bytes each, second half", "", EACH, lambda one: _slopes(one)[1]),
            Column("late", "bytes each, last quarter", "", EACH, _late),
        ),
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """What the process grew by since the first sample, and what the engine holds, in percent of its budget, along the
    way; a colour for each way to use memory, a line for each run."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    shown: set[str] = set()
    for row in trials.to_dict("records"):
        done = [100 * number / row["count"] for number in row["at"]]
        grown = (np.array(row["resident"]) - row["resident"][0]) / 1e6
        name = f"{row['count']:,} {UNITS[row['way']]}"
        style: dict[str, Any] = {"name": name, "legendgroup": name, "showlegend": name not in shown}
        style |= {"line": {"color": COLOURS[row["way"]]}, "opacity": 0.75, "mode": "lines"}
        figure.add_scatter(x=done, y=grown, row=1, col=1, **style)
        if row["way"] in BUDGETS:
            part = 100 * np.array(_held(row)) / row[BUDGETS[row["way"]]]
            figure.add_scatter(x=done, y=part, row=2, col=1, **style | {"showlegend": False})
        shown.add(name)
    figure.update_xaxes(title="done, %", row=2, col=1)
    figure.update_yaxes(title="process grew, MB", row=1, col=1)
    figure.update_yaxes(title="held, % of the budget", rangemode="tozero", row=2, col=1)
    figure.update_layout(height=560)
    return figure


def _over_budget(way: str, held: str) -> Callable[[pd.DataFrame], Effect]:
    """The most that was held, over the budget, run by run, of runs that had to drop something: a budget that was never
    reached says nothing."""

    def effect(trials: pd.DataFrame) -> Effect:
        rows = where(trials, way=way).to_dict("records")
        full = [row for row in rows if row["evictions" if way == "schemas" else "renewals"] > 0]
        return worst([max(row[held]) / row[BUDGETS[way]] for row in full], "runs")

    return effect


def _growth(trials: pd.DataFrame) -> Effect:
    """Bytes a step in the second half of the long text."""
    rows = where(trials, way="steps").to_dict("records")
    return worst([_slopes(row)[1] for row in rows], "runs")


def _levelled(trials: pd.DataFrame) -> Effect:
    """Bytes a schema that the process grew by over the last quarter of them; not of short runs, in which the heap
    itself still grows."""
    rows = where(trials, way="schemas").to_dict("records")
    return worst([_late(row) for row in rows if row["count"] >= LONG_RUN], "runs")


CLAIMS: Final = (
    Claim(
        text="The cross-grammar pool stays within its budget however many schemas pass.",
        what="bytes held at most / budget, of runs that filled it",
        effect=_over_budget("schemas", "pool"),
        at_most=1.0,
        always=True,
    ),
    Claim(
        text="The process's memory levels off with the pool.",
        what="bytes a schema that it grew by over the last quarter of them",
        effect=_levelled,
        at_most=512,
        always=True,
    ),
    Claim(
        text="A step through known parser states leaves nothing behind but itself.",
        what="bytes a step in the second half of a long text",
        effect=_growth,
        at_most=128,
        always=True,
    ),
    Claim(
        text="Parser states stay within their budget where every text leads to new ones.",
        what="bytes held at most / budget, of runs that filled it",
        effect=_over_budget("states", "held"),
        at_most=1.0,
        always=True,
    ),
)
