"""Caps bound what a schema leaves without a bound, wherever it stands, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from kernels_core import Grammar
from kernels_core.errors import InvalidStructuralTagError, UnsupportedSchemaError
from tests.json_schema.driver import Texts, texts
from tests.json_schema.strategies import instances, schemas

CAPS = {"maxLength": 4, "maxItems": 2, "maxProperties": 3}
FOUR = {"a": 1, "b": 2, "c": 3, "d": 4}


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        ({"type": "string"}, ["abcd"], ["abcde"]),
        ({"type": "string", "maxLength": 6}, ["abcdef"], ["abcdefg"]),
        ({"type": "string", "minLength": 6}, ["abcdef"], ["abcdefg"]),
        ({"type": "string", "pattern": "^[a-z]+$"}, ["abcd"], ["abcde"]),
        ({"enum": ["abcdefgh"]}, ["abcdefgh"], ["abcd"]),
        ({"type": "array"}, [[1, 2], [[1, 2], "abcd"]], [[1, 2, 3], [[1, 2, 3]], ["abcde"]]),
        ({"type": "array", "minItems": 3}, [[1, 2, 3]], [[1, 2], [1, 2, 3, 4]]),
        ({"type": "array", "prefixItems": 3 * [{"const": 1}]}, [[1, 1, 1]], [[1, 1, 1, 4]]),
        ({"type": "array", "contains": {"const": 1}, "minContains": 3}, [[1, 1, 1]], [[1, 1, 1, 2]]),
        (
            {"type": "array", "prefixItems": 3 * [{"type": "string"}], "contains": {"type": "integer"}},
            [["a", "b", "c", 1]],
            [["a", "b", "c"], ["a", "b", "c", 1, 2]],
        ),
        (
            {"type": "array", "not": {"prefixItems": [{}, {}, {"type": "string"}, {"type": "string"}]}},
            [["a", "b", 3], ["a", "b", "c", 4]],
            [["a", "b"], ["a", "b", "c", "d"], ["a", "b", 3, 4, 5, 6]],
        ),
        ({"type": "object"}, [{"a": 1, "b": 2, "c": 3}], [FOUR, {"a": FOUR}]),
        ({"type": "object", "maxProperties": 4}, [FOUR], [{**FOUR, "e": 5}]),
        ({"type": "object", "properties": {key: {} for key in FOUR}}, [FOUR], [{**FOUR, "e": 5}]),
        ({"type": "object", "required": [*FOUR]}, [FOUR], [{**FOUR, "e": 5}]),
        ({"not": {"type": "string"}}, [[1, 2]], [[1, 2, 3], "a"]),
        ({"not": {"type": "array", "maxItems": 2}}, [[1, 2, 3], "abcd"], [[1, 2], [1, 2, 3, 4], "abcde"]),
        ({"oneOf": [{"type": "string"}, {"minLength": 6}]}, ["abcde", 1], ["abcdef", [1, 2, 3]]),
        ({"$ref": "#/$defs/t", "$defs": {"t": {"items": {"$ref": "#/$defs/t"}}}}, [[[1, 2]]], [[[1, 2, 3]]]),
    ],
)
def test_what_is_capped(schema: dict[str, Any], inside: list[Any], outside: list[Any], order: Any) -> None:
    found = texts(schema, caps=CAPS, order=order)
    assert [value for value in inside if json.dumps(value) not in found] == []
    assert [value for value in outside if json.dumps(value) in found] == []


@given(schemas, instances)
def test_what_is_small_stays(schema: Any, value: Any) -> None:
    """With caps that nothing here reaches, a schema has the same instances."""
    large = {"maxLength": 200, "maxItems": 50, "maxProperties": 50}
    try:
        plain = texts(schema)
    except UnsupportedSchemaError:
        return
    assert (json.dumps(value) in texts(schema, caps=large)) == (json.dumps(value) in plain)


def test_arguments_of_tools_are_capped() -> None:
    leaf = {"type": "json_schema", "json_schema": {"type": "string"}, "caps": {"maxLength": 2}}
    found = Texts(Grammar.from_structural_tag({"type": "structural_tag", "format": leaf}))
    assert '"ab"' in found
    assert '"abc"' not in found
    for wrong in ({"maxLength": 0}, {"maxLength": True}, {"minLength": 1}, []):
        with pytest.raises(InvalidStructuralTagError, match="cap"):
            Grammar.from_structural_tag({"type": "structural_tag", "format": {**leaf, "caps": wrong}})


def test_caps_are_checked_and_kept() -> None:
    with pytest.raises(ValueError, match="caps are maxItems, maxLength, maxProperties, not 'maximum'"):
        Grammar.from_json_schema({}, caps={"maximum": 3})
    grammar = Grammar.from_json_schema({"type": "string"}, caps={"maxLength": 3})
    assert grammar.made_from[2] == {"caps": {"maxLength": 3}}
    assert grammar.key != Grammar.from_json_schema({"type": "string"}).key
