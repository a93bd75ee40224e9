"""Strongly connected components of a graph that is given as a mapping (Tarjan, SIAM J. Comput. 1, 1972), as a loop.

Rules that call each other, states of an automaton, and rules whose identities depend on each other are all found here.
The parser's frames (`earley/left_recursion.pyx`) have components in C, over arrays that exist nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from ..clock import look

Node = TypeVar("Node")


def strong_components(edges: Mapping[Node, Iterable[Node]], roots: Iterable[Node]) -> list[tuple[Node, ...]]:
    """Return the components that `roots`, which are keys of `edges`, reach: successors first.

    The nodes of a component are in the order in which they were met, depth first.  Targets that are no keys of
    `edges` are passed over.  Time and memory are linear in the edges that are reached.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    found: list[tuple[Node, ...]] = []
    calls: list[tuple[Node, Iterator[Node], int]] = []  # with the place of the node on the stack

    def enter(node: Node) -> None:
        look(2)
        index[node] = low[node] = len(index)
        calls.append((node, iter(edges[node]), len(stack)))
        stack.append(node)
        on_stack.add(node)

    for root in roots:
        if root not in index:
            enter(root)
        while calls:
            node, targets, at = calls[-1]
            for target in targets:
                if target not in edges:
                    continue
                if target not in index:
                    enter(target)
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
                if low[node] == index[node]:
                    component = tuple(stack[at:])
                    found.append(component)
                    on_stack.difference_update(component)
                    del stack[at:]
    return found
