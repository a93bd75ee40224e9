"""Parsers compared: Earley sets and a pushdown automaton, with the same mechanisms on both sides.

Source: XGrammar-2, figure 10 (Earley against a pushdown automaton, ahead-of-time compilation), over MaskBench schemas.

A comparison of parsers must not be one of everything else, so both sides get the same: no mechanism, each alone that
both can have (inlining, repetition compression, iteration counters), and all of them.  Every mask is made ahead of
time, and both sides drop uncertain tokens by lookahead, which the pushdown automaton needs; neither has a
cross-grammar cache, differences, walk shortcuts, iteration profiles or memory of parser states, which it cannot have.
"As published" is each with what its paper gives it.  The engine as it is by default, a finite automaton and the naive
scan stand beside them.  All give identical masks where they apply; a finite automaton refuses recursion, the pushdown
automaton left recursion.
One trial is one schema in one variant; a schema that one side alone refuses counts as at least as slow as its refusal.
Times are compared schema by schema: the ratio that counts is the middle one of all schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of
from experiments.columns import Column, Table
from experiments.engines import open_variant
from experiments.measurement import SCHEMA, in_turns, measure_case, samples, verdicts_by
from experiments.pairs import together
from experiments.tails import TIMES, describe, quantile
from experiments.trial import Params
from kernels_core import Options
from workbench.comparing.ablating import BUDGETS

EARLEY, PUSHDOWN = "earley", "pushdown"
BARE: Final[Mapping[str, Mapping[str, object]]] = {
    EARLEY: {
        "parser": EARLEY,
        "jit": "all",
        "lookahead": True,
        "lazy_lowering": False,
        "memoize_sets": False,
        "differential_masks": False,
        "cross_grammar_cache": False,
        "warm_start": False,
        "iteration_profiles": False,
        "walk_shortcuts": False,
        "direct_limit": 0,
    },
    PUSHDOWN: {"parser": PUSHDOWN},
}
"""Neither has anything that the other cannot have."""
INLINED: Final = {"inline_limit": Options().mechanisms.inline_limit}
LEVELS: Final[Mapping[str, Mapping[str, object]]] = {
    "none": {"inline_limit": 0, "repetition": "expand"},
    "inlining": {**INLINED, "repetition": "expand"},
    "repetition compression": {"inline_limit": 0, "repetition": "compress"},
    "iteration counters": {"inline_limit": 0, "repetition": "counters"},
    "all": {**INLINED, "repetition": "counters"},
}
"""What both can have: the same on both sides."""
PUBLISHED: Final = "as published"
# XGrammar: context expansion and inlining.  XGrammar-2: Earley, the cross-grammar cache and Algorithm 3 as well.
AS_PUBLISHED: Final[Mapping[str, Mapping[str, object]]] = {
    EARLEY: {**BARE[EARLEY], **INLINED, "repetition": "compress", "cross_grammar_cache": True},
    PUSHDOWN: {**BARE[PUSHDOWN], **INLINED, "repetition": "expand"},
}
ALONE: Final[Mapping[str, Mapping[str, object]]] = {
    "engine": {},
    "fsm": {"parser": "fsm"},
    "naive": {"parser": "naive"},
}


def _name(parser: str, level: str) -> str:
    return f"{parser}, {level}"


VARIANTS: Final[Mapping[str, Mapping[str, object]]] = {
    **{_name(p, level): {**BARE[p], **changes} for level, changes in LEVELS.items() for p in (EARLEY, PUSHDOWN)},
    **{_name(parser, PUBLISHED): changes for parser, changes in AS_PUBLISHED.items()},
    **ALONE,
}
RATIOS: Final = {"lower quarter": 0.25, "middle": 0.5, "upper quarter": 0.75}
"""Which of the schemas' ratios are told."""
# By preset: schemas, and tokens of each instance.
EXTENT: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "smoke": (1, 10),
    "quick": (8, 60),
    "full": (None, None),
}


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: 8 schemas, 60 tokens of each instance, the demo model's small vocabulary.  Full: all of the data folder.

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    count, tokens = EXTENT[preset]
    schemas, vocabulary = datasets.defaults(preset)
    cases = [asdict(case) for case in datasets.find_cases(schemas, limit or count)]
    # Ahead of time a schema takes seconds with a large vocabulary, twelve times.
    shared = {"vocabulary": datasets.DEMO if preset == "quick" else vocabulary, "max_tokens": tokens}
    return in_turns("engine", list(VARIANTS), cases, shared)


def trial(params: Params) -> dict[str, object]:
    """One schema in one variant (`measurement.measure_case`)."""
    changes = _changes(params["engine"])
    return measure_case(open_variant(params["vocabulary"], Options.laboratory(**changes)), params)


