"""`LogitsProcessor` for `transformers`' `generate`.  What it does: `workbench.generation.logits_processor`."""

from __future__ import annotations

import torch
import transformers

from workbench.generation import GrammarLogitsProcessor

from ..compiler import CompiledGrammar
from ..exception import InvalidArgumentError, runtime_errors


class LogitsProcessor(transformers.LogitsProcessor):  # type: ignore[misc]
    """Sets the logits of tokens that the grammar forbids to -inf.

    compiled_grammar: one for all rows, or one for each prompt of the batch.  Samples, beams and several sequences of a
    prompt work; a prompt no longer than the last one begins a new text.
    """

    def __init__(self, compiled_grammar: CompiledGrammar | list[CompiledGrammar]) -> None:
        grammars = compiled_grammar if isinstance(compiled_grammar, list) else [compiled_grammar]
        for grammar in grammars:
            if not isinstance(grammar, CompiledGrammar):
                raise InvalidArgumentError(f"LogitsProcessor takes CompiledGrammars, not {type(grammar).__name__}")
        self.compiled_grammars = grammars
        with runtime_errors():
            self._processor = GrammarLogitsProcessor([grammar.engine for grammar in grammars], in_place=True)

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """`input_ids` int64 (rows, length), `scores` (rows, vocab); the scores are changed in place and returned."""
        with runtime_errors():
            self._processor(input_ids, scores)
        return scores
