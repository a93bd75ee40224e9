"""A laid-out scene as SVG: written once, lit by toggling classes on elements whose ids never change.

State `i` is the element `s<i>`, an edge's label `e<source>-<target>-<n>`, a stub `out<i>`; an active state within an
edge is a plate on it, without an id, as it may lie on several.  The SVG carries no colours
of its own, only classes; `frontend/src/picture.css` gives them meaning, so one picture serves both themes.

Read on: `visualizers/layout.py` (where things go), `frontend/src/automaton.js` (the live view).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from kernels_core.inspect.snapshots import Automaton, AutomatonState
from visualizers.assets import stylesheet
from visualizers.dot import rule_title
from visualizers.folds import Folds, Mode
from visualizers.geometry import BOX_HEIGHT, ENTRY, LABEL_LINE, RADIUS, Curve, Point
from visualizers.glyphs import DOT, clip, html_escape
from visualizers.inside import HEIGHT, Spot, spots, width
from visualizers.labels import Cell, Label, full_text
from visualizers.layout import PADDING, TIMEOUT, TITLE, Engine, Layouts, Placed, Plan, plan
from visualizers.marks import Marks, marks
from visualizers.scene import Request, edge_id, else_text, scene
from visualizers.way import Travelled

__all__ = ["automaton_svg", "render", "to_svg"]

MARGIN = 2.0
ARROW = 7.0
MAX_DOTS = 8
MAX_TIP = 600


def automaton_svg(
    automaton: Automaton,
    *,
    active: Collection[int] = (),
    around: int | None = 2,
    travelled: Travelled | None = None,
    rules: Sequence[str] = (),
    mode: Mode = "characters",
    engine: Engine | None = None,
    timeout: float = TIMEOUT,
) -> str:
    """The automaton as a self-contained SVG document that follows the reader's light or dark theme.

    `active` are ids of states to light, and `around` how many steps around them are drawn of a large automaton (a
    small one is drawn whole); None draws all of it.  `rules` draws only these; `mode="bytes"` folds nothing.
    `travelled` lights the way of the text (`visualizers.way.Way`).  Raises `ValueError` for an unknown rule.
    """
    folds = Folds(automaton, mode)
    way = travelled or Travelled()
    request = Request(
        active=tuple(active),
        waiting=way.callers,
        visited=way.states,
        steps=2 if around is None else around,
        whole=around is None,
        focus=tuple(rules),
    )
    chosen = scene(folds, request)
    drawn = plan(chosen, Layouts(engine, timeout))
    return render(drawn, lit=marks(folds, chosen, active, way), standalone=True)


to_svg = automaton_svg


def render(drawn: Plan, *, lit: Marks | None = None, standalone: bool = False) -> str:
    """Write a plan as SVG; `standalone` embeds the style sheet, draws a background and adds tooltips."""
    width, height = max(1.0, drawn.width + 2 * MARGIN), max(1.0, drawn.height + 2 * MARGIN)
    size = f'width="{width:.0f}" height="{height:.0f}" ' if standalone else ""
    classes = "ms-svg ms-picture" if standalone else "ms-svg"
    lit = lit or Marks()
    writer = _Writer(lit, spots(drawn, lit.inside), standalone, drawn.engine)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{classes}" role="img" {size}'
        f'viewBox="0 0 {width:.0f} {height:.0f}" aria-label="automaton">'
    ]
    if standalone:
        out.append(f"<style>{stylesheet('svg')}</style>")
        out.append('<rect class="paper" width="100%" height="100%" rx="6"/>')
    out.append(f'<g class="graph" transform="translate({MARGIN:g} {MARGIN:g})">')
    out += [writer.panel(placed) for placed in drawn.placed]
    if drawn.rules is not None:
        out.append(writer.rules(drawn))
    out.append("</g></svg>")
    return "".join(out)


class _Writer:
    """Writes panels with the marks of one moment."""

    def __init__(self, lit: Marks, inside: Sequence[Spot], titled: bool, engine: Engine) -> None:
        self._active = set(lit.active)
        self._on = dict(lit.on)
        self._waiting, self._visited, self._fresh = set(lit.waiting), set(lit.visited), set(lit.fresh)
        self._inside = inside
        self._titled = titled
        # Graphviz puts labels beside their arrows, the built-in layout puts them on top: those get a plate.
        self._plated = engine == "built-in"

    def panel(self, placed: Placed) -> str:
        panel = placed.panel
        rule = panel.folded.rule
        curves = "".join(self._curve(placed, curve) for curve in placed.drawing.curves)
        nodes = []
        if ENTRY in placed.drawing.nodes:
            x, y = placed.drawing.nodes[ENTRY]
            nodes.append(f'<circle class="entry" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
        for state in panel.folded.states:
            if (name := f"s{state.id}") in placed.drawing.nodes:
                hidden = panel.hidden_in.get(state.id, 0)
                nodes.append(self._state(state, placed.drawing.nodes[name], hidden, state.id in panel.opened))
        nodes += [
            self._stub(name, count, placed.drawing.nodes[name], placed.sketch.sizes[name][0])
            for name, count in panel.stubs.items()
        ]
        nodes += [
            self._begun(name, placed.panel.graph.nodes[name], placed.drawing.nodes[name], placed.sketch.sizes[name][0])
            for name in placed.panel.graph.nodes
            if name.startswith("begun")
        ]
        plates = [_plate(spot) for spot in self._inside if spot.rule == panel.rule]
        live = " live" * (bool(plates) or any(f'id="{name}"' in text for text in nodes for name in self._active))
        nodes += plates
        head = (
            f'<g class="panel{live}" id="rule{panel.rule}" data-rule="{html_escape(rule.rule)}" '
            f'transform="translate({placed.x:.1f} {placed.y:.1f})">'
            f'<rect class="frame" width="{placed.width:.1f}" height="{placed.height:.1f}" rx="6"/>'
        )
        return (
            f'{head}{_title(placed)}<g transform="translate({PADDING:g} {PADDING + TITLE:g})">'
            f"{curves}{''.join(nodes)}</g></g>"
        )

    def rules(self, drawn: Plan) -> str:
        """The map of rules."""
        if drawn.rules is None or drawn.scene.rules is None:
            raise ValueError("this plan has no map of rules")
        one, drawing = drawn.rules
        out = [
            f'<g class="edge call"><path class="line" d="{_path(curve)}"/>{_arrow(curve.points)}</g>'
            for curve in drawing.curves
        ]
        for name, text in drawn.scene.rules.nodes.items():
            (x, y), (width, height) = drawing.nodes[name], one.sizes[name]
            rule = html_escape(drawn.scene.names[name])
            out.append(
                f'<g class="rulenode{self._classes(name)}" id="{name}" data-title="{rule}" '
                f'role="button" tabindex="0"><rect class="body" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" '
                f'width="{width:.1f}" height="{height:g}" rx="5"/><text x="{x:.1f}" y="{y + 3.5:.1f}">'
                f"{html_escape(text)}</text></g>"
            )
        return f'<g transform="translate({PADDING:g} {PADDING:g})">{"".join(out)}</g>'

    def _classes(self, name: str) -> str:
        return (
            " active" * (name in self._active or name in self._on)
            + " waiting" * (name in self._waiting)
            + " visited" * (name in self._visited)
            + " fresh" * (name in self._fresh)
        )

    def _state(self, state: AutomatonState, at: Point, hidden: int, opened: bool) -> str:
        name = f"s{state.id}"
        classes = "state" + " accepting" * state.accepting + " scannable" * state.scannable
        classes += " unmade" * (not state.made) + self._classes(name)
        x, y = at
        ring = f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS - 3.5:g}"/>' if state.accepting else ""
        title = ""
        if self._titled:
            more = [f"+{len(state.dots) - MAX_DOTS} more"] if len(state.dots) > MAX_DOTS else []
            text = "\n".join((f"state {state.id} of {state.rule}", *state.dots[:MAX_DOTS], *more))
            title = f"<title>{html_escape(text)}</title>"
        small = " small" if state.id > 999 else ""
        badges = ""
        if hidden:
            badges += _badge(
                f"in{state.id}", f"+{hidden}", x - RADIUS - 3, y - RADIUS + 1, "ways in that are not drawn"
            )
        if opened:
            badges += _badge(f"close{state.id}", "−", x + RADIUS + 1, y - RADIUS + 1, "fold again")
        return (
            f'<g class="{classes}" id="{name}" data-state="{state.id}">{title}'
            f'<circle class="body" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:g}"/>{ring}'
            f'<text class="id{small}" x="{x:.1f}" y="{y + 3.5:.1f}">{state.id}</text></g>{badges}'
        )

    def _stub(self, name: str, count: int, at: Point, width: float) -> str:
        x, y = at
        return (
            f'<g class="stub" id="{name}" data-stub="{name}" role="button" tabindex="0">'
            f'<rect class="body" x="{x - width / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{width:.1f}" '
            f'height="{BOX_HEIGHT:g}" rx="{BOX_HEIGHT / 2:g}"/>'
            f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{count:,} more</text></g>'
        )

    def _begun(self, name: str, text: str, at: Point, width: float) -> str:
        x, y = at
        return (
            f'<g class="begun{self._classes(name)}" id="{name}">'
            f'<rect class="body" x="{x - width / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{width:.1f}" '
            f'height="{BOX_HEIGHT:g}" rx="4"/><text x="{x:.1f}" y="{y + 3.5:.1f}">{html_escape(text)}</text></g>'
        )

    def _curve(self, placed: Placed, curve: Curve) -> str:
        arrow = curve.edge
        folded = placed.panel.folded
        names = [edge_id(folded.edges[k], k, folded) for k in arrow.edges]
        marks_ = " ".join(dict.fromkeys(word for name in names for word in self._classes(name).split()))
        path = _path(curve)
        full = "\n".join(clip(full_text(folded.edges[k]), MAX_TIP) for k in arrow.edges[:20])
        title = f"<title>{html_escape(full)}</title>" if self._titled and full else ""
        tip = f' data-full="{html_escape(full)}"' if not self._titled and full else ""
        classes = f"edge {arrow.kind} {marks_}".rstrip()
        out = [
            f'<g class="{classes}" data-from="{arrow.source}" data-to="{arrow.target}"{tip}>{title}'
            f'<path class="line" d="{path}"/>{_arrow(curve.points)}'
        ]
        if curve.label is not None:
            x, y = curve.label
            if self._plated and arrow.source != arrow.target:
                w, h = placed.sketch.label_size(arrow)
                out.append(
                    f'<rect class="plate" x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" height="{h:.1f}"/>'
                )
            top = y - (len(arrow.lines) - 1) * LABEL_LINE / 2 + 3.5
            out += self._labels(placed, curve, names, x, top)
        out.append("</g>")
        return "".join(out)

    def _labels(self, placed: Placed, curve: Curve, names: Sequence[str], x: float, top: float) -> Iterable[str]:
        line = 0
        folded = placed.panel.folded

        def text(inner: str, classes: str = "") -> str:
            nonlocal line
            made = f'<text{classes} x="{x:.1f}" y="{top + line * LABEL_LINE:.1f}">{inner}</text>'
            line += 1
            return made

        for name, k in zip(names, curve.edge.edges, strict=True):
            label = placed.panel.labels.get(k)
            if label is None:
                continue
            cuts = f' data-cuts="{" ".join(f"{row}:{at}" for row, at in label.cuts)}"' if label.cuts else ""
            rows = "".join(text(row) for row in _rows(label, self._on.get(name, ())))
            if folded.edges[k].otherwise is not None:
                rows += text(html_escape(else_text(folded.edges[k])), ' class="else"')
            yield f'<g class="label{self._classes(name)}" id="{name}"{cuts}>{rows}</g>'
        for rest in curve.edge.lines[line:]:
            yield text(html_escape(rest), ' class="else"')


def _plate(spot: Spot) -> str:
    """The plate of an active state within an edge (automaton.js draws the same)."""
    wide = width(spot.state)
    return (
        f'<g class="state plate active" data-state="{spot.state}"><rect class="body" x="{spot.x - wide / 2:.1f}" '
        f'y="{spot.y - HEIGHT / 2:.1f}" width="{wide:g}" height="{HEIGHT:g}" rx="{HEIGHT / 2:g}"/>'
        f'<text class="id" x="{spot.x:.1f}" y="{spot.y + 3.5:.1f}">{spot.state}</text></g>'
    )


def _badge(name: str, text: str, x: float, y: float, tip: str) -> str:
    width = 8 + 6 * len(text)
    return (
        f'<g class="badge" data-stub="{name}" role="button" tabindex="0" aria-label="{html_escape(f"{text} {tip}")}">'
        f'<rect x="{x - width / 2:.1f}" y="{y - 7:.1f}" width="{width}" height="13" rx="6.5"/>'
        f'<text x="{x:.1f}" y="{y + 3:.1f}">{html_escape(text)}</text></g>'
    )


def _rows(label: Label, places: Collection[int]) -> Iterable[str]:
    """The rows of a label as tspans, with a dot at each of `places` (numbers of pieces read)."""
    spots = {label.cuts[place - 1] if place and place <= len(label.cuts) else (0, 0) for place in places}
    for number, row in enumerate(label.rows):
        yield "".join(_row(row, sorted(at for spot, at in spots if spot == number)))


def _row(row: Sequence[Cell], dots: Sequence[int]) -> Iterable[str]:
    at = 0
    waiting = list(dots)
    runs: list[tuple[str, str, str]] = []
    for cell in row:
        text = cell.text
        while waiting and waiting[0] < at + len(text):
            cut = waiting.pop(0) - at
            runs += [(cell.kind, text[:cut], cell.rule), ("dot", DOT, "")]
            text, at = text[cut:], at + cut
        runs.append((cell.kind, text, cell.rule))
        at += len(text)
    runs += [("dot", DOT, "") for _ in waiting]
    merged: list[tuple[str, str, str]] = []
    for kind, text, rule in runs:
        if not text:
            continue
        if merged and merged[-1][0] == kind and kind != "call":
            merged[-1] = (kind, merged[-1][1] + text, rule)
        else:
            merged.append((kind, text, rule))
    for kind, text, rule in merged:
        if kind == "sign":
            yield html_escape(text)
        else:
            called = f' data-call="{html_escape(rule)}"' if rule else ""
            yield f'<tspan class="{kind}"{called}>{html_escape(text)}</tspan>'


def _title(placed: Placed) -> str:
    panel = placed.panel
    rule = panel.folded.rule
    name, iterations = rule_title(rule)
    repeat = f' <tspan class="repeat">{iterations}</tspan>' if iterations else ""
    drawn = sum(f"s{state.id}" in panel.graph.nodes for state in panel.folded.states)
    part = ""
    if drawn < len(panel.folded.states):
        part = f'<tspan class="part" dx="8">{drawn:,} of {len(panel.folded.states):,} states</tspan>'
    return (
        f'<text class="title" data-title="{html_escape(rule.rule)}" x="10" y="18">'
        f"{html_escape(clip(name, 40))}{repeat}{part}</text>"
    )


def _arrow(points: tuple[Point, ...]) -> str:
    """A filled head at the end of a curve, pointing along its last stretch."""
    tip = points[-1]
    near = next((point for point in reversed(points[:-1]) if math.dist(point, tip) > 0.5), points[0])
    length = math.dist(near, tip) or 1.0
    ux, uy = (tip[0] - near[0]) / length, (tip[1] - near[1]) / length
    base = (tip[0] - ux * ARROW, tip[1] - uy * ARROW)
    half = ARROW * 0.38
    corners = ((base[0] - uy * half, base[1] + ux * half), tip, (base[0] + uy * half, base[1] - ux * half))
    return f'<path class="arrow" d="M{"L".join(map(_xy, corners))}Z"/>'


def _path(curve: Curve) -> str:
    return "M" + _xy(curve.points[0]) + "C" + " ".join(map(_xy, curve.points[1:]))


def _xy(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
