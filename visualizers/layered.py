"""A small layered layout in plain Python, so that there is a picture on every machine.

Sugiyama's recipe: break cycles, rank by longest path, put a dummy node wherever an edge passes a rank, order each
rank by barycentres, then place.  Every edge spans at least two ranks and its label is the dummy in the middle, so
labels never overlap.  Good to a few hundred states; nothing here recurses.

Read on: `visualizers/layout.py` (who is asked first), `visualizers/geometry.py` (the types).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from visualizers.geometry import ENTRY, Curve, Drawing, Point, Sketch, framed, loop_curve
from visualizers.graph import Arrow

__all__ = ["layered"]

# About as close as Graphviz puts them, so that a picture has room for as much.
RANK_GAP: Final = 10.0
NODE_GAP: Final = 12.0
SWEEPS: Final = 10
# Past this many dummies edges are drawn straight: time and memory stay linear in the automaton.
MAX_DUMMIES: Final = 20_000
# Counting crossings is the dearest step; with more segments than this the last ordering is taken.
MAX_COUNTED: Final = 20_000


@dataclass(slots=True)
class _Vertex:
    """A node or a dummy: half width, how far it reaches above and below its centre, and where it is."""

    half: float
    above: float
    below: float
    rank: int
    dummy: bool
    x: float = 0.0
    y: float = 0.0
    place: int = 0
    left: list[_Vertex] = field(default_factory=list)
    right: list[_Vertex] = field(default_factory=list)


def layered(sketch: Sketch) -> Drawing:
    """Lay out a sketch from left to right."""
    loops = [edge for edge in sketch.edges if edge.source == edge.target]
    edges = [edge for edge in sketch.edges if edge.source != edge.target]
    backward = _backward(sketch, edges)
    ranks = _ranks(sketch, edges, backward)
    vertices = {name: _Vertex(*sketch.reach(name), ranks[name], dummy=False) for name in sketch.sizes}
    chains = [_chain(sketch, vertices, edge, edge in backward) for edge in _within_budget(edges, ranks)]
    layers = _layers(vertices, [dummy for _, chain in chains for dummy in chain[1:-1]])
    _order(layers)
    _place(layers)
    by_edge = dict(chains)
    curves = [_curve(sketch, vertices, edge, by_edge.get(edge), edge in backward) for edge in edges]
    for edge in loops:
        vertex = vertices[edge.source]
        curves.append(loop_curve(sketch, edge, (vertex.x, vertex.y)))
    nodes = {name: (vertex.x, vertex.y) for name, vertex in vertices.items()}
    return framed(sketch, nodes, curves)


def _backward(sketch: Sketch, edges: list[Arrow]) -> set[Arrow]:
    """Edges that close a cycle in a depth-first walk from the start; taken backwards, no cycle is left."""
    following: dict[str, list[Arrow]] = {name: [] for name in sketch.sizes}
    for edge in edges:
        following[edge.source].append(edge)
    first = [name for name in (ENTRY, sketch.start) if name in sketch.sizes]
    done: dict[str, bool] = {}
    backward: set[Arrow] = set()
    for root in (*first, *sketch.sizes):
        if root is None or root in done:
            continue
        done[root] = False
        stack = [(root, iter(following[root]))]
        while stack:
            name, rest = stack[-1]
            for edge in rest:
                if edge.target not in done:
                    done[edge.target] = False
                    stack.append((edge.target, iter(following[edge.target])))
                    break
                if not done[edge.target]:
                    backward.add(edge)
            else:
                done[name] = True
                stack.pop()
    return backward


def _ranks(sketch: Sketch, edges: list[Arrow], backward: set[Arrow]) -> dict[str, int]:
    """Longest path from the left in steps of two: nodes on even ranks, labels on odd ones."""
    arcs = [(e.target, e.source) if e in backward else (e.source, e.target) for e in edges]
    following: dict[str, list[str]] = {name: [] for name in sketch.sizes}
    waiting = dict.fromkeys(sketch.sizes, 0)
    for source, target in arcs:
        following[source].append(target)
        waiting[target] += 1
    ranks = dict.fromkeys(sketch.sizes, 0)
    queue = deque(name for name, count in waiting.items() if count == 0)
    while queue:
        name = queue.popleft()
        for target in following[name]:
            ranks[target] = max(ranks[target], ranks[name] + 2)
            waiting[target] -= 1
            if waiting[target] == 0:
                queue.append(target)
    return ranks


def _within_budget(edges: list[Arrow], ranks: dict[str, int]) -> list[Arrow]:
    """The edges that get dummies: short ones first, while there are dummies left."""
    left = MAX_DUMMIES
    kept = []
    for edge in sorted(edges, key=lambda edge: abs(ranks[edge.target] - ranks[edge.source])):
        left -= abs(ranks[edge.target] - ranks[edge.source]) - 1
        if left < 0:
            break
        kept.append(edge)
    return kept


def _chain(sketch: Sketch, vertices: dict[str, _Vertex], edge: Arrow, is_backward: bool) -> tuple[Arrow, list[_Vertex]]:
    """The vertices of an edge from left to right; the dummy in the middle is as large as the label."""
    ends = (edge.target, edge.source) if is_backward else (edge.source, edge.target)
    first, last = (vertices[name] for name in ends)
    width, height = sketch.label_size(edge)
    middle = _middle(first.rank, last.rank)
    chain = [first]
    for rank in range(first.rank + 1, last.rank):
        size = (width / 2, height / 2) if rank == middle else (0.0, 1.0)
        chain.append(_Vertex(size[0], size[1], size[1], rank, dummy=True))
    chain.append(last)
    for one, other in pairwise(chain):
        one.right.append(other)
        other.left.append(one)
    return edge, chain


def _middle(first: int, last: int) -> int:
    """The odd rank nearest to the middle of two even ones."""
    return (first + last) // 2 | 1


def _layers(vertices: dict[str, _Vertex], dummies: list[_Vertex]) -> list[list[_Vertex]]:
    everything = [*vertices.values(), *dummies]
    layers: list[list[_Vertex]] = [[] for _ in range(max((v.rank for v in everything), default=0) + 1)]
    for vertex in everything:
        layers[vertex.rank].append(vertex)
    for layer in layers:
        for place, vertex in enumerate(layer):
            vertex.place = place
    return layers


def _order(layers: list[list[_Vertex]]) -> None:
    """Sweep right and left, ordering ranks by their neighbours' average place; fewest crossings win."""
    counted = sum(len(vertex.right) for layer in layers for vertex in layer) <= MAX_COUNTED
    best = [list(layer) for layer in layers]
    fewest = _crossings(layers) if counted else -1
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        for layer in layers[1:] if forward else reversed(layers[:-1]):
            keys = {id(v): _barycentre(v, v.left if forward else v.right) for v in layer}
            layer.sort(key=lambda vertex: keys[id(vertex)])
            for place, vertex in enumerate(layer):
                vertex.place = place
        crossings = _crossings(layers) if counted else fewest - 1
        if crossings < fewest:
            fewest, best = crossings, [list(layer) for layer in layers]
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order
        for place, vertex in enumerate(layer):
            vertex.place = place


