"""The dialect of OpenAPI 3.0: `nullable`, and which words of JSON Schema it does not know."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, UnsupportedSchemaError
from kernels_core.grammar.json_schema import explain_schema
from kernels_core.grammar.json_schema.dialect import dialect_of
from tests.json_schema.driver import INFO, judge, texts
from tests.json_schema.strategies import MANY

OPENAPI = "https://spec.openapis.org/oas/3.0/dialect"

kinds = st.sampled_from(["boolean", "integer", "number", "string", "array", "object"])
typed = st.fixed_dictionaries(
    {},
    optional={
        "type": kinds,
        "nullable": st.booleans(),
        "enum": st.lists(st.sampled_from([None, True, 1, 2.5, "a"]), min_size=1, max_size=3, unique_by=repr),
        "minimum": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        # A list of one schema is no condition on others.
        "const": st.just("b"),
    },
)
schemas = st.recursive(
    typed,
    lambda inner: st.builds(
        lambda own, more: {**own, **more},
        typed,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
                "items": inner,
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "oneOf": st.lists(inner, min_size=1, max_size=2),
                "not": inner,
            },
        ),
    ),
    max_leaves=4,
)
instances = st.recursive(
    st.sampled_from([None, True, 0, 1, 2.5, "", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)


def in_draft_4(schema: Any) -> Any:
    """The same in draft 4: a type that is nullable is a list of two; `const` is a word of nobody."""
    if isinstance(schema, list):
        return [in_draft_4(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {word: in_draft_4(value) for word, value in schema.items() if word not in ("nullable", "const", "enum")}
    if schema.get("nullable") is True and isinstance(schema.get("type"), str):
        made["type"] = [schema["type"], "null"]
    return made | ({"enum": schema["enum"]} if "enum" in schema else {})


@MANY
@given(schemas, st.lists(instances | st.none(), min_size=1, max_size=4))
def test_nullable_is_one_more_type(schema: dict[str, Any], values: list[Any]) -> None:
    referee = jsonschema.Draft4Validator(in_draft_4(schema))
    expected = [referee.is_valid(value) for value in values]
    try:
        judged = judge({"$schema": OPENAPI, **schema})
    except UnsupportedSchemaError:
        assert not any(expected)  # there is no instance
        return
    assert [judged.accepts(value) for value in values] == expected


def test_null_is_allowed_only_beside_a_type_that_is_named() -> None:
    assert "null" in texts({"$schema": OPENAPI, "type": "string", "nullable": True})
    assert "null" not in texts({"$schema": OPENAPI, "type": "string", "nullable": False})
    assert "null" in texts({"$schema": OPENAPI, "nullable": False})
    assert "null" not in texts({"$schema": OPENAPI, "type": "string", "nullable": True, "enum": ["a"]})
    both = {"allOf": [{"type": "string", "nullable": True}, {"type": "string"}]}
    assert "null" not in texts({"$schema": OPENAPI, **both})


def test_elsewhere_it_is_an_annotation() -> None:
    for draft in ({}, {"$schema": "http://json-schema.org/draft-07/schema#"}):
        schema = {**draft, "type": "string", "nullable": True}
        assert "null" not in texts(schema)
        assert [row.status for row in explain_schema(schema) if row.keyword == "nullable"] == ["annotation"]


def test_explanation_and_error_have_their_place() -> None:
    schema = {"$schema": OPENAPI, "properties": {"a": {"type": "string", "nullable": True}}}
    assert {(row.pointer, row.keyword): row.status for row in explain_schema(schema)}[
        "#/properties/a", "nullable"
    ] == "exact"
    schema["properties"]["a"]["nullable"] = "yes"  # type: ignore[index]
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema(schema)
    assert [(one.pointer, one.keyword) for one in caught.value.problems] == [("#/properties/a", "nullable")]


def test_references_and_names() -> None:
    schema = {
        "$schema": OPENAPI,
        "type": "object",
        "properties": {"a": {"$ref": "#/components/schemas/a", "nullable": True}},
        "components": {"schemas": {"a": {"id": "http://elsewhere/", "type": "integer", "nullable": True}}},
    }
    assert '{"a": null}' in texts(schema)
    assert '{"a": "x"}' not in texts(schema)
    with pytest.raises(UnsupportedSchemaError, match="items"):
        Grammar.from_json_schema({"$schema": OPENAPI, "type": "array", "items": [{"type": "string"}]})


def test_a_nullable_member_is_deferred() -> None:
    members = {f"p{i}": {"type": "object", "nullable": True, "properties": {"x": {"enum": [i]}}} for i in range(20)}
    grammar = Grammar.from_json_schema({"$schema": OPENAPI, "type": "object", "properties": members})
    matcher = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(grammar))
    assert matcher.accept_string(json.dumps({"p3": None, "p7": {"x": 7}}))
    assert matcher.is_completed()
    assert len(grammar.lazy_ir.made) < 20


def test_the_dialect_of_openapi_3_1_is_draft_2020() -> None:
    assert dialect_of("https://spec.openapis.org/oas/3.1/dialect/base") is dialect_of(
        "https://json-schema.org/draft/2020-12/schema"
    )


@pytest.mark.parametrize(
    ("address", "same"),
    [
        ("https://spec.openapis.org/oas/3.0/schema/2024-10-18#/definitions/Schema", OPENAPI),
        ("https://spec.openapis.org/oas/3.1/dialect/2024-11-10", "https://json-schema.org/draft/2020-12/schema"),
        ("https://spec.openapis.org/oas/3.2/dialect/2025-09-17", "https://json-schema.org/draft/2020-12/schema"),
    ],
)
def test_dialects_of_openapi_have_dates(address: str, same: str) -> None:
    assert dialect_of(address) is dialect_of(same)
    assert dialect_of("https://spec.openapis.org/oas/3.1/schema/2025-02-13") is None  # that of documents
