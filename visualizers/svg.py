"""A laid-out automaton as SVG: written once per grammar, lit by toggling classes on the elements `s<id>`.

The SVG carries no colours of its own, only classes (`state`, `accepting`, `scannable`, `active`, `edge`, `call`);
`esm/automaton.css` gives them meaning, so one picture serves the light and the dark theme.

Read on: `visualizers/layout.py` (where things go), `visualizers/esm/automaton.js` (the live view).
"""

from __future__ import annotations

import math
from collections.abc import Collection

from kernels_core.inspect.snapshots import Automaton, AutomatonState, RuleAutomaton
from visualizers.assets import stylesheet
from visualizers.dot import rule_title
from visualizers.geometry import BOX_HEIGHT, ENTRY, LABEL_LINE, RADIUS, Curve, Point, Sketch
from visualizers.glyphs import clip, html_escape
from visualizers.layout import DEFAULT_MAX_STATES, PADDING, TIMEOUT, TITLE, Engine, Panel, Plan, plan

__all__ = ["render", "to_svg"]

MARGIN = 2.0
ARROW = 7.0
MAX_DOTS = 8


def to_svg(
    automaton: Automaton,
    *,
    active: Collection[int] = (),
    rules: Collection[str] | None = None,
    max_states: int = DEFAULT_MAX_STATES,
    engine: Engine | None = None,
    timeout: float = TIMEOUT,
) -> str:
    """The automaton as a self-contained SVG document that follows the reader's light or dark theme.

    `active` are ids of states to light; the other arguments and errors are those of `layout.plan`.
    """
    drawn = plan(automaton, rules=rules, max_states=max_states, engine=engine, timeout=timeout)
    return render(automaton, drawn, active=active, standalone=True)


def render(automaton: Automaton, drawn: Plan, *, active: Collection[int] = (), standalone: bool = False) -> str:
    """Write a plan as SVG; `standalone` embeds the style sheet and draws a background."""
    width, height = drawn.width + 2 * MARGIN, drawn.height + 2 * MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" ' if standalone else ""
    classes = "ms-svg ms-picture" if standalone else "ms-svg"
    lit = set(active)
    lit_rules = {k for k, rule in enumerate(automaton.rules) if any(state.id in lit for state in rule.states)}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{classes}" role="img" {size}'
        f'viewBox="0 0 {width:.0f} {height:.0f}" aria-label="automaton of {html_escape(automaton.root)}">'
    ]
    if standalone:
        out.append(f"<style>{stylesheet('theme', 'svg')}</style>")
        out.append('<rect class="paper" width="100%" height="100%" rx="6"/>')
    out.append(f'<g class="graph" transform="translate({MARGIN:g} {MARGIN:g})">')
    for panel in drawn.panels:
        out.append(_panel(automaton, panel, lit, lit_rules, set(drawn.expanded), standalone, drawn.engine))
    out.append("</g></svg>")
    return "".join(out)


