"""Alternatives that a required member keeps apart, wherever the schema says that it is required."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kernels_core import Grammar
from tests.json_schema.driver import Texts

BASE = {"properties": {"kind": {"type": "string"}}, "required": ["kind"]}


def option(*kinds: str, **more: Any) -> dict[str, Any]:
    return {"properties": {"kind": {"enum": list(kinds)}} | {name: {"type": kind} for name, kind in more.items()}}


def nested(count: int) -> dict[str, Any]:
    """Alternatives in alternatives; what keeps them apart stands behind them."""
    known = [f"{letter}{number}" for number in range(count) for letter in "ab"]
    groups = [
        {"properties": {"z": {"const": n}}, "oneOf": [option(f"a{n}", x="integer"), option(f"b{n}", y="null")]}
        for n in range(count)
    ]
    others = {"properties": {"kind": {"not": {"enum": known}}}}
    return {"type": "object", "oneOf": [others, {"oneOf": groups}], "allOf": [BASE]}


VALUES: list[Any] = [
    {},
    {"kind": "a0"},
    {"kind": "a0", "x": 1},
    {"kind": "a0", "x": None},
    {"kind": "b1", "y": None},
    {"kind": "b1", "x": "free", "y": 1},
    {"kind": "other", "x": "free"},
    {"z": 1, "kind": "a1", "x": 1},
    {"z": 0, "kind": "a1", "x": 1},
    {"x": 1},
    {"kind": 1},
]


@pytest.mark.parametrize("count", [2, 3])
def test_they_are_what_the_schema_says(count: int) -> None:
    schema = nested(count)
    found, validator = Texts(Grammar.from_json_schema(schema)), Draft202012Validator(schema)
    assert {json.dumps(value) in found for value in VALUES} == {True, False}
    for value in VALUES:
        assert (json.dumps(value) in found) == validator.is_valid(value), value


def test_many_of_them_are_read() -> None:
    found = Texts(Grammar.from_json_schema(nested(16)))
    assert '{"kind": "b11", "y": null}' in found
    assert '{"kind": "b11", "y": 1}' not in found
    assert '{"y": null}' not in found


def test_the_order_of_members_is_that_of_the_text() -> None:
    options = [{"required": ["x"], "properties": {"kind": {"const": 1}}}, {"properties": {"kind": {"const": 2}}}]
    closed = {"properties": {"kind": True, "x": True, "y": True}, "additionalProperties": False}
    schema = {"type": "object", **closed, "oneOf": options, "allOf": [{"required": ["y"]}]}
    found = Texts(Grammar.from_json_schema(schema, order="declared"))
    assert '{"kind": 1, "x": 0, "y": 0}' in found
    assert '{"kind": 1, "y": 0, "x": 0}' not in found
