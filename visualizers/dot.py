"""Graphviz: a sketch as a `graphviz.Digraph`, laid out by the `dot` program, and an automaton as DOT for people.

The Python package `graphviz` writes the DOT source and knows how to call the program; the program itself comes from
the system (`apt-get install graphviz`).  What it answers is read back as a `Drawing`, so the picture is written in one
place (`visualizers/svg.py`) whoever laid it out.

Read on: `visualizers/layout.py` (who is asked, and when).
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Sequence
from typing import Any, Final

import graphviz
from graphviz.backend import dot_command

from kernels_core.inspect.snapshots import Automaton, RuleAutomaton
from visualizers.fold import fold_rule
from visualizers.geometry import ENTRY, Curve, Drawing, Point, Sketch, framed, loop_curve, trimmed
from visualizers.glyphs import clip
from visualizers.labels import edge_label, full_text

__all__ = ["DotError", "digraph", "lay_out", "to_dot"]

LIMITED_NODES: Final = 150
# Graphviz's network simplex is what grows; bounding its rounds is 7 to 15 times faster on large graphs.
LIMITS: Final = {"nslimit": "0.5", "nslimit1": "0.5", "mclimit": "0.2", "splines": "line"}
PIXELS_PER_INCH: Final = 72.0
# Larger than the 11 px that are drawn, so that labels keep clear of their arrows.
FONT: Final = 13
MISSING: Final = "no `dot` program on PATH (Debian: apt-get install graphviz)"


class DotError(RuntimeError):
    """The `dot` program is not there, failed, or ran out of time."""


def _escaped(text: str) -> str:
    """`text` as DOT shows it literally; a NUL would end the source."""
    return str(graphviz.escape(text.replace("\0", "\ufffd")))


def lay_out(sketches: Sequence[Sketch], timeout: float) -> list[Drawing]:
    """All sketches in one run of `dot`: starting it costs more than a small layout.  Raises `DotError`."""
    source = "".join(_measured(sketch) for sketch in sketches)
    command = [str(part) for part in dot_command.command("dot", "json0")]
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=timeout)
    except FileNotFoundError:
        raise DotError(MISSING) from None
    except subprocess.TimeoutExpired:
        raise DotError(f"`dot` took longer than {timeout:g} s") from None
    except OSError as error:
        raise DotError(f"`dot` could not be run: {error}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise DotError(f"`dot` failed with status {done.returncode}: {lines[-1] if lines else 'no message'}")
    answers = _answers(done.stdout.decode())
    if len(answers) != len(sketches):
        raise DotError(f"`dot` answered {len(answers)} graphs where {len(sketches)} were asked")
    return [_read(sketch, answer) for sketch, answer in zip(sketches, answers, strict=True)]


def _measured(sketch: Sketch) -> str:
    """A sketch as DOT for measuring only: every letter of a label is an `x`, so nothing has to be escaped."""
    graph = graphviz.Digraph(graph_attr={"rankdir": "LR", "nodesep": "0.16", "ranksep": "0.25"})
    if len(sketch.sizes) > LIMITED_NODES:
        graph.graph_attr.update(LIMITS)
    graph.node_attr.update(shape="circle", fixedsize="true", label="")
    graph.edge_attr.update(arrowhead="none", fontname="Courier", fontsize=str(FONT))
    looped = {arrow.source for arrow in sketch.edges if arrow.source == arrow.target}
    for name, (width, height) in sketch.sizes.items():
        shape = {"shape": "box"} if name in sketch.boxes else {}
        if name in looped:
            # Graphviz keeps no room for the label of a loop.  So a node with a loop is asked for as a box that holds
            # all of it, arrows run to its centre, and `_read` cuts them at the circle and draws the loop.
            side, above, _ = sketch.reach(name)
            width, height, shape = 2 * side, 2 * above, {"shape": "box"}
        graph.node(name, width=_inches(width), height=_inches(height), **shape)
    for number, arrow in enumerate(sketch.edges):
        if arrow.source == arrow.target:
            continue
        label: dict[str, str] = {"id": str(number)}
        if arrow.lines:
            # A line of n columns is asked for as n letters of 0.6 em, the width of every monospace font.
            columns = math.ceil(sketch.label_size(arrow)[0] / (FONT * 0.6))
            label["label"] = "\\n".join(["x" * columns] * len(arrow.lines))
        if arrow.source in looped:
            label["tailclip"] = "false"
        if arrow.target in looped:
            label["headclip"] = "false"
        if arrow.kind == "else":
            label["constraint"] = "false"
        graph.edge(arrow.source, arrow.target, **label)
    return str(graph.source)


def _inches(pixels: float) -> str:
    return f"{pixels / PIXELS_PER_INCH:.4f}"


def _answers(text: str) -> list[dict[str, Any]]:
    """`dot` writes one JSON value after the other."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return found
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise DotError(f"`dot` answered what is not JSON: {error}") from None
        found.append(value)


