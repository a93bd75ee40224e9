"""Byte edges read as characters: which states of a rule are inside a code point, and which code points they spell.

A state is *inner* if it can only stand within the bytes of one UTF-8 character.  Inner states disappear, and what they
spell becomes a set of code points on one edge.  Where bytes do not spell UTF-8 (free text is any bytes), they stay
bytes.  Exact: what the result spells in UTF-8 is what the bytes spelt.

Read on: `visualizers/fold.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from kernels_core.inspect.snapshots import RuleAutomaton

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Inclusive ranges, ascending and apart."""

NOT_MADE: Final = -1  # stands for the state after a character whose last bytes are not made yet
# Lead bytes, and how many bytes follow.
_LEADS: Final = ((0xC2, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xF4, 3))
_SIZES: Final = {1: (0x80, 0x7FF), 2: (0x800, 0xFFFF), 3: (0x10000, 0x10FFFF)}
_OFFSET: Final = {1: 0xC0, 2: 0xE0, 3: 0xF0}
# After these leads not every continuation byte makes a character.
_SECOND: Final = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}


@dataclass(frozen=True, slots=True)
class Spelt:
    """Edges by (source, target): code points in `chars`, other bytes in `raw`; `inner` states are gone.

    `within[source, target]` are the inner states on the way of that edge.  `begun[source]` are characters whose
    first bytes lead on from `source` while the rest is not made yet, with the inner states met on the way.
    """

    chars: dict[tuple[int, int], Ranges]
    raw: dict[tuple[int, int], Ranges]
    inner: frozenset[int]
    within: dict[tuple[int, int], frozenset[int]]
    begun: dict[int, tuple[Ranges, frozenset[int]]]


def merged(ranges: Iterable[tuple[int, int]], *, points: bool = False) -> Ranges:
    """Ranges in order, neighbours joined; with `points` also across the surrogates, which are no characters."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if out and (first <= out[-1][1] + 1 or (points and out[-1][1] == 0xD7FF and first == 0xE000)):
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return tuple(out)


def characters(rule: RuleAutomaton) -> Spelt:
    """Read a rule's byte edges as UTF-8 where they are UTF-8."""
    out: dict[int, list[tuple[int, int, int]]] = {state.id: [] for state in rule.states}
    entered = {rule.start}
    blunt = {state.id for state in rule.states if state.accepting}
    for edge in rule.edges:
        if edge.kind == "bytes" and edge.ranges:
            out[edge.source] += [(first, last, edge.target) for first, last in edge.ranges]
        else:
            entered.add(edge.target)
            blunt.add(edge.source)
    open_ = {state.id for state in rule.states if not state.made}
    depth = _inner(out, entered, blunt, open_)
    speller = _Speller(out, depth)
    chars: dict[tuple[int, int], list[tuple[int, int]]] = {}
    raw: dict[tuple[int, int], list[tuple[int, int]]] = {}
    within: dict[tuple[int, int], set[int]] = {}
    begun: dict[int, list[tuple[int, int]]] = {}
    begun_in: dict[int, set[int]] = {}
    for state, edges in out.items():
        if state in depth:
            continue
        for first, last, target in edges:
            if target in depth:
                for end, points, through in speller.after_lead(first, last, target):
                    if end == NOT_MADE:
                        begun.setdefault(state, []).extend(_possible(points, depth[target]))
                        begun_in.setdefault(state, set()).update(through)
                        continue
                    chars.setdefault((state, end), []).extend(points)
                    within.setdefault((state, end), set()).update(through)
                continue
            if first < 0x80:
                chars.setdefault((state, target), []).append((first, min(last, 0x7F)))
            if last >= 0x80:
                raw.setdefault((state, target), []).append((max(first, 0x80), last))
    for ends in raw.keys() & chars.keys() - within.keys():
        raw[ends] += chars.pop(ends)  # one class of bytes, as in free text
    return Spelt(
        {ends: merged(points, points=True) for ends, points in chars.items()},
        {ends: merged(ranges) for ends, ranges in raw.items()},
        frozenset(depth),
        {ends: frozenset(states) for ends, states in within.items()},
        {state: (merged(points, points=True), frozenset(begun_in[state])) for state, points in begun.items()},
    )


