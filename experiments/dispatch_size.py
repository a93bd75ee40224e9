"""What a grammar of dispatching tags costs: written out as plain rules, and as TagDispatch.

Source: XGrammar-2, table 2 (states and edges of the Aho-Corasick automaton, size of the EBNF, by number of tags).
Claim: the plain grammar grows with the total length of the tags, while TagDispatch is one node a tag and its automaton
    no larger than Aho and Corasick's; both mean the same.
Refuted by: a text that one of the two grammars takes and the other refuses; an EBNF that does not grow as the number of
    automaton states does; an automaton of TagDispatch with more states than Aho and Corasick's.

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
from random import Random
from string import ascii_lowercase, digits
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from experiments import datasets
from experiments.claims import Claim, Effect, mean, slope, worst
from experiments.trial import Params
from experiments.walk import quiet
from kernels_core import GrammarCompiler, GrammarMatcher, Options, allocate_token_bitmask

__all__ = ["CLAIMS", "Node", "automaton", "grid", "plain_grammar", "plot", "tables", "tag_grammar", "trial"]

SIZES: Final = (5, 20, 50, 100)
EXTENT: Final = {"smoke": (SIZES[:1], 1), "quick": (SIZES[:3], 2), "full": (SIZES, 5)}
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
# Of the figure: unit, its place in `PAPER`, and what is counted in it, with a colour.
PANELS: Final[Sequence[tuple[str, int, Sequence[tuple[str, str]]]]] = (
    ("states", 1, (("AC states", "#2f6db5"),)),
    ("edges", 2, (("AC edges", "#2f8f5b"),)),
    (
        "symbols of the grammar",
        3,
        (
            ("EBNF, symbols", "#b5402f"),
            ("with failure links, symbols", "#c79a00"),
            ("TagDispatch, nodes", "#8a5fb0"),
        ),
    ),
)
WHOLE: Final = Options(lazy_lowering=False, max_compile_ms=0, max_fill_ms=0)


@dataclass
class Node:
    """A node of the automaton.  `next`: the trie's children by character; `fail`: the failure link; `tag`: which one
    ends here, the longest if several do."""

    next: dict[str, int] = field(default_factory=dict)
    fail: int = 0
    tag: int | None = None


def grid(preset: str) -> list[Params]:
    """Quick: 5 to 50 tags, two draws.  Full: 5 to 100 tags, five draws.  Random tags, and those of tools."""
    sizes, seeds = EXTENT[preset]
    return [
        {"kind": kind, "tags": size, "seed": seed, "vocabulary": datasets.DEMO}
        for kind in KINDS
        for size in sizes
        for seed in range(seeds)
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


def trial(params: Params) -> dict[str, Any]:
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
    taken = {name: [_takes(one["compiled"], text) for text in texts] for name, one in made.items()}
    found: dict[str, Any] = {
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
    for name, one in made.items():
        rules = one["compiled"].automaton().rules
        found |= {f"{name}_states": sum(len(rule.states) for rule in rules), f"{name}_rules": len(rules)}
        found |= {f"{name}_{key}": one[key] for key in ("compile_ns", "first_mask_ns")}
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


def _compiled(text: str, info: Any) -> dict[str, Any]:
    compiler = GrammarCompiler(info, options=WHOLE, cache_enabled=False)
    mask = allocate_token_bitmask(1, info.vocab_size)
    with quiet():
        start = time.perf_counter_ns()
        compiled = compiler.compile_grammar(text)
        middle = time.perf_counter_ns()
        GrammarMatcher(compiled).fill_next_token_bitmask(mask)
        return {
            "compiled": compiled,
            "compile_ns": middle - start,
            "first_mask_ns": time.perf_counter_ns() - middle,
        }


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


def _takes(compiled: Any, text: str) -> bool:
    matcher = GrammarMatcher(compiled)
    return bool(matcher.accept_string(text)) and matcher.is_completed()


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Sizes with the paper's beside them, averages over the draws; then what both cost."""
    done = frame[frame["status"] == "ok"]
    sizes: list[dict[str, object]] = []
    costs: list[dict[str, object]] = []
    for (kind, count), group in done.groupby(["kind", "tags"], sort=False):
        mean = group.mean(numeric_only=True)
        where = {"kind": kind, "tags": count}
        paper = PAPER.get(int(count), (np.nan,) * 4) if kind == "random" else (np.nan,) * 4
        sizes.append(
            {
                **where,
                "total length": mean["length"],
                "AC states": mean["ac_states"],
                "paper, states": paper[1],
                "AC edges": mean["ac_edges"],
                "paper, edges": paper[2],
                "EBNF, symbols": mean["symbols"],
                "paper, size of the EBNF": paper[3],
                "EBNF, characters": mean["characters"],
                "with failure links, symbols": mean["linked_symbols"],
                "texts wrong with failure links, %": 100 * group["linked_disagree"].sum() / group["texts"].sum(),
                "TagDispatch, nodes": 2.0 * float(count) + 1,  # itself, and a tag and a content each
                "its states": mean["dispatch_states"],
                "texts that differ": int(group["disagree"].sum()),
            }
        )
        times = {
            f"{what}, {name}, ms": mean[f"{key}_{column}"] / 1e6
            for what, column in (("compile", "compile_ns"), ("first mask", "first_mask_ns"))
            for name, key in (("plain", "plain"), ("TagDispatch", "dispatch"))
        }
        costs.append({**where, **times, "rules, plain": mean["plain_rules"], "states, plain": mean["plain_states"]})
    return {
        "Sizes: Aho-Corasick automaton, plain EBNF, TagDispatch": pd.DataFrame(sizes),
        "What both cost in our engine, everything lowered at once": pd.DataFrame(costs),
    }


