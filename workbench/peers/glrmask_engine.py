"""glrmask, through its public Python API: a grammar, then one of the vocabulary's stop tokens.

Its default compiles an automaton over parser stacks whose edges carry masks, ahead of the first token, or walks the
vocabulary where that would be too large.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import glrmask

from workbench.peers.base import Constraint, Engine, Language
from workbench.tokenizers import Tokenizer


class GLRMaskConstraint(Constraint):
    """`glrmask.ConstraintState`.  A refused token ends a state for good, so a reset starts another."""

    def __init__(self, engine: Engine, compiled: Any) -> None:
        self.compiled = compiled
        self.bitmask = engine.new_bitmask()[0]
        self.reset()

    def reset(self) -> None:
        self.matcher = self.compiled.start()
        self.fill = partial(self.matcher.fill_mask, self.bitmask)
        self.accept = self.matcher.commit_token

    def takes(self, token: int) -> bool:
        return bool(self.matcher.copy().commit_token(token))


class GLRMask(Engine):
    """One `Vocab`; nothing is shared between grammars."""

    name = "glrmask"
    package = "glrmask"
    languages = ("lark", "json_schema")
    refusals = (ValueError, TypeError, RuntimeError)
    settings = 'its defaults (MaskStrategy.AUTO); JSON with ", " and ": " and no other white space'

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        control = self.control_ids()
        tokens = enumerate(tokenizer.info.decoded_vocab)
        self.vocab = glrmask.Vocab.from_id_to_bytes({token: data for token, data in tokens if token not in control})
        self.stop = glrmask.TokenSet(self.stop_token_ids)

    def _compile(self, language: Language, text: str) -> Constraint:
        read = glrmask.Grammar.from_lark if language == "lark" else glrmask.Grammar.from_json_schema
        whole = glrmask.Expr.sequence(read(text), self.stop)
        return GLRMaskConstraint(self, glrmask.Grammar.from_expr(whole).compile(self.vocab))
