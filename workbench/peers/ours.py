"""Our own engine, through the same public calls as anybody would use."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import kernels_core
from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.errors import BudgetExceededError, GrammarError, UnsupportedSchemaError
from workbench.peers.base import Constraint, Engine, RefusedError
from workbench.peers.toolsets import ToolSet
from workbench.tokenizers import Tokenizer

REFUSALS = (GrammarError, UnsupportedSchemaError, BudgetExceededError)


class OurConstraint(Constraint):
    """`GrammarMatcher` over a compiled grammar."""

    def __init__(self, engine: Engine, compiled: CompiledGrammar) -> None:
        self.compiled = compiled
        self.matcher = GrammarMatcher(compiled)
        row = engine.new_bitmask()
        self.bitmask = row[0]
        self.fill = partial(self.matcher.fill_next_token_bitmask, row)
        self.accept = self.matcher.accept_token

    def reset(self) -> None:
        self.matcher.reset()

    def takes(self, token: int) -> bool:
        return bool(self.matcher.fork().accept_token(token))

    def state(self) -> int | None:
        return int(self.matcher.set_number)


class Ours(Engine):
    """One `GrammarCompiler` for all inputs.

    Its cross-grammar cache is shared, as it is in use; compiled grammars are not remembered, so that none is found
    finished, unless `remember` leaves the compiler's cache on, as it is by default.
    """

    name = "ours"
    settings = (
        "one compiler for all inputs, so that its cross-grammar cache knows what earlier ones had in common with later "
        "ones; whole grammars not remembered unless a name says so; members of objects in the schema's order"
    )

    def __init__(self, tokenizer: Tokenizer, options: Options | None = None, *, remember: bool = False) -> None:
        super().__init__(tokenizer)
        self.options = options
        self.remember = remember
        self.forget()

    def forget(self) -> None:
        self.compiler = GrammarCompiler(self.tokenizer.info, options=self.options, cache_enabled=self.remember)

    @property
    def version(self) -> str:
        return kernels_core.__version__

    def compile_schema(self, schema: str) -> OurConstraint:
        return self._made(Grammar.from_json_schema, schema, order="declared")

    def compile_ebnf(self, grammar: str) -> OurConstraint:
        return self._made(Grammar.from_ebnf, grammar)

    def compile_lark(self, grammar: str) -> OurConstraint:
        return self._made(Grammar.from_lark, grammar, tokenizer_info=self.tokenizer.info)

    def compile_regex(self, pattern: str) -> OurConstraint:
        return self._made(Grammar.from_regex, pattern)

    def compile_tag(self, tag: str) -> OurConstraint:
        return self._made(Grammar.from_structural_tag, tag, tokenizer_info=self.tokenizer.info)

    def tools_request(self, tools: ToolSet) -> Any:
        # What is remembered is found by its text; a dict would have to be written as text first.
        text = tools.as_tag(order="declared")
        return text if self.remember else json.loads(text)

    def compile_tools(self, request: object) -> OurConstraint:
        try:
            return OurConstraint(self, self.compiler.compile_structural_tag(request))
        except REFUSALS as error:
            raise RefusedError(str(error)) from error

    def compile(self, grammar: Grammar) -> OurConstraint:
        """A grammar that was read already."""
        try:
            return OurConstraint(self, self.compiler.compile_grammar(grammar))
        except REFUSALS as error:
            raise RefusedError(str(error)) from error

    def _made(self, read: Callable[..., Grammar], text: str, **options: object) -> OurConstraint:
        try:
            return self.compile(read(text, **options))
        except REFUSALS as error:
            raise RefusedError(str(error)) from error
