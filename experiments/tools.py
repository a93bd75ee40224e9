"""Sets of fresh tools as one grammar: compiling, masks and accepting, against the installed peers.

Source: XGrammar-2 (section 4.2, figures 7 and 8), on Berkeley Function-Calling Leaderboard tools where they are there.
Claim: compiling a structural tag over 500 tools never seen before takes at most a fiftieth of llguidance's time.
Refuted by: "ours / best peer" of compiling 500 tools as a tag above 0.02.

One trial is one set of tools in one engine.  Every trial starts with empty caches, so that each set is fresh whatever
ran before.  Three forms: `tag`, free text in which calls may occur, as Llama writes them; `harmony`, the same with
the channels of OpenAI's response format, as text; `schema`, exactly one call as a JSON object.  A tag
is compiled from parsed JSON, as a server has it (`peers.base.Engine.tools_request`); a schema from its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Claim, Effect, ratio
from experiments.engines import open_engine
from experiments.measurement import FLOOR, measure, measure_floor, mistakes, rotate, samples, verdicts
from experiments.pairs import together
from experiments.tails import OURS, compare
from experiments.trial import Params
from workbench.peers.base import Constraint
from workbench.peers.toolsets import ToolSet

__all__ = [
    "CLAIMS",
    "FORMS",
    "QUICK_SIZES",
    "SETS",
    "SIZES",
    "draw_tools",
    "grid",
    "grid_of",
    "plot",
    "tables",
    "trial",
]

SIZES: Final = (5, 20, 50, 100, 500)
QUICK_SIZES: Final = (5, 20)
SETS: Final = 5
FORMS: Final = ("tag", "harmony", "schema")
HARMONY: Final = {
    "trigger": "<|channel|>commentary to=functions.",
    "separator": " <|constrain|>json<|message|>",
    "end": "<|call|>",
}
CALLS: Final = 10  # texts of one trial
CASE: Final = ("form", "tools", "set")
METRICS: Final = ("compile", "time to first mask", "mask", "accept")


def grid(preset: str) -> list[Params]:
    """Quick: one set of 5 and one of 20 tools.  Full: five sets of each size up to 500."""
    sizes, sets = {"smoke": (QUICK_SIZES[:1], 1), "quick": (QUICK_SIZES, 1), "full": (SIZES, SETS)}[preset]
    return grid_of(sizes, sets=sets, vocabulary=datasets.defaults(preset)[1])


def grid_of(
    sizes: Sequence[int],
    *,
    sets: int,
    engines: Sequence[str] = ("ours", "xgrammar", "llguidance"),
    vocabulary: str | None = None,
    seed: int = 0,
) -> list[Params]:
    """`sets` sets of each size in both forms, after a trial that measures the floor."""
    shared = {"vocabulary": vocabulary or datasets.default_vocabulary(), "seed": seed}
    trials: list[Params] = [{"engine": FLOOR, "form": "", "tools": 0, "set": 0} | shared]
    for number, (size, which, form) in enumerate((a, b, c) for a in sizes for b in range(sets) for c in FORMS):
        names = {"form": form, "tools": size, "set": which}
        trials += [{"engine": engine} | names | shared for engine in rotate(engines, number)]
    return trials


def draw_tools(size: int, which: int, seed: int) -> ToolSet:
    """Set number `which` of `size` tools: a random draw from all there are, tools with known calls first.

    `DataError` when there are fewer.
    """
    pool = datasets.load_tools(seed)
    if size > len(pool):
        raise datasets.DataError(f"{size} tools were asked for, there are {len(pool)}")
    random = Random(f"tools {seed} {size} {which}")
    called = {call.name for call in datasets.load_calls(seed)}
    known = [tool for tool in pool if tool.name in called]
    first = random.sample(known, min(len(known), max(1, size // 2)))
    names = {tool.name for tool in first}
    rest = random.sample([tool for tool in pool if tool.name not in names], size - len(first))
    drawn = [*first, *rest]
    random.shuffle(drawn)
    return ToolSet(tuple(drawn))


def trial(params: Params) -> dict[str, Any]:
    """One set in one engine with empty caches (`measurement.measure`), or the floor."""
    if params["engine"] == FLOOR:
        return measure_floor(params["vocabulary"])
    tools = draw_tools(params["tools"], params["set"], params["seed"])
    names = {tool.name for tool in tools.tools}
    calls = [call for call in datasets.load_calls(params["seed"]) if call.name in names]
    chosen = Random(f"calls {params['seed']} {params['set']}").sample(calls, min(CALLS, len(calls)))
    engine = open_engine(params["engine"], params["vocabulary"])
    engine.forget()
    if params["form"] != "schema":
        tools = ToolSet(tools.tools, **HARMONY) if params["form"] == "harmony" else tools
        texts = [(f"I will look this up.\n{tools.call(call.name, call.arguments)}", True) for call in chosen]

        request = engine.tools_request(tools)

        def compile_input() -> Constraint:
            return engine.compile_tools(request)
    else:
        schema = tools.as_schema()
        texts = [(json.dumps({"name": call.name, "parameters": call.arguments}), True) for call in chosen]

        def compile_input() -> Constraint:
            return engine.compile_schema(schema)

    return measure(engine, compile_input, texts)


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """For each form, times by number of tools on the common subset, in microseconds; then verdicts."""
    found: dict[str, pd.DataFrame] = {}
    for form in FORMS:
        rows = frame[frame["form"] == form]
        times = {
            f"{size} tools: {metric}": by_metric[metric]
            for size in sorted(rows["tools"].unique())
            for by_metric in [samples(rows[rows["tools"] == size], CASE, common=True)]
            for metric in METRICS
        }
        found[f"Tools as one {form}, us"] = compare(times)
        found[f"Verdicts on calls, as one {form}"] = verdicts(rows)
        if len(wrong := mistakes(rows, CASE)):
            found[f"Wrong verdicts as one {form}, the first of them"] = wrong
    return found


def plot(frame: pd.DataFrame) -> go.Figure:
    """Median compile time by number of tools, with the slowest set above it."""
    figure = go.Figure()
    done = frame[(frame["status"] == "ok") & (frame["engine"] != FLOOR)]
    done = done[done["compiled"].astype(bool)]
    for (engine, form), rows in done.groupby(["engine", "form"], sort=False):
        times = rows.groupby("tools")["compile_ns"]
        middle = times.median() / 1e6
        figure.add_scatter(
            x=middle.index,
            y=middle,
            error_y={"array": times.max() / 1e6 - middle, "arrayminus": middle - times.min() / 1e6},
            name=f"{engine}, {form} (n = {len(rows)})",
        )
    figure.update_xaxes(type="log", title="tools")
    figure.update_yaxes(type="log", title="compiling, ms")
    return figure


def _compiling(form: str, size: int, peer: str) -> Callable[[pd.DataFrame], Effect | None]:
    """Ours over the peer's compile time for sets of `size` tools that both take."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        rows = frame[(frame["form"] == form) & (frame["tools"] == size)]
        both = together(rows, CASE, [OURS, peer])
        if both is None or not both.by_all.any():
            return None
        return ratio(both.compile[OURS][both.by_all], both.compile[peer][both.by_all], "sets of tools")

    return effect


