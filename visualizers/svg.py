"""A picture of an automaton as a file: SVG that follows the reader's light or dark theme, or PDF for a paper.

The program `dot` writes it.  The SVG carries no colours of its own that a style sheet could not change, only classes:
`frontend/src/picture.css`, which is embedded, gives them meaning.

Read on: `visualizers/dot.py` (what `dot` is given), `frontend/src/drawing.ts` (the live picture).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Final

from kernels_core.inspect.snapshots import Automaton
from visualizers.assets import stylesheet
from visualizers.dot import TIMEOUT, DotError, map_dot, panel_dot, run, scene_dot
from visualizers.folds import Folds, Mode
from visualizers.marks import Marks, marks
from visualizers.scene import Request, Scene, scene
from visualizers.way import Travelled

__all__ = ["automaton_pdf", "automaton_svg", "scene_svg", "to_svg"]

Point = tuple[float, float]

EDGE: Final = 12.0
"""What Graphviz leaves around a frame."""
GUTTER: Final = 12.0
ASPECT: Final = 2.0
"""Aimed at where panels are packed: notebooks are wider than high."""
MOST_WIDE: Final = 1300.0
_SIZE: Final = re.compile(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"')
_SHIFT: Final = re.compile(r'<g id="[^"]*" class="graph" transform="[^"]*translate\(([-\d.]+)[ ,]([-\d.]+)\)">')
_SAID: Final = re.compile(r"<!--.*?-->\s*|<title>[^<]*</title>\s*", re.DOTALL)


def automaton_svg(
    automaton: Automaton,
    *,
    active: Collection[int] = (),
    around: int | None = 2,
    travelled: Travelled | None = None,
    rules: Sequence[str] = (),
    mode: Mode = "characters",
    timeout: float = TIMEOUT,
) -> str:
    """The automaton as a self-contained SVG document.

    `active` are ids of states to light, and `around` how many steps around them are drawn of a large automaton (a
    small one is drawn whole); None draws all of it.  `rules` draws only these; `mode="bytes"` folds nothing.
    `travelled` lights the way of the text (`visualizers.way.Way`).  Raises `ValueError` for an unknown rule, and
    `visualizers.dot.DotError` where `dot` is missing or fails.
    """
    return scene_svg(*_lit(automaton, active, around, travelled, rules, mode), timeout)


to_svg = automaton_svg


def automaton_pdf(
    automaton: Automaton,
    *,
    active: Collection[int] = (),
    around: int | None = 2,
    travelled: Travelled | None = None,
    rules: Sequence[str] = (),
    mode: Mode = "characters",
    timeout: float = TIMEOUT,
) -> bytes:
    """The same as a PDF, black on white."""
    return run(scene_dot(*_lit(automaton, active, around, travelled, rules, mode)), "pdf", timeout)


def _lit(
    automaton: Automaton,
    active: Collection[int],
    around: int | None,
    travelled: Travelled | None,
    rules: Sequence[str],
    mode: Mode,
) -> tuple[Scene, Marks]:
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
    return chosen, marks(folds, chosen, active, way)


def scene_svg(chosen: Scene, lit: Marks | None = None, timeout: float = TIMEOUT) -> str:
    """A scene as an SVG document with its style sheet."""
    lit = lit or Marks()
    graphs = [panel_dot(panel, lit) for panel in chosen.panels]
    if chosen.rules is not None:
        graphs.append(map_dot(chosen.rules, chosen.names, lit))
    drawn = [_graph(one) for one in run("".join(graphs), "svg", timeout).decode().split("</svg>")[: len(graphs)]]
    places, (width, height) = packed([size for _, _, size in drawn])
    panels = "".join(
        f'<g transform="translate({x + dx:.2f} {y + dy:.2f})">{body}'
        for (body, (dx, dy), _), (x, y) in zip(drawn, places, strict=True)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="ms-svg ms-picture" '
        f'role="img" aria-label="automaton" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{stylesheet("svg")}</style>'
        f'<rect class="paper" width="100%" height="100%" rx="6"/>{panels}</svg>'
    )


def _graph(drawn: str) -> tuple[str, Point, Point]:
    """The elements of one graph, what they are shifted by, and its size."""
    size, shift = _SIZE.search(drawn), _SHIFT.search(drawn)
    if size is None or shift is None:
        raise DotError("`dot` answered what is no graph")
    body = _SAID.sub("", drawn[shift.end() :])
    edge = EDGE if 'class="cluster' in body else 0.0
    return (
        body,
        (float(shift[1]) - edge, float(shift[2]) - edge),
        (float(size[1]) - 2 * edge, float(size[2]) - 2 * edge),
    )


def packed(sizes: Sequence[Point]) -> tuple[list[Point], Point]:
    """Panels in rows, in reading order, about `ASPECT` times as wide as high: their places, and the size of all.

    `packed` in `frontend/src/drawing.ts` does the same.
    """
    area = sum((width + GUTTER) * (height + GUTTER) for width, height in sizes)
    limit = max([min(MOST_WIDE, math.sqrt(area * ASPECT)), *(width for width, _ in sizes)], default=0.0)
    places: list[Point] = []
    x = y = row = right = 0.0
    for width, height in sizes:
        if x > 0 and x + width > limit:
            x, y, row = 0.0, y + row + GUTTER, 0.0
        places.append((x, y))
        x += width + GUTTER
        row, right = max(row, height), max(right, x - GUTTER)
    return places, (max(1.0, right), max(1.0, y + row))
