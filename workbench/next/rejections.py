"""Where every token dies: the whole vocabulary led through the parser at once, one depth of the trie after the other.

Parser states are interned, so thousands of tokens meet in few states; a level of the trie is one look-up in a table of
transitions, and only transitions not met before are asked of the parser.  What survives is the mask, found without the
engine's masks: tests compare the two.

Read on: `workbench/next/next_tokens.py` (which groups the refused tokens for a person).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from kernels_core import GrammarMatcher
from kernels_core.errors import BudgetExceededError
from workbench.next.probes import state_key
from workbench.session.matching import possible_bytes
from workbench.tokenizers.lexicon import Lexicon, runs_of

SECONDS: Final = 0.5
MAX_STATES: Final = 20_000
_DEAD: Final = -1
_UNKNOWN: Final = -2


@dataclass(frozen=True)
class Refusal:
    """Tokens that die at one parser state: `read` was taken, then one of the bytes `fatal` came.

    `possible` are the bytes that could have come there, `count` the number of tokens, `places` runs of them in the
    sorted vocabulary; `rules` are the names of the rules that were waiting for a byte.
    """

    read: bytes
    fatal: bytes
    possible: bytes
    count: int
    rules: tuple[str, ...]
    places: tuple[tuple[int, int], ...]


class Rejections:
    """The fate of every token of a lexicon at one place.

    `depth[k]`: at which byte (1 = the first) the token at place k of the sorted vocabulary dies, 0 where it does not;
    `state[k]` and `byte[k]`: the parser state it dies at, a number that means nothing elsewhere, and the fatal byte.
    Where time or states ran out, `unsettled` tokens have no fate (their `state` is -1).
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        count = len(lexicon.tokens)
        self.depth = np.zeros(count, dtype=np.uint16)
        self.byte = np.zeros(count, dtype=np.uint8)
        self.state = np.full(count, -1, dtype=np.int32)
        self.unsettled = 0
        self.possible: list[bytes] = []
        self.matchers: list[GrammarMatcher] = []

    @property
    def refused(self) -> int:
        """How many tokens die."""
        return int((self.depth > 0).sum())

    def refusals(self, rules: Callable[[GrammarMatcher], tuple[str, ...]], most: int = 200) -> list[Refusal]:
        """The refused tokens, by the state at which they die; many first, at most `most` groups.

        States that wait for the same bytes in the same rules are one: what was read shows the shortest way there.
        """
        dead = np.flatnonzero(self.depth)
        if not dead.size:
            return []
        order = dead[np.argsort(self.state[dead], kind="stable")]
        states, starts = np.unique(self.state[order], return_index=True)
        kinds: dict[tuple[bytes, tuple[str, ...]], list[npt.NDArray[np.int64]]] = {}
        chosen = zip(states.tolist(), np.split(order, starts[1:]), strict=True)
        for state, places in sorted(chosen, key=lambda pair: -len(pair[1]))[: 4 * most]:
            key = (self.possible[state], rules(self.matchers[state]))
            kinds.setdefault(key, []).append(places)
        found = [self._refusal(possible, names, groups) for (possible, names), groups in kinds.items()]
        return sorted(found, key=lambda refusal: (-refusal.count, refusal.read))[:most]

    def _refusal(self, possible: bytes, rules: tuple[str, ...], groups: list[npt.NDArray[np.int64]]) -> Refusal:
        places = np.sort(np.concatenate(groups))
        shortest = np.flatnonzero(self.depth[places] == self.depth[places].min())
        example = places[shortest[len(shortest) // 2]]  # the one in the middle is one of the many
        read = self.lexicon.tokens[example][: int(self.depth[example]) - 1]
        fatal = bytes(np.unique(self.byte[places]).tolist())
        return Refusal(read, fatal, possible, len(places), rules, tuple(runs_of(places)))


def rejections(
    matcher: GrammarMatcher, lexicon: Lexicon, *, seconds: float = SECONDS, states: int = MAX_STATES
) -> Rejections:
    """Lead all tokens of `lexicon` through a fork of `matcher`; it must not be the engine's own (it makes states).

    `seconds` (of this thread's work) and `states` bound it; what is then not known is counted in `unsettled`.
    """
    _ = lexicon.levels  # made once for a vocabulary: not of this walk's time
    return _Walk(matcher.fork(), lexicon, time.thread_time() + seconds, states).run()


class _Walk:
    """One walk: a table of transitions that fills as it is used."""

    def __init__(self, matcher: GrammarMatcher, lexicon: Lexicon, deadline: float, most: int) -> None:
        self.found = Rejections(lexicon)
        self.deadline = deadline
        self.most = most
        self.numbers: dict[tuple[int, int], int] = {}
        self.table = np.full((64, 256), _UNKNOWN, dtype=np.int32)
        self._state(matcher)

    def run(self) -> Rejections:
        found = self.found
        state = np.zeros(1, dtype=np.int32)
        for depth, level in enumerate(found.lexicon.levels, 1):
            above = state[level.parent]
            at = np.flatnonzero(above >= 0)
            if not at.size:
                break
            above, byte = above[at], level.byte[at]
            target = self.table[above, byte]
            new = target == _UNKNOWN
            settled = self._settle(np.unique(above[new].astype(np.int64) * 256 + byte[new]))
            target = self.table[above, byte]
            if not settled:  # tokens that go on from here have no fate
                left = np.zeros(len(found.lexicon.tokens), dtype=np.bool_)
                open_ends = at[target != _DEAD]
                _fill(left, level.first[open_ends], level.last[open_ends], True)
                found.unsettled = int(left.sum())
                target = np.where(target == _DEAD, _DEAD, _UNKNOWN)
            dead = target == _DEAD
            first, last = level.first[at[dead]], level.last[at[dead]]
            _fill(found.depth, first, last, depth)
            _fill(found.byte, first, last, byte[dead])
            _fill(found.state, first, last, above[dead])
            state = np.full(len(level.byte), -1, dtype=np.int32)
            state[at] = target
        return found

    def _settle(self, wanted: npt.NDArray[np.int64]) -> bool:
        """Ask the parser for transitions not met before; False when the budget is gone."""
        for key in wanted.tolist():
            number, byte = divmod(key, 256)
            if time.thread_time() > self.deadline or len(self.found.matchers) >= self.most:
                return False
            after = self.found.matchers[number].fork()
            try:
                taken = after.accept_string(bytes((byte,)))
            except BudgetExceededError:
                return False
            target = self._state(after) if taken else _DEAD  # may make the table grow
            self.table[number, byte] = target
        return True

    def _state(self, matcher: GrammarMatcher) -> int:
        """The walk's own number of a parser state."""
        number = self.numbers.setdefault(state_key(matcher), len(self.found.matchers))
        if number == len(self.found.matchers):
            possible = possible_bytes(matcher)
            self.found.matchers.append(matcher)
            self.found.possible.append(possible)
            if number == len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, _UNKNOWN)])
            row = np.full(256, _DEAD, dtype=np.int32)
            row[list(possible)] = _UNKNOWN
            self.table[number] = row
        return number


def _fill(
    array: npt.NDArray[np.generic], first: npt.NDArray[np.int32], last: npt.NDArray[np.int32], value: npt.ArrayLike
) -> None:
    """`array[first[i]:last[i]] = value[i]` for all i; the ranges are ascending and disjoint."""
    lengths = last - first
    starts = np.cumsum(lengths) - lengths
    places = np.repeat(first - starts, lengths) + np.arange(int(lengths.sum()))
    array[places] = np.repeat(value, lengths) if np.ndim(value) else value
