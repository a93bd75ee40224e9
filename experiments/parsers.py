"""Parsers compared: Earley sets and a pushdown automaton, with the same mechanisms on both sides.

Source: XGrammar-2, figure 10 (Earley against a pushdown automaton, ahead-of-time compilation), over MaskBench schemas.
Claim: Earley compiles faster than the pushdown automaton, whichever mechanisms both of them have.
Refuted by: a set of mechanisms at which half of the schemas compile no faster with Earley.

A comparison of parsers must not be one of everything else, so both sides get the same: no mechanism, each alone that
both can have (inlining, repetition compression, iteration counters), and all of them.  Every mask is made ahead of
time, and both sides drop uncertain tokens by lookahead, which the pushdown automaton needs; neither has a pool,
differences, walk shortcuts, iteration profiles or memory of parser states, which it cannot have.  "As published" is
each with what its paper gives it.  The engine as it is by default, a finite automaton and the naive scan stand beside
them.  All give identical masks where they apply; a finite automaton refuses recursion, the pushdown automaton left
recursion.
One trial is one schema in one variant; a schema that one side alone refuses counts as at least as slow as its refusal.
Times are compared schema by schema: the ratio that counts is the middle one of all schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets, variants
from experiments.claims import Claim, Effect
from experiments.measurement import samples, verdicts
from experiments.pairs import together
from experiments.tails import STATISTICS, describe
from experiments.trial import NotRunError, Params
from experiments.variants import CASE
from kernels_core import Options

__all__ = ["CLAIMS", "LEVELS", "VARIANTS", "grid", "plot", "tables", "trial"]

EARLEY, PUSHDOWN = "earley", "pushdown"
BARE: Final[Mapping[str, Mapping[str, Any]]] = {
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
LEVELS: Final[Mapping[str, Mapping[str, Any]]] = {
    "none": {"inline_limit": 0, "repetition": "expand"},
    "inlining": {**INLINED, "repetition": "expand"},
    "repetition compression": {"inline_limit": 0, "repetition": "compress"},
    "iteration counters": {"inline_limit": 0, "repetition": "counters"},
    "all": {**INLINED, "repetition": "counters"},
}
"""What both can have: the same on both sides."""
PUBLISHED: Final = "as published"
# XGrammar: context expansion and inlining.  XGrammar-2: Earley, the cross-grammar cache and Algorithm 3 as well.
AS_PUBLISHED: Final[Mapping[str, Mapping[str, Any]]] = {
    EARLEY: {**BARE[EARLEY], **INLINED, "repetition": "compress", "cross_grammar_cache": True},
    PUSHDOWN: {**BARE[PUSHDOWN], **INLINED, "repetition": "expand"},
}
ALONE: Final[Mapping[str, Mapping[str, Any]]] = {"engine": {}, "fsm": {"parser": "fsm"}, "naive": {"parser": "naive"}}


def _name(parser: str, level: str) -> str:
    return f"{parser}, {level}"


VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    **{_name(p, level): {**BARE[p], **changes} for level, changes in LEVELS.items() for p in (EARLEY, PUSHDOWN)},
    **{_name(parser, PUBLISHED): changes for parser, changes in AS_PUBLISHED.items()},
    **ALONE,
}
BUDGETS: Final = {"max_compile_ms": 60_000, "max_fill_ms": 10_000}
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
    cases = datasets.find_cases(schemas, limit or count)
    # Ahead of time a schema takes seconds with a large vocabulary, twelve times.
    shared = {"vocabulary": datasets.DEMO if preset == "quick" else vocabulary, "max_tokens": tokens}
    names = list(VARIANTS)
    return variants.grid_of("parser", names, [name for name in names if _is_built(name)], cases, shared)


def trial(params: Params) -> dict[str, Any]:
    """One schema in one variant (`measurement.measure`)."""
    return variants.measure_variant(params, _changes(params["parser"]))


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Earley beside the pushdown automaton with the same mechanisms; then all variants by themselves."""
    frame = variants.by_variant(frame, "parser")
    own = samples(frame, CASE, common=False)
    rows = [
        {"metric": metric, "variant": name, **describe(own[metric][name])}
        for metric in ("compile", "mask")
        for name in VARIANTS
        if name in own.get(metric, {})
    ]
    return {
        "Earley and pushdown automaton with the same mechanisms": _beside(frame),
        "Each variant on the schemas it took, us": pd.DataFrame(rows, columns=["metric", "variant", "n", *STATISTICS]),
        "Verdicts": verdicts(frame).rename(columns={"engine": "variant"}),
    }


