"""What a grammar of dispatching tags costs: written out as plain rules, and as TagDispatch.

Source: XGrammar-2, table 2 (states and edges of the Aho-Corasick automaton, size of the EBNF, by number of tags).

The automaton is built here by the textbook (Aho and Corasick 1975): a trie of the tags and a failure link for every
node but the root; the paper's edges are those of the trie and the failure links together.  The plain grammar has a rule
for each node, with an alternative for each character that leads elsewhere than to the root, one for all others, and the
content behind a tag's last node.  "With failure links" keeps them as references instead of following them when it is
written: short, and wrong, because a text may then leave a tag in its middle; such texts are counted.  The size of an
EBNF is counted in symbols: rule names and terminals of all alternatives (the paper does not say what it counts).
One trial is one set of tags.  `random` tags have ten letters or digits, as the paper's lengths suggest; `tools` are the
beginnings of calls of real tools.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from random import Random
from string import ascii_lowercase, digits
from typing import Final

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of, mean, slope, worst
from experiments.columns import Column, Table, where
from experiments.figures import LOG
from experiments.trial import Params
from kernels_core import (
    CompiledGrammar,
    GrammarCompiler,
    GrammarMatcher,
    Options,
    TokenizerInfo,
    allocate_token_bitmask,
)
from workbench.peers.base import quiet

SIZES: Final = (5, 20, 50, 100)
EXTENT: Final = {"smoke": (SIZES[:1], 1), "quick": (SIZES[:3], 2), "full": (SIZES, 10)}
KINDS: Final = ("random", "tools")
LETTERS: Final = ascii_lowercase + digits
LENGTH: Final = 10
TEXTS: Final = 60
CONTENT: Final = "{}"
PAPER: Final = {
    5: (50, 50, 98, 341),
    20: (200, 197, 392, 1356),
    50: (500, 477, 952, 3299),
    100: (1000, 942, 1882, 6529),
}
"""Table 2: total length of tags, states, edges, size of the EBNF, by number of tags."""
DRAWN: Final = {"ac_states", "paper_states", "ac_edges", "paper_edges", "symbols", "linked", "nodes", "paper_size"}
"""Columns of the figure."""
WHOLE: Final = Options(lazy_lowering=False, max_compile_ms=0, max_fill_ms=0)


@dataclass
class Node:
    """A node of the automaton.  `next`: the trie's children by character; `fail`: the failure link; `tag`: which one
    ends here, the longest if several do."""

    next: dict[str, int] = field(default_factory=dict)
    fail: int = 0
    tag: int | None = None


def grid(preset: str) -> list[Params]:
    """Quick: 5 to 50 tags, two draws.  Full: 5 to 100 tags, ten draws.  Random tags, and those of tools."""
    sizes, seeds = EXTENT[preset]
    return [
        {"kind": kind, "tags": size, "seed": seed, "vocabulary": datasets.DEMO}
        for kind, size, seed in product(KINDS, sizes, range(seeds))
    ]


def draw_tags(kind: str, count: int, seed: int) -> list[str]:
    """`count` different tags, none of which begins with another."""
    random = Random(f"tags {kind} {count} {seed}")
    if kind == "tools":
        return [f"<function={tool.name}>" for tool in random.sample(datasets.load_tools(), count)]
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(random.choices(LETTERS, k=LENGTH))] = None
    return list(found)


def trial(params: Params) -> dict[str, object]:
    """Sizes of the automaton and of both grammars, what it takes to compile them and to make the first mask
    (nanoseconds), and how many of `texts` the two grammars disagree about."""
    tags = draw_tags(params["kind"], params["tags"], params["seed"])
    nodes = automaton(tags)
    plain, symbols = plain_grammar(nodes)
    linked, linked_symbols = plain_grammar(nodes, links=True)
    info = datasets.open_tokenizer(params["vocabulary"]).info
    made = {
        name: _compiled(text, info)
        for name, text in (("plain", plain), ("linked", linked), ("dispatch", tag_grammar(tags)))
    }
    texts = _texts(tags, Random(f"texts {params['seed']}"))
    taken = {name: [_takes(compiled, text) for text in texts] for name, (compiled, _, _) in made.items()}
    found: dict[str, object] = {
        "length": sum(map(len, tags)),
        "ac_states": len(nodes),
        "ac_edges": sum(len(node.next) for node in nodes) + len(nodes) - 1,
        "symbols": symbols,
        "characters": len(plain),
        "linked_symbols": linked_symbols,
        "texts": len(texts),
        "taken": sum(taken["dispatch"]),
        "disagree": sum(a != b for a, b in zip(taken["plain"], taken["dispatch"], strict=True)),
        "linked_disagree": sum(a != b for a, b in zip(taken["linked"], taken["dispatch"], strict=True)),
    }
    for name, (compiled, compile_ns, first_mask_ns) in made.items():
        rules = compiled.automaton().rules
        found |= {f"{name}_states": sum(len(rule.states) for rule in rules), f"{name}_rules": len(rules)}
        found |= {f"{name}_compile_ns": compile_ns, f"{name}_first_mask_ns": first_mask_ns}
    return found


def automaton(tags: Sequence[str]) -> list[Node]:
    """The trie of the tags with failure links, root first (Aho and Corasick 1975)."""
    nodes = [Node()]
    for number, tag in enumerate(tags):
        at = 0
        for character in tag:
            if character not in nodes[at].next:
                nodes[at].next[character] = len(nodes)
                nodes.append(Node())
            at = nodes[at].next[character]
        nodes[at].tag = number
    pending = list(nodes[0].next.values())
    for at in pending:  # grows: nodes by depth
        for character, child in nodes[at].next.items():
            nodes[child].fail = _leads(nodes, nodes[at].fail, character)
            pending.append(child)
            if nodes[child].tag is None:
                nodes[child].tag = nodes[nodes[child].fail].tag
    return nodes


def _leads(nodes: Sequence[Node], at: int, character: str) -> int:
    """Where the automaton goes from `at`, failure links followed."""
    while at and character not in nodes[at].next:
        at = nodes[at].fail
    return nodes[at].next.get(character, 0)


def plain_grammar(nodes: Sequence[Node], *, links: bool = False) -> tuple[str, int]:
    """The automaton as EBNF, a rule a node, and its size in symbols; every content is `CONTENT`.

    links: failure links as references, which is not the same language.
    """
    lines, symbols = [], 0
    for at, node in enumerate(nodes):
        if node.tag is not None:
            lines.append(f"s{at} ::= content s0")
            symbols += 2
            continue
        linked = links and at > 0
        alphabet = list(node.next) if linked else _alphabet(nodes, at)
        leads = {character: _leads(nodes, at, character) for character in alphabet}
        ways = [f'"{character}" s{target}' for character, target in leads.items()]
        ways.append(f"s{node.fail}" if linked else f"[^{''.join(leads)}] s0")
        lines.append(f's{at} ::= "" | ' + " | ".join(ways))
        symbols += 1 + 2 * len(ways) - linked
    return "\n".join(["root ::= s0", f'content ::= "{CONTENT}"', *lines]), symbols


def _alphabet(nodes: Sequence[Node], at: int) -> list[str]:
    """The characters that lead elsewhere than to the root."""
    found: dict[str, None] = {}
    while True:
        found |= dict.fromkeys(nodes[at].next)
        if not at:
            return list(found)
        at = nodes[at].fail


def tag_grammar(tags: Sequence[str]) -> str:
    """The same as one `TagDispatch`."""
    pairs = ", ".join(f'("{tag}", content)' for tag in tags)
    return f'root ::= TagDispatch({pairs})\ncontent ::= "{CONTENT}"'


def _compiled(text: str, info: TokenizerInfo) -> tuple[CompiledGrammar, int, int]:
    """A grammar, and nanoseconds for compiling it and for its first mask."""
    compiler = GrammarCompiler(info, options=WHOLE, cache_enabled=False)
    mask = allocate_token_bitmask(1, info.vocab_size)
    with quiet():
        start = time.perf_counter_ns()
        compiled = compiler.compile_grammar(text)
        middle = time.perf_counter_ns()
        GrammarMatcher(compiled).fill_next_token_bitmask(mask)
        return compiled, middle - start, time.perf_counter_ns() - middle


def _texts(tags: Sequence[str], random: Random) -> list[str]:
    """Free text with whole tags, begun ones, and contents that are right, wrong or absent."""

    def piece() -> str:
        tag = random.choice(tags)
        ways = (
            lambda: "".join(random.choices(LETTERS + " <=", k=random.randint(1, 12))),
            lambda: tag + CONTENT,
            lambda: tag[: random.randint(1, len(tag) - 1)],
            lambda: tag[: random.randint(1, len(tag))] + tag + CONTENT,
            lambda: tag + random.choice(("", "{", "x")),
        )
        return random.choices(ways, weights=(6, 6, 6, 3, 1))[0]()

    return ["".join(piece() for _ in range(random.randint(1, 5))) for _ in range(TEXTS)]


def _takes(compiled: CompiledGrammar, text: str) -> bool:
    matcher = GrammarMatcher(compiled)
    return bool(matcher.accept_string(text)) and matcher.is_completed()


def _mean(key: str, divisor: float = 1) -> Callable[[pd.DataFrame], float]:
    return lambda sets: float(sets[key].mean()) / divisor


def _paper(place: int, sets: pd.DataFrame) -> float:
    kind, count = sets["kind"].iloc[0], int(sets["tags"].iloc[0])
    return PAPER[count][place] if kind == "random" and count in PAPER else float("nan")


def _wrong(sets: pd.DataFrame) -> float:
    return float(100 * sets["linked_disagree"].sum() / sets["texts"].sum())


KEYS: Final = (
    Column("kind", help="random tags, or the beginnings of calls of real tools"),
    Column("tags", help="how many"),
)
OF_AC: Final = "of the Aho-Corasick automaton; edges: of its trie, and failure links"
PAPERS: Final = "the paper's number for the same"
WRITTEN: Final = "size of the written grammar"
SIZES_TABLE: Final = Table(
    "Sizes: Aho-Corasick automaton, plain EBNF, TagDispatch",
    (
        *KEYS,
        Column("length", "total length", "", "characters of all tags", _mean("length")),
        Column("ac_states", "AC states", "", OF_AC, _mean("ac_states")),
        Column("paper_states", "paper, states", "", PAPERS, partial(_paper, 1)),
        Column("ac_edges", "AC edges", "", OF_AC, _mean("ac_edges")),
        Column("paper_edges", "paper, edges", "", PAPERS, partial(_paper, 2)),
        Column("symbols", "EBNF", "symbols", WRITTEN, _mean("symbols")),
        Column("paper_size", "paper, size of the EBNF", "", PAPERS, partial(_paper, 3)),
        Column("characters", "EBNF", "characters", WRITTEN, _mean("characters")),
        Column("linked", "with failure links", "symbols", WRITTEN, _mean("linked_symbols")),
        Column("wrong", "texts wrong with failure links", "%", "that the short grammar takes wrongly", _wrong),
        Column(
            "nodes",
            "TagDispatch",
            "nodes",
            "of the grammar as one TagDispatch, as written: itself, and a tag and a content each",
            lambda sets: 2.0 * float(sets["tags"].iloc[0]) + 1,
        ),
        Column("states", "its states", "", "states of its automaton", _mean("dispatch_states")),
        Column(
            "differ",
            "texts that differ",
            "",
            "that one of the two alone takes; 0 is right",
            lambda sets: int(sets["disagree"].sum()),
        ),
    ),
    by=("kind", "tags"),
)
TABLES: Final = (
    SIZES_TABLE,
    Table(
        "What both cost in our engine, everything lowered at once",
        (
            *KEYS,
            *(
                Column(f"{key} {column}", f"{what}, {name}", "ms", said, _mean(f"{key}_{column}", 1e6))
                for what, column, said in (
                    ("compile", "compile_ns", "from the text of the grammar to something that can be asked for masks"),
                    ("first mask", "first_mask_ns", "making the first mask, without compiling"),
                )
                for name, key in (("plain", "plain"), ("TagDispatch", "dispatch"))
            ),
            *(
                Column(key, f"{key}, plain", "", "of the plain grammar in our engine", _mean(f"plain_{key}"))
                for key in ("rules", "states")
            ),
        ),
        by=("kind", "tags"),
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Sizes by number of tags, with the paper's, both axes logarithmic."""
    labels = {column.key: column.label for column in SIZES_TABLE.columns if column.key in DRAWN}
    rows = SIZES_TABLE.cells(trials).rename(columns=labels).melt(["kind", "tags"], list(labels.values()), "what")
    titles = {"value": "states, edges, or symbols of the grammar"}
    figure = px.line(rows.dropna(), x="tags", y="value", color="what", line_dash="kind", **LOG, labels=titles)
    return figure.update_xaxes(tickvals=list(PAPER))


def _growth(kind: str, trials: pd.DataFrame) -> Effect:
    """The exponent with which symbols grow with automaton states, draw by draw."""
    draws = where(trials, kind=kind).groupby("seed")
    return mean([slope(group["ac_states"], group["symbols"]) for _, group in draws], "draws")


def _costs(columns: Sequence[str], trials: pd.DataFrame) -> Effect:
    """Time of TagDispatch over that of the plain grammar: the geometric mean over the sets."""
    above, below = (sum(trials[f"{name}_{column}"] for column in columns) for name in ("dispatch", "plain"))
    logs = np.log(np.asarray(above / below, dtype=float))
    return Effect(len(logs), "sets of tags", lambda chosen: float(np.exp(logs[chosen].mean())))


CLAIMS: Final = claims_of(
    "dispatch-size",
    {
        "same texts": lambda sets: worst(sets["disagree"], "sets of tags"),
        "growth, tools": partial(_growth, "tools"),
        "growth, random": partial(_growth, "random"),
        "compile and first mask": partial(_costs, ("compile_ns", "first_mask_ns")),
        "first mask": partial(_costs, ("first_mask_ns",)),
        "states": lambda sets: worst(sets["dispatch_states"] / sets["ac_states"], "sets of tags"),
    },
)
