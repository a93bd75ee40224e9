"""No door reads a text that is longer than a grammar's may be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernels_core import BudgetExceededError, Grammar, GrammarCompiler, TokenizerInfo
from kernels_core.grammar.length import LONGEST_TEXT
from workbench.languages import Source

COMPILER = GrammarCompiler(TokenizerInfo([bytes([byte]) for byte in range(256)]))
BLANKS = " " * LONGEST_TEXT
SCHEMA = '{"const": 1}'
TAG = '{"type": "structural_tag", "format": {"type": "any_text"}}'
DOORS: dict[str, tuple[Callable[[str], object], str]] = {
    "EBNF": (Grammar.from_ebnf, 'root ::= "a"'),
    "regex": (Grammar.from_regex, "a"),
    "Lark": (Grammar.from_lark, 'start: "a"\n'),
    "schema": (Grammar.from_json_schema, SCHEMA),
    "tag": (Grammar.from_structural_tag, TAG),
    "document": (
        lambda text: Grammar.from_json_schema({"$ref": "urn:a"}, resources={"urn:a": text}),
        SCHEMA,
    ),
    "compile EBNF": (COMPILER.compile_grammar, 'root ::= "a"'),
    "compile regex": (COMPILER.compile_regex, "a"),
    "compile Lark": (COMPILER.compile_lark, 'start: "a"\n'),
    "compile schema": (COMPILER.compile_json_schema, SCHEMA),
    "compile tag": (COMPILER.compile_structural_tag, TAG),
    "source": (lambda text: Source.of(text, "json_schema").grammar(), SCHEMA),
}


@pytest.mark.parametrize("door", DOORS)
def test_too_long_a_text_is_refused_before_it_is_read(door: str) -> None:
    read, text = DOORS[door]
    assert read(text) is not None
    with pytest.raises(BudgetExceededError, match="16,777,216 characters"):
        read(text + BLANKS)


def test_a_value_counts_as_the_text_that_it_is_kept_as() -> None:
    part = {"description": "x" * (LONGEST_TEXT // 8)}
    with pytest.raises(BudgetExceededError, match=r"16,777,216 (characters|bytes)"):
        Grammar.from_json_schema({"allOf": [part] * 9})
