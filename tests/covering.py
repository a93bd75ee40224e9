"""Covering arrays: few combinations of many choices in which every two of them meet.

A fault that needs one mechanism with and another without shows in every row that has the two so.  All combinations of
a dozen mechanisms are thousands; a dozen rows hold every pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from random import Random
from typing import TypeVar

__all__ = ["covering_rows", "pairs_of"]

Value = TypeVar("Value")


def pairs_of(row: Mapping[str, Value]) -> Iterator[frozenset[tuple[str, Value]]]:
    """Every two choices of a row."""
    return map(frozenset, combinations(row.items(), 2))


def covering_rows(factors: Mapping[str, Sequence[Value]]) -> list[dict[str, Value]]:
    """Rows with a value for each factor, the same in every run, such that every two values of two factors meet in one.

    Greedy: of some rows that take in every factor, in any order, the value that adds most pairs, the best one is kept.
    """
    draw = Random(0)
    missing = {
        pair
        for one, other in combinations(factors, 2)
        for left, right in product(factors[one], factors[other])
        for pair in pairs_of({one: left, other: right})
    }

    def candidate() -> dict[str, Value]:
        row: dict[str, Value] = {}
        for name in draw.sample(list(factors), len(factors)):
            row[name] = max(
                draw.sample(factors[name], len(factors[name])),
                key=lambda value: sum(frozenset({(name, value), chosen}) in missing for chosen in row.items()),
            )
        return {name: row[name] for name in factors}

    rows = []
    while missing:
        rows.append(max((candidate() for _ in range(10)), key=lambda row: len(missing.intersection(pairs_of(row)))))
        missing.difference_update(pairs_of(rows[-1]))
    return rows
