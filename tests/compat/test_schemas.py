"""Schemas as XGrammar reads them: any order, keywords that give way with a warning, phrases that programs look for."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

import kernels_core
import workbench.compat.xgrammar as xgr
from kernels_core.errors import UnsupportedSchemaError

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from workbench.compat.xgrammar.testing import _is_grammar_accept_string

COMPILER = xgr.GrammarCompiler(xgr.TokenizerInfo([]))
NUMBERS = {"type": "object", "properties": {name: {"type": "integer"} for name in "abc"}}
TEXTS = (
    "{}",
    '{"a": 1}',
    '{"a": 1, "a": 2}',
    '{"b": 1, "a": 1}',
    '{"a": 1, "a": 1, "a": 1, "a": 1}',
    '{"z": 1}',
    '{"a": 1, "b": 1, "c": 1, "a": 1}',
)
ANY_ORDER: list[tuple[dict[str, Any], str]] = [  # what XGrammar 0.2.8 says of each text
    ({}, "1111101"),
    ({"required": ["a", "b"]}, "0011101"),
    ({"required": ["a", "b", "c"]}, "0000101"),
    ({"required": ["a"], "additionalProperties": True}, "0111111"),
    ({"maxProperties": 2}, "1111000"),
    ({"minProperties": 2}, "0011101"),
]


@pytest.mark.parametrize(("more", "expected"), ANY_ORDER)
def test_any_order_counts_members(more: dict[str, Any], expected: str) -> None:
    schema = {**NUMBERS, **more}
    content = {"type": "json_schema", "json_schema": schema, "any_order": True}
    for grammar in (
        xgr.Grammar.from_json_schema(schema, any_order=True),
        COMPILER.compile_json_schema(json.dumps(schema), any_order=True).grammar,
        xgr.Grammar.from_structural_tag({"format": content}),
    ):
        assert "".join(str(int(_is_grammar_accept_string(grammar, text))) for text in TEXTS) == expected


GIVES_WAY: list[tuple[dict[str, Any], str, str, str]] = [
    ({"type": "integer", "multipleOf": 1000003}, "7", "multipleOf", "it is ignored"),
    ({"oneOf": [{"const": 1}, {"const": 1}]}, "1", "oneOf", "it is read as anyOf"),
    ({"oneOf": [{"const": 1}, {"const": 1}], "anyOf": [{"type": "integer"}]}, "1", "oneOf", "it is read as anyOf"),
]


@pytest.mark.parametrize(("schema", "text", "keyword", "instead"), GIVES_WAY)
def test_two_keywords_give_way_with_a_warning(schema: dict[str, Any], text: str, keyword: str, instead: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match=keyword):
        kernels_core.Grammar.from_json_schema(schema)
    outer = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    content = {"type": "json_schema", "json_schema": outer}
    tag = {"format": {"type": "tag", "begin": "", "content": content, "end": ""}}
    for make, place in (
        (lambda: xgr.Grammar.from_json_schema(outer), "#/properties/a"),
        (lambda: xgr.Grammar.from_json_schema(json.dumps(outer)), "#/properties/a"),
        (lambda: COMPILER.compile_json_schema(outer).grammar, "#/properties/a"),
        (lambda: xgr.Grammar.from_structural_tag(tag), "#/format/content/json_schema/properties/a"),
    ):
        with pytest.warns(UserWarning, match=f"{place}, {keyword}: .*; {instead}"):
            grammar = make()
        assert _is_grammar_accept_string(grammar, f'{{"a": {text}}}')
        assert not _is_grammar_accept_string(grammar, "{}")


def test_a_keyword_behind_another_that_gave_way_is_told_too() -> None:
    branch = {"properties": {"a": {"type": "integer", "multipleOf": 1000003}}}
    with pytest.warns(UserWarning, match="it is ") as told:
        xgr.Grammar.from_json_schema({"oneOf": [branch, branch]})
    said = [str(one.message) for one in told]
    assert len(said) == 2
    assert "#, oneOf: " in said[0]
    assert "/properties/a, multipleOf: " in said[1]


def test_what_is_exact_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grammar = xgr.Grammar.from_json_schema({"type": "integer", "multipleOf": 7})
        assert [_is_grammar_accept_string(grammar, text) for text in ("14", "15")] == [True, False]
        grammar = xgr.Grammar.from_json_schema({"oneOf": [{"type": "integer"}, {"const": 3}]})
        assert [_is_grammar_accept_string(grammar, text) for text in ("4", "3")] == [True, False]


def test_nothing_else_gives_way() -> None:
    for schema in ({"type": "integer", "multipleOf": 1000003, "minimum": "x"}, {"oneOf": []}, {"type": "foo"}):
        with pytest.raises(UnsupportedSchemaError):
            xgr.Grammar.from_json_schema(schema)
    with pytest.raises(RuntimeError, match="multipleOf must be greater than 0"):
        xgr.Grammar.from_json_schema({"type": "integer", "multipleOf": 0})


OUT_OF_REACH = {
    '{"type": "array", "minItems": 3000000000}': "#, minItems: minItems must be at most 2,147,483,646",
    '{"type": "string", "minLength": 3000000000}': "#, minLength: minLength must be at most 2,147,483,646",
    '{"type": "object", "minProperties": 1e400}': "#, minProperties: minProperties must be at most 2,147,483,646",
    '{"properties": {"a": {"const": 1e-5000000}}}': "#/properties/a, const: a number has more than 2,000 digits",
    '{"type": "integer", "minimum": 1e5000000}': "#, minimum: a number has more than 2,000 digits",
}


@pytest.mark.parametrize("schema", OUT_OF_REACH)
def test_limits_are_met_when_a_schema_is_compiled(schema: str) -> None:
    tag = f'{{"format": {{"type": "json_schema", "json_schema": {schema}}}}}'
    for make in (xgr.Grammar.from_json_schema, COMPILER.compile_json_schema):
        with pytest.raises(RuntimeError, match=OUT_OF_REACH[schema]):
            make(schema)
    with pytest.raises(RuntimeError, match=OUT_OF_REACH[schema].partition(": ")[2]):
        COMPILER.compile_structural_tag(tag)


def test_a_length_that_no_text_has_forbids_nothing() -> None:
    grammar = xgr.Grammar.from_json_schema({"type": "string", "maxLength": 3000000000})
    assert _is_grammar_accept_string(grammar, '"abc"')
