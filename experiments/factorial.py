"""The paper's three mechanisms in all eight combinations: just-in-time masks, cross-grammar cache, compression.

Source: XGrammar-2, table 4, which switches them on one after the other.

One trial is one combination, once through all schemas of the sample, with an engine of its own, so that the cache
finds what the schemas before had in common.  All else is as in the baseline of `ablation`.  The sample is stratified:
schemas with a bound of `LARGE` or more, which compression is for and which are few, and all others; as many of each,
weighted by how many there are.  A schema that a combination refuses, or that exceeds its budget, counts with what was
spent until then, so a gain over it is a lower bound.  Times are by the wall clock, and of the repetitions the median
counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import ablation, datasets
from experiments.claims import FEWEST, Effect, claims_of
from experiments.columns import Column, Table
from experiments.datasets import CaseName, find_cases, load_case
from experiments.engines import warm_up
from experiments.measurement import first_valid, measure, request_ns, rotate
from experiments.trial import Params
from kernels_core import Options
from workbench.comparing.ablating import FIRST, MECHANISMS
from workbench.comparing.factorial import Times, contrasts, subsets
from workbench.peers.ours import Ours

FACTORS: Final[Mapping[str, tuple[str, Mapping[bool, Mapping[str, object]]]]] = {
    name: (MECHANISMS[name][0], {False: step.off, True: step.on})
    for name, step in zip(FIRST, ablation.STEPS[: len(FIRST)], strict=True)
}
"""By parameter: the mechanism, and the options without and with it; they are the first steps of the ablation."""
COMBINATIONS: Final = tuple(product((False, True), repeat=len(FACTORS)))
BOUND: Final = re.compile(r'"(?:min|max)(?:Items|Length|Properties)": *(\d+)')
LARGE: Final = 100
EXTENT: Final = {"smoke": (1, 1, 20), "quick": (3, 2, 200), "full": (6, 3, None)}
"""By preset: schemas of each stratum, repetitions, tokens of a text."""
LOOKED_AT: Final = 2_000  # schemas, evenly spread, that the strata are counted on


def grid(preset: str, limit: int | None = None, *, repeats: int | None = None) -> list[Params]:
    """Quick: three schemas of each stratum, twice.  Full: six, three times.  limit: so many of each stratum."""
    count, times, tokens = EXTENT[preset]
    files, vocabulary = datasets.defaults(preset)
    chosen = sample(files, limit or count)
    shared = {"vocabulary": vocabulary, "max_tokens": tokens, "schemas": chosen}
    cells = [dict(zip(FACTORS, on, strict=True)) for on in COMBINATIONS]
    return [{**cell, "again": again, **shared} for again in range(repeats or times) for cell in rotate(cells, again)]


def sample(files: Sequence[str], each: int) -> list[tuple[str, int, float]]:
    """File, index and weight of `each` schemas with a large bound and of as many others, evenly spread."""
    strata: dict[bool, list[CaseName]] = {True: [], False: []}
    for name in find_cases(list(files), LOOKED_AT):
        case = load_case(name)
        if any(one.valid for one in case.instances):
            bounds = [int(found) for found in BOUND.findall(case.schema)]
            strata[max(bounds, default=0) >= LARGE].append(name)
    chosen: list[tuple[str, int, float]] = []
    for names in strata.values():
        count = min(each, len(names))
        places = [round(float(at)) for at in np.linspace(0, len(names) - 1, count)]
        weight = len(names) / max(1, len(places))
        chosen += [(names[at].file, names[at].index, weight) for at in places]
    return chosen


def options_of(params: Params) -> dict[str, object]:
    """The options of a combination, as changes to the default."""
    changes = ablation.options_at(ablation.BASELINE)
    for name, (_, switch) in FACTORS.items():
        changes |= switch[params[name]]
    return changes


def trial(params: Params) -> dict[str, list[int]]:
    """All schemas at one combination: `compile_ns`, `request_ns` and `refused` of each, in the order of `schemas`."""
    engine = Ours(datasets.open_tokenizer(params["vocabulary"]), Options.laboratory(**options_of(params)))
    warm_up(engine)
    found: dict[str, list[int]] = {"compile_ns": [], "request_ns": [], "refused": []}
    for file, index, _ in params["schemas"]:
        case = load_case(CaseName(file, index))
        texts = [(one.text, True) for one in case.instances if one.valid][:1]
        row = measure(
            engine, partial(engine.compile_source, "json_schema", case.schema), texts, max_tokens=params["max_tokens"]
        )
        at = first_valid(row) if row["compiled"] else None
        whole = row["compiled"] and (at is not None or row["cold"][0]["cut"])
        found["compile_ns"].append(row["compile_ns"])
        found["request_ns"].append(request_ns(row, 0) if row["compiled"] else row["compile_ns"])
        found["refused"].append(not whole)
    return found


def _medians(trials: pd.DataFrame, what: str) -> dict[tuple[bool, ...], Times]:
    """By combination: of each schema the median over the repetitions, nanoseconds."""
    return {
        tuple(bool(one) for one in on): np.median(np.array(rows[what].tolist(), dtype=float), axis=0)
        for on, rows in trials.groupby(list(FACTORS), sort=False)
    }


def _weights(trials: pd.DataFrame) -> Times:
    return np.array([weight for *_, weight in trials["schemas"].iloc[0]])


def _effect(chosen: tuple[int, ...], trials: pd.DataFrame) -> Effect | None:
    """The contrast of some factors, by their places, in a request's time: the weighted geometric mean over the schemas;
    None where a combination is missing."""
    times = _medians(trials, "request_ns")
    if len(times) < len(COMBINATIONS):
        return None
    gains, weights = contrasts(times)[chosen], _weights(trials)
    return Effect(len(gains), "schemas", lambda at: float(np.exp(np.average(gains[at], weights=weights[at]))))


def _worth(trials: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for chosen in subsets(len(FACTORS))[1:]:
        effect = _effect(chosen, trials)
        if effect is not None:
            low, high = effect.interval() if effect.units >= FEWEST else (None, None)
            named = " × ".join(list(FACTORS)[at] for at in chosen)
            rows.append({"what": named, "worth": effect.size, "low": low, "high": high, "schemas": effect.units})
    return rows


def _cells(trials: pd.DataFrame) -> list[dict[str, Any]]:
    compiling, requests, weights = _medians(trials, "compile_ns"), _medians(trials, "request_ns"), _weights(trials)
    rows = []
    for on, group in trials.groupby(list(FACTORS), sort=False):
        key = tuple(bool(one) for one in on)
        refused = np.any(np.array(group["refused"].tolist()), axis=0)
        told = {name: "on" if switched else "off" for name, switched in zip(FACTORS, key, strict=True)}
        rows.append(
            told
            | {
                "compile": float(np.average(compiling[key], weights=weights)) / 1e6,
                "request": float(np.average(requests[key], weights=weights)) / 1e6,
                "middle": float(np.median(requests[key])) / 1e6,
                "refused": int(refused.sum()),
                "schemas": len(weights),
                "repetitions": len(group),
            }
        )
    return rows


CELLS: Final = Table(
    "A cold request in every combination, by the wall clock, weighted back to all schemas",
    (
        *(Column(name, mechanism, help="off or on") for name, (mechanism, _) in FACTORS.items()),
        Column("compile", "preprocessing, average", "ms", "compiling, and masks made ahead of time"),
        Column("request", "a request, average", "ms", "preprocessing, all masks and accepts of one text"),
        Column("middle", "a request, median", "ms", "of the sample, which is not weighted"),
        Column("refused", help="schemas that it refused or did not finish: they count with what was spent"),
        Column("schemas", help="of the sample"),
        Column("repetitions", help="of which the median counts, schema by schema"),
    ),
    rows=_cells,
)
WORTH: Final = Table(
    "What each mechanism is worth for a cold request, and how they depend on each other",
    (
        Column(
            "what", help="a mechanism over all combinations of the others; with ×, how far its gain depends on another"
        ),
        Column(
            "worth", "without / with", help="of a ×: gain without the other / with it; 1: neither depends on the other"
        ),
        Column("low", "at least", help="the lower end of the 95 % interval over the schemas"),
        Column("high", "at most", help="its upper end"),
        Column("schemas", help="of the sample"),
    ),
    rows=_worth,
)
TABLES: Final = (CELLS, WORTH)


def plot(trials: pd.DataFrame) -> go.Figure:
    """A request's average in every combination, on a logarithmic axis."""
    rows = CELLS.cells(trials).rename(columns={"compile": "preprocessing", "request": "a request"})
    names = [" + ".join(name for name in FACTORS if row[name] == "on") or "none" for _, row in rows.iterrows()]
    figure = px.bar(rows, x=names, y=["a request", "preprocessing"], barmode="group", log_y=True)
    return figure.update_yaxes(title="ms, weighted average")


CLAIMS: Final = claims_of("factorial", {name: partial(_effect, (at,)) for at, name in enumerate(FACTORS)})