def _possible(points: Iterable[tuple[int, int]], depth: int) -> Iterable[tuple[int, int]]:
    """What of `points` is written in `depth` bytes after the first, and is a character."""
    low, high = _SIZES[depth]
    for first, last in points:
        for a, b in ((low, 0xD7FF), (0xE000, high)):
            if max(a, first) <= min(b, last, high):
                yield max(a, first), min(b, last, high)


def _inner(
    out: dict[int, list[tuple[int, int, int]]], entered: set[int], blunt: set[int], unmade: set[int]
) -> dict[int, int]:
    """The inner states, each with the number of bytes that its character still lacks."""
    depths: dict[int, set[int]] = {state: set() for state in out}
    todo = [(state, 0) for state in entered]
    while todo:
        state, depth = todo.pop()
        if depth in depths[state]:
            continue
        depths[state].add(depth)
        for first, last, target in out[state]:
            if depth:
                todo.append((target, depth - 1))
                continue
            leads = [follow for low, high, follow in _LEADS if first <= high and last >= low]
            todo += [(target, follow) for follow in leads]
            if first < 0xC2 or last > 0xF4:
                todo.append((target, 0))
    inner = {
        state: next(iter(found))
        for state, found in depths.items()
        if len(found) == 1
        and found != {0}
        and state not in blunt
        and state not in entered
        and (out[state] or state in unmade)
        and all(first >= 0x80 and last <= 0xBF for first, last, _ in out[state])
    }
    entering: dict[int, list[tuple[int, int, int]]] = {state: [] for state in out}
    for state, edges in out.items():
        for first, last, target in edges:
            entering[target].append((first, last, state))

    def fits(state: int, depth: int) -> bool:
        """Whether a state is met only at its depth, and only on the way from one lead byte to one end."""
        for first, last, source in entering[state]:
            if source in inner:
                if inner[source] != depth + 1:
                    return False
                continue
            if not any(low <= first and last <= high and follow == depth for low, high, follow in _LEADS):
                return False
            for lead, (low, high) in _SECOND.items():
                if first <= lead <= last and any(b < low or e > high for b, e, _ in out[state]):
                    return False
        return all((target in inner) == (depth > 1) for _, _, target in out[state])

    while wrong := [state for state, depth in inner.items() if not fits(state, depth)]:
        for state in wrong:
            del inner[state]
    return inner


class _Speller:
    """What inner states spell, by the state after the character: values, and the inner states on the way."""

    def __init__(self, out: dict[int, list[tuple[int, int, int]]], depth: dict[int, int]) -> None:
        self._out = out
        self._depth = depth
        self._spelt: dict[int, dict[int, tuple[Ranges, set[int]]]] = {}

    def spelt(self, state: int) -> dict[int, tuple[Ranges, set[int]]]:
        """The values of the bytes that are still lacking, six bits each; this state is on the way."""
        if not self._out[state]:
            return {NOT_MADE: (((0, 64 ** self._depth[state] - 1),), {state})}
        if state not in self._spelt:
            weight = 64 ** (self._depth[state] - 1)
            found: dict[int, tuple[list[tuple[int, int]], set[int]]] = {}
            for first, last, target in self._out[state]:
                low, high = (first - 0x80) * weight, (last - 0x80) * weight
                after = self.spelt(target) if weight > 1 else {target: (((0, 0),), set())}
                for end, (values, inner) in after.items():
                    ranges, through = found.setdefault(end, ([], {state}))
                    ranges.extend(_repeated(low, high, weight, values))
                    through |= inner
            self._spelt[state] = {end: (merged(ranges), through) for end, (ranges, through) in found.items()}
        return self._spelt[state]

    def after_lead(self, first: int, last: int, state: int) -> Iterator[tuple[int, list[tuple[int, int]], set[int]]]:
        """The state after each character that a lead byte of `first` to `last` begins, the code points, and the inner
        states on the way."""
        depth = self._depth[state]
        weight = 64**depth
        low, high = (first - _OFFSET[depth]) * weight, (last - _OFFSET[depth]) * weight
        for end, (values, inner) in self.spelt(state).items():
            yield end, list(_repeated(low, high, weight, values)), inner


def _repeated(low: int, high: int, weight: int, values: Ranges) -> Iterable[tuple[int, int]]:
    """`values` at every multiple of `weight` from `low` to `high`."""
    if values == ((0, weight - 1),):
        return ((low, high + weight - 1),)
    return [(base + a, base + b) for base in range(low, high + 1, weight) for a, b in values]
