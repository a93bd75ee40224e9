"""The way travelled: which states and edges a text went through, and whose calls are still under way.

An item of the chart was *travelled to* if a byte was read or a rule ended on the way to it; rules that were only
predicted and never read a byte do not count.  A call is under way if what it called began where it stands and has not
ended.

Read on: `kernels_core/inspect/forest.py` (the chart), `visualizers/marks.py` (what is lit in a picture).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, TypeAlias

from kernels_core.inspect.classic import ChartItem
from kernels_core.inspect.forest import Forest

Pair: TypeAlias = tuple[int, int]


class Travelled(NamedTuple):
    """`states` and (source, target) `pairs` that the text went through; `waiting` pairs are calls that are under way.

    `waiting` is outermost first, and so is `callers`: the states whose calls they are.
    """

    states: frozenset[int] = frozenset()
    pairs: frozenset[Pair] = frozenset()
    waiting: tuple[Pair, ...] = ()

    @property
    def callers(self) -> tuple[int, ...]:
        """The states whose calls are under way, outermost first."""
        return tuple(dict.fromkeys(source for source, _ in self.waiting))


def travelled(forest: Forest) -> Travelled:
    """The way of the text that `forest` has read, over the automata that the engine runs on; with its lock held.

    What is known up to a column is kept with it, so a step costs its own bytes only.
    """
    columns = forest.columns
    columns[0].passed = frozenset()
    known = next(number for number in range(forest.last, -1, -1) if columns[number].passed is not None)
    pairs = columns[known].passed or frozenset()
    for number in range(known + 1, forest.last + 1):
        new = {(before.state, after.state) for before, after in _moves(forest, number)}
        pairs = columns[number].passed = pairs if new <= pairs else pairs | new
    return Travelled(frozenset(chain.from_iterable(pairs)), pairs, _waiting(forest))


def _moves(forest: Forest, number: int) -> Iterator[tuple[ChartItem, ChartItem]]:
    """What a byte, or a rule that ended, led from and to in a column."""
    columns, table, here = forest.columns, forest.table, forest.columns[number].items
    for byte in forest.bytes_between(number - 1, number):
        for before in columns[number - 1].items:
            for low, high, target in table.row(before.state).byte_edges:
                counter = table.counted(target, before.counter) if low <= byte <= high else None
                if counter is not None and (after := ChartItem(target, before.origin, counter)) in here:
                    yield before, after
    for rule, began in forest.endings(number):
        yield from (pair for pair in columns[began].waiting.get(rule, ()) if pair[1] in here)


def _waiting(forest: Forest) -> tuple[Pair, ...]:
    rule_of, last = forest.table.rule_of, forest.last
    found: dict[Pair, int] = {}
    seen: set[tuple[int, int]] = set()
    todo = [item for item in forest.columns[last].items if item.origin < last]
    while todo:
        item = todo.pop()
        called = rule_of(item.state), item.origin
        if called not in seen:
            seen.add(called)
            for before, after in forest.columns[item.origin].waiting.get(called[0], ()):
                found.setdefault((before.state, after.state), item.origin)
                todo.append(before)
    return tuple(sorted(found, key=lambda pair: (found[pair], pair)))
