"""Sets of fresh tools as one grammar: compiling, masks and accepting, against the installed peers.

Source: XGrammar-2 (section 4.2, figures 7 and 8), on Berkeley Function-Calling Leaderboard tools where they are there.

One trial is one set of tools in one engine.  Every trial starts with empty caches, so that each set is fresh whatever
ran before.  Data sets: `bfcl`, where the data folder has it; `made`, by a seeded generator; and
`bare`, the same without `minLength` and `maxLength`, which no tool of the leaderboard has and one schema of eight of
MaskBench: XGrammar compiles made tools for seconds because of them.  Three forms:
`tag`, free text in which calls may occur, as Llama writes them; `harmony`, the same with the channels of OpenAI's
response format, as text; `schema`, exactly one call as a JSON object.  A tag is compiled from parsed JSON, as a server
has it (`peers.base.Engine.tools_request`); a schema from its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random
from typing import Final

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import CONTENT, Effect, claims_of, ratio
from experiments.columns import Column, Table, where
from experiments.engines import named_once, open_engine
from experiments.figures import BY_ENGINE, LOG
from experiments.measurement import MISTAKES, VERDICTS, in_turns, measure, mistakes, samples, verdicts
from experiments.pairs import best_peer, over, request, together
from experiments.tails import ENGINE, OURS, TIMES, compare
from experiments.trial import Params
from workbench.json_values import Json
from workbench.peers.base import Constraint
from workbench.peers.toolsets import Tool, ToolSet

SIZES: Final = (5, 20, 50, 100, 500)
MOST_MADE: Final = 100
FORMS: Final = ("tag", "harmony", "schema")
HARMONY: Final = {
    "trigger": "<|channel|>commentary to=functions.",
    "separator": " <|constrain|>json<|message|>",
    "end": "<|call|>",
}
CALLS: Final = 10  # texts of one trial
DASHES: Final = {"tag": "solid", "harmony": "dash", "schema": "dot"}
NAMES: Final = {"bfcl": "BFCL", "made": "made tools", "bare": "made tools, lengths free"}
CASE: Final = ("data", "form", "tools", "set")
BFCL, MADE, BARE = NAMES
LENGTHS: Final = ("minLength", "maxLength")
METRICS: Final = ("request", "compile", "time to first mask", "mask", "accept")


def grid(
    preset: str,
    *,
    sets: int | None = None,
    engines: Sequence[str] = ("ours", "xgrammar", "llguidance"),
    data: Sequence[str] = (),
    vocabulary: str = "",
    seed: int = 0,
) -> list[Params]:
    """Quick: one set of 5 and one of 20 tools.  Full: ten sets of each size up to 500.  Of each data set, in all forms.

    data: these data sets alone.  Beside BFCL's, made tools come in sets of `MOST_MADE` at most: XGrammar compiles 500
    of them for two minutes.
    """
    sizes, most = {"smoke": (SIZES[:1], 1), "quick": (SIZES[:2], 1), "full": (SIZES, 10)}[preset]
    few = [size for size in sizes if size <= MOST_MADE]
    by_data = {BFCL: sizes, MADE: few, BARE: few} if datasets.has_tools() else {MADE: sizes, BARE: few}
    unknown = [name for name in data if name not in by_data]
    if unknown:
        raise datasets.DataError(f"no tools called {', '.join(unknown)}; there are: {', '.join(by_data)}")
    cases = [
        {"data": name, "form": form, "tools": size, "set": which}
        for name, drawn in by_data.items()
        if not data or name in data
        for size, which, form in product(drawn, range(sets or most), FORMS)
    ]
    shared = {"vocabulary": vocabulary or datasets.defaults(preset)[1], "seed": seed}
    return in_turns("engine", named_once(engines), cases, shared)


def draw_tools(size: int, which: int, seed: int, *, made: bool = False) -> ToolSet:
    """Set number `which` of `size` tools: a random draw from all there are, tools with known calls first.

    made: of the generator's, whatever the data folder has.  `DataError` when there are fewer.
    """
    pool = datasets.load_tools(seed, made=made)
    if size > len(pool):
        raise datasets.DataError(f"{size} tools were asked for, there are {len(pool)}")
    random = Random(f"tools {seed} {size} {which}")
    called = {call.name for call in datasets.load_calls(seed, made=made)}
    known = [tool for tool in pool if tool.name in called]
    first = random.sample(known, min(len(known), max(1, size // 2)))
    names = {tool.name for tool in first}
    rest = random.sample([tool for tool in pool if tool.name not in names], size - len(first))
    drawn = [*first, *rest]
    random.shuffle(drawn)
    return ToolSet(tuple(drawn))


def trial(params: Params) -> dict[str, object]:
    """One set in one engine with empty caches (`measurement.measure`)."""
    made = params["data"] != BFCL
    tools = draw_tools(params["tools"], params["set"], params["seed"], made=made)
    if params["data"] == BARE:
        tools = without_lengths(tools)
    calls = datasets.calls_of(tools, params["seed"], made=made)
    chosen = Random(f"calls {params['seed']} {params['set']}").sample(calls, min(CALLS, len(calls)))
    engine = open_engine(params["engine"], params["vocabulary"])
    engine.forget()
    compile_input: Callable[[], Constraint]
    if params["form"] == "schema":
        compile_input = partial(engine.compile_source, "json_schema", tools.as_schema())
        texts = [(json.dumps({"name": call.name, "parameters": call.arguments}), True) for call in chosen]
    else:
        tools = ToolSet(tools.tools, **HARMONY) if params["form"] == "harmony" else tools
        compile_input = partial(engine.compile_tools, engine.tools_request(tools))
        texts = [(datasets.with_words(tools, call), True) for call in chosen]
    return {**measure(engine, compile_input, texts), CONTENT: datasets.digest(tools.tools, params["form"])}


def without_lengths(tools: ToolSet) -> ToolSet:
    """The same tools whose strings may have any length."""

    def freed(schema: Json) -> Json:
        if isinstance(schema, list):
            return [freed(part) for part in schema]
        if isinstance(schema, dict):
            return {key: freed(part) for key, part in schema.items() if key not in LENGTHS or isinstance(part, dict)}
        return schema

    bare = [Tool(tool.name, json.dumps(freed(json.loads(tool.parameters)))) for tool in tools.tools]
    return replace(tools, tools=tuple(bare))


def _parts(trials: pd.DataFrame, of: Callable[[pd.DataFrame, str], dict[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """What `of` says of the trials of each form and data set, by caption."""
    return {
        caption: rows
        for form, data in product(FORMS, NAMES)
        if len(part := where(trials, form=form, data=data))
        for caption, rows in of(part, f"{form}, {NAMES[data]}").items()
    }


def _times(trials: pd.DataFrame, name: str) -> dict[str, pd.DataFrame]:
    times = {
        f"{size} tools: {metric}": by_metric[metric]
        for size in sorted(trials["tools"].unique())
        for by_metric in [samples(where(trials, tools=size), CASE, common=True)]
        for metric in METRICS
    }
    return {f"Tools as one {name}, us": compare(times)}


def _wrong(trials: pd.DataFrame, name: str) -> dict[str, pd.DataFrame]:
    wrong = mistakes(trials, CASE)
    return {f"Wrong verdicts as one {name}, the first of them": wrong} if len(wrong) else {}


def _verdicts(trials: pd.DataFrame, name: str) -> dict[str, pd.DataFrame]:
    return {f"Verdicts on calls, as one {name}": verdicts(trials)}


CASE_COLUMNS: Final = (
    Column("data", help="the data set"),
    Column("form", help="tag: calls in free text; harmony: in OpenAI's channels; schema: exactly one call as JSON"),
    Column("tools", help="how many"),
    Column("set", help="number of the set"),
)
TABLES: Final = (
    Table("", TIMES, rows=lambda trials: _parts(trials, _times)),
    Table("", VERDICTS, rows=lambda trials: _parts(trials, _verdicts), unfinished=True),
    Table("", (ENGINE, *CASE_COLUMNS, *MISTAKES), rows=lambda trials: _parts(trials, _wrong)),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Median compile time and average mask by number of tools, for each data set; bars reach to least and most."""
    done = trials[trials["compiled"].astype(bool)]
    masks = done["cold"].map(lambda cold: np.mean(np.concatenate([one["mask_ns"] for one in cold])))
    times = {"compiling, ms": done["compile_ns"] / 1e6, "a mask, average, us": masks / 1e3}
    by = ["engine", "form", "data", "tools", "what"]
    rows = done[by[:-1]].assign(**times).melt(by[:-1], list(times), "what").groupby(by, sort=False)["value"]
    told = rows.agg(["median", "min", "max"]).reset_index()
    told = told.assign(above=told["max"] - told["median"], below=told["median"] - told["min"])
    reach = {"error_y": "above", "error_y_minus": "below"}
    apart = {**BY_ENGINE, "line_dash": "form", "line_dash_map": DASHES, "facet_row": "data", "facet_col": "what"}
    figure = px.line(told, x="tools", y="median", **reach, **apart, **LOG)
    figure.update_layout(height=120 + 400 * told["data"].nunique())
    return figure.update_yaxes(matches=None, showticklabels=True).update_xaxes(tickvals=list(SIZES))


