"""The likeliest prefixes first: sums over all texts, with what is certain wherever the walk is stopped.

A text is found in each of its tokenisations, and they are added up.  What has not been looked at is known as well: its
probability is in the heap, so that what was found is a lower bound and what was found with the heap an upper one.
The tokens behind a prefix come from the heap one by one in the order of their probability, some hundred at a time, so
that free text, where half the vocabulary may follow, takes no room.
Read on: `language.py` (what may follow a prefix), `probabilities.py` and `methods.py` (who walks).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, Self

import numpy as np

from workbench.conditioning.drawing import FloatArray, IntArray
from workbench.conditioning.tree import OutOfForwardsError, Prefix, PrefixTree

AT_ONCE: Final = 32  # prefixes that are read in one pass: more of them may be others than the likeliest
SLICE: Final = 512  # tokens behind a prefix that are in memory


ENOUGH = 1e-9
"""A probability is known where its bounds are closer than this share of it: floating point says no more."""


class Probability(float):
    """A probability as a number: what is certain, so its lower bound.  `upper`: what it is at most; `exact`: whether
    that is the same."""

    upper: float

    def __new__(cls, lower: float, upper: float) -> Self:
        found = super().__new__(cls, lower)
        found.upper = max(lower, upper)
        return found

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.upper

    @property
    def lower(self) -> float:
        return float(self)

    @property
    def exact(self) -> bool:
        return self.upper - float(self) <= ENOUGH * float(self)

    def __repr__(self) -> str:
        return f"{float(self):.6g}" if self.exact else f"{float(self):.6g} to {self.upper:.6g}"


class Following(NamedTuple):
    """What may follow a prefix: texts that are found here, each with the end that finds it (a prefix, or None where no
    single one does) and its log probability, and tokens behind which the walk goes on, with theirs given the prefix."""

    found: Sequence[tuple[bytes, Prefix | None, float]]
    ids: IntArray
    log_probs: FloatArray


class Texts(Protocol):
    """Texts to sum over, on a tree of prefixes."""

    tree: PrefixTree

    def following(self, prefix: Prefix) -> Following:
        """What may follow a prefix that was read."""

    def step(self, prefix: Prefix, token: int) -> Prefix | None:
        """The prefix behind `token`, None if nothing follows."""

    def prepare(self, prefixes: Sequence[Prefix]) -> None:
        """These are asked about next."""


@dataclass
class _Open:
    """What was not looked at behind a prefix: `ids` from `place` on, the likeliest first, and those behind them.

    left: of each of `ids`, the probability (given the prefix) of itself and of all that come after it.  skipped: how
    many likelier ones came before `ids`.
    """

    prefix: Prefix
    ids: IntArray
    log_probs: FloatArray
    left: FloatArray
    skipped: int
    more: bool
    place: int = 0

    @property
    def mass(self) -> float:
        """Probability of all that is left here, given the prompt."""
        return float(np.exp(self.prefix.log_prob) * self.left[self.place])

    @property
    def key(self) -> float:
        """The smaller, the likelier the prefix that comes next."""
        return -(self.prefix.log_prob + float(self.log_probs[self.place]))


class Walk:
    """A walk over `texts`.  found: by text, the sum of the probabilities of its tokenisations; ends: these.

    Whatever stops `run`, the sums and bounds hold.
    """

    def __init__(self, texts: Texts) -> None:
        self.found: dict[bytes, float] = {}
        self.ends: dict[bytes, list[Prefix]] = {}
        self._texts = texts
        self._heap: list[tuple[float, int, _Open]] = []
        self._count = itertools.count()
        self._unread: list[Prefix] = [texts.tree.root]

    @property
    def lower(self) -> float:
        """Probability of all texts found."""
        return sum(self.found.values())

    @property
    def open(self) -> float:
        """Probability of all that was not looked at."""
        return sum(map(self._mass, self._unread)) + sum(one.mass for _, _, one in self._heap)

    def bounds(self, text: bytes | None = None) -> Probability:
        """The probability of a text, or of all of them."""
        if text is None:
            return Probability(self.lower, min(1.0, self.lower + self.open))
        lower, tree = self.found.get(text, 0.0), self._texts.tree
        vocabulary = tree.model.tokenizer.info.decoded_vocab
        upper = lower + sum(self._mass(prefix) for prefix in self._unread if text.startswith(tree.text(prefix)))
        for _, _, one in self._heap:
            before = tree.text(one.prefix)
            if text.startswith(before):
                behind = text[len(before) :]
                agree = [_agree(behind, vocabulary[token]) for token in one.ids[one.place :].tolist()]
                mass = float(np.exp(one.log_probs[one.place :])[agree].sum()) + one.left[-1]
                upper += float(np.exp(one.prefix.log_prob)) * mass
        return Probability(lower, min(1.0, upper))

    def run(self, tolerance: float) -> None:
        """Look at everything, or until what is open is at most `tolerance` of what was found.

        Raises `OutOfForwardsError` where the tree may read no more.
        """
        tree = self._texts.tree
        while self._unread or self._heap:
            while self._heap and len(self._unread) < AT_ONCE:
                self._take_next()
            left = tree.max_forwards - tree.forwards
            if left < len(self._unread):
                self._look(self._unread[:left])
                raise OutOfForwardsError
            self._look(list(self._unread))
            if self.found and self.open <= tolerance * self.lower:
                return

    # What is in hand is counted twice rather than not at all, so the bounds hold wherever an interruption comes.

    def _take_next(self) -> None:
        """The likeliest prefix that was not looked at is to be read, if there is one."""
        one = self._heap[0][2]
        child = self._texts.step(one.prefix, int(one.ids[one.place]))
        if child is not None:
            self._unread.append(child)
        one.place += 1
        if one.place < len(one.ids):
            heapq.heapreplace(self._heap, (one.key, next(self._count), one))
            return
        if one.more:
            following = self._texts.following(one.prefix)
            self._push(one.prefix, following.ids, following.log_probs, one.skipped + len(one.ids))
        self._heap = [entry for entry in self._heap if entry[2] is not one]
        heapq.heapify(self._heap)

    def _look(self, prefixes: Sequence[Prefix]) -> None:
        """Read prefixes, and count what is found behind them."""
        if not prefixes:
            return
        self._texts.tree.read(prefixes)
        self._texts.prepare(prefixes)
        for prefix in prefixes:
            following = self._texts.following(prefix)
            self._push(prefix, following.ids, following.log_probs, 0)
            for text, end, log_prob in following.found:
                self.found[text] = self.found.get(text, 0.0) + float(np.exp(log_prob))
                if end is not None:
                    self.ends.setdefault(text, []).append(end)
            self._unread.remove(prefix)

    def _push(self, prefix: Prefix, ids: IntArray, log_probs: FloatArray, skipped: int) -> None:
        """Put a slice of the tokens behind a prefix into the heap, the likeliest that were not there yet."""
        order = np.argsort(-log_probs, kind="stable")[skipped:]
        here, after = order[:SLICE], order[SLICE:]
        if len(here):
            behind = float(np.exp(log_probs[after]).sum())
            left = np.append(np.cumsum(np.exp(log_probs[here])[::-1])[::-1] + behind, behind)
            one = _Open(prefix, ids[here], log_probs[here], left, skipped, len(after) > 0)
            heapq.heappush(self._heap, (one.key, next(self._count), one))

    @staticmethod
    def _mass(prefix: Prefix) -> float:
        return float(np.exp(prefix.log_prob))

    def __iter__(self) -> Iterator[tuple[bytes, float]]:
        """Texts found, the likeliest first."""
        return iter(sorted(self.found.items(), key=lambda item: (-item[1], item[0])))


def _agree(text: bytes, token: bytes) -> bool:
    """Whether one begins with the other."""
    return text.startswith(token) or token.startswith(text)
