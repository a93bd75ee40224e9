"""Our own engine, through the same public calls as anybody would use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

import kernels_core
from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.errors import BudgetExceededError, GrammarError, UnsupportedSchemaError
from workbench.peers.base import Constraint, Engine, Language
from workbench.peers.toolsets import ToolSet
from workbench.tokenizers import Tokenizer


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
    languages = get_args(Language)
    refusals = (GrammarError, UnsupportedSchemaError, BudgetExceededError)
    settings = (
        "one compiler for all inputs, so that its cross-grammar cache knows what earlier ones had in common with later "
        "ones; a new one where nothing is to be known (each set of tools; each schema with forget=true); whole "
        "grammars not remembered unless a name says so; members of objects in the schema's order"
    )

    def __init__(self, tokenizer: Tokenizer, options: Options | None = None, *, remember: bool = False) -> None:
        super().__init__(tokenizer)
        self.options = options
        self.remember = remember
        self._readers: Mapping[Language, Callable[[str], Grammar]] = {
            "ebnf": Grammar.from_ebnf,
            "lark": partial(Grammar.from_lark, tokenizer_info=tokenizer.info),
            "regex": Grammar.from_regex,
            "json_schema": partial(Grammar.from_json_schema, order="declared"),
            "structural_tag": partial(Grammar.from_structural_tag, tokenizer_info=tokenizer.info),
        }
        self.forget()

    def forget(self) -> None:
        self.compiler = GrammarCompiler(self.tokenizer.info, options=self.options, cache_enabled=self.remember)

    @property
    def version(self) -> str:
        return kernels_core.__version__

    def _compile(self, language: Language, text: str) -> OurConstraint:
        return self.compile(self._readers[language](text))

    def tools_request(self, tools: ToolSet) -> Any:
        # What is remembered is found by its text; a dict would have to be written as text first.
        text = tools.as_tag(order="declared")
        return text if self.remember else json.loads(text)

    def _compile_tools(self, request: object) -> OurConstraint:
        return OurConstraint(self, self.compiler.compile_structural_tag(request))

    def compile(self, grammar: Grammar) -> OurConstraint:
        """A grammar that was read already; one of `refusals` where it is too much."""
        return OurConstraint(self, self.compiler.compile_grammar(grammar))
