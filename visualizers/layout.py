"""Where everything goes: which engine lays out, what is folded, and how the panels are arranged.

Rules share no edges, so each rule is laid out by itself and the panels are packed in reading order: small layouts
are quick, and expanding one rule moves nothing inside the others.  Asked in this order: the `dot` program,
pygraphviz, the built-in `visualizers/layered.py`; the picture says which engine drew it.

Past `max_states` nobody reads a picture, so rules are folded to nodes of a call graph and expanded on request.

Read on: `visualizers/svg.py` (writes the picture).
"""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kernels_core.inspect.snapshots import Automaton
from visualizers.dot import LIMITED_STATES, LIMITS, RuleGraph, call_graph, rule_graph
from visualizers.geometry import Curve, Drawing, Point, Sketch, framed, loop_curve, sketch_calls, sketch_rule, trimmed
from visualizers.layered import layered

__all__ = ["DEFAULT_MAX_STATES", "Engine", "LayoutError", "Panel", "Plan", "available_engines", "plan"]

Engine = Literal["dot", "pygraphviz", "built-in"]
DEFAULT_MAX_STATES: Final = 400
MAX_RULES: Final = 400
TIMEOUT: Final = 10.0
PADDING: Final = 14.0
TITLE: Final = 24.0
GUTTER: Final = 14.0
# Aspect ratio aimed at when panels are packed: notebooks are wider than high.
ASPECT: Final = 2.2
MAX_WIDTH: Final = 1300.0
_PIXELS_PER_INCH: Final = 72.0
# Larger than the 11 px that are drawn, so that labels keep clear of their arrows.
FONT: Final = 14


