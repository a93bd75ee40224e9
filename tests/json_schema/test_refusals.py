"""What cannot be exact is refused, with every reason and its place; what has no instance, with the conflict."""

from __future__ import annotations

import contextlib
import pickle
import re
from typing import Any

import pytest

from kernels_core import Grammar, TimeLimit, UnsupportedSchemaError
from kernels_core.errors import GrammarSyntaxError
from kernels_core.grammar.json_schema import explain_schema, schema_algebra
from tests.json_schema.driver import judge, texts

# A pattern and a length that no string has both of, where neither the root nor what it holds says so.
NO_STRING = {"type": "string", "pattern": "^[a-z]{2,}$", "maxLength": 1}
CLOSED = {"type": "object", "additionalProperties": False}
NO_STRING_BELOW = {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 1, "items": NO_STRING}}


def problems(schema: Any, **arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema(schema, **arguments)
    return [(problem.pointer, problem.keyword) for problem in caught.value.problems]


def test_very_many_items_by_position_are_refused_by_name() -> None:
    schema = {"properties": {"a": {"type": "array", "prefixItems": [{"type": "integer"}] * 20_000}}}
    (found,) = reasons(schema)
    start = "#/properties/a, prefixItems: its conditions on items take too many states; use smaller counts"
    assert found.startswith(start)
    assert Grammar.from_json_schema(schema, lenient=True)


def test_all_problems_are_listed() -> None:
    schema = {
        "properties": {
            "a": {"type": "array", "not": {"uniqueItems": True}},
            "b": {"pattern": "(?<=xx)y"},
            "c": {"$ref": "#/nowhere"},
            "d/e": {"type": "strin"},
            "f": {"multipleOf": 0},
            "g": {"multipleOf": 1234567891},
        }
    }
    assert sorted(problems(schema)) == [
        ("#/properties/a/not", "uniqueItems"),
        ("#/properties/b", "pattern"),
        ("#/properties/c", "$ref"),
        ("#/properties/d~1e", "type"),
        ("#/properties/f", "multipleOf"),
        ("#/properties/g", "multipleOf"),
    ]


def test_lenient_widens_and_says_so() -> None:
    schema = {"properties": {"a": {"type": "array", "items": {"type": "string"}, "not": {"uniqueItems": True}}}}
    grammar = Grammar.from_json_schema(schema, lenient=True)
    (lost,) = grammar.warnings
    assert (lost.pointer, lost.keyword) == ("#/properties/a/not", "uniqueItems")
    assert '{"a": ["x", "x"]}' in texts(schema, lenient=True)
    assert '{"a": [1]}' not in texts(schema, lenient=True)


def test_lenient_never_narrows() -> None:
    # The complement of something wider would be narrower, so it is dropped as well.
    schema = judge({"type": "string", "not": {"pattern": r"\bx"}}, lenient=True)
    assert schema.accepts("ax")
    chosen = judge({"oneOf": [{"pattern": r"\bx"}, {"pattern": "y"}], "type": "string"}, lenient=True)
    assert chosen.accepts("y")


def test_lenient_leaves_out_what_depends_on_a_keyword_that_could_not_be_read() -> None:
    members = {"patternProperties": {"[": {"type": "string"}}, "additionalProperties": False}
    assert '{"a": "x"}' in texts(members, lenient=True)
    items = {"prefixItems": {}, "items": {"type": "string"}}
    assert "[1]" in texts(items, lenient=True)


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        (False, ("#", "false"), "false"),
        ({"type": "string", "minLength": 3, "enum": ["ab", 5]}, ("#", "enum"), "contradicts"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, ("#", "maximum"), "'minimum'"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, ("#", "allOf"), "no value at all"),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"const": "a", "minLength": 2}}},
            ("#/properties/a", "minLength"),
            "'a' of # is required",
        ),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, ("#", "additionalProperties"), ""),
        ({"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]}, ("#", "$ref"), "for ever"),
        (NO_STRING_BELOW, ("#", "$ref"), "for ever"),
        ({"const": ["a", "\ud800"]}, ("#", "const"), "surrogate"),
        ({"enum": ["\ud800", "\udfff"]}, ("#", "enum"), "surrogate"),
        (CLOSED | {"properties": {"a": {"const": "\ud800"}}, "required": ["a"]}, ("#/properties/a", "const"), "UTF-8"),
        ({"type": "object", "required": ["a", "\ud800"]}, ("#", "required"), "surrogate"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, ("#", "maxItems"), ""),
        pytest.param(
            {"enum": []},
            ("#", "enum"),
            "no value",
            marks=pytest.mark.report("mlc-ai/xgrammar#639", "An empty `enum` is refused with its location."),
        ),
        pytest.param(
            {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            ("#", "exclusiveMaximum"),
            "'exclusiveMinimum'",
            marks=pytest.mark.report(
                "guidance-ai/llguidance#206", "Bounds with no integer between them are refused, both by name."
            ),
        ),
        pytest.param(
            {"allOf": [{**CLOSED, "properties": {name: {}}, "required": [name]} for name in "ab"]},
            ("#", "allOf"),
            "no value at all; where one has `additionalProperties: false`",
            marks=pytest.mark.report(
                "colinhacks/zod#5702", "Two closed objects of which each requires a name of its own are refused."
            ),
        ),
    ],
)  # fmt: skip
def test_schemas_without_instances(schema: Any, place: tuple[str, str], words: str) -> None:
    for lenient in (False, True):
        with pytest.raises(UnsupportedSchemaError) as caught:
            Grammar.from_json_schema(schema, lenient=lenient)
        (problem,) = caught.value.problems
        assert (problem.pointer, problem.keyword) == place
        assert words in problem.reason


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"minLength": -1}, "minLength"),
        ({"pattern": 3}, "pattern"),
        ({"type": []}, "type"),
        ({"$ref": "#"}, "$ref"),
        ({"$ref": "http://elsewhere/x"}, "$ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}, "$ref"),
        ({"$schema": "http://example.com/mine", "type": "string"}, "$schema"),
        ({"patternProperties": {"[": {}}}, "patternProperties"),
        ({"dependentRequired": {"a": "b"}}, "dependentRequired"),
        ({"multipleOf": 1e400}, "multipleOf"),
    ],
)
def test_malformed_keywords(schema: Any, keyword: str) -> None:
    assert keyword in [found for _, found in problems(schema)]


