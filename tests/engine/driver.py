"""What the engine's tests share: compile a grammar for a list of tokens, read a mask as a set of ids.

The vocabulary given gets one more token, the stop token, whose id is `len(vocab)`.  `VARIANTS` are options that change
how a grammar is lowered and must change nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels_core import (
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    Options,
    TokenizerInfo,
    allocate_token_bitmask,
)
from kernels_core.grammar.ir import GrammarIR

__all__ = ["STOP", "VARIANTS", "compiled", "mask", "tokenizer"]

STOP = b"<stop>"
VARIANTS = {
    "default": Options(),
    "nothing inlined or unrolled": Options(inline_limit=0, unroll_limit=0),
    "nothing inlined, small counts unrolled": Options(inline_limit=0),
    "small rules inlined, nothing unrolled": Options(unroll_limit=0),
    "much inlined and unrolled": Options(inline_limit=400, unroll_limit=400),
}


def tokenizer(vocab: Sequence[bytes]) -> TokenizerInfo:
    """`vocab`, byte for byte, and the stop token behind it."""
    return TokenizerInfo([*vocab, STOP], stop_token_ids=[len(vocab)], special_token_ids=[len(vocab)])


def compiled(grammar: Grammar | GrammarIR, vocab: Sequence[bytes], options: Options | None = None) -> CompiledGrammar:
    """A compiled grammar of its own: no cache is shared with another call."""
    if isinstance(grammar, GrammarIR):
        grammar = Grammar(grammar)
    return GrammarCompiler(tokenizer(vocab), options=options, cache_enabled=False).compile_grammar(grammar)


def mask(matcher: GrammarMatcher) -> set[int]:
    """Ids the matcher allows now.  The row is filled with noise first: every bit of it has to be written."""
    size = matcher.compiled.tokenizer_info.vocab_size
    rows = allocate_token_bitmask(3, size)
    rows[:] = 0x5A5A5A5A
    needed = matcher.fill_next_token_bitmask(rows, 1)
    assert (rows[0] == 0x5A5A5A5A).all(), "a row that was not asked for was written"
    assert (rows[2] == 0x5A5A5A5A).all(), "a row that was not asked for was written"
    bits = np.unpackbits(rows[1].view(np.uint8), bitorder="little")
    assert not bits[size:].any() or not needed, "a bit past the vocabulary is set"
    allowed = set(np.flatnonzero(bits[:size]).tolist())
    assert needed or allowed == set(range(size)), "a mask that forbids something was said to be needless"
    return allowed