class LayoutError(RuntimeError):
    """A layout engine that was asked for by name is not there, failed, or ran out of time."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One rule's drawing, or the call graph (`rule` is None), at (x, y) with a frame of (width, height)."""

    rule: int | None
    graph: RuleGraph
    sketch: Sketch
    drawing: Drawing
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A laid-out picture: panels, overall size in pixels, who laid it out, and what there is to say about it.

    `expanded` and `folded` are indices into the automaton's rules.
    """

    panels: tuple[Panel, ...]
    width: float
    height: float
    engine: Engine
    note: str
    expanded: tuple[int, ...]
    folded: tuple[int, ...]


def available_engines() -> tuple[Engine, ...]:
    """The engines of this machine in the order of preference; "built-in" is always the last."""
    found: list[Engine] = []
    if shutil.which("dot"):
        found.append("dot")
    if importlib.util.find_spec("pygraphviz"):
        found.append("pygraphviz")
    return (*found, "built-in")


def plan(
    automaton: Automaton,
    *,
    rules: Collection[str] | None = None,
    max_states: int = DEFAULT_MAX_STATES,
    engine: Engine | None = None,
    timeout: float = TIMEOUT,
) -> Plan:
    """Decide what is drawn and lay it out.

    `rules` names the rules to expand; None expands all when they have at most `max_states` states together, else
    none.  `engine` forces one engine (`LayoutError` if it fails); otherwise the next one is tried and the note says so.
    Raises `ValueError` for an unknown rule and for `rules` of more than `max_states` states.
    """
    expanded = _expanded(automaton, rules, max_states)
    folded = tuple(k for k in range(len(automaton.rules)) if k not in set(expanded))
    notes: list[str] = []
    graphs: list[tuple[int | None, RuleGraph]] = []
    if folded:
        calls, drawn = call_graph(automaton, MAX_RULES)
        graphs.append((None, calls))
        if rules is None:
            notes.append(f"{automaton.state_count():,} states: folded by rule (more than {max_states:,})")
        if len(drawn) < len(automaton.rules):
            notes.append(f"the {len(drawn):,} rules nearest to the root of {len(automaton.rules):,}")
    graphs += [(k, rule_graph(automaton.rules[k])) for k in expanded]
    sketches = [sketch_calls(graph) if k is None else sketch_rule(graph) for k, graph in graphs]
    used, drawings = _lay_out(sketches, engine, timeout, notes)
    panels, width, height = _pack(
        [(k, g, s, d, _title_width(automaton, k)) for (k, g), s, d in zip(graphs, sketches, drawings, strict=True)]
    )
    return Plan(panels, width, height, used, "; ".join(notes), expanded, folded)


def _expanded(automaton: Automaton, rules: Collection[str] | None, max_states: int) -> tuple[int, ...]:
    if rules is None:
        return tuple(range(len(automaton.rules))) if automaton.state_count() <= max_states else ()
    known = {rule.rule for rule in automaton.rules}
    if unknown := [name for name in rules if name not in known]:
        raise ValueError(f"no rule is called {', '.join(map(repr, unknown))}")
    expanded = tuple(k for k, rule in enumerate(automaton.rules) if rule.rule in set(rules))
    states = sum(len(automaton.rules[k].states) for k in expanded)
    if states > max_states:
        named = ", ".join(repr(automaton.rules[k].rule) for k in expanded[:3]) + (", ..." if len(expanded) > 3 else "")
        raise ValueError(
            f"{named}: {states:,} states are more than a picture can show ({max_states:,}); "
            "expand fewer rules or raise max_states"
        )
    return expanded


def _lay_out(
    sketches: Sequence[Sketch], engine: Engine | None, timeout: float, notes: list[str]
) -> tuple[Engine, list[Drawing]]:
    if engine is not None and engine not in _ENGINES:
        raise ValueError(f"engine is {engine!r}: expected one of {', '.join(_ENGINES)}")
    for candidate in (engine,) if engine else available_engines():
        try:
            return candidate, _ENGINES[candidate](sketches, timeout)
        except LayoutError as error:
            if engine:
                raise
            notes.append(str(error))
    raise AssertionError("the built-in engine does not fail")


def _by_dot(sketches: Sequence[Sketch], timeout: float) -> list[Drawing]:
    """All sketches in one run of the `dot` program: starting it costs more than a small layout."""
    program = shutil.which("dot")
    if program is None:
        raise LayoutError("no `dot` program on PATH (Debian: apt-get install graphviz)")
    source = "".join(map(_layout_dot, sketches))
    try:
        done = subprocess.run([program, "-Tplain"], input=source.encode(), capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise LayoutError(f"`dot` took longer than {timeout:g} s") from None
    except OSError as error:
        raise LayoutError(f"`dot` could not be run: {error}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise LayoutError(f"`dot` failed with status {done.returncode}: {lines[-1] if lines else 'no message'}")
    return _parse_all(sketches, done.stdout.decode())


def _by_pygraphviz(sketches: Sequence[Sketch], timeout: float) -> list[Drawing]:
    """Graphviz as a library.  It cannot be interrupted, so `timeout` only bounds the number of graphs begun."""
    try:
        import pygraphviz  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise LayoutError(f"pygraphviz cannot be imported: {error}") from error
    from time import monotonic

    deadline = monotonic() + timeout
    outputs: list[str] = []
    for sketch in sketches:
        if monotonic() > deadline:
            raise LayoutError(f"pygraphviz took longer than {timeout:g} s")
        graph: Any = pygraphviz.AGraph(string=_layout_dot(sketch))
        try:
            outputs.append(graph.draw(format="plain", prog="dot").decode())
        except (OSError, ValueError, RuntimeError) as error:
            raise LayoutError(f"pygraphviz failed: {error}") from error
        finally:
            graph.close()
    return _parse_all(sketches, "".join(outputs))


def _by_layered(sketches: Sequence[Sketch], timeout: float) -> list[Drawing]:
    return [layered(sketch) for sketch in sketches]


_ENGINES: Final[dict[Engine, Callable[[Sequence[Sketch], float], list[Drawing]]]] = {
    "dot": _by_dot,
    "pygraphviz": _by_pygraphviz,
    "built-in": _by_layered,
}


def _layout_dot(sketch: Sketch) -> str:
    """A sketch as DOT for measuring only: every letter of a label is an `x`, so nothing has to be escaped."""
    out = ["digraph {rankdir=LR;nodesep=0.2;ranksep=0.3;"]
    if len(sketch.sizes) > LIMITED_STATES:
        out.append(LIMITS)
    out.append(f'node[shape={"circle" if sketch.round else "box"},fixedsize=true,label=""];')
    out.append("edge[arrowhead=none,fontname=Courier,fontsize={FONT}];".replace("{FONT}", str(FONT)))
    looped = {edge.source for edge in sketch.edges if edge.source == edge.target}
    for name, (width, height) in sketch.sizes.items():
        shape = ""
        if name in looped:
            # Graphviz keeps no room for the label of a loop.  So a node with a loop is asked for as a box that holds
            # all of it, arrows run to its centre, and `_parse` cuts them at the circle and draws the loop.
            side, above, _ = sketch.reach(name)
            width, height, shape = 2 * side, 2 * above, ",shape=box"
        out.append(f"{name}[width={width / _PIXELS_PER_INCH:.4f},height={height / _PIXELS_PER_INCH:.4f}{shape}];")
    for edge in sketch.edges:
        if edge.source == edge.target:
            continue
        # A line of n columns is asked for as n letters of 0.6 em, the width of every monospace font.
        columns = math.ceil(sketch.label_size(edge)[0] / (FONT * 0.6))
        label = "\\n".join(["x" * columns] * len(edge.lines))
        clips = ",tailclip=false" * (edge.source in looped) + ",headclip=false" * (edge.target in looped)
        out.append(f'{edge.source}->{edge.target}[label="{label}"{clips}];')
    out.append("}\n")
    return "".join(out)


def _parse_all(sketches: Sequence[Sketch], plain: str) -> list[Drawing]:
    graphs = plain.replace("\r", "").split("stop\n")
    if len(graphs) - 1 != len(sketches):
        raise LayoutError(f"Graphviz answered {len(graphs) - 1} graphs where {len(sketches)} were asked")
    return [_parse(sketch, graph) for sketch, graph in zip(sketches, graphs, strict=False)]


def _parse(sketch: Sketch, plain: str) -> Drawing:
    """Graphviz's `plain` format: inches, y up."""
    edges = {(edge.source, edge.target): edge for edge in sketch.edges}
    nodes: dict[str, Point] = {}
    curves: list[Curve] = []
    height = 0.0

    def point(x: str, y: str) -> Point:
        return float(x) * _PIXELS_PER_INCH, height - float(y) * _PIXELS_PER_INCH

    for line in plain.splitlines():
        match line.split():
            case ["graph", _, _, h, *_]:
                height = float(h) * _PIXELS_PER_INCH
            case ["node", name, x, y, *_]:
                nodes[name] = point(x, y)
            case ["edge", source, target, count, *rest]:
                edge = edges[source, target]
                pairs = list(_pairs(rest[: 2 * int(count)]))
                tail = rest[2 * int(count) :]
                label = point(tail[1], tail[2]) if edge.lines else None
                curves.append(Curve(edge, tuple(point(x, y) for x, y in pairs), label))
    for edge in sketch.edges:
        if edge.source == edge.target:
            curves = [_cut(sketch, curve, edge.source, nodes[edge.source]) for curve in curves]
    curves += [loop_curve(sketch, edge, nodes[edge.source]) for edge in sketch.edges if edge.source == edge.target]
    return framed(sketch, nodes, curves)