def test_what_nothing_refers_to_is_not_judged() -> None:
    assert '"x"' in texts({"type": "string", "$defs": {"unused": {"pattern": "("}}})


def test_schema_text_is_checked_as_json() -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        Grammar.from_json_schema('{"type": "string",}')
    assert caught.value.line == 1
    with pytest.raises(GrammarSyntaxError):
        Grammar.from_json_schema('{"minimum": NaN}')
    with pytest.raises(GrammarSyntaxError):
        Grammar.from_json_schema("[" * 100_000)
    with pytest.raises(TypeError):
        Grammar.from_json_schema(5)
    with pytest.raises(TypeError):
        Grammar.from_json_schema({"enum": [object()]})


@pytest.mark.parametrize(
    "schema",
    [
        {
            "anyOf": [{"properties": {f"k{i}": {"const": i}}} for i in range(40)],
            "oneOf": [{"required": [f"k{i}"]} for i in range(40)],
        },
        {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(30)]},
        {"oneOf": [{"properties": {f"k{i}": {"minimum": i}, f"k{i + 1}": {"maximum": i}}} for i in range(12)]},
        {"type": "object", "minProperties": 50_000, "properties": {f"k{i}": {} for i in range(50)}},
        {"not": {"items": {"not": {"items": {"not": {"items": {"uniqueItems": True}}}}}}},
        {"type": "string", "pattern": "a.*b.*c.*d", "maxLength": 60_000},
        {"unevaluatedProperties": False, "anyOf": [{"properties": {f"k{i}": {}}} for i in range(16)]},
        {"contains": {"minimum": 1}, "minContains": 5_000, "maxContains": 9_000},
        {"type": "string", "pattern": "(a|b)*a(a|b){18}$", "not": {"pattern": "b"}},
    ],
)  # fmt: skip
def test_budgets_end_in_a_refusal_and_not_in_a_hang(schema: Any) -> None:
    # Several times as many looks at the clock as the most demanding of these schemas takes.
    with TimeLimit(0, looks=1_000_000), contextlib.suppress(UnsupportedSchemaError):
        Grammar.from_json_schema(schema)


