"""How much of a request's grammar was there before: whole grammars, and the structures they are made of.

Source: XGrammar-2, table 1 and figure 6: 100 requests over a pool of 100 tools.
Claim: when requests choose their tools, whole grammars hardly ever come again, but about half of the substructures do.
Refuted by: a dynamic setting in which substructures are reused hardly more often than whole grammars.

One trial is one setting: all its requests, one after the other.  `static` requests offer the same tools every time,
`dynamic` ones draw them.  A structure counts as reused when an equal one occurred before, in an earlier request or
earlier in its own grammar.  Equality is the engine's own structural identity: of rules (the paper's automata) and of
scannable states (what token sets are kept for).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from experiments import datasets
from experiments.trial import Params
from experiments.walk import quiet, walk
from kernels_core import Grammar, Options
from kernels_core.automata.identity import WholeIdentities
from kernels_core.automata.lower import Lowering
from kernels_core.automata.tables import FIRST_STATE, WholeTables
from workbench.peers.ours import Ours, schema_grammar, tag_grammar
from workbench.peers.toolsets import Tool, ToolSet

__all__ = ["grid", "plot", "requests_of", "structures", "tables", "trial"]

POOL: Final = 100
SIZES: Final = (5, 20, 50)
REQUESTS: Final = {"smoke": 3, "quick": 10, "full": 100}
SETTINGS: Final = ("static", "dynamic")
FORMS: Final = ("tag", "schema")
IDENTITY_KEY: Final = bytes(16)  # any will do: identities are compared within a trial only
KINDS: Final = ("grammars", "rules", "states")


def grid(preset: str) -> list[Params]:
    """Quick: 10 requests with 5 and with 20 tools.  Full: 100 requests with 5, 20 and 50 tools, three seeds."""
    sizes, seeds = {"smoke": (SIZES[:1], 1), "quick": (SIZES[:2], 1), "full": (SIZES, 3)}[preset]
    shared = {"requests": REQUESTS[preset], "vocabulary": datasets.defaults(preset)[1]}
    return [
        {"form": form, "setting": setting, "tools": size, "seed": seed, **shared}
        for form in FORMS
        for size in sizes
        for setting in SETTINGS
        for seed in range(seeds)
    ]


def trial(params: Params) -> dict[str, Any]:
    """All requests of a setting.

    Returns for each of `grammars`, `rules` and `states` how many there were and how many of them were `reused`;
    `compile_ns` of each request; and how often the cross-grammar pool had the token sets that one call of each request
    needed (`pool_found` of `pool_asked`).
    """
    engine = Ours(datasets.open_tokenizer(params["vocabulary"]))
    calls = {call.name: call for call in datasets.load_calls(params["seed"])}
    known: dict[str, set[Grammar | bytes]] = {kind: set() for kind in KINDS}
    total, reused = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    compile_ns: list[int] = []
    for tools in requests_of(params):
        read = tag_grammar if params["form"] == "tag" else schema_grammar
        text = tools.as_tag() if params["form"] == "tag" else tools.as_schema()
        with quiet():
            start = time.perf_counter_ns()
            constraint = engine.compile(grammar := read(text))
            compile_ns.append(time.perf_counter_ns() - start)
        rules, states = structures(grammar, engine.options or Options())
        found: dict[str, Sequence[Grammar | bytes]] = {"grammars": [grammar], "rules": rules, "states": states}
        for kind in KINDS:
            for structure in found[kind]:
                total[kind] += 1
                reused[kind] += structure in known[kind]
                known[kind].add(structure)
        call = next((calls[tool.name] for tool in tools.tools if tool.name in calls), None)
        if call is not None:
            written = {"name": call.name, "parameters": call.arguments}
            spelt = tools.call(call.name, call.arguments) if params["form"] == "tag" else json.dumps(written)
            walk(constraint, engine.tokenizer.encode(spelt), engine.stop_token_ids)
    pool = engine.compiler.pool
    assert pool is not None, "the default options have a cross-grammar pool"
    return {
        **total,
        **{f"reused {kind}": count for kind, count in reused.items()},
        "compile_ns": compile_ns,
        "pool_found": int(pool.hits),
        "pool_asked": int(pool.hits + pool.misses),
    }


def requests_of(params: Params) -> Iterator[ToolSet]:
    """The tool sets of a setting's requests."""
    random = Random(f"reuse {params['seed']} {params['tools']}")
    called = {call.name for call in datasets.load_calls(params["seed"])}
    candidates = [tool for tool in datasets.load_tools(params["seed"]) if tool.name in called]
    pool = random.sample(candidates, min(POOL, len(candidates)))
    if params["tools"] > len(pool):
        raise datasets.DataError(f"{params['tools']} tools were asked for, the pool has {len(pool)}")

    def draw() -> tuple[Tool, ...]:
        return tuple(random.sample(pool, params["tools"]))

    fixed = draw()
    for _ in range(params["requests"]):
        yield ToolSet(fixed if params["setting"] == "static" else draw())