def _beside(frame: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for level in (*LEVELS, PUBLISHED):
        names = [_name(parser, level) for parser in (EARLEY, PUSHDOWN)]
        both = together(frame, CASE, names)
        if both is None or not both.by_any.any():
            continue
        earley, pushdown = (both.compile[name][both.by_any] / 1e3 for name in names)
        row: dict[str, object] = {"mechanisms": level}
        for name, spent in ((EARLEY, earley), (PUSHDOWN, pushdown)):
            row[f"{name}, median, ms"] = float(np.quantile(spent, 0.5, method="higher"))
        row |= {f"ratio, {said}": float(np.quantile(earley / pushdown, at)) for said, at in RATIOS.items()}
        row["all schemas, ratio"] = float(earley.sum() / pushdown.sum())
        masks = [np.concatenate(found) if (found := both.masks(name)) else np.empty(0) for name in names]
        row["mask, ratio"] = masks[0].mean() / masks[1].mean() if masks[0].size else float("nan")
        row |= {"schemas that either took": int(both.by_any.sum())}
        for name in names:
            row[f"refused, {name.partition(',')[0]}"] = int((~both.took[name]).sum())
        rows.append(row)
    return pd.DataFrame(rows)


def plot(frame: pd.DataFrame) -> go.Figure:
    """Share of schemas compiled within a time, by variant; of all that were tried, so that refused ones stay below."""
    frame = variants.by_variant(frame, "parser")
    dashes = dict(zip(LEVELS, ("solid", "dash", "dot", "dashdot", "longdash"), strict=True))
    colours = {EARLEY: "#2f6db5", PUSHDOWN: "#b5402f"}
    figure = go.Figure()
    for name, times in samples(frame, CASE, common=False).get("compile", {}).items():
        parser, _, level = name.partition(", ")
        tried = int(((frame["engine"] == name) & (frame["status"] == "ok")).sum())
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


def _changes(variant: str) -> dict[str, Any]:
    if variant not in VARIANTS:
        raise KeyError(f"no variant {variant!r}; known: {', '.join(VARIANTS)}")
    return {**VARIANTS[variant], **BUDGETS}


def _is_built(variant: str) -> bool:
    try:
        variants.options_with(_changes(variant))
    except NotRunError:
        return False
    return True


def _medians(level: str) -> Callable[[pd.DataFrame], Effect | None]:
    """Compile time of Earley over that of the pushdown automaton: the middle ratio of the schemas that one took."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        names = [_name(parser, level) for parser in (EARLEY, PUSHDOWN)]
        both = together(variants.by_variant(frame, "parser"), CASE, names)
        if both is None or not both.by_any.any():
            return None
        earley, pushdown = (both.compile[name][both.by_any] for name in names)
        return Effect(len(earley), "schemas", lambda at: float(np.median(earley[at] / pushdown[at])))

    return effect


CLAIMS: Final = tuple(
    Claim(
        text=f"Earley compiles faster than the pushdown automaton ({said}).",
        what="compile time of a schema, earley / pushdown, the middle one",
        effect=_medians(level),
        at_most=1.0,
        paper="significantly less compile time (figure 10, without a number)",
        differs=why,
    )
    for level, said, why in (
        ("none", "no mechanisms on either side", ""),
        ("inlining", "inlining alone on both sides", ""),
        ("repetition compression", "repetition compression alone on both sides", ""),
        ("iteration counters", "iteration counters alone on both sides", ""),
        ("all", "all that both can have", ""),
        (
            PUBLISHED,
            "each as published",
            "This is a comparison of two engines, not of two parsers: Earley has a pool and compression besides.",
        ),
    )
)
