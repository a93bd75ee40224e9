"""Masks, accepting and compiling over JSON Schemas, against the installed peers.

Source: MaskBench (Generating Structured Outputs from Language Models, arXiv:2501.10868) and XGrammar-2, figure 11.

One trial is one schema in one engine.  The engines take turns of one or several schemas, in an order that rotates, and
one process runs everything, so that all engines see the same machine.  A trial compiles the schema, walks
every instance token by token (`walk.py`), then walks all of them again: in the second pass every state has been seen.
An instance counts as accepted when its end is.  Pitfalls avoided here: compiling is not called first mask, mask and
accept are not one interval, engines are compared on the same tokens (the common subset) and also each on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of, share, worst
from experiments.columns import Column, Table, where
from experiments.engines import named_once, open_engine
from experiments.figures import ENGINES as ENGINE_COLOURS
from experiments.measurement import MISTAKES, SCHEMA, in_turns, judged, measure_case, mistakes, samples, verdicts_by
from experiments.pairs import best_peer, request, together
from experiments.statuses import BY_KEYWORD, BY_SPLIT, RIGHT, by_keyword, by_split, status_of
from experiments.tails import ENGINE, OURS, TIMES, compare
from experiments.trial import Params

DEFAULT_ENGINES: Final = ("ours", "xgrammar", "xgrammar-default", "llguidance")
EXTENT: Final = {"smoke": (1, 20), "quick": (15, 200), "full": (None, None)}
TIMES_SHOWN: Final = ("mask", "mask, seen before", "compile")
JUDGED: Final = "schemas with all their texts judged"
DASHES: Final = {"mask": "solid", "mask, seen before": "dot", "compile": "dash"}


def grid(
    preset: str,
    limit: int | None = None,
    *,
    paths: Sequence[str] = (),
    engines: Sequence[str] = DEFAULT_ENGINES,
    vocabulary: str = "",
    max_tokens: int | None = None,
    turn: int = 1,
    forget: bool = False,
) -> list[Params]:
    """Quick: 15 schemas, 200 tokens of each instance.  Full: everything in the data folder.

    limit: take that many schemas, evenly spread, whatever the preset takes.  paths: folders, .json, .jsonl or .jsonl.gz
    files, or synthetic:SEED.  vocabulary: tekken, llama3, or a tokenizer's path.
    turn: how many schemas an engine takes before the next engine takes the same ones.  With 1 every schema finds an
    engine driven out of the machine's caches and page tables by the others (a compile of theirs may take seconds); with
    more, most find it as a process does that has one engine.
    forget: before each schema an engine forgets what earlier ones taught it: a compiler reads one schema in its life.
    """
    names, usual = datasets.defaults(preset)
    count, tokens = EXTENT[preset]
    shared = {"vocabulary": vocabulary or usual, "max_tokens": max_tokens or tokens}
    shared |= ({"turn": turn} if turn > 1 else {}) | ({"forget": True} if forget else {})
    cases = [asdict(case) for case in datasets.find_cases(list(paths) or names, limit or count)]
    return in_turns("engine", named_once(engines), cases, shared, turn)


def trial(params: Params) -> dict[str, object]:
    """One schema in one engine (`measurement.measure_case`)."""
    engine = open_engine(params["engine"], params["vocabulary"])
    if params.get("forget"):
        engine.forget()
    return measure_case(engine, params)


def _times(trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
    captions = {True: "The same schemas and tokens for all engines, us", False: "All that each engine took, us"}
    return {caption: compare(samples(trials, SCHEMA, common=common)) for common, caption in captions.items()}


def _wrong(trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
    wrong = mistakes(trials, SCHEMA)
    return {"Wrong verdicts, the first of them": wrong} if len(wrong) else {}


PLACE: Final = (Column("file", help="where the schema is"), Column("index", help="its place in the file"))
TABLES: Final = (
    Table("", TIMES, rows=_times),
    verdicts_by(),
    Table("As MaskBench tells it, by split", BY_SPLIT, rows=by_split, unfinished=True),
    Table("By keyword", BY_KEYWORD, rows=by_keyword, unfinished=True),
    Table("", (ENGINE, *PLACE, *MISTAKES), rows=_wrong),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """How slow the slowest share of calls is, common subset; both axes logarithmic."""
    times = samples(trials, SCHEMA, common=True)
    figure = go.Figure()
    ranks = 1 - np.logspace(0, -4, 161)
    for metric in TIMES_SHOWN:
        for engine, values in times.get(metric, {}).items():
            shown = ranks[ranks <= 1 - 1 / max(len(values), 1)]
            figure.add_scatter(
                x=100 * (1 - shown),
                y=np.quantile(values, shown, method="higher") / 1000,
                name=f"{engine}: {metric} (n = {len(values):,})",
                mode="lines",
                line={"color": ENGINE_COLOURS.get(engine), "dash": DASHES[metric]},
                visible=True if metric == TIMES_SHOWN[0] else "legendonly",
            )
    figure.update_xaxes(type="log", autorange="reversed", title="slowest share of calls, %")
    figure.update_yaxes(type="log", title="each takes at least, us")
    return figure


def _beside(share: float | None, what: str) -> Callable[[pd.DataFrame], Effect | None]:
    return lambda trials: best_peer(together(trials, SCHEMA), share, what, "schemas")


def _request(share: float | None) -> Callable[[pd.DataFrame], Effect | None]:
    return lambda trials: request(trials, SCHEMA, "schemas with a valid text", share)


def _within_a_millisecond(trials: pd.DataFrame) -> Effect:
    """Of all schemas that were tried: one that was refused was not compiled."""
    ours = together(trials, SCHEMA, [OURS])
    return share((ours.compile[OURS] <= 1000) & ours.took[OURS], "schemas")


def _compiled(trials: pd.DataFrame, accepted: bool) -> list[bool]:
    """Of the schemas that ours took: those of which it accepts an invalid text, or else refuses a valid one."""
    rows = where(trials, engine=OURS).to_dict("records")
    found = [(judged(row), row["cold"]) for row in rows if row["compiled"]]
    return [(not accepted, accepted) in told for told, cold in found if len(told) == len(cold)]


def _right_beside_peers(trials: pd.DataFrame) -> Effect | None:
    """Percentage points of all schemas that ours takes and judges rightly, above the best peer's."""
    right = trials.assign(right=[100.0 * (status_of(row) == RIGHT) for row in trials.to_dict("records")])
    flags = right.pivot_table(values="right", index=list(SCHEMA), columns="engine", aggfunc="last", sort=False).dropna()
    if OURS not in flags or flags.shape[1] < 2:
        return None
    ours, peers = flags.pop(OURS).to_numpy(), flags.to_numpy()
    return Effect(len(ours), "schemas", lambda chosen: float(ours[chosen].mean() - peers[chosen].mean(axis=0).max()))


CLAIMS: Final = claims_of(
    "masks",
    {
        "request": _request(None),
        "request, tail": _request(0.99),
        "wrong acceptance": lambda trials: worst(_compiled(trials, True), JUDGED),
        "wrong rejection": lambda trials: share(_compiled(trials, False), JUDGED),
        "right": _right_beside_peers,
        "mask": _beside(None, "mask"),
        "mask, tail": _beside(0.99, "mask"),
        "compile": _beside(None, "compile"),
        "compile, median": _beside(0.5, "compile"),
        "within 1 ms": _within_a_millisecond,
    },
)
