"""XGrammar, through its public Python API.

Two engines: `xgrammar` reads JSON Schema as the specification does (`strict_mode=False`, so that objects may have other
members), `xgrammar-default` as it does where nobody says otherwise, and as servers have it (`strict_mode=True`).  Both:
any white space, one thread, its cache on with a limit, because without one it grows by gigabytes over thousands of
schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Final

import xgrammar

from workbench.peers.base import Constraint, Engine, Language
from workbench.peers.toolsets import ToolSet
from workbench.tokenizers import Tokenizer

CACHE_BYTES = 1 << 30
METHODS: Final[Mapping[Language, str]] = {
    "ebnf": "compile_grammar",
    "lark": "compile_lark",
    "regex": "compile_regex",
    "json_schema": "compile_json_schema",
    "structural_tag": "compile_structural_tag",
}
"""Of its compiler, by the language that they read."""


class XGrammarConstraint(Constraint):
    """`xgrammar.GrammarMatcher`."""

    def __init__(self, engine: Engine, compiled: object) -> None:
        self.compiled = compiled
        self.matcher = xgrammar.GrammarMatcher(compiled)
        tensor = xgrammar.allocate_token_bitmask(1, engine.vocab_size)
        self.bitmask = tensor.numpy()[0]  # the same memory
        self.fill = partial(self.matcher.fill_next_token_bitmask, tensor)
        self.accept = self.matcher.accept_token

    def reset(self) -> None:
        self.matcher.reset()

    def takes(self, token: int) -> bool:
        taken = bool(self.matcher.accept_token(token))
        if taken:
            self.matcher.rollback(1)
        return taken


class XGrammar(Engine):
    """One compiler for all inputs, with XGrammar's own rule-level cache across them."""

    name = "xgrammar"
    package = "xgrammar"
    languages = METHODS
    refusals = (RuntimeError, ValueError)
    strict_mode: ClassVar[bool] = False
    settings = (
        "JSON Schema with strict_mode=False and any white space; max_threads=1; its cache on; its compiler makes token "
        "masks ahead, and has no option to make them when they are asked for"
    )

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        # XGrammar takes visible control tokens for text; without bytes they are special to it as well.
        hidden = self.control_ids()
        vocab = [b"" if token in hidden else data for token, data in enumerate(tokenizer.info.decoded_vocab)]
        self.info = xgrammar.TokenizerInfo(
            vocab, xgrammar.VocabType.RAW, vocab_size=self.vocab_size, stop_token_ids=self.stop_token_ids
        )
        self.forget()

    def forget(self) -> None:
        self.compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_limit_bytes=CACHE_BYTES)

    def _compile(self, language: Language, text: str) -> Constraint:
        options = {"any_whitespace": True, "strict_mode": self.strict_mode} if language == "json_schema" else {}
        return XGrammarConstraint(self, getattr(self.compiler, METHODS[language])(text, **options))

    def tools_request(self, tools: ToolSet) -> str:
        # Text goes straight to its parser; a dict would be checked in Python and written as text first.
        return tools.as_tag()

    def _compile_tools(self, request: str) -> Constraint:
        return XGrammarConstraint(self, self.compiler.compile_structural_tag(request))


class XGrammarDefault(XGrammar):
    """The same with its own default for JSON Schema, which vLLM and SGLang use: no members but those that are named."""

    name = "xgrammar-default"
    strict_mode = True
    settings = (
        "JSON Schema with strict_mode=True, its default, and any white space; max_threads=1; its cache on; its "
        "compiler makes token masks ahead"
    )
