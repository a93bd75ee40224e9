"""The full scan of a large vocabulary: the reference recogniser walked over a trie of the tokens.

Three things make it bearable for a hundred thousand tokens, all of them plain: tokens share their beginnings in a trie,
sets with equal content are one set, so that a byte is read once from each distinct set, and all beginnings of one
length are looked up at a time.  Equal content is a sound reason, because what follows a set depends on its items alone,
and an item points at the set it began in.

Read on: `recogniser`, which does all the parsing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels_core.grammar.ir import GrammarIR
from tests.reference.dispatch import Reading
from tests.reference.recogniser import EarleySet, Recogniser

__all__ = ["TokenTrie", "TrieScan"]

DEAD: Final = 0
UNKNOWN: Final = -1
Numbers = NDArray[np.intp]


class Level(NamedTuple):
    """All beginnings of tokens of one length: where each is without its last byte in the level above, and that byte.

    Of the tokens `ids`, which have this length, `ends` says which beginnings they are.
    """

    parents: Numbers
    bytes: Numbers
    ids: Numbers
    ends: Numbers


class TokenTrie:
    """Tokens by their bytes: a level for each length, of which the first has the single bytes."""

    def __init__(self, vocab: Sequence[bytes]) -> None:
        """The trie of all tokens that have bytes."""
        self.size = len(vocab)
        self.levels: list[Level] = []
        left = [(index, token) for index, token in enumerate(vocab) if token]
        above = {b"": 0}
        while left:
            length = len(self.levels) + 1
            here = {text: place for place, text in enumerate(dict.fromkeys(token[:length] for _, token in left))}
            ending = [(index, here[token]) for index, token in left if len(token) == length]
            columns = [
                [above[text[:-1]] for text in here],
                [text[-1] for text in here],
                [index for index, _ in ending],
                [place for _, place in ending],
            ]
            self.levels.append(Level(*(np.array(column, dtype=np.intp) for column in columns)))
            left = [(index, token) for index, token in left if len(token) > length]
            above = here


class TrieScan:
    """Masks of one grammar over one vocabulary, by walking the whole trie; see `naive_mask` for what a mask is."""

    def __init__(self, ir: GrammarIR, trie: TokenTrie) -> None:
        self.recogniser = Recogniser(ir)
        self.trie = trie
        self._sets: list[EarleySet] = []
        self._numbers: dict[EarleySet, int] = {}
        self._same: dict[object, int] = {}
        self._steps = np.empty((0, 256), dtype=np.int32)  # by set and byte, the set after it
        self._number(EarleySet(0))
        self._steps[DEAD] = DEAD
        self._first = self._sets[self._number(self.recogniser.start())]

    def start(self) -> EarleySet:
        return self._first

    def advance(self, state: EarleySet, byte: int) -> EarleySet:
        """As `Recogniser.advance`, except that equal sets are one object (whose `position` means nothing)."""
        return self._sets[self._step(self._numbers[state], byte)]

    def run(self, text: bytes) -> EarleySet:
        state = self.start()
        for byte in text:
            state = self.advance(state, byte)
        return state

    def mask(self, state: EarleySet) -> NDArray[np.bool_]:
        """Whether each token may follow the text that led to `state`."""
        allowed = np.zeros(self.trie.size, dtype=bool)
        reached = np.array([self._numbers[state]])
        for level in self.trie.levels:
            before = reached[level.parents]
            missing = self._steps[before, level.bytes] == UNKNOWN
            for number, byte in {*zip(before[missing].tolist(), level.bytes[missing].tolist(), strict=True)}:
                self._step(number, byte)
            reached = self._steps[before, level.bytes]
            allowed[level.ids] = reached[level.ends] != DEAD
        return allowed

    def _step(self, number: int, byte: int) -> int:
        if self._steps[number, byte] == UNKNOWN:
            following = self._number(self.recogniser.advance(self._sets[number], byte))
            self._steps[number, byte] = following  # the table may be another one now
        return int(self._steps[number, byte])

    def _number(self, fresh: EarleySet) -> int:
        """The number of the first set that is equal to `fresh`, which may be itself."""
        number = self._same.setdefault(self._content(fresh) if fresh.alive else None, len(self._sets))
        if number == len(self._sets):
            self._sets.append(fresh)
            self._numbers[fresh] = number
            if number == len(self._steps):
                more = np.full((max(64, number), 256), UNKNOWN, dtype=np.int32)
                self._steps = np.concatenate([self._steps, more])
        return number

    def _content(self, fresh: EarleySet) -> object:
        """What decides the future of a set: its items that still want something, with itself as an origin marked."""
        recogniser = self.recogniser
        items = frozenset(
            (item.node, item.progress, None if item.origin is fresh else item.origin)
            for item in fresh.items
            if isinstance(item.progress, Reading)
            or recogniser.wanted(item)
            or (isinstance(item.progress, bytes) and not recogniser.is_whole(item))
        )
        return fresh.completed, items