def test_errors_travel() -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema({"not": {"uniqueItems": True}})
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.problems == caught.value.problems
    assert "lenient=True" in str(copy)


def test_explanations() -> None:
    schema = {
        "type": "object",
        "title": "T",
        "properties": {
            "a": {"type": "string", "format": "colour", "x-note": 1},
            "b": {"not": {"uniqueItems": True}},
            "e": {"items": {"type": "object"}, "uniqueItems": True},
            "c": {"$ref": "#/$defs/d"},
            "h": {"format": "hostname"},
        },
        "$defs": {"d": {"pattern": "^a"}, "unused": {"pattern": "("}},
    }
    rows = {(row.pointer, row.keyword): row.status for row in explain_schema(schema)}
    assert rows["#", "type"] == rows["#", "properties"] == rows["#/$defs/d", "pattern"] == "exact"
    assert rows["#", "title"] == rows["#/properties/a", "format"] == rows["#/properties/a", "x-note"] == "annotation"
    assert rows["#/properties/b/not", "uniqueItems"] == "refused"
    assert rows["#/properties/e", "uniqueItems"] == "exact"
    assert rows["#/properties/h", "format"] == "approximated"
    assert ("#/$defs/unused", "pattern") not in rows
    lenient = {(row.pointer, row.keyword): row.status for row in explain_schema(schema, lenient=True)}
    assert lenient["#/properties/b/not", "uniqueItems"] == "approximated"
    hopeless = explain_schema({"type": "string", "const": 1})
    assert [(row.keyword, row.status) for row in hopeless] == [("type", "exact"), ("const", "refused")]


def test_a_spent_budget_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_algebra, "MAX_MEETS", 20)
    parts = [{"properties": {f"a{i}": {"allOf": [{"minimum": i}, {"maximum": i + 1}]}}} for i in range(40)]
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema({"allOf": parts, "anyOf": parts})
    (reason,) = [problem.reason for problem in caught.value.problems]
    assert "in too many ways" in reason


def test_any_order_of_many_members_where_some_member_must_be_something() -> None:
    """Also where one that is not declared may be it."""
    schema = {
        "properties": {letter: {"type": "integer"} for letter in "abcdefghijkl"},
        "minProperties": 2,
        "not": {"additionalProperties": {"type": "integer"}},
    }
    found = texts({"items": schema})
    assert '[{"a": 1, "b": 2, "z": ""}]' in found
    assert '[{"a": 1, "b": 2, "z": 0}]' not in found
    assert '[{"z": ""}]' not in found
    assert '[{"b": 1, "z": "", "a": 2}]' in found
    assert '[{"b": 1, "a": 2}]' not in found


NO_INTEGER = {"type": "integer", "enum": ["x"]}
NEEDS_A = {"type": "object", "required": ["a"]}


@pytest.mark.parametrize("order", ["any", "declared", "loose"])
@pytest.mark.parametrize(
    ("value", "place"),
    [
        (NO_INTEGER, ("#/properties/a", "enum")),
        (NEEDS_A | {"properties": {"a": NO_INTEGER}}, ("#/properties/a/properties/a", "enum")),
        ({"$ref": "#"}, ("#", "$ref")),
        ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, ("#", "$ref")),
    ],
)
def test_a_required_member_without_values_is_refused_in_any_order(value: Any, place: Any, order: Any) -> None:
    assert problems(NEEDS_A | {"properties": {"a": value}, "minProperties": 1}, order=order) == [place]


@pytest.mark.parametrize("order", ["any", "declared", "loose"])
def test_an_object_without_values_may_not_come_where_others_may(order: Any) -> None:
    """What is in a union of loose objects has to be there as well as in the order of the schema."""
    none = NEEDS_A | {"properties": {"a": NO_INTEGER}, "minProperties": 1}
    circle = NEEDS_A | {"properties": {"a": {"items": {"$ref": "#/$defs/circle"}, "minItems": 1, "type": "array"}}}
    some = CLOSED | {"properties": {"b": {"type": "null"}}, "required": ["b"]}
    schema = {"$defs": {"circle": circle}, "items": {"anyOf": [none, {"$ref": "#/$defs/circle"}, some]}}
    found = texts(schema, order=order)
    assert '[{"b": null}]' in found
    assert '[{"c": 1}]' not in found
    assert '[{"a": [{"c": 1}]}]' not in found


