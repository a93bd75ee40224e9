"""No door reads a text that is longer than a grammar's may be, and none reads for longer than it may."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kernels_core import BudgetExceededError, Grammar, GrammarCompiler, TimeLimit, TokenizerInfo
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


def test_every_method_that_reads_is_a_door() -> None:
    """One that is new has to be tried here."""
    tried = {"ebnf", "regex", "lark", "json_schema", "structural_tag"}
    assert {name for name in dir(Grammar) if name.startswith("from_")} == {f"from_{name}" for name in tried}
    compiles = {f"compile_{name}" for name in (tried - {"ebnf"}) | {"grammar", "builtin_json_grammar"}}
    assert {name for name in dir(GrammarCompiler) if name.startswith("compile_")} == compiles


def test_what_a_text_imports_counts_as_well() -> None:
    with pytest.raises(BudgetExceededError, match="16,777,216 characters"):
        Grammar.from_lark("%import .a (b)\nstart: b", imports={"a": 'b: "x"\n' + BLANKS})
    half = dict.fromkeys("acd", 'b: "x"\n' + BLANKS[: LONGEST_TEXT // 2])
    text = "".join(f"%import .{name}.b -> {name}\n" for name in half) + "start: a c d"
    with pytest.raises(BudgetExceededError, match="16,777,216 characters"):
        Grammar.from_lark(text, imports=half)


def test_a_tag_counts_as_the_text_that_it_is_kept_as() -> None:
    part = {"type": "const_string", "value": "x" * (LONGEST_TEXT // 8)}
    form = {"type": "sequence", "elements": [part] * 9}
    with pytest.raises(BudgetExceededError, match=r"16,777,216 bytes"):
        Grammar.from_structural_tag({"type": "structural_tag", "format": form})
    lines = {"type": "const_string", "value": "\n" + "x" * (LONGEST_TEXT // 4)}
    assert Grammar.from_structural_tag({"type": "structural_tag", "format": lines})


def members(count: int) -> dict[str, Any]:
    """A schema of many parts, none of which may wait."""
    parts = {f"p{number}": {"type": "string", "pattern": f"^a{number}", "minLength": 2} for number in range(count)}
    return {"type": "object", "properties": parts}


def tags(count: int, style: str) -> dict[str, Any]:
    content = {"type": "json_schema", "json_schema": {"type": "object", "properties": {"a": True}}, "style": style}
    found = [{"type": "tag", "begin": f"<t{number}>", "content": content, "end": "</t>"} for number in range(count)]
    return {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"], "tags": found}}


MANY = 3_000
LARGE: dict[str, tuple[Callable[[Any], object], Any]] = {
    "EBNF": (Grammar.from_ebnf, "root ::= " + " | ".join(f'"a{number}" [b-d]+' for number in range(MANY))),
    "regex": (Grammar.from_regex, "|".join(f"a{number}[b-d]+" for number in range(MANY))),
    "Lark": (Grammar.from_lark, "start: " + " | ".join(f'"a{number}" /[b-d]+/' for number in range(MANY))),
    "schema": (Grammar.from_json_schema, members(MANY)),
    "schema as text": (Grammar.from_json_schema, json.dumps(members(MANY))),
    "constants": (Grammar.from_json_schema, {"enum": [f"v{number}" for number in range(10 * MANY)]}),
    "document": (lambda part: Grammar.from_json_schema({"$ref": "urn:a"}, resources={"urn:a": part}), members(MANY)),
    "tag": (Grammar.from_structural_tag, tags(MANY, "json")),
    "tag as text": (Grammar.from_structural_tag, json.dumps(tags(MANY, "json"))),
    "tag in a style": (Grammar.from_structural_tag, tags(MANY, "qwen_xml")),
}
LARGE |= {
    f"compile {name}": (read, LARGE[name][1])
    for name, read in (
        ("EBNF", COMPILER.compile_grammar),
        ("regex", COMPILER.compile_regex),
        ("Lark", COMPILER.compile_lark),
        ("schema", COMPILER.compile_json_schema),
        ("tag", COMPILER.compile_structural_tag),
    )
}


@pytest.mark.parametrize("door", LARGE)
def test_the_clock_is_asked_behind_every_door(door: str) -> None:
    read, given = LARGE[door]
    for looks in (0, 20):
        with pytest.raises(BudgetExceededError), TimeLimit(0, looks=looks):
            read(given)
