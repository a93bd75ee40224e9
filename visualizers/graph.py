"""The abstract drawing that every layout engine and every writer of pictures shares: named nodes and labelled arrows.

Read on: `visualizers/scene.py` (makes them of rules), `visualizers/geometry.py` (gives them sizes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Arrow", "ArrowKind", "Graph"]

ArrowKind = Literal["reads", "call", "stub", "else", "entry"]


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow.  `lines` is its label as plain text, for measuring; `edges` the numbers of the edges it stands for.

    "reads" takes bytes, "call" calls rules, "stub" leads to what is not drawn, "else" is where bytes go that are not
    on other arrows, "entry" shows where a rule begins.
    """

    source: str
    target: str
    lines: tuple[str, ...]
    kind: ArrowKind = "reads"
    edges: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by name with what is written in them, the arrows, and where the graph begins.

    Nodes are round, but for those in `boxes`.
    """

    nodes: dict[str, str]
    arrows: tuple[Arrow, ...]
    start: str | None = None
    boxes: frozenset[str] = frozenset()
