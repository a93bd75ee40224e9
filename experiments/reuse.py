"""How much of a request's grammar was there before: whole grammars, and the structures they are made of.

Source: XGrammar-2, table 1 and figure 6: 100 requests over a pool of 100 tools.

One trial is one setting: all its requests, one after the other.  `static` requests offer the same tools every time,
`dynamic` ones draw them.  Equality is the engine's own structural identity: of rules (the paper's automata) and of
scannable states (what token sets are kept for).  "Reused" may mean several things, and the paper does not say which:

- before: every occurrence counts, and is reused when an equal one came before anywhere, in its own grammar as well;
- earlier request: each structure counts once a request, and is reused when an *earlier* request had it;
- previous request: the same, but only the request just before is looked at;
- own grammar: every occurrence counts, and is reused when its own grammar has had an equal one before.

Hits of the cache are counted apart, as the paper has them (ahead of time, with lookahead, an empty cache at first):
perfect, where the state's lookahead is known as well; partial, where uncertain tokens are looked at again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from random import Random
from typing import Final

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of, mean
from experiments.columns import Column, Table, where
from experiments.trial import Params
from experiments.walk import walk
from kernels_core import Grammar, Options
from kernels_core.automata.identity import Identities
from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.lower import Lowering
from kernels_core.automata.tables import FIRST_STATE
from workbench.peers.ours import Ours
from workbench.peers.toolsets import Tool, ToolSet

POOL: Final = 100
SIZES: Final = (5, 20, 50)
REQUESTS: Final = {"smoke": 3, "quick": 10, "full": 100}
SETTINGS: Final = ("static", "dynamic")
FORMS: Final = ("tag", "schema")
IDENTITY_KEY: Final = bytes(16)  # any will do: identities are compared within a trial only
KINDS: Final = ("grammars", "rules", "states")
WAYS: Final = ("before", "earlier request", "previous request", "own grammar")
PAPER: Final = {5: (99.1, 42.7), 20: (99.1, 51.7), 50: (99.2, 50.7)}
"""Table 1's substructure reuse, static and dynamic, by number of tools."""
AHEAD: Final = Options.laboratory(jit="all", lookahead=True, warm_start=False, max_compile_ms=0, max_fill_ms=0)


def grid(preset: str) -> list[Params]:
    """Quick: 10 requests with 5 and with 20 tools.  Full: 100 requests with 5, 20 and 50 tools, five seeds."""
    sizes, seeds = {"smoke": (SIZES[:1], 1), "quick": (SIZES[:2], 1), "full": (SIZES, 5)}[preset]
    shared = {"requests": REQUESTS[preset], "vocabulary": datasets.defaults(preset)[1]}
    return [
        {"form": form, "setting": setting, "tools": size, "seed": seed, **shared}
        for form, size, setting, seed in product(FORMS, sizes, SETTINGS, range(seeds))
    ]


def trial(params: Params) -> dict[str, object]:
    """All requests of a setting.

    Returns for each of `KINDS` and `WAYS` the counts `reused` and `of`; how often the cross-grammar cache had the token
    sets that one call of each request needed (`pool_found` of `pool_asked`); and the hits of a cache that is filled
    ahead of time (`perfect`, `partial`, `missed`, in the demo model's vocabulary, which they do not depend on).
    """
    engine = Ours(datasets.open_tokenizer(params["vocabulary"]))
    calls = {call.name: call for call in datasets.load_calls(params["seed"])}
    counted = {kind: Reuse() for kind in KINDS}
    ahead = Ours(datasets.open_tokenizer(datasets.DEMO), AHEAD)
    hits = dict.fromkeys(("perfect", "partial", "missed"), 0)
    for tools in requests_of(params):
        grammar = _grammar(tools, params["form"])
        constraint = engine.compile(grammar)
        rules, states = structures(grammar, engine.options or Options())
        found: dict[str, Sequence[Grammar | bytes]] = {"grammars": [grammar], "rules": rules, "states": states}
        for kind in KINDS:
            counted[kind].add(found[kind])
        stats = ahead.compile(_grammar(tools, params["form"])).compiled.cache_stats()
        hits["perfect"] += stats.pool_hits
        hits["partial"] += stats.partial_hits
        hits["missed"] += stats.token_set_misses
        call = next((calls[tool.name] for tool in tools.tools if tool.name in calls), None)
        if call is not None:
            written = {"name": call.name, "parameters": call.arguments}
            spelt = tools.call(call.name, call.arguments) if params["form"] == "tag" else json.dumps(written)
            walk(constraint, engine.tokenizer.encode(spelt), engine.stop_token_ids)
    pool = engine.compiler.pool
    assert pool is not None, "the default options have a cross-grammar cache"
    return {
        "reused": {kind: one.reused for kind, one in counted.items()},
        "of": {kind: one.of for kind, one in counted.items()},
        **hits,
        "pool_found": int(pool.hits),
        "pool_asked": int(pool.hits + pool.misses),
    }


def _grammar(tools: ToolSet, form: str) -> Grammar:
    if form == "tag":
        return Grammar.from_structural_tag(tools.as_tag())
    return Grammar.from_json_schema(tools.as_schema(), order="declared")


