"""An automaton as DOT, for Graphviz and for people: one cluster per rule, one node `s<id>` per state.

`to_dot` is the whole picture; `rule_graph` is the abstract drawing (nodes, merged edges, labels) that `to_dot` and
`visualizers/layout.py` share, so both show the same thing.

Read on: `visualizers/layout.py`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, RuleAutomaton
from visualizers.glyphs import byte_class, clip, dot_quote

__all__ = ["GraphEdge", "RuleGraph", "call_graph", "repeat_label", "rule_graph", "rule_title", "to_dot"]

LABEL_WIDTH: Final = 22
LINES: Final = 4


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """All edges between two nodes drawn as one arrow.

    `lines` is the label, at most `LINES` lines; `full` says everything; `calls` whether every edge is a rule call.
    """

    source: str
    target: str
    lines: tuple[str, ...]
    full: str
    calls: bool


@dataclass(frozen=True, slots=True)
class RuleGraph:
    """What is drawn of one rule, or of the calls between rules: node names in order, `start`, and merged edges.

    `labels` says what is written in each node.
    """

    nodes: tuple[str, ...]
    labels: dict[str, str]
    edges: tuple[GraphEdge, ...]
    start: str | None


def repeat_label(repeat: tuple[int, int | None] | None) -> str:
    """`{l,r}` of a counted rule, `{l,}` when unbounded, "" otherwise."""
    if repeat is None:
        return ""
    low, high = repeat
    return f"{{{low},{'' if high is None else high}}}"


def rule_title(rule: RuleAutomaton) -> tuple[str, str]:
    """A rule's name and its laps; a name that ends in the laps already (`digit{2,5}`) says them once."""
    laps = repeat_label(rule.repeat)
    return (rule.rule.removesuffix(laps) or rule.rule), laps


def rule_graph(rule: RuleAutomaton) -> RuleGraph:
    """The drawing of one rule's automaton.  Raises `ValueError` for an edge to a state that the rule lacks."""
    names = {state.id: f"s{state.id}" for state in rule.states}
    groups: dict[tuple[int, int], list[AutomatonEdge]] = {}
    for edge in rule.edges:
        for end in (edge.source, edge.target):
            if end not in names:
                raise ValueError(f"rule {rule.rule!r}: edge {edge.source} -> {edge.target} names no state of the rule")
        groups.setdefault((edge.source, edge.target), []).append(edge)
    if rule.start not in names:
        raise ValueError(f"rule {rule.rule!r}: its start {rule.start} is no state of the rule")
    return RuleGraph(
        nodes=tuple(names.values()),
        labels={name: str(state) for state, name in names.items()},
        edges=tuple(_merged(names[s], names[t], edges) for (s, t), edges in groups.items()),
        start=names[rule.start],
    )


def _merged(source: str, target: str, edges: list[AutomatonEdge]) -> GraphEdge:
    pieces: list[str] = []
    byte_edges = [edge for edge in edges if edge.kind == "bytes"]
    ranges = [pair for edge in byte_edges for pair in edge.ranges]
    if ranges:
        pieces.append(byte_class(ranges))
    pieces += [edge.label for edge in byte_edges if not edge.ranges]
    pieces += [edge.rule or edge.label for edge in edges if edge.kind != "bytes"]
    pieces = list(dict.fromkeys(pieces))
    lines = [clip(piece, LABEL_WIDTH) for piece in pieces]
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"+{len(lines) - LINES + 1} more"]
    return GraphEdge(source, target, tuple(lines), "\n".join(pieces), not byte_edges)


def call_graph(automaton: Automaton, limit: int) -> tuple[RuleGraph, tuple[int, ...]]:
    """Rules as nodes `r<index>`, calls as edges: (drawing, indices of the rules drawn).

    Of more than `limit` rules the nearest to the root are drawn, by breadth-first search.
    """
    index = {rule.rule: i for i, rule in enumerate(automaton.rules)}
    called: list[dict[int, int]] = []
    for rule in automaton.rules:
        counts: dict[int, int] = {}
        for edge in rule.edges:
            if edge.rule is not None and edge.rule in index:
                counts[index[edge.rule]] = counts.get(index[edge.rule], 0) + 1
        called.append(counts)
    drawn: dict[int, None] = {}
    for root in (index.get(automaton.root, 0), *range(len(automaton.rules))):
        queue = deque([root] if automaton.rules else [])
        while queue and len(drawn) < limit:
            rule_index = queue.popleft()
            if rule_index not in drawn:
                drawn[rule_index] = None
                queue.extend(called[rule_index])
    edges = tuple(
        GraphEdge(f"r{i}", f"r{j}", (), f"{count} call{'s' if count > 1 else ''}", True)
        for i in drawn
        for j, count in called[i].items()
        if j in drawn
    )
    labels = {f"r{i}": _rule_label(automaton.rules[i]) for i in drawn}
    root_index = index.get(automaton.root)
    return RuleGraph(tuple(labels), labels, edges, f"r{root_index}" if root_index in drawn else None), tuple(drawn)


def _rule_label(rule: RuleAutomaton) -> str:
    name, laps = rule_title(rule)
    return f"{clip(name, LABEL_WIDTH)} {laps}".rstrip()


def to_dot(automaton: Automaton) -> str:
    """The whole automaton as a DOT digraph.

    State `i` has the element id `s<i>` and the classes `state`, `accepting`, `scannable`; rule number `k` is the
    cluster `rule<k>`.  Accepting states are double circles, calls are dashed, counted rules show `{l,r}`.
    """
    out = [
        "digraph automaton {",
        "  rankdir=LR; nodesep=0.25; ranksep=0.45; fontname=monospace; fontsize=12; bgcolor=transparent;",
        "  node [shape=circle, fixedsize=true, width=0.42, fontname=monospace, fontsize=10];",
        "  edge [fontname=monospace, fontsize=10, arrowsize=0.6];",
    ]
    if automaton.state_count() > LIMITED_STATES:
        out.append("  " + LIMITS)
    for k, rule in enumerate(automaton.rules):
        title = " ".join(rule_title(rule)).rstrip()
        out += [
            f"  subgraph cluster_{k} {{",
            f'    id="rule{k}"; label={dot_quote(title)}; labeljust=l; style=rounded; color="#9aa0a6";',
            f'    start{k} [shape=point, width=0.05, label="", class=start];',
        ]
        graph = rule_graph(rule)
        for state in rule.states:
            flags = " accepting" * state.accepting + " scannable" * state.scannable
            shape = ", shape=doublecircle, width=0.36" if state.accepting else ""
            tip = dot_quote("\n".join((rule.rule, *state.dots)))
            out.append(
                f'    s{state.id} [id="s{state.id}", class="state{flags}", tooltip={tip}{shape}, label={state.id}];'
            )
        out.append(f"    start{k} -> {graph.start};")
        for edge in graph.edges:
            style = ", style=dashed" if edge.calls else ""
            kind = "call" if edge.calls else "bytes"
            label, full = dot_quote("\n".join(edge.lines)), dot_quote(edge.full)
            out.append(
                f"    {edge.source} -> {edge.target} [class={kind}, label={label}, tooltip={full}, "
                f"labeltooltip={full}{style}];"
            )
        out.append("  }")
    return "\n".join([*out, "}", ""])


LIMITED_STATES: Final = 150
# Graphviz's network simplex is what grows; bounding its rounds is 7 to 15 times faster on large graphs.
LIMITS: Final = "nslimit=0.5; nslimit1=0.5; mclimit=0.2; splines=line;"
