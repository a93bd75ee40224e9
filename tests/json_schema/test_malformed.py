"""A keyword that has a value it cannot have is refused with its place, whatever type stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernels_core import (
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    GrammarSyntaxError,
    TokenizerInfo,
    UnsupportedSchemaError,
)
from kernels_core.grammar.json_schema import explain_schema
from kernels_core.grammar.json_schema.keywords import KEYWORDS, NOTES
from workbench.languages import Source
from workbench.languages.warnings import misspelt

BYTES = TokenizerInfo([bytes([byte]) for byte in range(256)])

WRONG: dict[str, Any] = {
    "required": "a",
    "properties": [],
    "patternProperties": {"(": True},
    "additionalProperties": 5,
    "propertyNames": "a",
    "minProperties": "1",
    "maxProperties": -1,
    "minLength": 5.5,
    "maxLength": None,
    "pattern": "(",
    "format": 5,
    "minimum": "1",
    "maximum": None,
    "exclusiveMinimum": "1",
    "exclusiveMaximum": [],
    "multipleOf": 0,
    "minItems": None,
    "maxItems": 1.5,
    "uniqueItems": "yes",
    "items": 5,
    "prefixItems": {},
    "additionalItems": 5,
    "contains": 5,
    "minContains": None,
    "maxContains": "1",
    "enum": "a",
    "type": "text",
    "allOf": [],
    "anyOf": {},
    "oneOf": [],
    "not": 5,
    "if": 5,
    "then": 5,
    "else": 5,
    "dependentRequired": [],
    "dependentSchemas": {"a": 5},
    "dependencies": {"a": 5},
    "unevaluatedProperties": 5,
    "unevaluatedItems": 5,
    "$ref": 5,
    "$dynamicRef": 5,
}
HUGE = '{"examples": [1e9999999999999999999]}'
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object", None)


def test_every_keyword_has_a_wrong_value_here() -> None:
    missing = {name for name in KEYWORDS if name not in NOTES and name not in WRONG}
    assert missing == {"const", "nullable", "$recursiveRef"}  # anything goes; another draft's


@pytest.mark.parametrize("keyword", WRONG)
def test_a_wrong_value_is_refused_beside_every_type(keyword: str) -> None:
    reasons = set()
    for kind in TYPES:
        inner = {} if kind is None or keyword == "type" else {"type": kind}
        schema = {"type": "object", "properties": {"a": {**inner, keyword: WRONG[keyword]}}}
        with pytest.raises(UnsupportedSchemaError) as caught:
            Grammar.from_json_schema(schema)
        (problem,) = caught.value.problems
        assert problem.keyword == keyword
        assert problem.pointer.startswith("#/properties/a")
        reasons.add(problem.reason)
        rows = {(row.pointer, row.keyword): row.status for row in explain_schema(schema)}
        assert rows[problem.pointer, keyword] == "refused"
        assert Grammar.from_json_schema(schema, lenient=True).told == (problem,)
    assert len(reasons) == 1


def test_what_is_well_formed_and_says_nothing_is_taken() -> None:
    # Look-behind is not supported for two characters, and here it does not matter.
    assert Grammar.from_json_schema({"type": "integer", "pattern": "(?<=ab)c", "required": ["a"], "minItems": 2})


def test_a_wrong_value_inside_a_keyword_of_another_type_is_found() -> None:
    with pytest.raises(UnsupportedSchemaError, match="#/properties/a, required"):
        Grammar.from_json_schema({"type": "string", "properties": {"a": {"required": 1}}})


@pytest.mark.report(
    "NousResearch/hermes-agent#104796, MarkusPfundstein/mcp-gsuite#52",
    "`required: true` in a property requires nothing whatever its type, and is told.",
)
@pytest.mark.parametrize("kind", TYPES)
def test_a_boolean_requires_nothing_and_is_told(kind: str | None) -> None:
    inner = {"required": True} if kind is None else {"type": kind, "required": True}
    schema = {"type": "object", "properties": {"a": inner}}
    matcher = GrammarMatcher(GrammarCompiler(BYTES).compile_json_schema(schema))
    assert matcher.accept_string("{}")
    assert matcher.is_completed()
    (row,) = [row for row in explain_schema(schema) if row.keyword == "required"]
    assert (row.status, row.pointer) == ("annotation", "#/properties/a")
    assert "list the name" in row.note
    (found,) = misspelt(Source.of(schema))
    assert "requires nothing" in found.message


@pytest.mark.report(
    "ggml-org/llama.cpp#14227", "A message about a keyword shows its value as JSON writes it: `null`, 5.5."
)
@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string", "maxLength": 5.5}, "not 5.5"),
        ('{"type": "string", "maxLength": 5.50}', "not 5.50"),
        ({"type": "array", "minItems": None}, "not null"),
        ({"type": ["string", {"type": "null"}]}, '{"type": "null"} is no type'),
        ({"type": None}, "null is no type"),
        ({"type": True}, "true is no type"),
        ({"pattern": "*a"}, "nothing to repeat here (character 0 of the pattern)"),
        ({"minLength": "x" * 100}, 'not "' + "x" * 56 + "..."),
    ],
)
def test_messages_show_values_as_json(schema: Any, said: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema(schema)
    assert said in str(caught.value)
    assert not any(word in str(caught.value) for word in ("Decimal(", "None", "not True"))


@pytest.mark.parametrize(
    ("schema", "cure"),
    [
        ({"type": "any"}, "leave it out, and every value is allowed"),
        ({"type": "Text"}, 'write "string"'),
        ({"type": "date"}, 'write "string", with this word as its `format`'),
        ({"type": "object", "required": None}, "must be a list of strings; leave it out"),
        ({"minLength": None}, "not null; leave it out"),
        ({"type": None}, "the types are array"),
        ({"$ref": "#/definitions/X", "$defs": {"X": {}}}, "points to nothing; did you mean '#/$defs/X'?"),
        ({"$ref": "#X", "definitions": {"X": {}}}, "points to nothing; did you mean '#/definitions/X'?"),
        ({"$ref": "#/$defs/Adress", "$defs": {"Address": {}, "Name": {}}}, "did you mean '#/$defs/Address'?"),
        ({"$ref": "#/$defs/Y", "$defs": {"X": {"$id": "x"}}}, "'#/$defs/Y' points to nothing (lenient"),
        ({"$ref": "#/components/schemas/Pet"}, "points to nothing; take along the components of its document"),
        ({"properties": {"a": {}, "b": "string"}}, """not a string (at "b"); write {"type": "string"}"""),
        ({"allOf": [True, 5]}, "not a number (at 1)"),
        ({"$schema": "draft-07"}, "leave it out, or name a draft: https://json-schema.org/draft/2020-12/schema"),
    ],
)
def test_what_may_be_meant_is_said(schema: Any, cure: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema(schema)
    assert cure in str(caught.value)


def test_explain_schema_names_the_keyword_that_was_meant() -> None:
    said = {row.keyword: (row.status, row.note) for row in explain_schema({"minProprties": 2, "mine": 1, "title": "a"})}
    assert said["minProprties"] == ("annotation", "it forbids nothing; did you mean minProperties?")
    assert said["mine"] == said["title"] == ("annotation", "")


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (
            {"type": "json_schema", "json_schema": {"schema": {}}},
            "holds its schema in schema, or in json_schema.schema: take that one",
        ),
        ({"type": "json_object"}, 'any object: write "object"'),
        ({"type": "grammar", "grammar": 'root ::= "a"'}, "holds the text of a grammar beside this type"),
        ({"type": "structural_tag", "format": "a"}, "it is a structural tag"),
        ({"model": "m", "format": {"type": "object"}}, "a request of Ollama has its schema here: take that one"),
    ],
)
def test_a_request_is_no_schema_and_says_where_its_own_is(request_: Any, said: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match=said):
        Grammar.from_json_schema(request_)


@pytest.mark.parametrize(
    "read",
    [
        lambda: Grammar.from_json_schema(HUGE),
        lambda: explain_schema(HUGE),
        lambda: Grammar.from_structural_tag(f'{{"type": "json_schema", "json_schema": {HUGE}}}'),
        lambda: Grammar.from_lark(f"start: %json {HUGE}"),
    ],
    ids=["a schema", "its explanation", "a tag", "Lark"],
)
def test_an_exponent_that_no_decimal_has_is_an_error_of_the_text(read: Callable[[], object]) -> None:
    with pytest.raises(GrammarSyntaxError, match="the exponent of 1e9999999999999999999 is too large"):
        read()
