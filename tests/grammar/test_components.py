"""Strongly connected components, against reachability worked out pair by pair."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.components import strong_components

GRAPHS = st.integers(1, 8).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size), max_size=4), min_size=size, max_size=size)
)


def reach(edges: dict[int, list[int]], start: int) -> set[int]:
    found, work = {start}, [start]
    while work:
        for target in edges[work.pop()]:
            if target in edges and target not in found:
                found.add(target)
                work.append(target)
    return found


@given(GRAPHS, st.data())
def test_nodes_are_together_that_reach_each_other(targets: list[list[int]], draw: st.DataObject) -> None:
    edges = dict(enumerate(targets))  # a target may be no key
    roots = draw.draw(st.lists(st.sampled_from(sorted(edges)), min_size=1))
    found = strong_components(edges, roots)
    reached = set().union(*(reach(edges, root) for root in roots))
    assert sorted(node for component in found for node in component) == sorted(reached)
    for component in found:
        for node in component:
            assert {other for other in reach(edges, node) if node in reach(edges, other)} == set(component)
    before: set[int] = set()
    for component in found:
        before |= set(component)
        assert all(reach(edges, node) <= before for node in component)


def test_a_long_chain_takes_no_stack() -> None:
    size = 100_000
    chain = {node: [node + 1] for node in range(size)}
    assert strong_components(chain, [0])[0] == (size - 1,)
    assert strong_components(chain | {size - 1: [0]}, [0]) == [tuple(range(size))]