def _beside(trials: pd.DataFrame) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for level in (*LEVELS, PUBLISHED):
        names = [_name(parser, level) for parser in (EARLEY, PUSHDOWN)]
        both = together(trials, SCHEMA, names)
        if not both.by_any.any():
            continue
        earley, pushdown = (both.compile[name][both.by_any] / 1e3 for name in names)
        row: dict[str, object] = {"mechanisms": level, EARLEY: quantile(earley, 0.5), PUSHDOWN: quantile(pushdown, 0.5)}
        row |= {said: float(np.quantile(earley / pushdown, at)) for said, at in RATIOS.items()}
        masks = [np.concatenate(found) if (found := both.masks(name)) else np.empty(0) for name in names]
        row["mask"] = masks[0].mean() / masks[1].mean() if masks[0].size else float("nan")
        row |= {"all": float(earley.sum() / pushdown.sum()), "schemas": int(both.by_any.sum())}
        rows.append(row | {f"refused {name.partition(',')[0]}": int((~both.took[name]).sum()) for name in names})
    return rows


def _own(trials: pd.DataFrame) -> list[dict[str, object]]:
    own = samples(trials, SCHEMA, common=False)
    return [
        {"metric": metric, "engine": name, **describe(own[metric][name])}
        for metric in ("compile", "mask")
        for name in VARIANTS
        if name in own.get(metric, {})
    ]


VARIANT: Final = Column("engine", "variant", help="what was switched on or varied")
FIRST: Final = "Earley's over the pushdown automaton's; below 1 the first is less"
TABLES: Final = (
    Table(
        "Earley and pushdown automaton with the same mechanisms",
        (
            Column("mechanisms", help="what both were given"),
            *(
                Column(one, f"{one}, median", "ms", "half of the schemas compile in at most this")
                for one in (EARLEY, PUSHDOWN)
            ),
            *(Column(said, f"ratio, {said}", help=f"of a schema's compile times, {FIRST}") for said in RATIOS),
            Column("all", "all schemas, ratio", help=f"of the compile times of all schemas, {FIRST}"),
            Column("mask", "mask, ratio", help=f"of the average masks, {FIRST}"),
            Column("schemas", "schemas that either took", help="the others say nothing about either"),
            *(
                Column(
                    f"refused {one}",
                    f"refused, {one}",
                    help="schemas that this one refused; they count as at least as slow",
                )
                for one in (EARLEY, PUSHDOWN)
            ),
        ),
        rows=_beside,
    ),
    Table(
        "Each variant on the schemas it took, us",
        (TIMES[0], VARIANT, *TIMES[2:]),
        rows=_own,
    ),
    verdicts_by(VARIANT),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Share of schemas compiled within a time, by variant; of all that were tried, so that refused ones stay below."""
    dashes = dict(zip(LEVELS, ("solid", "dash", "dot", "dashdot", "longdash"), strict=True))
    colours = {EARLEY: "#2f6db5", PUSHDOWN: "#b5402f"}
    figure = go.Figure()
    for name, times in samples(trials, SCHEMA, common=False).get("compile", {}).items():
        parser, _, level = name.partition(", ")
        tried = int((trials["engine"] == name).sum())
        figure.add_scatter(
            x=np.sort(times) / 1e6,
            y=100 * np.arange(1, len(times) + 1) / tried,
            name=f"{name} (n = {tried:,})",
            mode="lines",
            line={"color": colours.get(parser), "dash": dashes.get(level, "solid")},
            visible=True if level in ("none", "all", "") else "legendonly",
        )
    figure.update_layout(height=560)
    figure.update_xaxes(type="log", title="compiling, ms")
    figure.update_yaxes(title="schemas compiled, %")
    return figure


def _changes(variant: str) -> dict[str, object]:
    if variant not in VARIANTS:
        raise KeyError(f"no variant {variant!r}; known: {', '.join(VARIANTS)}")
    return {**VARIANTS[variant], **BUDGETS}


def _medians(level: str, trials: pd.DataFrame) -> Effect:
    """Compile time of Earley over that of the pushdown automaton: the middle ratio of the schemas that one took."""
    names = [_name(parser, level) for parser in (EARLEY, PUSHDOWN)]
    both = together(trials, SCHEMA, names)
    earley, pushdown = (both.compile[name][both.by_any] for name in names)
    return Effect(len(earley), "schemas", lambda at: float(np.median(earley[at] / pushdown[at])))


CLAIMS: Final = claims_of("parsers", {level: partial(_medians, level) for level in (*LEVELS, PUBLISHED)})
