"""The naive token mask: try every token of the vocabulary, byte by byte, after the text so far.

Read on: `recogniser` for what "viable" means.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels_core.grammar.ir import GrammarIR
from tests.reference.recogniser import EarleySet, Recogniser

__all__ = ["mask_at", "naive_mask"]


def naive_mask(ir: GrammarIR, vocab: Sequence[bytes], prefix: bytes) -> set[int]:
    """Ids of the tokens that may follow `prefix`: `prefix + token` begins some text of the language.

    A token without bytes is never in it: it says nothing, so it could follow itself for ever.
    """
    recogniser = Recogniser(ir)
    return mask_at(recogniser, recogniser.run(prefix), vocab)


def mask_at(recogniser: Recogniser, state: EarleySet, vocab: Sequence[bytes]) -> set[int]:
    """As `naive_mask`, after the text that led to `state`; what tokens have in common is read once."""
    behind: dict[bytes, EarleySet] = {}

    def survives(token: bytes) -> bool:
        reached = state
        for end, byte in enumerate(token, start=1):
            if token[:end] not in behind:
                behind[token[:end]] = recogniser.advance(reached, byte)
            reached = behind[token[:end]]
            if not reached.alive:
                return False
        return True

    return {index for index, token in enumerate(vocab) if token and survives(token)}
