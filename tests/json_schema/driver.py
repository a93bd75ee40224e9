"""What the tests of this folder share: a grammar's verdict on a text, byte by byte, end of text checked."""

from __future__ import annotations

import json
from typing import Any, Unpack

from kernels_core import CompiledGrammar, Grammar, GrammarMatcher, Options
from kernels_core.grammar.ir import Node
from kernels_core.grammar.json_schema import SchemaArguments
from kernels_core.grammar.rulebook import RuleBook
from tests.json_schema.json_judge import Judge, byte_vocabulary

INFO = byte_vocabulary()


class Texts:
    """The texts of one grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.matcher = GrammarMatcher(CompiledGrammar(grammar, INFO, Options()))

    def __contains__(self, text: str | bytes) -> bool:
        self.matcher.reset()
        return bool(self.matcher.accept_string(text) and self.matcher.is_completed())


def texts(schema: Any, **arguments: Unpack[SchemaArguments]) -> Texts:
    """The texts of a schema."""
    return Texts(Grammar.from_json_schema(schema, **arguments))


def texts_of_node(node: Node, book: RuleBook) -> Texts:
    """The texts of a node whose rules are in `book`."""
    root = book.add("root", node)
    return Texts(Grammar(book.grammar(root.name, "")))


def judge(schema: Any, **arguments: Unpack[SchemaArguments]) -> Judge:
    """Accepts instances in some order of their keys."""
    grammar = Grammar.from_json_schema(schema, **arguments)
    return Judge(json.loads(schema) if isinstance(schema, str) else schema, CompiledGrammar(grammar, INFO, Options()))