def _cut(sketch: Sketch, curve: Curve, node: str, center: Point) -> Curve:
    """A curve that runs to the centre of a node with a loop, cut at the node's edge."""
    radius = max(sketch.sizes[node]) / 2 if sketch.round else min(sketch.sizes[node]) / 2
    points = curve.points
    if curve.edge.source == node:
        points = trimmed(points, center, radius)
    if curve.edge.target == node:
        points = trimmed(points[::-1], center, radius)[::-1]
    return Curve(curve.edge, points, curve.label)


def _pairs(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(values[::2], values[1::2], strict=True)


def _title_width(automaton: Automaton, rule: int | None) -> float:
    return 90.0 if rule is None else min(len(automaton.rules[rule].rule), 40) * 7.5 + 80


def _pack(
    items: Sequence[tuple[int | None, RuleGraph, Sketch, Drawing, float]],
) -> tuple[tuple[Panel, ...], float, float]:
    """Panels in rows, in reading order, about `ASPECT` times as wide as high."""
    sizes = [
        (max(drawing.width, title) + 2 * PADDING, drawing.height + TITLE + 2 * PADDING)
        for _, _, _, drawing, title in items
    ]
    area = sum((width + GUTTER) * (height + GUTTER) for width, height in sizes)
    limit = max([min(MAX_WIDTH, math.sqrt(area * ASPECT)), *(width for width, _ in sizes)], default=0.0)
    panels: list[Panel] = []
    x = y = row = right = 0.0
    for (rule, graph, sketch, drawing, _), (width, height) in zip(items, sizes, strict=True):
        if x > 0 and x + width > limit:
            x, y, row = 0.0, y + row + GUTTER, 0.0
        panels.append(Panel(rule, graph, sketch, drawing, x, y, width, height))
        x += width + GUTTER
        row = max(row, height)
        right = max(right, x - GUTTER)
    return tuple(panels), right, y + row
