"""The way travelled: which states and edges a text went through, and whose calls are still under way.

The parser's columns say which items stood after each byte, as (state, origin) pairs.  An item was *travelled to* if a
byte was read or a rule ended on the way to it; rules that were only predicted and never read a byte do not count.
A call is under way if what it called began where it stands and has not ended.

`Way` reads columns as they come and goes back by as many as were taken away, so a step costs its own bytes only.

Read on: `visualizers/marks.py` (what is lit in a picture).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from kernels_core.inspect.snapshots import Automaton, RuleAutomaton

Column: TypeAlias = Iterable[tuple[int, int]]
"""The items after a byte: (state, origin) pairs, where the origin is a position in bytes."""

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


class Way:
    """The way of one text through `automaton`."""

    def __init__(self, automaton: Automaton) -> None:
        self._rules: dict[int, RuleAutomaton] = {}
        self._reads: dict[int, list[tuple[int, int, int]]] = {}
        self._calls: dict[int, list[tuple[str, int]]] = {}
        self._rule: dict[int, str] = {}
        self._accepting: set[int] = set()
        self._text = b""
        self._columns: list[frozenset[Pair]] = []
        self._callers: dict[int, dict[str, list[tuple[int, int, int]]]] = {}  # of columns that something came back to
        self._news: list[tuple[list[int], list[Pair]]] = []  # what each column brought
        self._states: Counter[int] = Counter()
        self._pairs: Counter[Pair] = Counter()
        self.grow(automaton)

    def grow(self, automaton: Automaton) -> None:
        """Take in what was made since: a later state of the same automaton."""
        for rule in automaton.rules:
            if self._rules.get(rule.start) is rule:
                continue
            self._callers = {}
            self._rules[rule.start] = rule
            for state in rule.states:
                self._rule[state.id] = rule.rule
                self._reads.pop(state.id, None)
                self._calls.pop(state.id, None)
                if state.accepting:
                    self._accepting.add(state.id)
            for edge in rule.edges:
                if edge.kind == "call" and edge.rule is not None:
                    self._calls.setdefault(edge.source, []).append((edge.rule, edge.target))
                elif edge.ranges:
                    reads = self._reads.setdefault(edge.source, [])
                    reads += [(first, last, edge.target) for first, last in edge.ranges]

    def go(self, text: bytes, column: Callable[[int], Column]) -> Travelled:
        """Stand at the end of `text`, of which `column` gives that after so many bytes; those known are not asked."""
        # A column is kept where all bytes before it are the same.
        same = min(len(self._text), len(text))
        if self._text[:same] != text[:same]:
            same = next(at for at, (old, new) in enumerate(zip(self._text, text, strict=False)) if old != new)
        kept = min(len(self._columns), same + 1)
        if kept < len(self._columns):
            self._back_to(kept)
        for position in range(len(self._columns), len(text) + 1):
            self._take(text, position, column(position))
        self._text = text
        return Travelled(frozenset(self._states), frozenset(self._pairs), self._waiting())

    def _back_to(self, kept: int) -> None:
        for states, pairs in self._news[kept:]:
            self._states.subtract(states)
            self._pairs.subtract(pairs)
        self._states, self._pairs = +self._states, +self._pairs
        del self._columns[kept:], self._news[kept:]
        self._callers = {position: found for position, found in self._callers.items() if position < kept}

    def _take(self, text: bytes, position: int, column: Column) -> None:
        here = frozenset(column)
        pairs: set[Pair] = set()
        if position:
            byte = text[position - 1]
            for source, origin in self._columns[position - 1]:
                for first, last, target in self._reads.get(source, ()):
                    if first <= byte <= last and (target, origin) in here:
                        pairs.add((source, target))
        self._columns.append(here)
        ended = {(self._rule[state], origin) for state, origin in here if state in self._accepting}
        for rule, began in ended:
            if began < position:
                for source, origin, target in self._callers_of(rule, began):
                    if (target, origin) in here:
                        pairs.add((source, target))
        states = {state for pair in pairs for state in pair}
        self._news.append((list(states), list(pairs)))
        self._states.update(states)
        self._pairs.update(pairs)

    def _callers_of(self, rule: str, began: int) -> Iterable[tuple[int, int, int]]:
        """The calls of `rule` at position `began`: source, its origin, target.

        Sorted by what they call once for each column, as a column of thousands of items may be asked for each rule.
        """
        if began not in self._callers:
            found: dict[str, list[tuple[int, int, int]]] = {}
            for source, origin in self._columns[began]:
                for called, target in self._calls.get(source, ()):
                    found.setdefault(called, []).append((source, origin, target))
            self._callers[began] = found
        return self._callers[began].get(rule, ())

    def _waiting(self) -> tuple[Pair, ...]:
        last = len(self._columns) - 1
        if last < 0:
            return ()
        found: dict[Pair, int] = {}
        seen: set[tuple[str, int]] = set()
        todo = [(state, origin) for state, origin in self._columns[last] if origin < last]
        while todo:
            state, began = todo.pop()
            rule = self._rule.get(state, "")
            if (rule, began) in seen:
                continue
            seen.add((rule, began))
            for source, origin, target in self._callers_of(rule, began):
                found.setdefault((source, target), began)
                todo.append((source, origin))
        return tuple(sorted(found, key=lambda pair: (found[pair], pair)))
