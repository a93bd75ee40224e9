"""Ten to two thousand tools in one grammar: compiling, masks and memory, against the installed peers.

Source: the post on XGrammar-2, figure 2 (compile times over 10 to 500 tools, up to 80 times less than XGrammar's).

One trial is one set of tools as one structural tag in one engine with empty caches, and some calls read under it.
Tools are drawn from the data folder's, half of them at most, so that large sets differ too (a table says how much);
what is missing comes from the generator, whose schemas are longer and other ones in each set.  So growth is judged on
sets of made tools alone as well, which our engine compiles beside the others.  Small sets cost what any request costs
and say nothing about growth.  Memory is what the process grew by, so a trial that finds room given
back by an earlier one shows less; of ours stands what the grammar holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import CONTENT, Claim, Effect, different, mean, slope
from experiments.columns import Column, Table
from experiments.engines import open_engine
from experiments.figures import BY_ENGINE, LOG
from experiments.machine import resident_bytes
from experiments.measurement import in_turns, measure
from experiments.pairs import over
from experiments.synthetic_schemas import make_tool
from experiments.tails import ENGINE, OURS, quantile
from experiments.trial import Params
from workbench.peers.base import Constraint
from workbench.peers.ours import OurConstraint
from workbench.peers.toolsets import Tool, ToolSet

SIZES: Final = (10, 50, 100, 500, 1000, 2000)
ENGINES: Final = (OURS, "xgrammar", "llguidance")
EXTENT: Final = {"smoke": (SIZES[:2], 1), "quick": (SIZES[:4], 1), "full": (SIZES, 10)}
CALLS: Final = 10
MOST_DRAWN: Final = 0.5  # of the data folder's tools
LAST: Final = 3  # sizes that exponents are fitted to
ALIKE: Final = "ours, made tools alone"
BY_GENERATOR: Final = "tools that come from the generator, because the data folder has no more"
CASE: Final = ("tools", "set")


def grid(preset: str) -> list[Params]:
    """Quick: one set of 10, 50, 100 and 500 tools.  Full: ten sets of each size up to 2,000."""
    sizes, sets = EXTENT[preset]
    shared = {"vocabulary": datasets.defaults(preset)[1], "seed": 0, "most_drawn": MOST_DRAWN}
    cases = [{"tools": size, "set": which} for size in sizes for which in range(sets)]
    alike = [case | {"made": True} for case in cases if case["tools"] in sizes[-LAST:]]
    return in_turns("engine", ENGINES, cases, shared) + in_turns("engine", [OURS], alike, shared)


def draw(size: int, which: int, seed: int, *, made: bool = False) -> tuple[ToolSet, list[datasets.Call]]:
    """A set of tools with different names, and some calls of them; made: none of the data folder's.

    Sets of one size share no tool of the generator, and of the data folder's no more than chance has it.
    """
    random = Random(f"scale {seed} {size} {which}")
    called = {call.name: call for call in datasets.load_calls(seed)}
    real = [] if made else [tool for tool in datasets.load_tools(seed) if tool.name in called]
    chosen = random.sample(real, min(size, int(MOST_DRAWN * len(real))))
    taken = {tool.name for tool in chosen}
    calls = [called[tool.name] for tool in chosen]
    number = 0
    while len(chosen) < size:
        more = make_tool(seed + 1000 + which, number)
        number += 1
        if more.name not in taken:
            taken.add(more.name)
            chosen.append(Tool(more.name, json.dumps(more.parameters)))
            calls.append(datasets.Call(more.name, more.arguments))
    random.shuffle(chosen)
    return ToolSet(tuple(chosen)), random.sample(calls, min(CALLS, len(calls)))


def trial(params: Params) -> dict[str, object]:
    """One set in one engine (`measurement.measure`); `grown_bytes` of the process, and of ours `held_bytes`; of the
    set, `from_generator` how many tools come from the generator, and `characters` of its text."""
    tools, calls = draw(params["tools"], params["set"], params["seed"], made=params.get("made", False))
    engine = open_engine(params["engine"], params["vocabulary"])
    engine.forget()
    request = engine.tools_request(tools)
    texts = [(datasets.with_words(tools, call), True) for call in calls]
    before = resident_bytes()
    made: list[Constraint] = []

    def compile_input() -> Constraint:
        made.append(engine.compile_tools(request))
        return made[0]

    found = measure(engine, compile_input, texts)
    held = made[0].compiled.memory_size_bytes if made and isinstance(made[0], OurConstraint) else None
    drawn = {tool.name for tool in datasets.load_tools(params["seed"])}
    about: dict[str, object] = {"from_generator": sum(tool.name not in drawn for tool in tools.tools)}
    about |= {"characters": len(tools.as_tag()), CONTENT: datasets.digest(tools.tools), "overlap": _overlap(params)}
    return {**found, **about} | {"grown_bytes": resident_bytes() - before, "held_bytes": held}


def _overlap(params: Params) -> float | None:
    """Tools that this set and the one before share, of those that either has; None of the first."""
    made, which = params.get("made", False), params["set"]
    if not which:
        return None
    before, these = (
        {tool.name + tool.parameters for tool in draw(params["tools"], at, params["seed"], made=made)[0].tools}
        for at in (which - 1, which)
    )
    return len(before & these) / len(before | these)


def _named(trials: pd.DataFrame) -> pd.DataFrame:
    """With another name for our engine where the tools are made alone."""
    return trials.assign(engine=trials["engine"].where(~_alike(trials), ALIKE))


def _alike(trials: pd.DataFrame) -> pd.Series:
    """Which trials have made tools alone."""
    made = trials["made"] if "made" in trials else pd.Series(False, index=trials.index)
    return made.fillna(False).astype(bool)


def _took(sets: pd.DataFrame) -> pd.DataFrame:
    return sets[sets["compiled"].astype(bool)]


def _median(name: str, divisor: float) -> Callable[[pd.DataFrame], float]:
    """Of the sets that the engine took."""
    return lambda sets: float(_took(sets)[name].astype(float).median()) / divisor


def _all_masks(sets: pd.DataFrame) -> npt.NDArray[np.float64]:
    times = [one["mask_ns"] for cold in _took(sets)["cold"] for one in cold]
    return np.concatenate([[], *times]) / 1e3


def _percent_shared(sets: pd.DataFrame) -> float:
    return 100 * float(sets["overlap"].astype(float).mean())


def _first(sets: pd.DataFrame) -> float:
    return float((_took(sets)["compile_ns"] + _took(sets)["first_mask_ns"]).median()) / 1e6


def _average(sets: pd.DataFrame) -> float:
    return float(masks.mean()) if (masks := _all_masks(sets)).size else float("nan")


COLUMNS: Final = (
    Column("tools", help="how many are in the grammar"),
    Column("made", "of them made", "", BY_GENERATOR, lambda sets: int(sets["from_generator"].median())),
    Column("text", "text", "kB", "of the tools as one structural tag", lambda sets: sets["characters"].median() / 1e3),
    ENGINE,
    Column("sets", help="how many that differ", of=lambda sets: len(different(sets))),
    Column("overlap", "overlap", "%", "tools that two sets share, of those of either", _percent_shared),
    Column("refused", help="sets that it refused", of=lambda sets: len(sets) - len(_took(sets))),
    Column("compile", "compile", "ms", "until it can be asked for masks", _median("compile_ns", 1e6)),
    Column("first", "time to first mask", "ms", "compiling and the first mask", _first),
    Column("mask", "mask, average", "us", "making one mask", _average),
    Column(
        "p99", "mask p99", "us", "99 % of the masks take at most this", lambda sets: quantile(_all_masks(sets), 0.99)
    ),
    Column("grew", "process grew", "MB", "memory of the whole process", _median("grown_bytes", 1e6)),
    Column("held", "ours holds", "MB", "what the engine itself counts", _median("held_bytes", 1e6)),
)
TOOLS: Final = Table(
    "Tools in one grammar, medians over the sets",
    COLUMNS,
    by=("tools", "engine"),
    named=_named,
)
TABLES: Final = (TOOLS,)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Compile time by number of tools, both axes logarithmic."""
    titles = {"compile": "compiling, ms"}
    figure = px.line(TOOLS.cells(trials), x="tools", y="compile", **BY_ENGINE, **LOG, labels=titles)
    return figure.update_xaxes(tickvals=list(SIZES))


