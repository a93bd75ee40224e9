"""A vocabulary sorted by its bytes, and its trie as arrays by depth: made once, asked at every place.

Sorted, the tokens that begin with a text are one run, so that counting the allowed ones among them is a subtraction of
two running sums.  The trie's nodes of one depth are arrays, so that a parser can be led through all tokens at once
(`workbench/next/rejections.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from kernels_core import TokenizerInfo
from kernels_core.compiled import trie_of
from kernels_core.grammar.charset import normalise
from workbench.json_values import BLANK_BYTES

Ids = npt.NDArray[np.int64]
Run = tuple[int, int]
"""A half-open range of places in the sorted vocabulary."""


@dataclass(frozen=True)
class Level:
    """The trie's nodes of one depth, in order: arrays of one length, one entry a node.

    `byte` leads to the node, `parent` is its parent's index in the level above; the tokens below it (and at it) are the
    places `first` to `last` (exclusive) of the sorted vocabulary.
    """

    byte: npt.NDArray[np.uint8]
    parent: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]


class Lexicon:
    """The tokens that spell text, sorted.  `ids[k]` is the id of the token at place k, `tokens[k]` its bytes;
    `blank[k]`: they are white space alone.

    Control tokens, stop tokens and ids without bytes are left out: they spell nothing.
    """

    def __init__(self, info: TokenizerInfo) -> None:
        vocab = info.decoded_vocab
        chosen = np.frombuffer(trie_of(info).order(), dtype=np.int32)  # the engine has sorted them already
        self.size = info.vocab_size
        self.ids: Ids = chosen.astype(np.int64)
        self.tokens: list[bytes] = list(map(vocab.__getitem__, chosen.tolist()))
        self.lengths = np.fromiter(map(len, self.tokens), dtype=np.int32, count=len(self.tokens))
        self.longest = int(self.lengths.max(initial=0))
        self._offsets = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])
        self._bytes = np.frombuffer(b"".join(self.tokens), dtype=np.uint8)
        blanks = self._leading()
        self.blank: npt.NDArray[np.bool_] = blanks == self.lengths
        self._indented = self._find_indented(blanks)

    def beginning(self, prefix: bytes) -> Run:
        """The tokens that begin with `prefix`."""
        first = bisect_left(self.tokens, prefix)
        after = _after(prefix)
        return first, len(self.tokens) if after is None else bisect_left(self.tokens, after, first)

    def between(self, stem: bytes, low: int, high: int) -> Run:
        """The tokens that begin with `stem` and go on with a byte of `low` to `high`."""
        first, after = bisect_left(self.tokens, stem + bytes((low,))), _after(stem + bytes((high,)))
        return first, len(self.tokens) if after is None else bisect_left(self.tokens, after, first)

    def spelling(self, token: bytes) -> Run:
        """The tokens that spell exactly `token`; a vocabulary may have several."""
        first = last = bisect_left(self.tokens, token)
        while last < len(self.tokens) and self.tokens[last] == token:
            last += 1
        return first, last

    def inside(self, text: bytes) -> list[Run]:
        """The tokens that `text` begins with, the shortest first."""
        runs = (self.spelling(text[:length]) for length in range(1, min(len(text), self.longest) + 1))
        return [run for run in runs if run[0] < run[1]]

    def along(self, text: bytes) -> list[Run]:
        """The tokens that begin `text` or go on from it: those a writer of `text` may take first."""
        runs = [*self.inside(text[:-1]), self.beginning(text)] if text else []
        return [run for run in runs if run[0] < run[1]]

    def _leading(self) -> npt.NDArray[np.int64]:
        """With how many bytes of white space a token begins, by place."""
        begins = self._offsets[:-1]
        ink = np.flatnonzero(~np.isin(self._bytes, np.frombuffer(BLANK_BYTES, dtype=np.uint8)))
        ink = np.append(ink, len(self._bytes))
        found: npt.NDArray[np.int64] = np.minimum(ink[np.searchsorted(ink, begins)] - begins, self.lengths)
        return found

    def _find_indented(self, blanks: npt.NDArray[np.int64]) -> tuple[list[bytes], npt.NDArray[np.int64]]:
        """Tokens that begin with white space and go on: what follows it, sorted, and their places."""
        places = np.flatnonzero((blanks > 0) & ~self.blank)
        spans = zip(places.tolist(), blanks[places].tolist(), strict=True)
        rests = [self.tokens[place][lead:] for place, lead in spans]
        order = sorted(range(len(rests)), key=rests.__getitem__)
        return [rests[number] for number in order], places[order]

    def indented(self, exact: Iterable[bytes], prefixes: Iterable[bytes]) -> list[Run]:
        """The tokens that write white space and after it one of `exact`, or something that begins with a prefix."""
        rests, places = self._indented
        spans = [(bisect_left(rests, text), bisect_left(rests, text + b"\0")) for text in exact]
        for prefix in prefixes:
            after = _after(prefix)
            spans.append((bisect_left(rests, prefix), len(rests) if after is None else bisect_left(rests, after)))
        chosen = np.sort(np.concatenate([places[:0], *(places[first:last] for first, last in merged(spans))]))
        return runs_of(chosen)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The trie, from depth 1 on."""
        levels: list[Level] = []
        above = np.zeros(1, dtype=np.int64)
        apart = np.zeros(len(self.tokens), dtype=np.bool_)  # a token no longer begins as the one before it
        for depth in range(1, self.longest + 1):
            places = np.flatnonzero(self.lengths >= depth)
            column = self._bytes[self._offsets[places] + depth - 1]
            apart[places] |= np.diff(column, prepend=column[:1]) != 0
            apart[places[np.diff(places, prepend=-2) != 1]] = True  # the one before it is shorter
            starts = np.flatnonzero(apart[places])
            first, last = places[starts], places[np.append(starts[1:], len(places)) - 1] + 1
            levels.append(
                Level(
                    byte=column[starts],
                    parent=(np.searchsorted(above, first, side="right") - 1).astype(np.int32),
                    first=first.astype(np.int32),
                    last=last.astype(np.int32),
                )
            )
            above = first
        return tuple(levels)


