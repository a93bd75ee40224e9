"""In how many ways a text can be read as a whole: counted in the packed forest, without drawing any of them.

A forest shares what readings have in common, so the number is a sum over links and a product over parts, found once an
item; a text of a hundred characters may have more readings than atoms are there.

Read on: `forest.py` (the links), `derivation.py` (who tells it).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kernels_core.inspect.classic import ChartItem
from kernels_core.inspect.forest import MAX_WAYS, Forest

__all__ = ["ENDLESS", "readings"]

ENDLESS: Final = -1
"""A rule derives itself over the same text: there is no end of readings."""
MAX_NEW: Final = 10_000
"""Links that are added up at one place; what was counted stays known while the text grows."""

_Node = tuple[ChartItem, int]


def readings(forest: Forest, limit: int = MAX_NEW) -> int | None:
    """How many derivations the whole text has, at most 1,000,000 (`MAX_WAYS`) are told; 0 where it may not end here.

    `ENDLESS`, or None where more than `limit` links would have to be added up.  With the forest's lock held.
    """
    total = 0
    for goal in forest.ends(0, 0, forest.last):
        found = _total(forest, (goal, forest.last), limit)
        if found is None or found == ENDLESS:
            return found
        total += found
    return min(total, MAX_WAYS)


def _total(forest: Forest, goal: _Node, limit: int) -> int | None:
    """The ways to an item with all that is in its parts: those of what it is made of are found first."""
    known = forest.totals
    if goal[0] in known[goal[1]]:
        return known[goal[1]][goal[0]]
    path = [(goal, _needed(forest, *goal))]
    open_ = {goal}
    while path:
        at, needed = path[-1]
        wanted = next((node for node in needed if node[0] not in known[node[1]]), None)
        if wanted is None:
            path.pop()
            open_.discard(at)
            item, column = at
            known[column][item] = _sum(forest, item, column)
            limit -= 1 + len(forest.links(item, column))
            if limit < 0:
                return None
        elif wanted in open_:
            return ENDLESS
        else:
            open_.add(wanted)
            path.append((wanted, _needed(forest, *wanted)))
    return known[goal[1]][goal[0]]


def _needed(forest: Forest, item: ChartItem, column: int) -> Iterator[_Node]:
    for link in forest.links(item, column):
        yield link.before, link.column
        if link.kind == "complete":
            for end in forest.ends(link.rule, link.column, column):
                yield end, column


def _sum(forest: Forest, item: ChartItem, column: int) -> int:
    links = forest.links(item, column)
    total = 0 if links else 1
    for link in links:
        ways = forest.totals[link.column][link.before]
        if link.kind == "complete":
            ways *= sum(forest.totals[column][end] for end in forest.ends(link.rule, link.column, column))
        total += ways
    return min(total, MAX_WAYS)
