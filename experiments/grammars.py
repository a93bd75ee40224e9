"""Grammars that are no schemas: compiling, masks and accepting, against the installed peers.

Source: XGrammar (2024), figure 1: the grammar of JSON (ECMA-404), written as a context-free grammar.

One trial is one grammar in one engine with empty caches: JSON as ECMA-404 has it, a query language (SQL's SELECT) and
the other grammars of `grammar_set.py`, each in the language that it is written in (EBNF, a regular expression, Lark).
An engine that does not know the language is not run there: glrmask reads Lark alone.  All texts are valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of, share
from experiments.columns import Column, Table, where
from experiments.engines import named_once, open_engine
from experiments.figures import BY_ENGINE
from experiments.grammar_set import ECMA_404, GRAMMARS, WrittenGrammar
from experiments.measurement import Measured, first_valid, in_turns, measure, request_ns, samples, verdicts_by
from experiments.pairs import request
from experiments.tails import ENGINE, OURS, TIMES, compare
from experiments.trial import Params

CASE: Final = ("grammar",)
ALL: Final[dict[str, WrittenGrammar]] = {ECMA_404.name: ECMA_404, **GRAMMARS}
EXTENT: Final = {"smoke": 2, "quick": len(ALL), "full": len(ALL)}


def grid(
    preset: str, *, engines: Sequence[str] = ("ours", "xgrammar", "llguidance"), vocabulary: str = ""
) -> list[Params]:
    """Smoke: two grammars.  Quick and full: all of them."""
    shared = {"vocabulary": vocabulary or datasets.defaults(preset)[1]}
    return in_turns("engine", named_once(engines), [{"grammar": name} for name in list(ALL)[: EXTENT[preset]]], shared)


def trial(params: Params) -> dict[str, object]:
    """One grammar in one engine with empty caches (`measurement.measure`)."""
    written = ALL[params["grammar"]]
    engine = open_engine(params["engine"], params["vocabulary"])
    engine.forget()
    texts = [(text, True) for text in written.texts]
    measured = measure(engine, lambda: engine.compile_source(written.language, written.text), texts)
    return {"language": written.language, **measured}


def _request(row: Measured) -> float | None:
    at = first_valid(row) if row["compiled"] is True else None
    return None if at is None else request_ns(row, at) / 1e6


REQUESTS: Final = Table(
    "A request under each grammar: compiling, all masks and accepts of its first text",
    (
        Column("grammar", help="what it describes"),
        Column("language", help="that it is written in"),
        ENGINE,
        Column("request", "request", "ms", "blank where the engine refused the grammar or the text", _request),
    ),
)
TABLES: Final = (
    REQUESTS,
    Table(
        "The same grammars and tokens for all engines, us",
        TIMES,
        rows=lambda trials: compare(samples(trials, CASE, common=True)),
    ),
    verdicts_by(),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """A request under each grammar, by engine, on a logarithmic axis."""
    rows, titles = REQUESTS.cells(trials).dropna(), {"request": "a request, cold, ms"}
    return px.bar(rows, x="grammar", y="request", **BY_ENGINE, barmode="group", log_y=True, labels=titles)


def _took_all(trials: pd.DataFrame) -> Effect:
    ours = where(trials, engine=OURS).to_dict("records")
    return share([row["compiled"] is True and all(one["accepted"] for one in row["cold"]) for row in ours], "grammars")


CLAIMS: Final = claims_of(
    "grammars", {"request": lambda trials: request(trials, CASE, "grammars"), "takes all": _took_all}
)
