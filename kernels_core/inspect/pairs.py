"""Pair the states of the engine that runs with those of its twin, which questions are asked of.

Both are made of one grammar, and where states are made as they are met, each numbers them in the order in which it met
them.  So states are paired by walking both automata from the roots' starts side by side, as far as both are made; what
is made later is paired later.

Read on: `layout.py` (the tables), `../compiler.py` (`CompiledGrammar.apart`).
"""

from __future__ import annotations

from collections.abc import Hashable

from kernels_core.inspect.layout import StateTable


class Pairs:
    """The states of `theirs` by the states of `ours` that they are."""

    def __init__(self, ours: StateTable, theirs: StateTable) -> None:
        self._ours, self._theirs = ours, theirs
        self._found: dict[int, int] = {}
        self._rules: dict[int, int] = {}
        self._open: list[tuple[int, int]] = []  # pairs of states whose edges are not all made,
        self._begun: list[tuple[int, int]] = []  # ... and of rules that are not
        self._growth = (-1, -1)
        self._pair_rules(0, 0)

    def ours(self, theirs: int) -> int:
        """Our number of their state; -1 if we have not made it, or it cannot be told."""
        if theirs in self._found:
            return self._found[theirs]
        self._go_on()
        return self._found.get(theirs, -1)

    def _go_on(self) -> None:
        growth = self._ours.growth, self._theirs.growth
        if growth == self._growth:
            return
        self._growth = growth
        pending, self._open = self._open, []
        waiting: list[tuple[int, int]] = []
        while self._begun or pending:
            for one, other in self._begun:
                start, their_start = self._ours.start(one), self._theirs.start(other)
                if start < 0 or their_start < 0:
                    waiting.append((one, other))
                elif their_start not in self._found:
                    self._found[their_start] = start
                    pending.append((start, their_start))
            self._begun = []
            self._walk(pending)
        self._begun = waiting

    def _walk(self, pending: list[tuple[int, int]]) -> None:
        """Pair what the pairs of states in `pending` lead to."""
        while pending:
            one, other = pending.pop()
            row, their_row = self._ours.row(one), self._theirs.row(other)
            if not (row.made and their_row.made):
                self._open.append((one, other))
                continue
            targets: list[tuple[int, int]] = []
            at = 0
            for low, _, target in their_row.byte_edges:  # both ascend
                while at < len(row.byte_edges) and row.byte_edges[at][1] < low:
                    at += 1
                if at < len(row.byte_edges) and row.byte_edges[at][0] <= low:
                    targets.append((row.byte_edges[at][2], target))
            by_tokens = {self._ours.tokens(chosen): target for chosen, target in row.token_edges}
            for chosen, target in their_row.token_edges:
                tokens = self._theirs.tokens(chosen)
                if tokens in by_tokens:
                    targets.append((by_tokens[tokens], target))
            targets += self._calls(row.call_edges, their_row.call_edges)
            for ours, theirs in targets:
                if theirs not in self._found:
                    self._found[theirs] = ours
                    pending.append((ours, theirs))

    def _calls(self, ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Pairs of states behind the calls of two states; the called rules are paired, too."""
        by_kind = {_kind(self._ours, rule): (rule, target) for rule, target in ours}
        found = []
        for rule, target in theirs:
            same = by_kind.get(_kind(self._theirs, rule))
            if same is not None:
                self._pair_rules(same[0], rule)
                found.append((same[1], target))
        return found

    def _pair_rules(self, ours: int, theirs: int) -> None:
        if theirs not in self._rules:
            self._rules[theirs] = ours
            self._begun.append((ours, theirs))


def _kind(table: StateTable, number: int) -> Hashable:
    """What a rule is, beside its number; of the rules that one state calls no two are alike."""
    rule = table.rule(number)
    return rule.source, rule.path, rule.repeat