def plot(frame: pd.DataFrame) -> go.Figure:
    """Sizes by number of tags, with the paper's: states, edges, and the grammars, each on axes of its own."""
    rows = tables(frame)["Sizes: Aho-Corasick automaton, plain EBNF, TagDispatch"]
    figure = make_subplots(rows=1, cols=len(PANELS), horizontal_spacing=0.09)
    for at, (unit, place, columns) in enumerate(PANELS, start=1):
        for column, colour in columns:
            for kind, dash in (("random", "solid"), ("tools", "dash")):
                some = rows[rows["kind"] == kind]
                line = {"color": colour, "dash": dash}
                figure.add_scatter(
                    x=some["tags"], y=some[column], name=f"{column}, {kind} tags", line=line, row=1, col=at
                )
        figure.add_scatter(
            x=list(PAPER),
            y=[row[place] for row in PAPER.values()],
            name=f"the paper: {unit}",
            mode="markers",
            marker={"symbol": "star", "size": 11, "color": columns[0][1]},
            row=1,
            col=at,
        )
        figure.update_yaxes(title=unit, type="log", dtick=1, row=1, col=at)
    figure.update_xaxes(title="tags", type="log", tickvals=list(PAPER))
    figure.update_layout(legend={"orientation": "h", "y": -0.25})
    figure.update_layout(height=620)
    return figure


def _disagree(frame: pd.DataFrame) -> Effect | None:
    done = frame[frame["status"] == "ok"]
    return worst(done["disagree"], "sets of tags") if len(done) else None


def _growth(kind: str) -> Callable[[pd.DataFrame], Effect | None]:
    """The exponent with which symbols grow with automaton states, draw by draw."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        done = frame[(frame["status"] == "ok") & (frame["kind"] == kind)]
        slopes = [slope(group["ac_states"], group["symbols"]) for _, group in done.groupby("seed")]
        return mean(slopes, "draws") if slopes else None

    return effect


def _costs(*columns: str) -> Callable[[pd.DataFrame], Effect | None]:
    """Time of TagDispatch over that of the plain grammar: the geometric mean over the sets."""

    def effect(frame: pd.DataFrame) -> Effect | None:
        done = frame[frame["status"] == "ok"]
        above, below = (sum(done[f"{name}_{column}"] for column in columns) for name in ("dispatch", "plain"))
        logs = np.log(np.asarray(above / below, dtype=float)) if len(done) else np.empty(0)
        return (
            Effect(len(logs), "sets of tags", lambda chosen: float(np.exp(logs[chosen].mean()))) if len(logs) else None
        )

    return effect


def _states(column: str, over: str) -> Callable[[pd.DataFrame], Effect | None]:
    def effect(frame: pd.DataFrame) -> Effect | None:
        done = frame[frame["status"] == "ok"]
        return worst(done[column] / done[over], "sets of tags") if len(done) else None

    return effect


CLAIMS: Final = (
    Claim(
        text="The plain grammar and TagDispatch take the same texts.",
        what="sampled texts of a set of tags that only one of the two takes",
        effect=_disagree,
        at_most=0,
        always=True,
    ),
    Claim(
        text="The plain grammar of tools' tags grows at least as the automaton does.",
        what="exponent of the EBNF's symbols in the automaton's states, tags of tools",
        effect=_growth("tools"),
        at_least=0.95,
        paper="1.01, fitted to table 2, for random tags",
    ),
    Claim(
        text="So does the plain grammar of random tags.",
        what="exponent of the EBNF's symbols in the automaton's states, random tags",
        effect=_growth("random"),
        at_least=0.95,
        paper="1.01, fitted to table 2",
        differs=(
            "The paper's EBNF stays linear, as ours does only with failure links for references, which is another "
            "language; the exact one has to follow them and grows faster"
        ),
    ),
    Claim(
        text="As TagDispatch a set of tags compiles and makes its first mask in less time than as a plain grammar.",
        what="compile and first mask, TagDispatch / plain, geometric mean",
        effect=_costs("compile_ns", "first_mask_ns"),
        at_most=1.0,
    ),
    Claim(
        text="The first mask alone takes no longer with TagDispatch.",
        what="first mask, TagDispatch / plain, geometric mean",
        effect=_costs("first_mask_ns"),
        at_most=1.0,
        differs="A plain rule of the automaton reads one character; TagDispatch has to find every tag inside a token.",
    ),
    Claim(
        text="The automaton of TagDispatch is at most a tenth larger than Aho and Corasick's, contents included.",
        what="states of TagDispatch / states of the Aho-Corasick automaton",
        effect=_states("dispatch_states", "ac_states"),
        at_most=1.1,
        always=True,
    ),
)