def structures(grammar: Grammar, options: Options) -> tuple[list[bytes], list[bytes]]:
    """The identities of a grammar's rules (of their start states), and of all its scannable states."""
    lowered = WholeTables(Lowering(grammar.ir, options))
    identities = WholeIdentities(lowered, IDENTITY_KEY)
    rules, states = [], []
    for number, rule in enumerate(lowered.lowering.rules):
        # A counted rule's bounds are no part of its states' identities.
        bounds = repr(rule.repeat).encode()
        rules.append(identities[lowered.start_of(number)] + bounds)
    for state in range(FIRST_STATE, lowered.state_count):
        if lowered.row(state)[2]:
            states.append(identities[state])
    return rules, states


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Reuse rates in percent, the paper's columns first; then compile times as in figure 6."""
    done = frame[frame["status"] == "ok"]
    rows = []
    for (form, size), group in done.groupby(["form", "tools"], sort=False):
        row: dict[str, object] = {"form": form, "tools": size}
        for kind in KINDS:
            for setting in SETTINGS:
                some = group[group["setting"] == setting]
                row[f"{kind} {setting}, %"] = 100 * some[f"reused {kind}"].sum() / some[kind].sum()
        for setting in SETTINGS:
            some = group[group["setting"] == setting]
            row[f"pool {setting}, %"] = 100 * some["pool_found"].sum() / some["pool_asked"].sum()
        for setting in SETTINGS:
            times = group[group["setting"] == setting]["compile_ns"].explode().astype(float)
            row[f"compile {setting}, ms"] = times.mean() / 1e6
        rows.append(row)
    found = pd.DataFrame(rows)
    if found.empty:
        return {"Reuse": found}
    rates = [name for name in found if name.endswith("%")]
    return {
        "Reuse: whole grammars, rules, states, token sets of the pool": found[["form", "tools", *rates]],
        "Compiling a request, average": found[["form", "tools", *(n for n in found if n.endswith("ms"))]],
    }


def plot(frame: pd.DataFrame) -> go.Figure:
    """Reuse rates by number of tools: a colour for each kind, dashes for drawn tools, crosses for schemas."""
    figure = go.Figure()
    done = frame[frame["status"] == "ok"]
    for kind, colour in zip(KINDS, ("#b5402f", "#2f6db5", "#2f8f5b"), strict=True):
        for (form, setting), group in done.groupby(["form", "setting"], sort=False):
            sums = group.groupby("tools")[[kind, f"reused {kind}"]].sum()
            figure.add_scatter(
                x=sums.index,
                y=100 * sums[f"reused {kind}"] / sums[kind],
                name=f"{kind}, {setting}, {form}",
                mode="lines+markers",
                line={"color": colour, "dash": "solid" if setting == "static" else "dash"},
                marker={"symbol": "circle" if form == "tag" else "x", "size": 9},
            )
    figure.update_xaxes(title="tools in a request")
    figure.update_yaxes(title="seen before, %", range=[0, 100])
    return figure
