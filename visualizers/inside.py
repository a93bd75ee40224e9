"""States within an edge: where on the edge the state lies, so that it is drawn like any other that is active.

A folded edge reads several characters, and the parser may stand between two of them.  The picture is not laid out
again for that: a plate with the state's number lies on the edge, as far along it as the edge is read, beside the label.

Read on: `visualizers/marks.py` (which states), `visualizers/svg.py` and `frontend/src/automaton.js` (draw them).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from visualizers.geometry import LABEL_COLUMN, Curve, Point, along
from visualizers.glyphs import columns
from visualizers.layout import Placed, Plan
from visualizers.scene import edge_id

__all__ = ["HEIGHT", "Inside", "Spot", "spots", "width"]

HEIGHT: Final = 20.0
GAP: Final = 2.0
ASIDE: Final = 7.0  # from the edge, away from its label


class Inside(NamedTuple):
    """A state within what an element stands for: the id of an edge's label, or of the box of begun characters.

    `read` is how many pieces of the edge are read; 0 for within the first.
    """

    state: int
    element: str
    read: int


class Spot(NamedTuple):
    """Where a state within an edge is drawn: the centre of its plate, in the units of its rule's panel."""

    state: int
    rule: int
    x: float
    y: float


class _Wanted(NamedTuple):
    state: int
    share: float  # of the edge that is read
    edge: int | None


def width(state: int) -> float:
    """The width of a state's plate."""
    return max(HEIGHT, 6.0 * len(str(state)) + 8)


def spots(drawn: Plan, inside: Iterable[Inside]) -> tuple[Spot, ...]:
    """Where the states of `inside` lie in a picture; those on edges that it does not draw are left out."""
    wanted = list(inside)
    if not wanted:
        return ()
    elements = {
        name: (placed, curve, edge)
        for placed in drawn.placed
        for curve in placed.drawing.curves
        for name, edge in _elements(placed, curve)
    }
    by_curve: dict[int, tuple[Placed, Curve, list[_Wanted]]] = {}
    for state, element, read in wanted:
        if element in elements:
            placed, curve, edge = elements[element]
            pieces = 1 if edge is None else len(placed.panel.folded.edges[edge].pieces)
            group = by_curve.setdefault(id(curve), (placed, curve, []))
            group[2].append(_Wanted(state, (read or 0.5) / pieces, edge))
    found: list[Spot] = []
    for placed, curve, group_ in by_curve.values():
        # The built-in layout writes labels on their edges, Graphviz beside them.
        on_edge = drawn.engine == "built-in" and curve.label is not None and curve.edge.source != curve.edge.target
        put = _beside_label if on_edge else _on_line
        found += (Spot(state, placed.panel.rule, x, y) for state, (x, y) in put(placed, curve, group_))
    return tuple(found)


def _elements(placed: Placed, curve: Curve) -> Iterator[tuple[str, int | None]]:
    folded = placed.panel.folded
    for edge in curve.edge.edges:
        yield edge_id(folded.edges[edge], edge, folded), edge
    if curve.edge.target.startswith("begun"):
        yield curve.edge.target, None


def _on_line(_placed: Placed, curve: Curve, group: Sequence[_Wanted]) -> Iterator[tuple[int, Point]]:
    line, length = along(curve.points)
    order = sorted(group, key=lambda one: one.share)
    half = max(width(one.state) for one in order) / 2 + 1
    places = _apart([half + (length - 2 * half) * one.share for one in order], 2 * half, half, length - half)
    for one, place in zip(order, places, strict=True):
        (x, y), (ux, uy) = _at(line, place)
        if curve.label is not None:
            side = math.copysign(ASIDE, (y - curve.label[1]) * ux - (x - curve.label[0]) * uy)
            x, y = x - uy * side, y + ux * side
        yield one.state, (x, y)


def _beside_label(placed: Placed, curve: Curve, group: Sequence[_Wanted]) -> Iterator[tuple[int, Point]]:
    """Below the label, or above it where less is hidden there."""
    assert curve.label is not None
    wide, high = placed.sketch.label_size(curve.edge)
    x, y = curve.label

    def wanted(one: _Wanted) -> float:
        label = None if one.edge is None else placed.panel.labels.get(one.edge)
        if label is None or not label.cuts:
            return x + wide * (one.share - 0.5)
        pieces = len(label.cuts) + 1
        row, cut = label.cuts[max(0, min(round(one.share * pieces), pieces - 1) - 1)]
        text = label.lines[row]
        return x + (columns(text[:cut]) - columns(text) / 2) * LABEL_COLUMN

    order = sorted(group, key=wanted)
    gap = max(width(one.state) for one in order) + GAP
    reach = max(wide, gap * (len(order) - 1)) / 2
    places = _apart([wanted(one) for one in order], gap, x - reach, x + reach)
    away = (high + HEIGHT) / 2 - 1
    others = [(at, placed.sketch.sizes[name]) for name, at in placed.drawing.nodes.items()]
    others += [
        (other.label, placed.sketch.label_size(other.edge))
        for other in placed.drawing.curves
        if other.label is not None and other is not curve
    ]

    def hidden(height: float) -> int:
        return sum(
            abs(ox - place) < (w + gap) / 2 and abs(oy - height) < (h + HEIGHT) / 2
            for (ox, oy), (w, h) in others
            for place in places
        )

    height = min(y + away, y - away, key=hidden)
    for one, place in zip(order, places, strict=True):
        yield one.state, (place, height)


def _apart(wanted: Sequence[float], gap: float, first: float, last: float) -> list[float]:
    """Places near the `wanted` ones (in order), `gap` apart, from `first` to `last`; closer where there is no room."""
    count = len(wanted)
    if last <= first:
        return [(first + last) / 2] * count
    gap = min(gap, (last - first) / max(1, count - 1))
    places: list[float] = []
    for number, place in enumerate(wanted):
        least = places[-1] + gap if places else first
        places.append(min(max(place, least), last - gap * (count - 1 - number)))
    return places


def _at(line: Sequence[Point], distance: float) -> tuple[Point, Point]:
    """The point so far along a line, and the direction there."""
    left = max(0.0, distance)
    point, direction = line[0], (1.0, 0.0)
    for one, other in pairwise(line):
        length = math.dist(one, other)
        if length == 0:
            continue
        direction = (other[0] - one[0]) / length, (other[1] - one[1]) / length
        part = min(left, length)
        point = one[0] + direction[0] * part, one[1] + direction[1] * part
        if left <= length:
            break
        left -= length
    return point, direction
