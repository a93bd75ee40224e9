"""The full scan of a large vocabulary: the reference recogniser walked over a trie of the tokens.

Two things make it bearable for a hundred thousand tokens, both of them plain: tokens share their beginnings in a trie,
and sets with equal content are one set, so that a byte is read once from each distinct set.  Equal content is a sound
reason, because what follows a set depends on its items alone, and an item points at the set it began in.

Read on: `recogniser`, which does all the parsing.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels_core.grammar.ir import GrammarIR
from tests.reference.dispatch import Reading
from tests.reference.recogniser import EarleySet, Recogniser

__all__ = ["TokenTrie", "TrieScan"]


class TokenTrie:
    """Tokens by their bytes.  `ids` are the tokens that end here."""

    __slots__ = ("ids", "next")

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.next: dict[int, TokenTrie] = {}

    @classmethod
    def of(cls, vocab: Sequence[bytes]) -> TokenTrie:
        """The trie of all tokens that have bytes."""
        root = cls()
        for index, token in enumerate(vocab):
            node = root
            for byte in token:
                child = node.next.get(byte)
                if child is None:
                    child = node.next[byte] = cls()
                node = child
            if token:
                node.ids.append(index)
        return root


class TrieScan:
    """Masks of one grammar over one vocabulary, by walking the whole trie; see `naive_mask` for what a mask is."""

    def __init__(self, ir: GrammarIR, trie: TokenTrie) -> None:
        self.recogniser = Recogniser(ir)
        self.trie = trie
        self._first = self.recogniser.start()
        self._same: dict[object, EarleySet] = {}
        self._steps: dict[tuple[EarleySet, int], EarleySet] = {}
        self._masks: dict[EarleySet, frozenset[int]] = {}

    def start(self) -> EarleySet:
        return self._first

    def advance(self, state: EarleySet, byte: int) -> EarleySet:
        """As `Recogniser.advance`, except that equal sets are one object (whose `position` means nothing)."""
        following = self._steps.get((state, byte))
        if following is None:
            fresh = self.recogniser.advance(state, byte)
            following = self._steps[state, byte] = self._same.setdefault(self._content(fresh), fresh)
        return following

    def run(self, text: bytes) -> EarleySet:
        state = self.start()
        for byte in text:
            state = self.advance(state, byte)
        return state

    def mask(self, state: EarleySet) -> frozenset[int]:
        """Ids of the tokens that may follow the text that led to `state`."""
        if state not in self._masks:
            allowed: set[int] = set()
            agenda = [(self.trie, state)]
            while agenda:
                node, reached = agenda.pop()
                allowed.update(node.ids)
                for byte, child in node.next.items():
                    following = self.advance(reached, byte)
                    if following.alive:
                        agenda.append((child, following))
            self._masks[state] = frozenset(allowed)
        return self._masks[state]

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