class Runs:
    """Counts and lists the allowed tokens in runs of the sorted vocabulary; `allowed` is bool (vocab_size,), by id."""

    def __init__(self, lexicon: Lexicon, allowed: npt.NDArray[np.bool_]) -> None:
        self.lexicon = lexicon
        self.allowed = allowed[lexicon.ids]

    def count(self, runs: Iterable[Run]) -> int:
        """Allowed tokens in any of `runs`, each counted once."""
        return sum(int(np.count_nonzero(self.allowed[first:last])) for first, last in merged(runs))

    def ids(self, runs: Iterable[Run], limit: int | None = None) -> list[int]:
        """Ids of the first `limit` allowed tokens in `runs`, in the order of their bytes."""
        found: list[int] = []
        for first, last in merged(runs):
            places = first + np.flatnonzero(self.allowed[first:last])
            found += self.lexicon.ids[places].tolist()
            if limit is not None and len(found) >= limit:
                return found[:limit]
        return found


def merged(runs: Iterable[Run]) -> list[Run]:
    """Disjoint ascending runs that cover the same places."""
    inclusive = normalise((first, last - 1) for first, last in runs if first < last)
    return [(first, last + 1) for first, last in inclusive]


def runs_of(places: npt.NDArray[np.int64]) -> list[Run]:
    """Ascending places as runs of neighbours."""
    if not len(places):
        return []
    parts = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


def _after(prefix: bytes) -> bytes | None:
    """The least bytes greater than all that begin with `prefix`; None where there are none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


@lru_cache(maxsize=4)
def lexicon(info: TokenizerInfo) -> Lexicon:
    """The `Lexicon` of a vocabulary; the last four are kept."""
    return Lexicon(info)
