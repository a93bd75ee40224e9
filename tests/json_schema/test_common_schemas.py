"""What is called usual at a glance is plain when it is looked into, and what nearly is usual is not called so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.json_schema.common_schemas import is_common_schema
from kernels_core.grammar.json_schema.deferrable_schemas import DeferrableSchemas
from kernels_core.grammar.json_schema.dialect import DEFAULT
from tests.json_schema.strategies import MANY

texts = st.sampled_from(["a", "b", "ab", "é", "\ud800"])
values = st.none() | st.booleans() | st.integers(0, 2) | texts
leaves = st.sampled_from([True, False, {}, {"type": "string"}, {"type": "integer"}, {"type": "array"}, {"type": "any"}])


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with some of the words that usual ones have, and a few that they have not, not always as meant."""
    kinds = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "strin", 1, ["null"]])
    members = st.dictionaries(texts, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds,
            "properties": members | values,
            "required": st.lists(texts | values, max_size=2) | values,
            "additionalProperties": inner,
            "items": inner,
            "enum": st.lists(texts | values, max_size=2) | values,
            "description": values,
            "default": values,
            "$id": st.just("http://a/b"),
            "$ref": st.just("#"),
            "minItems": st.integers(0, 1),
            "unheard-of": values,
        },
    )


def fully_plain(schema: Any) -> bool:
    """What a judge says who looks into everything."""
    judge = DeferrableSchemas(schema, DEFAULT.keywords, pointers=False, strict=False)
    return bool(judge.holds(schema))


@MANY
@given(st.recursive(leaves, objects, max_leaves=4))
def test_what_is_usual_is_plain(schema: Any) -> None:
    if is_common_schema(schema):
        assert fully_plain(schema)


USUAL: list[Any] = [
    True,
    {},
    {"type": "number", "description": "é", "title": 1, "default": [{}]},
    {"enum": ["a", "b"]},
    {"type": "string", "enum": ["a"]},
    {"type": "array"},
    {"type": "array", "items": {"type": "object"}},
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "null"}, "b": True}, "required": ["b"]},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "null"}}}, "additionalProperties": {}},
]


@pytest.mark.parametrize("schema", USUAL)
def test_usual_schemas(schema: Any) -> None:
    assert is_common_schema(schema)
    assert fully_plain(schema)


@pytest.mark.parametrize("schema", USUAL[1:])
@pytest.mark.parametrize(
    "more",
    [
        {"type": "strin"},
        {"type": 1},
        {"items": False},
        {"items": [{}], "type": "array"},
        {"enum": []},
        {"enum": [1]},
        {"enum": ["\ud800"]},
        {"properties": {"a": False}, "type": "object"},
        {"properties": {"\ud800": {}}, "type": "object"},
        {"properties": [], "type": "object"},
        {"required": ["none"], "type": "object"},
        {"required": "b", "type": "object"},
        {"additionalProperties": {"type": "object", "$ref": "#"}, "type": "object"},
        {"$id": "http://a/b"},
        {"minLength": 1},
    ],
)
def test_what_is_not_usual(schema: Any, more: dict[str, Any]) -> None:
    assert not is_common_schema(schema | more)


def test_deep_schemas_are_not_looked_into() -> None:
    schema: Any = {}
    for _ in range(1000):
        schema = {"type": "array", "items": schema}
    assert not is_common_schema(schema)
    circle: dict[str, Any] = {"type": "array"}
    circle["items"] = circle
    assert not is_common_schema(circle)
