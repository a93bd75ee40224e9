"""What is lit in a picture: element ids and their marks, so that a step is nothing but toggling classes.

Read on: `visualizers/scene.py`, `visualizers/way.py`, `frontend/src/automaton.js`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from visualizers.fold import FoldedRule, Folds
from visualizers.scene import Scene, edge_id
from visualizers.way import Travelled


class Inside(NamedTuple):
    """An active state within what an element stands for, which has no circle: the picture has a plate for it there.

    `element` is the id of an edge's label, or of the box of begun characters; `share` is how much of it is read.
    """

    state: int
    element: str
    share: float
    rule: int


@dataclass(frozen=True)
class Marks:
    """Ids of elements by mark.  `on` maps an edge to the places on it where the parser stands: 0 for "within the first
    piece", else how many pieces are read.
    """

    active: list[str] = field(default_factory=list)
    on: dict[str, list[int]] = field(default_factory=dict)
    inside: list[Inside] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    visited: list[str] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """What is lit, as JSON values."""
        return {**vars(self), "inside": list(map(list, self.inside))}

    def classes(self, *names: str) -> str:
        """What marks the elements of these names, as classes with a blank before each."""
        active = [*self.active, *self.on]
        lit = {"active": active, "waiting": self.waiting, "visited": self.visited, "fresh": self.fresh}
        return "".join(f" {mark}" for mark, elements in lit.items() if not set(names).isdisjoint(elements))


def marks(
    folds: Folds, scene: Scene, active: Collection[int], travelled: Travelled | None = None, fresh: Collection[int] = ()
) -> Marks:
    """The marks of the elements that `scene` draws."""
    lit, visited, waiting, new = [], [], [], []
    inside: list[Inside] = []
    on: dict[str, set[int]] = {}
    way = travelled or Travelled()
    calls = set(way.waiting)
    if scene.rules is not None:
        owners = dict.fromkeys(folds.owner[state] for state in active if state in folds.owner)
        lit += [f"r{start}" for start in owners if f"r{start}" in scene.rules.nodes]
        callers = dict.fromkeys(folds.owner[state] for state in way.callers if state in folds.owner)
        waiting += [f"r{start}" for start in callers if f"r{start}" in scene.rules.nodes]
    for panel in scene.panels:
        folded = panel.folded
        drawn = {state.id for state in folded.states if f"s{state.id}" in panel.graph.nodes}
        lit += [f"s{state}" for state in active if state in drawn]
        visited += [f"s{state}" for state in sorted(drawn & way.states)]
        new += [f"s{state}" for state in sorted(drawn.intersection(fresh))]
        edges = [k for arrow in panel.graph.arrows for k in arrow.edges]
        names = {k: edge_id(folded.edges[k], k, folded) for k in edges}
        for source, begun in folded.begun.items():
            if source in drawn and not begun.states.isdisjoint(active):
                lit.append(f"begun{source}")
                inside += [
                    Inside(state, f"begun{source}", 0.5, panel.rule) for state in active if state in begun.states
                ]
        for state in active:
            for place in folded.places.get(state, ()):
                if place.edge in names:
                    on.setdefault(names[place.edge], set()).add(place.offset)
                    share = (place.offset or 0.5) / len(folded.edges[place.edge].pieces)
                    inside.append(Inside(state, names[place.edge], share, panel.rule))
        for k in edges:
            if way.states and _travelled(folded, k, way):
                visited.append(names[k])
            if calls and _under_way(folded, k, calls):
                waiting.append(names[k])
        waiting += [f"s{state}" for state in way.callers if state in drawn]
    return Marks(lit, {name: sorted(found) for name, found in on.items()}, inside, waiting, visited, new)


def _travelled(folded: FoldedRule, number: int, way: Travelled) -> bool:
    edge = folded.edges[number]
    if edge.between:
        return all(state in way.states for state in edge.between)
    if edge.within:
        inner = [state for state, _ in edge.within if state in way.states]
        direct = (edge.source, edge.target) in way.pairs
        return direct or any((edge.source, state) in way.pairs for state in inner)
    return (edge.source, edge.target) in way.pairs


def _under_way(folded: FoldedRule, number: int, calls: Iterable[tuple[int, int]]) -> bool:
    """Whether one of the calls is what this edge stands for, or a call within its chain."""
    edge = folded.edges[number]
    stops = (edge.source, *edge.between, edge.target)
    legs = {(stops[i], stops[i + 1]) for i, piece in enumerate(edge.pieces) if piece.kind == "call"}
    return any(call in legs for call in calls)
