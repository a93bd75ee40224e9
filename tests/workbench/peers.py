"""Engines made for tests of comparing: ours with a fault, and one that takes any text of some bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from workbench.peers.base import Constraint, Engine, Language
from workbench.peers.ours import OurConstraint, Ours
from workbench.tokenizers import Tokenizer


class _Flipped(Constraint):
    """`inner` without one token: the mask never allows it, and `accept` refuses it if `parser_too`."""

    def __init__(self, inner: OurConstraint, token: int, parser_too: bool, after: bytes) -> None:
        self.inner, self.token, self.parser_too, self.after = inner, token, parser_too, after
        self.bitmask = inner.bitmask
        self.fill, self.accept = self._fill, self._accept

    def _here(self) -> bool:
        return bytes(self.inner.matcher.text).endswith(self.after)

    def _fill(self) -> None:
        self.inner.fill()
        if self._here():
            words = self.bitmask.view(np.uint32)
            words[self.token >> 5] &= np.uint32(~(1 << (self.token & 31)) & 0xFFFFFFFF)

    def _accept(self, token: int) -> bool:
        return self.takes(token) and bool(self.inner.accept(token))

    def takes(self, token: int) -> bool:
        return not (self.parser_too and token == self.token and self._here()) and self.inner.takes(token)

    def reset(self) -> None:
        self.inner.reset()


class FlippedEngine(Ours):
    """Ours, but `token` is refused wherever the text read ends in `after`."""

    name = "flipped"

    def __init__(self, tokenizer: Tokenizer, token: int, *, parser_too: bool = True, after: bytes = b"") -> None:
        super().__init__(tokenizer)
        self.token, self.parser_too, self.after = token, parser_too, after

    def compile(self, grammar: object) -> Constraint:  # type: ignore[override]
        return _Flipped(super().compile(grammar), self.token, self.parser_too, self.after)  # type: ignore[arg-type]


class _AnyOf(Constraint):
    def __init__(self, engine: Engine, takes: Callable[[int], bool]) -> None:
        self.takes_ = takes
        row = engine.new_bitmask()
        self.bitmask = row[0]
        self.bitmask[:] = 0
        for token in range(engine.vocab_size):
            if takes(token):
                self.bitmask.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))
        self.fill, self.accept = lambda: None, takes

    def takes(self, token: int) -> bool:
        return self.takes_(token)

    def reset(self) -> None:
        """There is nothing to forget."""


class TextlessEngine(Engine):
    """Takes any grammar, and then any token all of whose bytes are among `letters`; a text never ends."""

    languages: ClassVar[tuple[Language, ...]] = ("ebnf",)

    def __init__(self, tokenizer: Tokenizer, letters: bytes, name: str) -> None:
        super().__init__(tokenizer)
        self.letters, self.name = set(letters), name

    @property
    def version(self) -> str:
        return "0"

    def _compile(self, language: Language, text: str) -> Constraint:
        vocabulary = self.tokenizer.info.decoded_vocab
        return _AnyOf(self, lambda token: len(vocabulary[token]) > 0 and set(vocabulary[token]) <= self.letters)