def _barycentre(vertex: _Vertex, neighbours: list[_Vertex]) -> float:
    return sum(n.place for n in neighbours) / len(neighbours) if neighbours else float(vertex.place)


def _crossings(layers: list[list[_Vertex]]) -> int:
    total = 0
    for layer in layers:
        seen: list[int] = []
        for vertex in layer:
            ends = sorted(neighbour.place for neighbour in vertex.right)
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _place(layers: list[list[_Vertex]]) -> None:
    x = 0.0
    for layer in layers:
        widest = max((vertex.half for vertex in layer), default=0.0)
        x += widest
        for vertex in layer:
            vertex.x = x
        x += widest + RANK_GAP
    for layer in layers:
        _settle(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = []
            for vertex in layer:
                near = vertex.left + vertex.right
                wanted.append(sum(n.y for n in near) / len(near) if near else vertex.y)
            _settle(layer, wanted)


def _settle(layer: list[_Vertex], wanted: list[float]) -> None:
    """The y nearest to `wanted` (least squares) that keep the order and the gaps: isotonic regression by pooling."""
    offsets: list[float] = []
    offset = 0.0
    for before, vertex in zip([None, *layer], layer, strict=False):
        if before is not None:
            gap = NODE_GAP / 2 if before.dummy and vertex.dummy else NODE_GAP
            offset += before.below + gap + vertex.above
        offsets.append(offset)
    pools: list[tuple[float, int]] = []
    for target, shift in zip(wanted, offsets, strict=True):
        total, count = target - shift, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            earlier = pools.pop()
            total, count = total + earlier[0], count + earlier[1]
        pools.append((total, count))
    index = 0
    for total, count in pools:
        for _ in range(count):
            layer[index].y = total / count + offsets[index]
            index += 1


def _curve(
    sketch: Sketch, vertices: dict[str, _Vertex], edge: Arrow, chain: list[_Vertex] | None, is_backward: bool
) -> Curve:
    if chain is None:
        ends = [vertices[edge.source], vertices[edge.target]]
        path = ends
        label = ((ends[0].x + ends[1].x) / 2, (ends[0].y + ends[1].y) / 2)
    else:
        middle = chain[_middle(chain[0].rank, chain[-1].rank) - chain[0].rank]
        label = (middle.x, middle.y)
        path = chain[::-1] if is_backward else chain
    centres: list[Point] = [(vertex.x, vertex.y) for vertex in path]
    centres[0] = sketch.boundary(edge.source, centres[0], centres[1])
    centres[-1] = sketch.boundary(edge.target, centres[-1], centres[-2])
    points = [centres[0]]
    for (x0, y0), (x1, y1) in pairwise(centres):
        bend = (x1 - x0) / 2
        points += [(x0 + bend, y0), (x1 - bend, y1), (x1, y1)]
    return Curve(edge, tuple(points), label if edge.lines else None)
