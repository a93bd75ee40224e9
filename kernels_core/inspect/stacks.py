"""The call stacks at the end of a text: from the root to every item that waits, as paths through who called whom.

An item waits for its rule to end at the item that called it, and several may have called: together this is the
graph-structured stack (Tomita 1987), whose nodes are (rule, where it began).  A stack is one way through it.
A rule that calls itself before it reads (left recursion) is its own caller; such detours are left out.

Read on: `forest.py` (who called), `derivation.py` (what is shown of it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from kernels_core.inspect.classic import ChartItem
from kernels_core.inspect.forest import MAX_WAYS, Forest, settled

_MAX_STEPS = 2_000  # looks at callers while stacks are listed
_ROOT = 0, 0


class Level(NamedTuple):
    """One level of a stack: `item`, an item of `column`, whose rule began at `item.origin`.

    The dot is in front of the call of the next level's rule, or where the parser is in the last level.
    """

    item: ChartItem
    column: int


class Stacks(NamedTuple):
    """`listed`: stacks from the root to an item.  `total`: how many there are, or at least that many if not `exact`."""

    listed: tuple[tuple[Level, ...], ...]
    total: int
    exact: bool


def kernel(forest: Forest) -> list[ChartItem]:
    """The items of the last column that something was read for and that can go on; the innermost rule first."""
    table, last = forest.table, forest.last
    found = [
        item
        for item in forest.column(last)
        if (item.origin < last or (last == 0 and table.rule_of(item.state) == 0))
        and table.row(item.state).leads_on
        and not _iteration_start(forest, item)
        and forest.goes_on(item, last)
    ]
    return sorted(found, key=lambda item: -item.origin)


def _iteration_start(forest: Forest, item: ChartItem) -> bool:
    """Whether `item` only begins another iteration of a counted repetition, which stands beside what ends there."""
    rule = forest.table.rule_of(item.state)
    return forest.table.rule(rule).repeat is not None and item.state == forest.table.start(rule)


def find_stacks(forest: Forest, tips: Iterable[ChartItem], limit: int) -> Stacks:
    """At most `limit` stacks that end in `tips`, items of the last column."""
    listed: list[tuple[Level, ...]] = []
    looks, least = _MAX_STEPS, 0  # `least`: stacks that were met, listed or not
    tips = list(tips)
    for stack in chain.from_iterable(_upwards(forest, tip) for tip in tips):
        if stack is not None:
            least += 1
            if len(listed) == limit:
                break
            listed.append(stack)
        looks -= 1
        if looks <= 0:
            if not listed and limit > 0:  # the text is nested deeper than that
                listed.append(tuple(shortest_stack(forest, Level(tips[0], forest.last))))
            break
    else:
        return Stacks(tuple(listed), len(listed), True)
    counts: dict[tuple[int, int], int] = {}
    total = sum(_count(forest, _node(forest, tip), counts) for tip in tips)
    return Stacks(tuple(listed), max(total, least), False)


def _upwards(forest: Forest, tip: ChartItem) -> Iterator[tuple[Level, ...] | None]:
    """Stacks that end in `tip`, the shortest ways first at every level; None now and then, for whoever counts."""
    node = _node(forest, tip)
    path, on_path = [Level(tip, forest.last)], {node}
    waiting = [iter(_callers(forest, *node))]
    if node == _ROOT:
        yield tuple(path)
    while waiting:
        caller = next(waiting[-1], None)
        if caller is None:
            waiting.pop()
            on_path.discard(_node(forest, path.pop().item))
            continue
        yield None
        node = _node(forest, caller.item)
        if node in on_path:
            continue
        path.append(caller)
        on_path.add(node)
        if node == _ROOT:
            yield tuple(reversed(path))
        waiting.append(iter(_callers(forest, *node)))


def _node(forest: Forest, item: ChartItem) -> tuple[int, int]:
    return forest.table.rule_of(item.state), item.origin


def _callers(forest: Forest, rule: int, column: int) -> list[Level]:
    """The items that called `rule` at `column`, each once."""
    return [Level(item, column) for item in dict.fromkeys(before for before, _ in forest.callers(rule, column))]


def shortest_stack(forest: Forest, level: Level) -> list[Level]:
    """The shortest stack that ends in `level`, from the root on: breadth first through the callers."""
    below: dict[Level, Level | None] = {level: None}
    seen = {_node(forest, level.item)}
    queue = [level]
    for at in queue:
        node = _node(forest, at.item)
        if node == _ROOT:
            found = [at]
            while (next_one := below[found[-1]]) is not None:
                found.append(next_one)
            return found
        for caller in _callers(forest, *node):
            above = _node(forest, caller.item)
            if above not in seen:
                seen.add(above)
                below[caller] = at
                queue.append(caller)
    return [level]


def _count(forest: Forest, node: tuple[int, int], counts: dict[tuple[int, int], int]) -> int:
    """Ways from a node to the root, without those through a node that is being counted (left recursion)."""

    def callers(at: tuple[int, int]) -> list[tuple[int, int]]:
        return [_node(forest, level.item) for level in reversed(_callers(forest, *at))]

    for at in settled(node, callers, counts.__contains__, cyclic=True):
        counts[at] = min(int(at == _ROOT) + sum(counts.get(caller, 0) for caller in callers(at)), MAX_WAYS)
    return counts[node]