# -- messages name the place, the keyword and what to do --------------------------------------------------------------


def reasons(schema: Any, **arguments: Any) -> list[str]:
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema(schema, **arguments)
    return [f"{problem.pointer}, {problem.keyword}: {problem.reason}" for problem in caught.value.problems]


CROSSING = {f"{one}.*{two}": {"const": one + two} for one in "abcd" for two in "efg"}


@pytest.mark.parametrize("arguments", [{}, {"order": "declared"}, {"order": "loose"}])
def test_names_that_patterns_cannot_keep_apart(arguments: dict[str, Any]) -> None:
    found = reasons({"properties": {"a": {"patternProperties": CROSSING}}}, **arguments)
    assert found[-1].startswith("#/properties/a, patternProperties: its conditions on members take too many states; ")
    assert found[-1].endswith("use patterns that have no name in common")


def test_strings_and_numbers_of_too_many_states() -> None:
    (string,) = reasons({"properties": {"s": {"pattern": "a.{12}b.{12}c", "minLength": 9_000}}})
    assert string.startswith("#/properties/s, ")
    assert "use a smaller length or a simpler pattern" in string
    (number,) = reasons({"items": {"multipleOf": 1234567891}})
    assert number.startswith("#/items, multipleOf: its remainders take too many states; use multiples of fewer digits")


@pytest.mark.parametrize(
    ("schema", "blamed"),
    [
        ({"properties": {"a": {}}, "minProperties": 2}, True),
        ({"properties": {"a": {}}, "required": ["b"]}, True),
        ({"prefixItems": [{}], "minItems": 2, "type": "array"}, True),
        ({"properties": {"a": False}, "required": ["a"]}, False),
        ({"properties": {"a": {}}, "minProperties": 2, "maxProperties": 1}, False),
    ],
)
def test_what_strict_mode_leaves_without_values_is_said_to_be_its_doing(schema: Any, blamed: bool) -> None:
    (found,) = reasons({"type": "object"} | schema, strict_mode=True)
    assert found.endswith(", since strict mode forbids what the schema does not mention") is blamed
    if blamed:
        assert Grammar.from_json_schema({"type": "object"} | schema).warnings == ()
    else:
        assert reasons({"type": "object"} | schema) == [found]


CIRCLES = {"x": {"$ref": "#/$defs/x"}, "y": {"allOf": [{"$ref": "#/$defs/z"}]}, "z": {"$ref": "#/$defs/y"}}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "5"),
        ({"type": "object", "properties": {"a": {"type": "null"}}}, '{"a": null}'),
        ({"type": "string", "items": CIRCLES["x"]}, '"a"'),
        ({"type": "array", "items": {"type": "object", "properties": {"a": False}}}, "[{}]"),
    ],
)
def test_a_circle_that_nothing_uses_is_no_problem(schema: Any, text: str) -> None:
    assert text in texts(schema | {"$defs": CIRCLES})


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/x"}}}, "#/properties/a, $ref"),
        ({"items": {"$ref": "#/$defs/y"}}, "#/items, $ref"),
        ({"not": {"$ref": "#"}}, "#/not, $ref"),
    ],
)
def test_a_circle_that_is_used_is_refused_where_it_is(schema: Any, place: str) -> None:
    found = reasons(schema | {"$defs": CIRCLES})
    assert any(one.split(":")[0] == place or "#/$defs" in one for one in found)
    assert all("refers to itself" in one and "such as properties or items" in one for one in found)


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (
            {"$defs": [], "items": {"$ref": "#a"}},
            "#/items, $ref: names of schemas cannot be collected: #/$defs must be",
        ),
        (
            {"$defs": {"b": []}, "items": {"$ref": "#a"}},
            "#/items, $ref: names of schemas .*: #/$defs/b must be a schema",
        ),
        ({"items": {"$ref": "#a"}, "allOf": {"$id": "#b"}}, "#, allOf: .*a list"),
        ({"$defs": {"b": []}, "items": {"$ref": "#/$defs/b"}}, "#/items, $ref: a schema must be .*, not a list"),
    ],
)
def test_schemas_that_are_lists(schema: Any, found: str) -> None:
    problems = reasons(schema)
    assert any(re.match(found.replace("$", r"\$"), one) for one in problems), problems
    assert not any("object has no" in one for one in problems)
