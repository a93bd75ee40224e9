"""What every user of a vocabulary needs first: token sets of JSON's strings, numbers and white space, made in advance.

The verdicts inside a string (plain, with lengths, or of a frequent format), and behind white space, are the same for
all grammars (`masks/pool.pyx`), and cost milliseconds once: no user's first mask should pay for them.  So the first
`GrammarCompiler` of a vocabulary in a process walks a few small texts and asks for every mask on the way; the compilers
after it take what was found.
`Options.warm_start` turns it off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from kernels_core.errors import DeadEndError
from kernels_core.matcher import GrammarMatcher

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.grammar import Grammar

__all__ = ["FROM_TOKENS", "visit_samples"]

FROM_TOKENS: Final = 8_192
"""Smaller vocabularies are walked in less time than this would save."""


def visit_samples(compile_grammar: Callable[[Grammar], CompiledGrammar]) -> None:
    """Ask for the mask at every byte of every sample, with compiled grammars that share a pool.

    Where no token of the vocabulary goes on, nothing of the sample is left to be found.
    """
    from kernels_core.grammar import Grammar
    from kernels_core.grammar.json_schema.samples import SAMPLES

    for schema, text in SAMPLES:
        compiled = compile_grammar(Grammar.from_json_schema(schema))
        row = np.zeros((1, compiled.masks.trie.words), dtype=np.int32)
        matcher = GrammarMatcher(compiled)
        for byte in text:
            try:
                matcher.fill_next_token_bitmask(row)
            except DeadEndError:
                break
            if not matcher.accept_string(bytes([byte])):
                raise RuntimeError(f"the sample {text!r} is not of its schema from byte {len(matcher.text)} on")
