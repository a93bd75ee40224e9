"""Ten to two thousand tools in one grammar: compiling, masks and memory, against the installed peers.

Source: the post on XGrammar-2, figure 2 (compile times over 10 to 500 tools, up to 80 times less than XGrammar's).
Claim: our compile time grows at most linearly with the number of tools and stays below every peer's.
Refuted by: an exponent above 1.1 over the three largest sizes (500, 1,000 and 2,000 tools), or a peer that compiles a
    thousand tools quicker.

One trial is one set of tools as one structural tag in one engine with empty caches, and some calls read under it.
Tools are drawn from the data folder's; what is missing there comes from the generator, whose schemas are longer.  So
growth is judged on sets of made tools alone as well, which our engine compiles beside the others.  Small sets cost what
any request costs and say nothing about growth.  Memory is what the process grew by, so a trial that finds room given
back by an earlier one shows less; of ours stands what the grammar holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Claim, Effect, mean, ratio, slope
from experiments.engines import open_engine
from experiments.figures import ENGINES as ENGINE_COLOURS
from experiments.measurement import measure, rotate
from experiments.memory import resident_bytes
from experiments.pairs import together
from experiments.synthetic_schemas import make_tool
from experiments.tails import OURS
from experiments.trial import Params
from workbench.peers.ours import OurConstraint
from workbench.peers.toolsets import Tool, ToolSet

__all__ = ["CLAIMS", "ENGINES", "SIZES", "draw", "grid", "plot", "tables", "trial"]

SIZES: Final = (10, 50, 100, 500, 1000, 2000)
ENGINES: Final = (OURS, "xgrammar", "llguidance")
EXTENT: Final = {"smoke": (SIZES[:2], 1), "quick": (SIZES[:4], 1), "full": (SIZES, 5)}
CALLS: Final = 10
LAST: Final = 3  # sizes that exponents are fitted to
ALIKE: Final = "ours, made tools alone"
CASE: Final = ("tools", "set")


def grid(preset: str) -> list[Params]:
    """Quick: one set of 10, 50, 100 and 500 tools.  Full: five sets of each size up to 2,000."""
    sizes, sets = EXTENT[preset]
    shared = {"vocabulary": datasets.defaults(preset)[1], "seed": 0}
    cases = [(size, which) for size in sizes for which in range(sets)]
    trials = [
        {"engine": engine, "tools": size, "set": which, **shared}
        for number, (size, which) in enumerate(cases)
        for engine in rotate(ENGINES, number)
    ]
    alike = [(size, which) for size in sizes[-LAST:] for which in range(sets)]
    return [*trials, *({"engine": OURS, "tools": size, "set": which, "made": True, **shared} for size, which in alike)]


def draw(size: int, which: int, seed: int, *, made: bool = False) -> tuple[ToolSet, list[datasets.Call]]:
    """A set of tools with different names, and some calls of them; made: none of the data folder's."""
    random = Random(f"scale {seed} {size} {which}")
    called = {call.name: call for call in datasets.load_calls(seed)}
    real = [] if made else [tool for tool in datasets.load_tools(seed) if tool.name in called]
    chosen = random.sample(real, min(size, len(real)))
    taken = {tool.name for tool in chosen}
    calls = [called[tool.name] for tool in chosen]
    number = 0
    while len(chosen) < size:
        more = make_tool(seed + 1000 + (which if made else 0), number)
        number += 1
        if more.name not in taken:
            taken.add(more.name)
            chosen.append(Tool(more.name, json.dumps(more.parameters)))
            calls.append(datasets.Call(more.name, more.arguments))
    random.shuffle(chosen)
    return ToolSet(tuple(chosen)), random.sample(calls, min(CALLS, len(calls)))