def _exponent(trials: pd.DataFrame, *, made: bool) -> Effect:
    """The exponent of our compile time over the largest numbers of tools, set by set."""
    done = trials[(trials["engine"] == OURS) & (_alike(trials) == made)]
    largest = [group.sort_values("tools").tail(LAST) for _, group in done.groupby("set")]
    return mean([slope(some["tools"], some["compile_ns"]) for some in largest if len(some) > 1], "sets of tools")


def _beside(peer: str, size: int, what: str = "compile") -> Callable[[pd.DataFrame], Effect]:
    """Ours over the peer's; "both": compiling and all masks of the calls, "mask": these alone."""
    return lambda trials: over(
        trials[(trials["tools"] == size) & ~_alike(trials)], CASE, OURS, peer, "sets of tools", what=what
    )


CLAIMS: Final = (
    Claim(
        text="Compile time grows at most linearly with the number of tools that are alike.",
        what="exponent of our compile time in the number of tools, 500 to 2,000 made tools",
        effect=partial(_exponent, made=True),
        at_most=1.1,
    ),
    Claim(
        text="So it does where made tools, which are longer, come to those of the data folder.",
        what="exponent of our compile time in the number of tools, 500 to 2,000 tools",
        effect=partial(_exponent, made=False),
        at_most=1.1,
        differs="Half of the 2,000 tools are made; a made tool is longer and takes longer than one of the data folder",
    ),
    Claim(
        text="Five hundred tools compile in an eightieth of XGrammar's time.",
        what="compile 500 tools, ours / xgrammar",
        effect=_beside("xgrammar", 500),
        at_most=1 / 80,
        paper="up to 80 times less than XGrammar (the post, figure 2)",
        differs="XGrammar makes its masks while it compiles, ours when they are asked for: see the next claims",
    ),
    Claim(
        text="With all masks of ten calls, 500 tools still take an eightieth of XGrammar's time.",
        what="compile 500 tools and all masks of ten calls, ours / xgrammar",
        effect=_beside("xgrammar", 500, "both"),
        at_most=1 / 80,
    ),
    Claim(
        text="Masks beside 500 tools take no longer than XGrammar's, which it has made before.",
        what="average mask beside 500 tools, ours / xgrammar",
        effect=_beside("xgrammar", 500, "mask"),
        at_most=1.0,
    ),
    *(
        Claim(
            text=f"A thousand tools compile quicker than in {peer}.",
            what=f"compile 1,000 tools, ours / {peer}",
            effect=_beside(peer, 1000),
            at_most=1.0,
        )
        for peer in ENGINES[1:]
    ),
)