class Reuse:
    """Counts structures of one kind, request after request: `reused[way]` of `of[way]`, for each of `WAYS`."""

    def __init__(self) -> None:
        self.reused = dict.fromkeys(WAYS, 0)
        self.of = dict.fromkeys(WAYS, 0)
        self._known: set[Grammar | bytes] = set()
        self._last: set[Grammar | bytes] = set()

    def add(self, structures: Sequence[Grammar | bytes]) -> None:
        """All structures of one request, each as often as it occurs."""
        own = set(structures)
        first = len(structures) - len(own)  # occurrences that their own grammar has had before
        counts = {
            "before": (sum(one in self._known for one in own) + first, len(structures)),
            "earlier request": (len(own & self._known), len(own)),
            "previous request": (len(own & self._last), len(own)),
            "own grammar": (first, len(structures)),
        }
        for way, (reused, of) in counts.items():
            self.reused[way] += reused
            self.of[way] += of
        self._known |= own
        self._last = own


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
    lowered = LazyTables(Lowering(grammar.ir, options))
    lowered.complete()
    identities = Identities(lowered, IDENTITY_KEY)
    rules, states = [], []
    for number, rule in enumerate(lowered.lowering.rules):
        # A counted rule's bounds are no part of its states' identities.
        bounds = repr(rule.repeat).encode()
        rules.append(identities[lowered.begun(number)] + bounds)
    for state in range(FIRST_STATE, lowered.state_count):
        if lowered.row(state)[2]:
            states.append(identities[state])
    return rules, states


def _rate(kind: str, way: str, rows: pd.DataFrame) -> float:
    """Percent, over all trials of `rows`."""
    reused, of = (sum(one[kind][way] for one in rows[name]) for name in ("reused", "of"))
    return float(100 * reused / of) if of else float("nan")


def _paper(rows: pd.DataFrame) -> float:
    known = PAPER.get(int(rows["tools"].iloc[0]))
    return known[SETTINGS.index(rows["setting"].iloc[0])] if known else float("nan")


def _hits(kind: str, rows: pd.DataFrame) -> float:
    return float(100 * rows[kind].sum() / sum(rows[one].sum() for one in ("perfect", "partial", "missed")))


KEYS: Final = (
    Column("form", help="tag: calls in free text; schema: exactly one call as JSON"),
    Column("tools", help="how many a request has"),
    Column("setting", help="static: the same tools in every request; dynamic: drawn anew"),
)
KNOWN: Final = "share that was known before, by this definition"
TABLES: Final = (
    Table(
        "Reuse of whole grammars, of rules by four definitions, and of states",
        (
            *KEYS,
            Column("grammars", "grammars", "%", KNOWN, partial(_rate, "grammars", "before")),
            *(Column(way, f"rules, {way}", "%", KNOWN, partial(_rate, "rules", way)) for way in WAYS),
            *(Column(f"of {way}", f"states, {way}", "%", KNOWN, partial(_rate, "states", way)) for way in WAYS[:2]),
            Column("paper", "paper", "%", "the paper's rate of reused substructures", _paper),
        ),
        by=("form", "tools", "setting"),
    ),
    Table(
        "Token sets in the cache: ahead of time as in the paper, and in use",
        (
            *KEYS,
            *(
                Column(kind, kind, "%", "share of token sets: found, found and filtered, made", partial(_hits, kind))
                for kind in ("perfect", "partial", "missed")
            ),
            Column(
                "in use",
                "found in use, just in time",
                "%",
                "share of the token sets that were asked for",
                lambda rows: 100 * rows["pool_found"].sum() / rows["pool_asked"].sum(),
            ),
        ),
        by=("form", "tools", "setting"),
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Rules seen before in dynamic requests, by number of tools and definition, with the paper's rate."""
    groups = where(trials, setting="dynamic").groupby(["tools", "form"], sort=False)
    rows = [(*key, way, _rate("rules", way, group)) for way in WAYS for key, group in groups]
    told = pd.DataFrame(rows, columns=["tools", "form", "way", "rate"])
    titles = {"tools": "tools in a request", "rate": "rules seen before, %"}
    figure = px.line(told, x="tools", y="rate", color="way", line_dash="form", markers=True, labels=titles)
    figure.update_yaxes(range=[0, 100])
    paper = [dynamic for _, dynamic in PAPER.values()]
    return figure.add_scatter(x=list(PAPER), y=paper, name="the paper", mode="markers", marker_symbol="star")


def _reused(kind: str, way: str, trials: pd.DataFrame) -> Effect:
    """Percent of dynamic requests, trial by trial."""
    rows = where(trials, setting="dynamic").to_dict("records")
    return mean([100 * row["reused"][kind][way] / row["of"][kind][way] for row in rows], "draws of requests")


CLAIMS: Final = claims_of(
    "reuse",
    {
        "grammars": partial(_reused, "grammars", "before"),
        "rules, before": partial(_reused, "rules", "before"),
        "rules, earlier request": partial(_reused, "rules", "earlier request"),
    },
)