CLAIMS: Final = (
    Claim(
        text="A structural tag over 500 tools never seen before compiles in a fiftieth of llguidance's time.",
        what="compile 500 tools as a tag, ours / llguidance",
        effect=_compiling("tag", 500, "llguidance"),
        at_most=0.02,
    ),
    Claim(
        text="It compiles in a hundredth of XGrammar's time.",
        what="compile 500 tools as a tag, ours / xgrammar",
        effect=_compiling("tag", 500, "xgrammar"),
        at_most=0.01,
        paper="about 10 ms against more than 1,000 ms (figure 8); up to 80 times over 10 to 500 tools (post)",
        differs="The XGrammar beside us here is a later version with the paper's own mechanisms in it.",
    ),
    Claim(
        text="So does one over 500 tools in the format of Harmony.",
        what="compile 500 tools in Harmony's format, ours / llguidance",
        effect=_compiling("harmony", 500, "llguidance"),
        at_most=0.02,
        paper="about 10 ms against more than 1,000 ms of XGrammar (figure 8)",
    ),
    Claim(
        text="As one schema, 100 tools compile in at most half of llguidance's time.",
        what="compile 100 tools as a schema, ours / llguidance",
        effect=_compiling("schema", 100, "llguidance"),
        at_most=0.5,
    ),
)
