"""Schemas that list many alternatives, which tags tell apart: more of them than products may make."""

from __future__ import annotations

import itertools

import pytest
from jsonschema import Draft202012Validator

from tests.json_schema.driver import judge


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_thousand_alternatives_with_a_tag(keyword: str) -> None:
    """As where a schema lists tools: their number is the schema's own and no product."""
    tools = [
        {
            "type": "object",
            "properties": {"name": {"const": f"tool{i}"}, "parameters": {"required": [f"x{i}"], "maxProperties": 2}},
            "required": ["name", "parameters"],
        }
        for i in range(1_000)
    ]
    nested = [{keyword: tools[start : start + 100]} for start in range(0, 1_000, 100)]
    for schema in (judge({keyword: tools}), judge({keyword: nested})):
        assert schema.accepts({"name": "tool0", "parameters": {"x0": 1}})
        assert schema.accepts({"name": "tool999", "parameters": {"x999": 1, "y": 2}})
        assert not schema.accepts({"name": "tool999", "parameters": {"x998": 1}})
        assert not schema.accepts({"name": "tool1000", "parameters": {"x1000": 1}})


def test_one_of_many_of_which_some_have_no_tag() -> None:
    tagged = [{"properties": {"kind": {"const": i}, "x": {"const": i % 3}}, "required": ["kind"]} for i in range(30)]
    untagged = [{"required": ["y"]}, {"properties": {"kind": {"enum": [1, 2, "z"]}}, "required": ["z", "kind"]}]
    schema = judge({"type": "object", "oneOf": [*tagged, *untagged]})
    referee = Draft202012Validator({"type": "object", "oneOf": [*tagged, *untagged]})
    for kind, x, more in itertools.product([1, 2.0, 29, 31, "z"], [1, 2], [{}, {"y": 0}, {"z": 0}, {"y": 0, "z": 0}]):
        for value in ({"kind": kind, "x": x, **more}, {"x": x, **more}):
            assert schema.accepts(value) == referee.is_valid(value), value
