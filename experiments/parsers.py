"""Parsers compared: interned Earley sets, a pushdown automaton, a finite automaton, and the naive scan.

Source: XGrammar-2, figure 10 (Earley against a pushdown automaton, ahead-of-time compilation), over MaskBench schemas.
Claim: Earley compiles faster than the pushdown automaton over the whole distribution of schemas.
Refuted by: a quantile of the compile times at which the pushdown automaton is faster.

All parsers give identical masks where they apply; a finite automaton refuses recursion, the pushdown automaton left
recursion, and what goes past a budget is refused as well.  One trial is one schema in one parser.  Masks are made ahead
of time, as in the paper; the engine as it is by default, which makes them just in time, stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets, variants
from experiments.measurement import samples, verdicts
from experiments.tails import STATISTICS, describe
from experiments.trial import NotRunError, Params
from experiments.variants import CASE

__all__ = ["PARSERS", "grid", "plot", "tables", "trial"]

PARSERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "earley": {"parser": "earley", "jit": "all"},
    "pushdown": {"parser": "pushdown"},
    "fsm": {"parser": "fsm"},
    "naive": {"parser": "naive"},
    "earley, just in time": {"parser": "earley", "jit": 0},
}
FIRST: Final = "earley"
BUDGETS: Final = {"max_compile_ms": 60_000, "max_fill_ms": 10_000}
# By preset: schemas, and tokens of each instance.
EXTENT: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "smoke": (1, 10),
    "quick": (8, 60),
    "full": (None, None),
}


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: 8 schemas, 60 tokens of each instance.  Full: everything in the data folder.

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    count, tokens = EXTENT[preset]
    schemas, vocabulary = datasets.defaults(preset)
    cases = datasets.find_cases(schemas, limit or count)
    shared = {"vocabulary": vocabulary, "max_tokens": tokens}
    return variants.grid_of("parser", list(PARSERS), [name for name in PARSERS if _is_built(name)], cases, shared)


def trial(params: Params) -> dict[str, Any]:
    """One schema in one parser (`measurement.measure`)."""
    return variants.measure_variant(params, _changes(params["parser"]))


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Compile and mask times by parser, microseconds: in pairs with Earley, because parsers take different grammars."""
    frame = variants.by_variant(frame, "parser")
    rows: list[dict[str, object]] = []
    for other in list(PARSERS)[1:]:
        pair = samples(frame[frame["engine"].isin([FIRST, other])], CASE, common=True)
        for metric in ("compile", "mask"):
            found = {parser: describe(times) for parser, times in pair[metric].items()}
            if len(found) < 2:
                continue
            rows += [{"metric": metric, "parser": parser, **numbers} for parser, numbers in found.items()]
            ratios = {name: found[FIRST][name] / found[other][name] for name in STATISTICS}
            rows.append({"metric": metric, "parser": f"ratio {FIRST} / {other}", **ratios})
    return {
        "Earley beside each other parser, us": pd.DataFrame(rows, columns=["metric", "parser", "n", *STATISTICS]),
        "Verdicts": verdicts(frame).rename(columns={"engine": "parser"}),
    }


def plot(frame: pd.DataFrame) -> go.Figure:
    """Share of schemas compiled within a time, by parser; each over the schemas it takes."""
    figure = go.Figure()
    for parser, times in samples(variants.by_variant(frame, "parser"), CASE, common=False)["compile"].items():
        figure.add_scatter(
            x=np.sort(times) / 1e6,
            y=100 * np.arange(1, len(times) + 1) / len(times),
            name=f"{parser} (n = {len(times):,})",
            mode="lines",
        )
    figure.update_xaxes(type="log", title="compiling, ms")
    figure.update_yaxes(title="schemas compiled, %")
    return figure


def _changes(parser: str) -> dict[str, Any]:
    if parser not in PARSERS:
        raise KeyError(f"no parser {parser!r}; known: {', '.join(PARSERS)}")
    return {**PARSERS[parser], **BUDGETS}


def _is_built(parser: str) -> bool:
    try:
        variants.options_with(_changes(parser))
    except NotRunError:
        return False
    return True
