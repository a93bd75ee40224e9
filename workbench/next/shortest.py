"""The fewest bytes after which a text may end, read off the automata of the grammar as it was written.

Of every automaton state it is known how many bytes the rest of its rule needs at least (a fixpoint over the byte edges
and the calls; Knuth 1977), and of every rule that is open who called it (the chart's graph-structured stack).  The
least sum over both is the shortest end; nothing is tried.  Where lengths are counted beside the automaton the sum may
be too small: the parser reads the end before it is told, and if it refuses, ends are tried one by one.

Read on: `kernels_core/inspect/forest.py` (the chart), `workbench/next/why.py` (who asks).
"""

from __future__ import annotations

import heapq
import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from kernels_core import GrammarMatcher
from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.forest import Forest, written
from kernels_core.inspect.stacks import reading
from kernels_core.locks import new_lock
from workbench.next.places import live_bytes, state_key

if TYPE_CHECKING:
    from kernels_core import CompiledGrammar
    from kernels_core.inspect.classic import ChartItem

__all__ = ["Lengths", "calculated_end", "searched_end", "shortest_end"]

LONGEST: Final = 4_000
"""Bytes of an end; a longer one is of no use to a person."""
SECONDS: Final = 0.1
"""Of trying."""
_NEVER: Final = 1 << 40


def shortest_end(
    matcher: GrammarMatcher, *, seconds: float = SECONDS, compiled: CompiledGrammar | None = None
) -> bytes | None:
    """The fewest bytes after which the text of `matcher` may end.

    None where that is more than 4,000 bytes, where it takes a token that has no text, and where the automata do not say
    it (see above, or they are too large) and none was found by trying for so many `seconds`.  `compiled`: the same
    grammar, compiled by somebody who asks for its chart anyway.
    """
    if matcher.is_terminated():
        return None
    found = calculated_end(matcher, compiled=compiled)
    return searched_end(matcher, seconds=seconds) if found is None else found


def calculated_end(matcher: GrammarMatcher, *, compiled: CompiledGrammar | None = None) -> bytes | None:
    """The shortest end as the automata give it; None where they do not."""
    if matcher.is_completed():
        return b""
    try:
        forest = written(matcher.compiled if compiled is None else compiled)
        with forest.lock:
            forest.seek(matcher.steps())
            found = _Ending(forest, _lengths(forest)).text()
    except BudgetExceededError:
        return None
    if found is None:
        return None
    after = matcher.fork()
    return found if after.accept_string(found) and after.is_completed() else None


def searched_end(matcher: GrammarMatcher, *, seconds: float = SECONDS) -> bytes | None:
    """The shortest end, breadth first; None where `seconds` were over first, or there is no such way."""
    deadline = time.perf_counter() + seconds
    seen = {state_key(matcher)}
    queue: deque[tuple[bytes, GrammarMatcher]] = deque([(b"", matcher.fork())])
    try:
        while queue:
            path, at = queue.popleft()
            if at.is_completed():
                return path
            if len(path) >= LONGEST:
                return None
            for value in sorted(live_bytes(at), key=readable):
                if time.perf_counter() > deadline:
                    return None
                after = at.fork()
                after.accept_string(bytes((value,)))
                key = state_key(after)
                if key not in seen:
                    seen.add(key)
                    queue.append((path + bytes((value,)), after))
    except BudgetExceededError:
        return None
    return None


class Lengths:
    """How many bytes the rest of its rule takes at least, by automaton state (`rest`), and how many a rule (`rule`).

    `way[state]`: what to read first on the shortest way: (byte, -1, target), or (-1, rule, target) for a call.
    """

    def __init__(self, forest: Forest) -> None:
        table = forest.table
        count = len(table.rule_of)
        self.rest = [_NEVER] * count
        self.rule = [_NEVER] * len(table.start)
        self.way: list[tuple[int, int, int] | None] = [None] * count
        readers: dict[int, list[tuple[int, int]]] = defaultdict(list)  # target -> (state, byte)
        callers: dict[int, list[tuple[int, int]]] = defaultdict(list)  # target -> (state, rule)
        called: dict[int, list[tuple[int, int]]] = defaultdict(list)  # rule -> (state, target)
        for state in range(count):
            best: dict[int, int] = {}
            for low, high, target in table.byte_edges[state]:
                byte = min(range(low, high + 1), key=readable)
                if target not in best or readable(byte) < readable(best[target]):
                    best[target] = byte
            for target, byte in best.items():
                readers[target].append((state, byte))
            for rule, target in table.call_edges[state]:
                callers[target].append((state, rule))
                called[rule].append((state, target))
        queue = [(0, readable(0), state) for state in range(count) if table.accepting[state]]
        for _, _, state in queue:
            self.rest[state] = 0
        settled: set[int] = set()
        while queue:
            length, _, state = heapq.heappop(queue)
            if state in settled or length > self.rest[state]:
                continue
            settled.add(state)
            found = [(length + 1, (byte, -1, state), before) for before, byte in readers[state]]
            found += [
                (length + self.rule[rule], (-1, rule, state), before)
                for before, rule in callers[state]
                if self.rule[rule] < _NEVER
            ]
            rule = table.rule_of[state]
            if rule >= 0 and table.start[rule] == state and self.rule[rule] == _NEVER:
                bounds = table.repeat[rule]
                self.rule[rule] = length * max(1, bounds[0] if bounds else 1)
                found += [
                    (self.rule[rule] + self.rest[target], (-1, rule, target), before)
                    for before, target in called[rule]
                    if self.rest[target] < _NEVER
                ]
            for total, way, before in found:
                better = total < self.rest[before]
                if better or (total == self.rest[before] and before not in settled and self._nicer(way, before)):
                    self.rest[before], self.way[before] = total, way
                    heapq.heappush(queue, (total, readable(max(0, way[0])), before))

    def _nicer(self, way: tuple[int, int, int], state: int) -> bool:
        known = self.way[state]
        return known is not None and min(way[0], known[0]) >= 0 and readable(way[0]) < readable(known[0])


