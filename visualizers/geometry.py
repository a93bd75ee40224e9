"""What a layout engine is asked and what it answers, in pixels with y pointing down.

Every engine (`dot`, `visualizers/layered.py`) reads a `Sketch` and returns a `Drawing`, so the picture is
written in one place (`visualizers/svg.py`) and looks the same whoever laid it out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from visualizers.glyphs import columns
from visualizers.graph import Arrow, Graph

__all__ = [
    "ENTRY",
    "Curve",
    "Drawing",
    "Point",
    "Sketch",
    "along",
    "framed",
    "loop_curve",
    "sketch",
    "trimmed",
]

Point = tuple[float, float]

# The name of the dot from which an arrow enters the start state.
ENTRY: Final = "entry"
RADIUS: Final = 15.0
LOOP_HEIGHT: Final = 20.0
ENTRY_SIZE: Final = 5.0
BOX_HEIGHT: Final = 22.0
LABEL_COLUMN: Final = 6.7
LABEL_LINE: Final = 13.0
BOX_COLUMN: Final = 6.7
STRETCHES: Final = 10  # straight pieces for one Bézier curve, where its length is measured


@dataclass(frozen=True, slots=True)
class Sketch:
    """Nodes with their sizes (width, height), round but for those in `boxes`, and arrows with labels to be measured."""

    sizes: dict[str, Point]
    edges: tuple[Arrow, ...]
    boxes: frozenset[str]
    start: str | None

    def label_size(self, edge: Arrow) -> Point:
        """Width and height of the box that the edge's label needs, (0, 0) without a label."""
        if not edge.lines:
            return 0.0, 0.0
        return max(map(columns, edge.lines)) * LABEL_COLUMN + 6, len(edge.lines) * LABEL_LINE + 2

    def boundary(self, node: str, center: Point, toward: Point) -> Point:
        """Where the line from a node's centre toward a point leaves the node."""
        dx, dy = toward[0] - center[0], toward[1] - center[1]
        length = math.hypot(dx, dy)
        if length == 0:
            return center
        width, height = self.sizes[node]
        if node not in self.boxes:
            scale = width / 2 / length
        else:
            scale = min(width / 2 / abs(dx) if dx else math.inf, height / 2 / abs(dy) if dy else math.inf)
        return center[0] + dx * scale, center[1] + dy * scale

    def loop(self, node: str) -> Arrow | None:
        """The edge from a node to itself."""
        return next((edge for edge in self.edges if edge.source == edge.target == node), None)

    def reach(self, node: str) -> tuple[float, float, float]:
        """How far a node with its loop and the loop's label reaches: to either side, up, and down."""
        width, height = self.sizes[node]
        edge = self.loop(node)
        if edge is None:
            return width / 2, height / 2, height / 2
        label_width, label_height = self.label_size(edge)
        return max(width, label_width) / 2, height / 2 + LOOP_HEIGHT + label_height, height / 2


@dataclass(frozen=True, slots=True)
class Curve:
    """An edge's way: a chain of cubic Bézier curves (1 + 3n points) and the centre of its label."""

    edge: Arrow
    points: tuple[Point, ...]
    label: Point | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """Centres of all nodes and the ways of all edges, within (0, 0) to (width, height)."""

    width: float
    height: float
    nodes: dict[str, Point]
    curves: tuple[Curve, ...]


def framed(sketch: Sketch, nodes: dict[str, Point], curves: Sequence[Curve]) -> Drawing:
    """A drawing cropped to what is drawn, and moved so that it begins at (0, 0)."""
    boxes = [(point, sketch.sizes[name]) for name, point in nodes.items()]
    boxes += [(curve.label, sketch.label_size(curve.edge)) for curve in curves if curve.label]
    # A Bézier curve stays within its control points.
    boxes += [(point, (2.0, 2.0)) for curve in curves for point in curve.points]
    left = min((x - width / 2 for (x, _), (width, _) in boxes), default=0.0)
    top = min((y - height / 2 for (_, y), (_, height) in boxes), default=0.0)
    right = max((x + width / 2 for (x, _), (width, _) in boxes), default=0.0)
    bottom = max((y + height / 2 for (_, y), (_, height) in boxes), default=0.0)

    def moved(point: Point) -> Point:
        return point[0] - left, point[1] - top

    return Drawing(
        right - left,
        bottom - top,
        {name: moved(point) for name, point in nodes.items()},
        tuple(
            Curve(curve.edge, tuple(map(moved, curve.points)), moved(curve.label) if curve.label else None)
            for curve in curves
        ),
    )


def loop_curve(sketch: Sketch, edge: Arrow, at: Point) -> Curve:
    """A loop above the node at `at`, leaving and entering at about 45 degrees."""
    width, height = sketch.sizes[edge.source]
    dx, dy = (width * 0.2, height / 2) if edge.source in sketch.boxes else (width * 0.3, height * 0.4)
    x, top = at[0], at[1] - height / 2 - LOOP_HEIGHT
    points = ((x - dx, at[1] - dy), (x - dx * 2.4, top), (x + dx * 2.4, top), (x + dx, at[1] - dy))
    return Curve(edge, points, (x, top - sketch.label_size(edge)[1] / 2 + 4) if edge.lines else None)


def trimmed(points: Sequence[Point], center: Point, radius: float) -> tuple[Point, ...]:
    """A chain of Bézier curves that begins inside a circle, cut where it leaves the circle."""
    rest = list(points)
    while len(rest) > 4 and math.dist(rest[3], center) <= radius:
        del rest[:3]
    first = rest[:4]
    inside, outside = 0.0, 1.0
    for _ in range(20):
        middle = (inside + outside) / 2
        if math.dist(_split(first, middle)[0], center) <= radius:
            inside = middle
        else:
            outside = middle
    return (*_split(first, inside), *rest[4:])


def along(points: Sequence[Point]) -> tuple[tuple[Point, ...], float]:
    """A chain of Bézier curves as a line of short straight pieces, and the line's length."""
    line = [points[0]]
    for first in range(0, len(points) - 3, 3):
        curve = points[first : first + 4]
        line += [_split(curve, step / STRETCHES)[0] for step in range(1, STRETCHES + 1)]
    return tuple(line), sum(math.dist(one, other) for one, other in pairwise(line))


def _split(curve: Sequence[Point], at: float) -> tuple[Point, Point, Point, Point]:
    """The part of a cubic Bézier curve from parameter `at` on (de Casteljau)."""

    def mix(one: Point, other: Point) -> Point:
        return one[0] + (other[0] - one[0]) * at, one[1] + (other[1] - one[1]) * at

    a, b, c = mix(curve[0], curve[1]), mix(curve[1], curve[2]), mix(curve[2], curve[3])
    d, e = mix(a, b), mix(b, c)
    return mix(d, e), e, c, curve[3]


def sketch(graph: Graph) -> Sketch:
    """A graph with its sizes: states as circles, boxes as wide as what is written in them."""
    sizes = {
        name: (columns(text) * BOX_COLUMN + 14, BOX_HEIGHT) if name in graph.boxes else (2 * RADIUS, 2 * RADIUS)
        for name, text in graph.nodes.items()
    }
    arrows = graph.arrows
    if graph.start is not None:
        sizes[ENTRY] = (ENTRY_SIZE, ENTRY_SIZE)
        arrows = (Arrow(ENTRY, graph.start, (), "entry"), *arrows)
    return Sketch(sizes, arrows, graph.boxes, graph.start)
