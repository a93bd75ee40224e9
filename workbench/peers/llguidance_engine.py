"""llguidance, through `LLMatcher`, the interface made for servers.

Masks are written by `unsafe_compute_mask_ptr`, which its own numpy helper calls; going there directly spares it that
helper's checks.  Where the grammar leaves one canonical token its mask holds that token alone: the walk therefore asks
`accept` too (see `takes`, and `experiments.walk`).
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import llguidance

from workbench.peers.base import Constraint, Engine, Language, RefusedError
from workbench.peers.toolsets import ToolSet
from workbench.tokenizers import Tokenizer


class LLGuidanceConstraint(Constraint):
    """`llguidance.LLMatcher`.

    A reset is a copy of the untouched matcher: it keeps the warm lexer, as its own `reset` would, but not the last
    mask, which in 1.9.1 may be that of another text; and a matcher that has failed stays failed.
    """

    def __init__(self, engine: Engine, matcher: Any) -> None:
        self._untouched = matcher
        row = engine.new_bitmask()
        self.bitmask = row[0]
        self._target = (row.ctypes.data, row.nbytes)
        self._row = row  # whose address was taken
        self.reset()

    def reset(self) -> None:
        self.matcher = self._untouched.deep_copy()
        self.fill = partial(self.matcher.unsafe_compute_mask_ptr, *self._target)
        self.accept = self.matcher.consume_token

    def takes(self, token: int) -> bool:
        return bool(self.matcher.deep_copy().consume_token(token))

    def failure(self) -> str | None:
        # A refused token is an error to this matcher too, but no failure.
        error = str(self.matcher.get_error()).splitlines()[0] if self.matcher.is_error() else None
        return None if error is None or "doesn't satisfy the grammar" in error else error


class _Encoding:
    """A tokenizer as llguidance wants to see it."""

    def __init__(self, tokenizer: Tokenizer, stop: int, control: set[int]) -> None:
        self._tokenizer = tokenizer
        self.eos_token_id = stop
        self.bos_token_id = None
        self.tokens = list(tokenizer.info.decoded_vocab)
        self.special_token_ids = sorted(control)

    def __call__(self, text: bytes | str) -> list[int]:
        return self._tokenizer.encode(text)


class LLGuidance(Engine):
    """One `LLTokenizer`; nothing is shared between grammars, because llguidance shares nothing."""

    name = "llguidance"
    package = "llguidance"
    canonical_masks = True
    languages = ("ebnf", "lark", "regex", "json_schema")
    refusals = ()
    settings = (
        "its defaults; where text is forced its mask allows the canonical tokens alone, and other ways to cut the text "
        "into tokens are checked with `accept`"
    )

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        encoding = _Encoding(tokenizer, self.stop_token_ids[0], self.control_ids())
        wrapper = llguidance.TokenizerWrapper(encoding)
        self.ll_tokenizer = llguidance.LLTokenizer(wrapper, n_vocab=self.vocab_size, eos_token=self.stop_token_ids)

    def _compile(self, language: Language, text: str) -> Constraint:
        if language == "json_schema":
            return self._made(llguidance.LLMatcher.grammar_from_json_schema(text))
        try:
            grammar = llguidance.grammar_from(language, text)
        except Exception as error:  # its converter of EBNF raises whatever its parser does
            raise RefusedError(str(error)) from error
        return self._made(grammar)

    def tools_request(self, tools: ToolSet) -> list[Any]:
        return [
            llguidance.StructTag(
                trigger=tools.trigger, begin=tools.begin(tool), grammar=json.loads(tool.parameters), end=tools.end
            )
            for tool in tools.tools
        ]

    def _compile_tools(self, request: list[Any]) -> Constraint:
        return self._made(llguidance.StructTag.to_grammar(request, assume_special=False))

    def _made(self, grammar: str) -> Constraint:
        # log_level=0: errors are raised here, not printed as well.
        matcher = llguidance.LLMatcher(self.ll_tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise RefusedError(str(matcher.get_error()).splitlines()[0])
        return LLGuidanceConstraint(self, matcher)