class _Ending:
    """The shortest end of one text."""

    def __init__(self, forest: Forest, lengths: Lengths) -> None:
        self.forest, self.lengths = forest, lengths
        # By open rule: the bytes behind its end, by which item behind its call, and the rule of that item.
        self._after: dict[tuple[int, int], tuple[int, ChartItem | None, tuple[int, int] | None]] = {}

    def text(self) -> bytes | None:
        """The bytes; None where there is no way of at most `LONGEST`."""
        tips = reading(self.forest)
        self._settle({self._node(item) for item in tips})
        best: tuple[int, ChartItem, tuple[int, int]] | None = None
        for item in tips:
            node = self._node(item)
            total = self._finish(item) + self._after[node][0]
            if best is None or total < best[0]:
                best = total, item, node
        if best is None or best[0] > LONGEST:
            return None
        _, item, node = best
        found = bytearray(self._written(item))
        while True:
            _, caller, above = self._after[node]
            if caller is None or above is None:
                return bytes(found)
            found += self._written(caller)
            node = above

    def _node(self, item: ChartItem) -> tuple[int, int]:
        return self.forest.table.rule_of[item.state], item.origin

    def _finish(self, item: ChartItem) -> int:
        """How many bytes the rule of `item` takes at least from there on."""
        rest = self.lengths.rest[item.state]
        return rest + self._iterations(item) * self.lengths.rest[self.forest.table.start[self._node(item)[0]]]

    def _iterations(self, item: ChartItem) -> int:
        """Iterations of a counted rule that must follow the one that is being read."""
        bounds = self.forest.table.repeat[self._node(item)[0]]
        return 0 if bounds is None else max(0, bounds[0] - item.counter - 1)

    def _settle(self, wanted: set[tuple[int, int]]) -> None:
        """Find what follows the ends of these rules at least, and of all around them: Dijkstra from the root down."""
        below: dict[tuple[int, int], list[tuple[int, ChartItem, tuple[int, int]]]] = defaultdict(list)
        seen, waiting, tops = set(wanted), list(wanted), []
        while waiting:
            node = waiting.pop()
            if node == (0, 0):
                tops.append(node)
            for _, after in self.forest.callers(*node):
                above = self._node(after)
                below[above].append((self._finish(after), after, node))
                if above not in seen:
                    seen.add(above)
                    waiting.append(above)
        queue: list[tuple[int, int, tuple[int, int]]] = []
        for node in seen:
            self._after[node] = _NEVER, None, None
        for number, node in enumerate(tops):
            self._after[node] = 0, None, None
            heapq.heappush(queue, (0, number, node))
        number = len(tops)
        while queue:
            total, _, node = heapq.heappop(queue)
            if total > self._after[node][0]:
                continue
            for more, after, under in below[node]:
                if total + more < self._after[under][0]:
                    self._after[under] = total + more, after, node
                    heapq.heappush(queue, (total + more, number, under))
                    number += 1

    def _written(self, item: ChartItem) -> bytes:
        """The shortest text from `item` to the end of its rule."""
        start = self.forest.table.start[self._node(item)[0]]
        return self._from(item.state) + self._iterations(item) * self._from(start)

    def _from(self, state: int) -> bytes:
        table, found = self.forest.table, bytearray()
        waiting = [state]
        while waiting and len(found) <= LONGEST:
            state = waiting.pop()
            way = self.lengths.way[state]
            if self.lengths.rest[state] == 0 or way is None:
                continue
            byte, rule, target = way
            waiting.append(target)
            if rule < 0:
                found.append(byte)
            else:
                bounds = table.repeat[rule]
                waiting += [table.start[rule]] * max(1, bounds[0] if bounds else 1)
        return bytes(found)


_LENGTHS: WeakKeyDictionary[Forest, Lengths] = WeakKeyDictionary()
_LOCK = new_lock()


def _lengths(forest: Forest) -> Lengths:
    with _LOCK:
        found = _LENGTHS.get(forest)
        if found is None:
            found = _LENGTHS[forest] = Lengths(forest)
        return found


def readable(value: int) -> tuple[int, int]:
    """Orders bytes that do equally well: signs and blanks that are printable first, then letters, then all others."""
    character = chr(value)
    if character.isascii() and character.isalnum():
        return (1, value)
    return (0 if 0x20 < value < 0x7F else 2, value)
