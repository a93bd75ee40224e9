"""Alternatives that a required member keeps apart, wherever the schema says that it is required, and many of them:
more than products may make."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, UnsupportedSchemaError
from kernels_core.grammar.ir import DeferredRule
from tests.engine.driver import tokenizer
from tests.json_schema.driver import Texts, judge

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


def closed(kind: Any, **members: Any) -> dict[str, Any]:
    properties = {"kind": kind} | {name: {"type": type_} for name, type_ in members.items()}
    required = ["kind", *[name for name in members if name.isupper()]]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def many(count: int) -> list[dict[str, Any]]:
    """Objects that begin with the tag; those with two members more have one that is required."""
    more: list[dict[str, Any]] = [{}, {"x": "integer"}, {"X": "integer"}, {"x": "null", "Y": "null", "z": "null"}]
    return [closed({"const": f"k{n}"}, **more[n % 4]) for n in range(count)]


# Constants that are no scalars are left to the algebra.
ODD = closed({"const": "odd"}, x="array")
ODD["properties"]["x"]["enum"] = [["a"], []]
LETTERS = [bytes([byte]) for byte in range(0x20, 0x7F)]
TOKENS = tokenizer([*LETTERS, b'{"', b'": "', b'"k', b"k1", b'1"', b'1", "', b'"}', b'k2", "X', b"null"])


@pytest.mark.parametrize("count", [5, 60, 200])
@pytest.mark.parametrize("layout", [{}, {"any_whitespace": False}, {"any_whitespace": False, "indent": 1}])
def test_a_tag_that_comes_first_is_read_before_the_object_is_looked_into(count: int, layout: Any) -> None:
    again = closed({"enum": ["k1"], "type": "string"}, w="boolean")
    schema = {"$defs": {"again": again}, "anyOf": [*many(count), {"$ref": "#/$defs/again"}]}
    grammar = Grammar.from_json_schema(schema, order="declared", **layout)
    found, validator = Texts(grammar), Draft202012Validator(schema)
    indent = layout.get("indent")
    values: list[Any] = [{"kind": f"k{n}"} | more for n in (0, 1, 2, 3, 4, 9) for more in ({}, {"x": 1}, {"X": 1})]
    values += [{"kind": "k1", "w": True}, {"kind": "k3", "x": None, "Y": None}, {"kind": "k3", "Y": None, "z": None}]
    values += [{"kind": "k3", "Y": None}, {"kind": "k"}, {"kind": "k1", "x": 1, "w": True}, {"X": 1}, {}]
    for value in values:
        assert (json.dumps(value, indent=indent) in found) == validator.is_valid(value), value
    assert json.dumps({"kind": "k3", "z": None, "Y": None}, indent=indent) not in found
    matcher = GrammarMatcher(GrammarCompiler(TOKENS).compile_json_schema(schema, order="declared", **layout))
    start = json.dumps({"kind": "k3"}, indent=indent)
    named = []
    for text in (start[: start.index("3")], '3"'):
        assert matcher.accept_string(text)
        matcher.allowed_token_ids()
        rules = {rule.name for rule in matcher.compiled.machine.tables.lowering.rules}
        named.append({f"k{n}" for n in range(count)} & rules)
    assert named[0] <= {"k1"}  # a token goes on to what follows that
    assert named[1] - named[0] == {"k3"}


@pytest.mark.parametrize("text", ['{"kind": "k2", "X": 1}', '{"kind": "k12"}', '{"kind": "k3", "Y": null}'])
@pytest.mark.parametrize(
    "more", [[], [closed({"const": "a/b"})], [{"type": "object"}], [closed({"type": "string"})], [ODD]]
)
def test_masks_before_and_behind_a_tag(text: str, more: list[Any]) -> None:
    """Also where some of the objects have no such tag."""
    matchers = [
        GrammarMatcher(
            GrammarCompiler(TOKENS, options=options).compile_json_schema({"anyOf": many(60) + more}, order="declared")
        )
        for options in (
            Options(),
            Options.laboratory(direct_limit=0, differential_from=0),
            Options(lazy_lowering=False),
        )
    ]
    for byte in [*text.encode(), None]:
        masks = [matcher.allowed_token_ids() for matcher in matchers]
        assert masks[0] == masks[1] == masks[2]
        if byte is not None:
            assert [matcher.accept_string(bytes([byte])) for matcher in matchers] == [True] * 3


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("order", ["any", "declared", "loose"])
@pytest.mark.parametrize("count", [3, 40])
def test_objects_wait_beside_others_that_do_not(keyword: str, order: Any, count: int) -> None:
    schema = {keyword: [ODD, *many(count), {"type": ["integer", "null"], "multipleOf": 3}]}
    if count == 40:
        schema = {"$defs": {"one": schema, "all": {"$ref": "#/$defs/one"}}, "$ref": "#/$defs/all"}
    grammar = Grammar.from_json_schema(schema, order=order)
    now = {name for name, rule in grammar.lazy_ir.rules.items() if not isinstance(rule, DeferredRule)}
    found, validator = Texts(grammar), Draft202012Validator(schema)
    values: list[Any] = [{"kind": f"k{n}"} | more for n in (0, 1, 2, 3) for more in ({}, {"x": 1}, {"X": 1}, {"y": 1})]
    values += [{"kind": "odd"} | more for more in ({}, {"x": ["a"]}, {"x": ["b"]})] + [3, 4, None, "k0", {"kind": "k"}]
    wrong = [value for value in values if (json.dumps(value) in found) != validator.is_valid(value)]
    assert wrong == []
    assert len(now) < 12


def test_problems_of_what_does_not_wait_are_told_where_they_are() -> None:
    bad = closed({"const": "bad"}) | {"multipleOf": 0}
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema({"anyOf": [*many(3), {"type": "array", "not": {"uniqueItems": True}}, ODD, bad]})
    assert [problem.pointer for problem in caught.value.problems] == ["#/anyOf/5", "#/anyOf/3/not"]


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


OPENAPI = "https://spec.openapis.org/oas/3.0/schema/2021-09-28"


@pytest.mark.parametrize("order", ["any", "declared", "loose"])
def test_two_options_that_take_null_exclude_each_other_there(order: Any) -> None:
    kinds = [{"type": kind, "nullable": True} for kind in ("string", "integer")]
    schema = {"$schema": OPENAPI, "oneOf": [{"type": "object"}, *kinds]}
    texts = {"null": False, "{}": True, '"a"': True, "3": True}
    found = {text: _takes(Grammar.from_json_schema(schema, order=order), text) for text in texts}
    assert found == texts


def test_options_exclude_each_other_by_the_keywords_of_their_own_dialect() -> None:
    """Draft 4 knows no `const`, so that the second takes what the first does."""
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x.y/z", "$id": "http://x.y/z"}
    grammar = Grammar.from_json_schema({"oneOf": [closed({"const": "a"}), {**closed({"const": "b"}), **old}]})
    assert not _takes(grammar, '{"kind":"a"}')


@pytest.mark.parametrize("there", ["#", "#/$defs/m"])
def test_an_alternative_that_leads_back_is_a_circle(there: str) -> None:
    schema = {
        "anyOf": [closed({"const": "a"}), {"$ref": there}],
        "$defs": {"m": {"anyOf": [closed({"const": "b"}), {"$ref": "#"}]}},
    }
    with pytest.raises(UnsupportedSchemaError, match="refers to itself"):
        Grammar.from_json_schema(schema)
    assert _takes(Grammar.from_json_schema(schema, lenient=True), '{"kind":"a"}')


def _takes(grammar: Grammar, text: str) -> bool:
    matcher = GrammarMatcher(GrammarCompiler(tokenizer([])).compile_grammar(grammar))
    return matcher.accept_string(text) and matcher.is_completed()