def _masking(data: str, form: str, share: float | None) -> Callable[[pd.DataFrame], Effect | None]:
    """Masks of calls of one data set, ours over the best peer's: their mean, or a quantile."""
    return lambda trials: best_peer(together(where(trials, form=form, data=data), CASE), share, "mask", "sets of tools")


def _compiling(form: str, size: int, peer: str, **data: str) -> Callable[[pd.DataFrame], Effect]:
    """Ours over the peer's compile time for sets of `size` tools that both take; of one data set, or of both."""
    return lambda trials: over(
        where(trials, form=form, tools=size, **data), CASE, OURS, peer, "sets of tools", what="compile"
    )


def _until_first_mask(form: str, size: int, peer: str, trials: pd.DataFrame) -> Effect:
    """The same with the time of the first mask, which ours puts off until somebody asks."""
    rows = where(trials, form=form, tools=size)
    rows = rows[rows["compiled"].fillna(False).astype(bool)]
    spent = (rows["compile_ns"] + rows["first_mask_ns"]).groupby([rows[name] for name in ("engine", *CASE)]).min()
    both = spent.unstack(0).reindex(columns=[OURS, peer]).dropna()
    return ratio(both[OURS], both[peer], "sets of tools")


def _requests(form: str) -> Callable[[pd.DataFrame], Effect | None]:
    return lambda trials: request(where(trials, form=form, tools=500, data=BFCL), CASE, "sets of tools")


CLAIMS: Final = claims_of(
    "tools",
    {f"request, {form}": _requests(form) for form in ("tag", "schema")}
    | {f"compile, tag, {peer}": _compiling("tag", 500, peer) for peer in ("llguidance", "xgrammar")}
    | {"compile, harmony, llguidance": _compiling("harmony", 500, "llguidance")}
    | {f"first mask, {form}": partial(_until_first_mask, form, 500, "llguidance") for form in ("tag", "harmony")}
    | {f"mask, {form}, {data}": _masking(data, form, None) for form, data in product(FORMS, NAMES)}
    | {f"mask, tail, {form}, {BFCL}": _masking(BFCL, form, 0.999) for form in FORMS}
    | {f"compile, schema, {data}": _compiling("schema", 100, "llguidance", data=data) for data in NAMES},
)