def _read(sketch: Sketch, answer: dict[str, Any]) -> Drawing:
    """Points of 1/72 inch, y up."""
    height = float(answer["bb"].split(",")[3])

    def point(text: str) -> Point:
        x, y = text.split(",")
        return float(x), height - float(y)

    nodes = {item["name"]: point(item["pos"]) for item in answer.get("objects", ())}
    looped = {arrow.source for arrow in sketch.edges if arrow.source == arrow.target}
    curves: list[Curve] = []
    for item in answer.get("edges", ()):
        arrow = sketch.edges[int(item["id"])]
        points = tuple(map(point, item["pos"].split()))
        for end in (arrow.source, arrow.target):
            if end in looped:
                # Such a curve runs to the centre of a node with a loop: cut it at the node's edge.
                size = sketch.sizes[end]
                radius = min(size) / 2 if end in sketch.boxes else max(size) / 2
                backward = end == arrow.target
                cut = trimmed(points[::-1] if backward else points, nodes[end], radius)
                points = cut[::-1] if backward else cut
        curves.append(Curve(arrow, points, point(item["lp"]) if arrow.lines else None))
    curves += [loop_curve(sketch, arrow, nodes[arrow.source]) for arrow in sketch.edges if arrow.source == arrow.target]
    return framed(sketch, nodes, curves)


def digraph(automaton: Automaton) -> graphviz.Digraph:
    """The whole folded automaton as a `graphviz.Digraph`, which displays itself, renders to files and has `.source`.

    State `i` has the element id `s<i>` and the classes `state`, `accepting`, `scannable`; rule number `k` is the
    cluster `rule<k>`.  Accepting states are double circles, calls are dashed, counted rules show `{l,r}`.
    """
    graph = graphviz.Digraph("automaton")
    graph.attr(rankdir="LR", nodesep="0.25", ranksep="0.45", fontname="monospace", fontsize="12", bgcolor="transparent")
    graph.attr("node", shape="circle", fixedsize="true", width="0.42", fontname="monospace", fontsize="10")
    graph.attr("edge", fontname="monospace", fontsize="10", arrowsize="0.6")
    if automaton.state_count() > LIMITED_NODES:
        graph.attr(**LIMITS)
    for number, rule in enumerate(automaton.rules):
        folded = fold_rule(rule)
        with graph.subgraph(name=f"cluster_{number}") as box:
            title = _escaped(" ".join(rule_title(rule)).rstrip())
            box.attr(id=f"rule{number}", label=title, labeljust="l", style="rounded", color="#9aa0a6")
            start = f"{ENTRY}{number}"
            box.node(start, shape="point", width="0.05", label="", **{"class": "start"})
            for state in folded.states:
                flags = " accepting" * state.accepting + " scannable" * state.scannable
                shape = {"shape": "doublecircle", "width": "0.36"} if state.accepting else {}
                name = f"s{state.id}"
                tip = _escaped("\n".join((rule.rule, *state.dots)))
                box.node(name, str(state.id), id=name, tooltip=tip, **{"class": f"state{flags}"}, **shape)
            box.edge(start, f"s{rule.start}")
            for edge in folded.edges:
                label = _escaped("\n".join(edge_label(edge).lines))
                style = {"style": "dashed"} if edge.is_call else {}
                kind = "call" if edge.is_call else "reads"
                tip = _escaped(clip(full_text(edge), 400))
                ends = f"s{edge.source}", f"s{edge.target}"
                box.edge(*ends, label, tooltip=tip, labeltooltip=tip, **{"class": kind}, **style)
    return graph


def to_dot(automaton: Automaton) -> str:
    """The whole folded automaton as DOT source (see `digraph`)."""
    return str(digraph(automaton).source)


def repeat_label(repeat: tuple[int, int | None] | None) -> str:
    """`{l,r}` of a counted rule, `{l,}` when unbounded, "" otherwise."""
    if repeat is None:
        return ""
    low, high = repeat
    return f"{{{low},{'' if high is None else high}}}"


def lengths_label(lengths: tuple[int, int] | None) -> str:
    """How many characters a text of a rule has, where they are counted beside its automaton; "" otherwise."""
    if lengths is None:
        return ""
    least, most = lengths
    return f"{most:,} characters" if least == most else f"{least:,} to {most:,} characters"


def rule_title(rule: RuleAutomaton) -> tuple[str, str]:
    """A rule's name, and its iterations or lengths; a name that ends in the iterations already (`digit{2,5}`) says them
    once.
    """
    iterations = repeat_label(rule.repeat)
    return (rule.rule.removesuffix(iterations) or rule.rule), iterations or lengths_label(rule.lengths)
