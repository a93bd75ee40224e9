"""maskforge, through its public Python API: JSON Schema alone, and the first stop token of a vocabulary."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any, ClassVar

import maskforge
import numpy as np

from workbench.peers.base import Constraint, Engine, Language
from workbench.tokenizers import Tokenizer


class MaskForgeConstraint(Constraint):
    """`maskforge.Session`.  It raises on a refused token, so `accept` has a `try` of ours around it: some 0.1 us."""

    def __init__(self, engine: Engine, bound: Any) -> None:
        self._bound = bound
        buffer = bytearray(engine.new_bitmask().nbytes)
        self.bitmask = np.frombuffer(buffer, dtype=np.int32)
        self._session = bound.start_session()
        self._taken: list[int] = []
        self.fill = partial(self._session.write_mask, buffer)
        advance, note = self._session.advance, self._taken.append

        def accept(token: int) -> bool:
            try:
                advance(token)
            except maskforge.MaskforgeError:
                return False
            note(token)
            return True

        self.accept = accept

    def reset(self) -> None:
        self._session.reset()
        self._taken.clear()

    def takes(self, token: int) -> bool:
        session = self._bound.start_session()  # one cannot be copied
        for taken in self._taken:
            session.advance(taken)
        with contextlib.suppress(maskforge.MaskforgeError):
            session.advance(token)
            return True
        return False


class MaskForge(Engine):
    """One `Vocabulary` and one `Compiler` with its caches."""

    name = "maskforge"
    package = "maskforge"
    languages: ClassVar[tuple[Language, ...]] = ("json_schema",)
    refusals = (maskforge.MaskforgeError, ValueError, TypeError)
    settings = "its defaults; members in any order"

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        control = self.control_ids()
        tokens = [None if token in control else data for token, data in enumerate(tokenizer.info.decoded_vocab)]
        # without the size its rows end behind the last token that has bytes
        self.vocabulary = maskforge.Vocabulary.from_id_ordered_tokens(
            tokens, eos_token_id=self.stop_token_ids[0], logits_vocab_size=len(tokens)
        )
        self.forget()

    def forget(self) -> None:
        self.compiler = maskforge.Compiler()

    def _compile(self, language: Language, text: str) -> Constraint:
        return MaskForgeConstraint(self, self.compiler.compile(text).bind(self.vocabulary))