def _panel(
    automaton: Automaton,
    panel: Panel,
    lit: set[int],
    lit_rules: set[int],
    expanded: set[int],
    titles: bool,
    engine: Engine,
) -> str:
    rule = automaton.rules[panel.rule] if panel.rule is not None else None
    element = f'id="rule{panel.rule}" data-rule="{panel.rule}"' if rule is not None else 'id="calls"'
    out = [
        f'<g class="panel" {element} transform="translate({panel.x:.1f} {panel.y:.1f})">',
        f'<rect class="frame" width="{panel.width:.1f}" height="{panel.height:.1f}" rx="6"/>',
        _title(rule, folding=len(expanded) < len(automaton.rules)),
        f'<g transform="translate({PADDING:g} {PADDING + TITLE:g})">',
    ]
    # Graphviz puts labels beside their arrows, the built-in layout puts them on top: those get a plate to be read on.
    out += [_edge(panel.sketch, curve, titles, plated=engine == "built-in") for curve in panel.drawing.curves]
    if ENTRY in panel.drawing.nodes:
        x, y = panel.drawing.nodes[ENTRY]
        out.append(f'<circle class="entry" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
    if rule is not None:
        out += [_state(state, panel.drawing.nodes[f"s{state.id}"], state.id in lit, titles) for state in rule.states]
    else:
        out += [_rule(panel, name, point, lit_rules, expanded) for name, point in panel.drawing.nodes.items()]
    out.append("</g></g>")
    return "".join(out)


def _title(rule: RuleAutomaton | None, *, folding: bool) -> str:
    if rule is None:
        return '<text class="title" x="12" y="20">rules and their calls</text>'
    text = f'<text class="title" x="{36 if folding else 12}" y="20">'
    name, laps = rule_title(rule)
    repeat = f' <tspan class="repeat">{laps}</tspan>' if laps else ""
    text += html_escape(clip(name, 40)) + repeat + "</text>"
    if folding:
        text += (
            f'<g class="fold" role="button" tabindex="0" aria-label="fold {html_escape(rule.rule)}">'
            '<rect x="8" y="7" width="20" height="17" rx="4"/><path d="M13 15.5h10"/></g>'
        )
    return text


def _state(state: AutomatonState, at: Point, lit: bool, titled: bool) -> str:
    classes = "state" + " accepting" * state.accepting + " scannable" * state.scannable + " active" * lit
    x, y = at
    ring = f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS - 3.5:g}"/>' if state.accepting else ""
    title = ""
    if titled:
        dots = [
            *state.dots[:MAX_DOTS],
            *([f"+{len(state.dots) - MAX_DOTS} more"] if len(state.dots) > MAX_DOTS else []),
        ]
        title = f"<title>{html_escape(chr(10).join((f'state {state.id} of {state.rule}', *dots)))}</title>"
    small = " small" if state.id > 999 else ""
    return (
        f'<g class="{classes}" id="s{state.id}" data-state="{state.id}">{title}'
        f'<circle class="body" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:g}"/>{ring}'
        f'<text class="id{small}" x="{x:.1f}" y="{y + 3.5:.1f}">{state.id}</text></g>'
    )


def _rule(panel: Panel, name: str, at: Point, lit: set[int], expanded: set[int]) -> str:
    """A rule as a box of the call graph."""
    if name == ENTRY:
        return ""
    index = int(name[1:])
    width = panel.sketch.sizes[name][0]
    classes = "rulenode" + " expanded" * (index in expanded) + " active" * (index in lit)
    return (
        f'<g class="{classes}" id="{name}" data-rule="{index}" role="button" tabindex="0">'
        f'<rect class="body" x="{at[0] - width / 2:.1f}" y="{at[1] - BOX_HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX_HEIGHT:g}" rx="5"/><text class="name" x="{at[0]:.1f}" y="{at[1] + 4:.1f}">'
        f"{html_escape(panel.graph.labels[name])}</text></g>"
    )


def _edge(sketch: Sketch, curve: Curve, titled: bool, *, plated: bool) -> str:
    edge = curve.edge
    entry = " from-entry" if edge.source == ENTRY else ""
    path = "M" + _xy(curve.points[0]) + "C" + " ".join(map(_xy, curve.points[1:]))
    full = f"<title>{html_escape(edge.full)}</title>" if titled and edge.full else ""
    # The live view's own tooltip reads what the label had to leave out.
    more = f' data-full="{html_escape(edge.full)}"' if not titled and edge.full != "\n".join(edge.lines) else ""
    out = [
        f'<g class="edge {"call" if edge.calls else "bytes"}{entry}" data-from="{edge.source}" '
        f'data-to="{edge.target}"{more}>{full}<path class="line" d="{path}"/>{_arrow(curve.points)}'
    ]
    if curve.label is not None:
        x, y = curve.label
        if plated and edge.source != edge.target:
            w, h = sketch.label_size(edge)
            out.append(
                f'<rect class="plate" x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" height="{h:.1f}"/>'
            )
        top = y - (len(edge.lines) - 1) * LABEL_LINE / 2 + 3.5
        for number, line in enumerate(edge.lines):
            out.append(f'<text x="{x:.1f}" y="{top + number * LABEL_LINE:.1f}">{html_escape(line)}</text>')
    out.append("</g>")
    return "".join(out)


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


def _xy(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
