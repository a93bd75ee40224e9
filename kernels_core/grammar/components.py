"""Strongly connected components of a graph that is given as a mapping (Tarjan, SIAM J. Comput. 1, 1972), as a loop.

Rules that call each other, states of an automaton, and rules whose identities depend on each other are all found here.
The parser's frames (`earley/machine.pyx`) have components in C, over arrays that exist nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

Node = TypeVar("Node")


def strong_components(edges: Mapping[Node, Iterable[Node]], roots: Iterable[Node]) -> list[tuple[Node, ...]]:
    """Return the components that `roots` reach, each after those that it leads to.

    The nodes of a component are in the order in which they were met, depth first.  Targets that are no keys of
    `edges` are passed over.  Time and memory are linear in the edges that are reached.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    path: list[Node] = []
    on_path: set[Node] = set()
    found: list[tuple[Node, ...]] = []
    work: list[tuple[Node, Iterator[Node]]] = []

    def meet(node: Node) -> None:
        number[node] = low[node] = len(number)
        path.append(node)
        on_path.add(node)
        work.append((node, iter(edges[node])))

    for root in roots:
        if root not in number:
            meet(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in edges:
                    continue
                if target not in number:
                    meet(target)
                    break
                if target in on_path:
                    low[node] = min(low[node], number[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = len(path) - 1
                    while path[at] != node:
                        at -= 1
                    found.append(tuple(path[at:]))
                    on_path.difference_update(path[at:])
                    del path[at:]
    return found