def trial(params: Params) -> dict[str, Any]:
    """One set in one engine (`measurement.measure`); `grown_bytes` of the process, and of ours `held_bytes`; of the
    set, `from_generator` how many tools come from the generator, and `characters` of its text."""
    tools, calls = draw(params["tools"], params["set"], params["seed"], made=params.get("made", False))
    engine = open_engine(params["engine"], params["vocabulary"])
    engine.forget()
    request = engine.tools_request(tools)
    texts = [(f"I will look this up.\n{tools.call(call.name, call.arguments)}", True) for call in calls]
    before = resident_bytes()
    made: list[Any] = []

    def compile_input() -> Any:
        made.append(engine.compile_tools(request))
        return made[0]

    found = measure(engine, compile_input, texts)
    held = made[0].compiled.memory_size_bytes if made and isinstance(made[0], OurConstraint) else None
    drawn = {tool.name for tool in datasets.load_tools(params["seed"])}
    about = {"from_generator": sum(tool.name not in drawn for tool in tools.tools), "characters": len(tools.as_tag())}
    return found | about | {"grown_bytes": resident_bytes() - before, "held_bytes": held}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By engine and number of tools: medians over the sets."""
    done = frame[(frame["status"] == "ok")]
    done = done.assign(engine=done["engine"].where(~_alike(done), ALIKE))
    rows: list[dict[str, object]] = []
    for (size, engine), group in done.groupby(["tools", "engine"], sort=False):
        took = group[group["compiled"].astype(bool)]
        row: dict[str, object] = {
            "tools": size,
            "of them made": int(group["from_generator"].median()),
            "text, kB": group["characters"].median() / 1e3,
            "engine": engine,
            "sets": len(group),
            "refused": len(group) - len(took),
        }
        if len(took):
            masks = np.concatenate([_masks(cold) for cold in took["cold"]])
            row |= {"compile, ms": took["compile_ns"].median() / 1e6}
            row |= {"time to first mask, ms": (took["compile_ns"] + took["first_mask_ns"]).median() / 1e6}
            row |= {"mask, average, us": masks.mean() / 1e3}
            row |= {"mask p99, us": float(np.quantile(masks, 0.99, method="higher")) / 1e3}
            row |= {"process grew, MB": took["grown_bytes"].median() / 1e6}
            row |= {"ours holds, MB": took["held_bytes"].astype(float).median() / 1e6}
        rows.append(row)
    return {"Tools in one grammar, medians over the sets": pd.DataFrame(rows)}


def _alike(frame: pd.DataFrame) -> pd.Series:
    """Which trials have made tools alone."""
    made = frame["made"] if "made" in frame else pd.Series(False, index=frame.index)
    return made.fillna(False).astype(bool)


def _masks(cold: list[dict[str, Any]]) -> Any:
    return np.concatenate([np.asarray(one["mask_ns"], dtype=float) for one in cold])


def plot(frame: pd.DataFrame) -> go.Figure:
    """Compile times by number of tools."""
    rows = tables(frame)["Tools in one grammar, medians over the sets"]
    figure = go.Figure()
    for engine, group in rows.groupby("engine", sort=False):
        style = {"mode": "lines+markers", "line": {"color": ENGINE_COLOURS[str(engine)]}}
        figure.add_scatter(x=group["tools"], y=group["compile, ms"], name=str(engine), **style)
    figure.update_xaxes(type="log", title="tools", tickvals=list(SIZES))
    figure.update_yaxes(type="log", title="compiling, ms")
    return figure


def _exponent(*, made: bool) -> Callable[[pd.DataFrame], Effect | None]:
    """The exponent of our compile time over the largest numbers of tools, set by set."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        done = frame[(frame["status"] == "ok") & (frame["engine"] == OURS) & (_alike(frame) == made)]
        largest = [group.sort_values("tools").tail(LAST) for _, group in done.groupby("set")]
        slopes = [slope(some["tools"], some["compile_ns"]) for some in largest if len(some) > 1]
        return mean(slopes, "sets of tools") if slopes else None

    return effect


def _beside(peer: str, size: int) -> Callable[[pd.DataFrame], Effect | None]:
    def effect(frame: pd.DataFrame) -> Effect | None:
        both = together(frame[(frame["tools"] == size) & ~_alike(frame)], CASE, [OURS, peer])
        if both is None or not both.by_all.any():
            return None
        return ratio(both.compile[OURS][both.by_all], both.compile[peer][both.by_all], "sets of tools")

    return effect


def _with_masks(peer: str, size: int, *, compiling: bool = True) -> Callable[[pd.DataFrame], Effect | None]:
    """All masks of the calls, with compiling or without, set by set."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        both = together(frame[(frame["tools"] == size) & ~_alike(frame)], CASE, [OURS, peer])
        if both is None or not both.by_all.any():
            return None
        inputs = np.flatnonzero(both.by_all)
        spent = {
            name: np.array([both.mask[name][at].sum() + compiling * both.compile[name][at] for at in inputs])
            for name in (OURS, peer)
        }
        return ratio(spent[OURS], spent[peer], "sets of tools")

    return effect


CLAIMS: Final = (
    Claim(
        text="Compile time grows at most linearly with the number of tools that are alike.",
        what="exponent of our compile time in the number of tools, 500 to 2,000 made tools",
        effect=_exponent(made=True),
        at_most=1.1,
    ),
    Claim(
        text="So it does where made tools, which are longer, come to those of the data folder.",
        what="exponent of our compile time in the number of tools, 500 to 2,000 tools",
        effect=_exponent(made=False),
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
        effect=_with_masks("xgrammar", 500),
        at_most=1 / 80,
    ),
    Claim(
        text="Masks beside 500 tools take no longer than XGrammar's, which it has made before.",
        what="average mask beside 500 tools, ours / xgrammar",
        effect=_with_masks("xgrammar", 500, compiling=False),
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
