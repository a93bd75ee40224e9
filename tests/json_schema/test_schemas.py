"""Schemas as texts: keys, order, blanks, composition, references, options.  Every text is judged to its end."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from kernels_core import Grammar, GrammarCompiler
from kernels_core.grammar.json_schema.members import covers
from kernels_core.grammar.json_schema.schema_algebra import SchemaAlgebra
from kernels_core.grammar.json_schema.shapes import ANYTHING, Items, Members
from kernels_core.grammar.json_schema.terms import Place
from kernels_core.grammar.regular.languages import Words
from tests.json_schema.driver import INFO, judge, texts

OPEN = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]}
CLOSED = {**OPEN, "additionalProperties": False}


@pytest.mark.report(
    "mlc-ai/xgrammar#831, guidance-ai/llguidance#187",
    "A declared name may come late in an object that allows other names.",
)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_open_objects_have_no_order(order: Any) -> None:
    schema = texts(OPEN, order=order)
    for text in [
        '{"a": 1, "b": ""}',
        '{"b": "", "a": 1}',
        '{"c": 1, "b": ""}',
        '{"b": ""}',
        '{"b": "", "c": null}',
        '{"a":1,"b":"","c":1,"d":{}}',
        '{ "b" :"" }',
    ]:
        assert text in schema, text
    for text in [
        '{"a": 1}',
        "{}",
        '{"a": 1, "b": "", "a": 1}',
        '{"a": "x", "b": ""}',
        '{"b": "",}',
        ' {"b": ""}',
    ]:
        assert text not in schema, text


def test_keys_are_compared_decoded() -> None:
    schema = texts(OPEN, any_spelling=True)
    assert r'{"\u0061": 1, "\u0062": ""}' in schema
    assert r'{"b": "", "\u0063": 1}' in schema
    for arguments in ({"any_spelling": True}, {}):
        narrow = texts(OPEN, **arguments)
        for text in [
            r'{"b": "", "\u0061": "x"}',
            r'{"b": "", "b": 1}',
            r'{"\u0061": "x", "b": ""}',
            r'{"b":"","\u0062":1}',
        ]:
            assert text not in narrow, text
    quoted = texts({"properties": {'a"/é': {"const": 1}}, "required": ['a"/é'], "additionalProperties": False})
    for text in [r'{"a\"/é": 1}', r'{"a\u0022\/\u00e9": 1}']:
        assert text in quoted, text


def test_plain_spelling_leaves_no_choice_in_known_text() -> None:
    # What is forced can be jumped over: a declared key and an enumerated string have one spelling.
    schema = texts(
        {
            "type": "object",
            "properties": {"name": {"enum": ["on"]}},
            "required": ["name"],
            "additionalProperties": False,
        },
        max_whitespace_cnt=0,
    )
    matcher = schema.matcher
    matcher.reset()
    for byte in b'{"name":"on"}':
        allowed = [value for value in range(256) if matcher.fork().accept_string(bytes([value]))]
        assert allowed == [byte]
        matcher.accept_string(bytes([byte]))
    assert matcher.is_completed()


def test_pattern_keys_and_additional_keys() -> None:
    schema = texts(
        {
            "properties": {"x1": {"type": "integer"}},
            "patternProperties": {"^x": {"minimum": 0}, "1$": {"maximum": 9}},
            "additionalProperties": {"type": "string"},
        }
    )
    for text in ['{"x1": 5}', '{"y": "s"}', '{"xa": 10}', '{"x1": 3, "a1": -4, "xb1": 0, "z": ""}', '{"xa": "s"}']:
        assert text in schema, text
    for text in ['{"x1": 10}', '{"x1": -1}', '{"y": 1}', '{"xa": -1}', '{"xb1": 10}', '{"a1": 10}']:
        assert text not in schema, text


def test_pattern_keys_that_say_what_a_key_is_not() -> None:
    schema = texts(
        {
            "properties": {"ab": {"type": "integer"}},
            "patternProperties": {"^.$": {}, "^(?!a)": {"maxLength": 2}},
            "additionalProperties": {"type": "string"},
        }
    )
    for text in ['{"ab": 1}', '{"a": []}', '{"b": "x"}', '{"abc": "long"}', '{"cd": "x"}', '{"cd": 1}']:
        assert text in schema, text
    for text in ['{"ab": "x"}', '{"b": "long"}', '{"abc": 1}', '{"cd": "long"}']:
        assert text not in schema, text


def test_counts_of_members() -> None:
    schema = judge({"properties": {"a": {}, "b": {}}, "minProperties": 2, "maxProperties": 3})
    for size in range(6):
        for names in ("abxyz"[:size], "xyzwv"[:size], "bxyzw"[:size]):
            assert schema.accepts(dict.fromkeys(names, 1)) == (2 <= size <= 3), names


def test_texts_that_repeat_an_additional_key() -> None:
    # Not context-free, and documented: each of the two must be allowed as if it stood alone.
    schema = texts({"additionalProperties": {"type": "integer"}})
    assert '{"q": 1, "q": 2}' in schema
    assert '{"q": 1, "q": "x"}' not in schema


def test_one_of_means_exactly_one() -> None:
    schema = judge({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"})
    for value, valid in [({"a": 1}, True), ({"b": 1}, True), ({"a": 1, "b": 1}, False), ({}, False), ({"c": 1}, False)]:
        assert schema.accepts(value) == valid, value
    numbers = judge({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}], "type": "integer", "minimum": 0, "maximum": 12})
    assert [n for n in range(13) if numbers.accepts(n)] == [2, 3, 4, 8, 9, 10]
    strings = judge({"oneOf": [{"pattern": "^a"}, {"pattern": "b$"}, {"enum": ["abc", "b", "c"]}, {"maxLength": 1}]})
    texts = ["", "a", "b", "c", "d", "ax", "xb", "xx", "abc", "axb"]
    assert [text for text in texts if strings.accepts(text)] == ["", "d", "ax", "xb"]


@pytest.mark.parametrize(
    ("alternative", "count"),
    [
        (lambda name: {"required": [name]}, 3),
        (lambda name: {"required": [name]}, 200),
        (lambda name: {"required": [name], "properties": {name: {"type": "integer"}}}, 40),
        (lambda name: {"required": [name], "maxProperties": 2}, 40),
    ],
)
def test_one_of_many_names(alternative: Callable[[str], dict[str, Any]], count: int) -> None:
    names = [f"p{number}" for number in range(count)]
    schema = judge({"type": "object", "oneOf": [alternative(name) for name in names]})
    validator = Draft202012Validator({"oneOf": [alternative(name) for name in names]})
    first, second, last = names[0], names[1], names[-1]
    for value in (
        {},
        {"other": 1},
        {first: 1},
        {first: 1, "other": 2},
        {last: "text"},
        {first: 1, second: 2},
        {first: 1, last: "text"},
        {first: 1, second: 2, last: 3},
        {first: 1, "other": 2, "more": 3},
    ):
        assert schema.accepts(value) == validator.is_valid(value), value


@pytest.mark.report("mlc-ai/xgrammar#858", "`properties` and `additionalProperties` count beside `anyOf`.")
def test_members_count_beside_any_of() -> None:
    members = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "additionalProperties": False}
    schema = {"type": "object", **members, "anyOf": [{"required": ["b"]}, {"required": ["a"]}]}
    verdict, validator = judge(schema), Draft202012Validator(schema)
    for value in (5, {}, {"a": ""}, {"b": ""}, {"a": "", "b": ""}, {"a": 1}, {"c": ""}, {"a": "", "c": ""}):
        assert verdict.accepts(value) == validator.is_valid(value), value


def test_negations_reach_inside() -> None:
    schema = judge({"not": {"properties": {"a": {"items": {"type": "string"}}}, "required": ["a"]}})
    for value, valid in [
        (1, False), ({}, True), ({"a": ["x"]}, False), ({"a": ["x", 1]}, True), ({"a": []}, False), ({"b": 1}, True),
        ({"a": 5}, False),
    ]:  # fmt: skip
        assert schema.accepts(value) == valid, value


def test_chains_of_conditions_stay_small() -> None:
    kinds = [f"kind{i}" for i in range(30)]
    rules = [
        {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": {"required": [f"{kind}_value"]}}
        for kind in kinds
    ]
    schema = {"type": "object", "properties": {"type": {"enum": kinds}}, "required": ["type"], "allOf": rules}
    verdict = judge(schema)
    assert verdict.accepts({"type": "kind7", "kind7_value": 1})
    assert not verdict.accepts({"type": "kind7", "kind8_value": 1})


def test_tags_tell_overlapping_branches_apart() -> None:
    branches = [
        {"properties": {"t": {"const": tag}, "v": {"items": {"minimum": i}}}, "required": ["t", "v"]}
        for i, tag in enumerate("abcdef")
    ]
    schema = judge(
        {"type": "object", "oneOf": [*branches, {"properties": {"t": {"type": "string"}}, "required": ["t", "v"]}]}
    )
    assert schema.accepts({"t": "c", "v": [1]})  # not of branch c, so of the last one alone
    assert not schema.accepts({"t": "c", "v": [2]})  # of both
    assert schema.accepts({"t": "other", "v": 0})


def test_dependencies_of_every_draft() -> None:
    old = judge(
        {"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    )
    new = judge({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}})
    for schema in (old, new):
        for names, valid in [("a", False), ("ab", True), ("c", False), ("cd", True), ("abc", False), ("", True)]:
            assert schema.accepts(dict.fromkeys(names, 1)) == valid, names
        assert schema.accepts(5)


def test_unevaluated_properties_by_branch() -> None:
    schema = judge(
        {
            "properties": {"a": {}},
            "anyOf": [
                {"properties": {"b": {"const": 1}}, "required": ["b"]},
                {"properties": {"c": {}}, "required": ["c"]},
            ],
            "unevaluatedProperties": False,
        }
    )
    for value, valid in [
        ({"a": 1, "b": 1}, True), ({"c": 1}, True), ({"b": 1, "c": 1}, True), ({"b": 2, "c": 1}, False),
        ({"a": 1}, False), ({"b": 1, "d": 1}, False),
    ]:  # fmt: skip
        assert schema.accepts(value) == valid, value


def test_arrays() -> None:
    schema = judge(
        {
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": {"type": "null"},
            "minItems": 1,
            "maxItems": 4,
        }
    )
    for value, valid in [
        ([], False), ([1], True), ([1, "a"], True), ([1, "a", None, None], True), ([1, "a", None, None, None], False),
        (["a"], False), ([1, "a", 1], False), ({}, True),
    ]:  # fmt: skip
        assert schema.accepts(value) == valid, value
    assert "[]" in texts({"type": "array"})
    assert "[1,]" not in texts({"type": "array"})


def test_contains_with_counts() -> None:
    schema = judge({"contains": {"type": "string"}, "minContains": 2, "maxContains": 3, "maxItems": 6})
    for count in range(6):
        for others in range(3):
            value = ["s"] * count + [1] * others
            assert schema.accepts(value) == (2 <= count <= 3 and len(value) <= 6), value


def test_recursion() -> None:
    schema = judge(
        {
            "$defs": {
                "tree": {
                    "type": "object",
                    "properties": {
                        "v": {"type": "integer"},
                        "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                    },
                    "required": ["v"],
                    "additionalProperties": False,
                }
            },
            "$ref": "#/$defs/tree",
        }
    )
    deep: Any = {"v": 1}
    for _ in range(50):
        deep = {"v": 2, "kids": [deep, {"v": 3}]}
    assert schema.accepts(deep)
    deep["kids"][0]["kids"][1]["w"] = 1
    assert not schema.accepts(deep)


def test_references_with_siblings_names_and_documents() -> None:
    resources = {
        "http://x/other.json": {"$id": "http://x/other.json", "$defs": {"n": {"$anchor": "num", "type": "number"}}}
    }
    schema = judge(
        {
            "$id": "http://x/root.json",
            "properties": {
                "a": {"$ref": "#here", "minimum": 3},
                "b": {"$ref": "other.json#num"},
                "c": {"$ref": "#/$defs/x~1y%25"},
            },
            "$defs": {"h": {"$anchor": "here", "type": "integer"}, "x/y%": {"const": "z"}},
        },
        resources=resources,
    )
    for value, valid in [
        ({"a": 3}, True),
        ({"a": 2}, False),
        ({"a": 3.5}, False),
        ({"b": 1.5}, True),
        ({"b": ""}, False),
        ({"c": "z"}, True),
        ({"c": 1}, False),
    ]:
        assert schema.accepts(value) == valid, value


LEAF = {"type": "string"}
BRANCH = {"type": "object", "properties": {"l": {"$ref": "#/properties/t/anyOf/0"}}, "required": ["l"]}
BRANCH["properties"]["r"] = {"$ref": "#/properties/t/anyOf/1"}


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        pytest.param(
            {"type": "object", "properties": {"t": {"anyOf": [LEAF, BRANCH]}}, "required": ["t"]},
            [{"t": "x"}, {"t": {"l": "x", "r": {"l": "y"}}}, {"t": {"l": {"l": "x"}}}, {"t": {"l": "x", "r": "y"}}, {}],
            marks=pytest.mark.report(
                "ggml-org/llama.cpp#16790", "A reference may lead into a list, as `#/properties/t/anyOf/1` does."
            ),
        ),
        pytest.param(
            {"type": "object", "properties": {"e": LEAF, "c": {"items": {"$ref": "#"}}}, "required": ["e"]},
            [{"e": "x"}, {"e": "x", "c": [{"e": "y", "c": [{"e": "z"}]}]}, {"e": "x", "c": [{}]}, {"c": []}],
            marks=pytest.mark.report("openai/openai-node#970", "A reference to `#` means the whole schema."),
        ),
        pytest.param(
            {
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"}, "c": {"enum": ["x", "y"]}},
                "properties": {"e": {"$ref": "#/$defs/a", "default": "x"}},
            },
            [{"e": "x"}, {"e": "y"}, {"e": "z"}, {"e": {}}],
            marks=pytest.mark.report("ggml-org/llama.cpp#8073", "A chain of references is followed to its `enum`."),
        ),
    ],
)
def test_references_into_the_schema_itself(schema: Any, values: list[Any]) -> None:
    verdict, validator = judge(schema), Draft202012Validator(schema)
    assert [verdict.accepts(value) for value in values] == [validator.is_valid(value) for value in values]


def test_siblings_of_references_before_2019_are_ignored() -> None:
    body = {"properties": {"a": {"$ref": "#/definitions/n", "maximum": 3}}, "definitions": {"n": {"type": "integer"}}}
    assert judge({"$schema": "http://json-schema.org/draft-07/schema#", **body}).accepts({"a": 5})
    assert not judge(body).accepts({"a": 5})


def test_a_name_is_found_beside_and_in_a_list_of_items() -> None:
    pair = [{"$id": "digit", "enum": [1, 2]}, {"type": "string"}]
    schema = {
        "$id": "pairs",
        "properties": {
            "pair": {"items": pair, "additionalItems": False},
            "next": {"$ref": "pairs"},
            "d": {"$ref": "digit"},
        },
        "additionalProperties": False,
    }
    verdict = judge(schema)
    values: list[Any] = [{"next": {"pair": [1, "a"], "d": 2}}, {"next": {"pair": [3]}}, {"d": 3}, {"next": {"e": 1}}]
    assert [verdict.accepts(value) for value in values] == [True, False, False, False]


def test_older_spellings_without_schema_keyword() -> None:
    schema = judge(
        {
            "properties": {
                "a": {"minimum": 1, "exclusiveMinimum": True},
                "b": {"items": [{"type": "null"}], "additionalItems": False},
            }
        }
    )
    for value, valid in [
        ({"a": 1}, False),
        ({"a": 1.5}, True),
        ({"b": [None]}, True),
        ({"b": [None, 1]}, False),
        ({"b": [1]}, False),
    ]:
        assert schema.accepts(value) == valid, value


# -- options -------------------------------------------------------------------------------------------------------

VALUE = {"a": [1, {"b": "x"}], "c": {}, "d": [], "e": [[]]}


@pytest.mark.parametrize("indent", [None, 0, 2, 4])
@pytest.mark.parametrize("separators", [None, (",", ":"), (" , ", " : ")])
def test_fixed_layouts_are_those_of_json(indent: int | None, separators: tuple[str, str] | None) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": ["integer", "object"]}}}}
    layout = texts(schema, any_whitespace=False, indent=indent, separators=separators)
    written = json.dumps(VALUE, indent=indent, separators=separators)
    assert written in layout
    other = json.dumps(VALUE, indent=3)
    assert other not in layout


def test_indentation_ends_in_the_depth() -> None:
    value: Any = 1
    for _ in range(30):
        value = [value]
    layout = texts({"type": "array"}, any_whitespace=False, indent=1)
    assert json.dumps(value, indent=1) not in layout
    assert json.dumps(value[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0], indent=1) in layout


@pytest.mark.report(
    "vllm-project/vllm#38696, jundot/omlx#2990",
    "White space in JSON ends: after 128 characters, or after as many as the caller says.",
)
def test_blanks_are_bounded() -> None:
    few = texts(OPEN, max_whitespace_cnt=2)
    assert '{  "b"\t\n:""}' in few
    assert '{   "b":""}' not in few
    behind = texts(OPEN, whitespace_before_separators=False)
    assert '{ "b":  "" ,\n"c":1 }' not in behind
    assert '{ "b" :  "",\n"c":1 }' not in behind
    assert '{ "b":  "",\n"c":[ 1, 2 ] }' in behind
    default = texts(OPEN)
    assert '{"b":' + " " * 128 + '""}' in default
    assert '{"b":' + " " * 129 + '""}' not in default


def test_assertions_with_a_length() -> None:
    schema = judge({"type": "string", "pattern": "^(?!ab)[abc]*$", "minLength": 1, "maxLength": 3})
    assert all(schema.accepts(text) for text in ("a", "acb", "bab"))
    assert not any(schema.accepts(text) for text in ("", "ab", "abc", "acba", "d"))


def test_many_dependencies_on_one_tag() -> None:
    """As many alternatives as values of the tag, not one for each set of names."""
    names = [f"x{i}" for i in range(24)]
    rule = {"properties": {"type": {"enum": ["p", "q"]}}}
    other = {"properties": {"type": {"enum": ["q", "r"]}}}
    schema = judge({"type": "object", "dependencies": {name: (rule, other)[i % 2] for i, name in enumerate(names)}})
    assert schema.accepts({"type": "q", **dict.fromkeys(names, 0)})
    assert schema.accepts({"type": "p", "x0": 1, "x2": 1})
    assert schema.accepts({"type": "s", "y": 1})
    assert schema.accepts({"x0": 1, "x1": 1})
    assert not schema.accepts({"type": "p", "x0": 1, "x1": 1})
    assert not schema.accepts({"type": "s", "x2": 1})


def test_one_of_many_whose_tag_is_required_beside_it() -> None:
    kinds = [f"k{i}" for i in range(12)]
    options = [{"properties": {"type": {"enum": [kind]}, kind: {"type": "integer"}}} for kind in kinds]
    schema = judge({"type": "object", "required": ["type"], "properties": {"type": {"enum": kinds}}, "oneOf": options})
    assert schema.accepts({"type": "k3", "k3": 1, "k4": "free"})
    assert not schema.accepts({"type": "k3", "k3": "free"})
    assert not schema.accepts({"k3": 1})
    assert judge({"oneOf": [True]}).accepts({"a": [1]})


def test_one_of_many_whose_tag_is_required_around_it() -> None:
    """`oneOf` stands alone in a part of `allOf`, or behind a reference: what is around it tells its options apart."""
    kinds = [f"k{i}" for i in range(40)]
    options = [{"properties": {"type": {"enum": [kind]}, "of": {"required": [kind]}}} for kind in kinds]
    base = {"properties": {"name": {"type": "string"}}, "required": ["name"]}
    inline = {"type": "object", "required": ["type"], "allOf": [base, {"oneOf": options}]}
    behind = {"$ref": "#/definitions/options", "required": ["type"], "type": "object"}
    for schema in (
        judge(inline),
        judge({"allOf": [inline, behind], "definitions": {"options": {"title": "one of many", "oneOf": options}}}),
    ):
        assert schema.accepts({"name": "n", "type": "k3", "of": {"k3": 1}})
        assert not schema.accepts({"name": "n", "type": "k3", "of": {"k4": 1}})
        assert not schema.accepts({"name": "n", "of": {"k3": 1}})
        assert not schema.accepts({"type": "k3", "of": {"k3": 1}})
        assert not schema.accepts({"name": "n", "type": "other"})
    # Required is not the tag: what has none is in every option.
    schema = judge({"type": "object", "required": ["name"], "allOf": [{"oneOf": options[:3]}]})
    assert schema.accepts({"name": "n", "type": "k1"})
    assert schema.accepts({"name": "n", "of": {"k0": 1}})
    assert not schema.accepts({"name": "n"})
    assert judge({"required": ["a"], "type": "object", "allOf": [{"oneOf": [True, False]}]}).accepts({"a": 1})


def test_strict_mode() -> None:
    strict = judge(OPEN, strict_mode=True)
    assert strict.accepts({"b": ""})
    assert not strict.accepts({"b": "", "c": 1})
    assert judge({"type": "object"}, strict_mode=True).accepts({"c": 1})
    assert not judge({"prefixItems": [{}]}, strict_mode=True).accepts([1, 2])


def test_closed_objects_have_the_declared_order_where_it_is_asked_for() -> None:
    free, fixed = texts(CLOSED), texts(CLOSED, order="declared")
    assert '{"a": 1, "b": ""}' in free
    assert '{"a": 1, "b": ""}' in fixed
    assert '{"b": "", "a": 1}' in free
    assert '{"b": "", "a": 1}' not in fixed
    for text in ['{"a": 1}', '{"b": "", "a": 1, "b": ""}', '{"b": "", "b": ""}', '{"b": "", "c": 1}']:
        assert text not in free, text
    with pytest.raises(ValueError, match="there is no order 'alphabetic'; there are any, declared"):
        texts(CLOSED, order="alphabetic")


def test_formats_may_be_annotations() -> None:
    schema = {"type": "string", "format": "date"}
    assert '"today"' not in texts(schema)
    assert '"today"' in texts(schema, formats=False)


class Address(BaseModel):
    street: str
    number: int | None = None


class Person(BaseModel):
    name: str
    address: list[Address]


def test_pydantic_models() -> None:
    schema = judge(Person.model_json_schema())
    assert schema.accepts(Person(name="A", address=[Address(street="s", number=3)]).model_dump())
    assert Grammar.from_json_schema(Person) == Grammar.from_json_schema(Person.model_json_schema())
    with pytest.raises(TypeError, match="an instance of Person is data, not a schema; pass its class"):
        Grammar.from_json_schema(Person.model_construct())


def test_text_dict_and_boolean_schemas() -> None:
    assert Grammar.from_json_schema(json.dumps(OPEN)) == Grammar.from_json_schema(OPEN)
    anything = texts(True)
    for text in ['{"a": [1, null, "x", true, {}]}', "-0.5e3", '""']:
        assert text in anything, text
    assert "[1" not in anything


def test_grammar_is_a_grammar() -> None:
    grammar = Grammar.from_json_schema(OPEN)
    assert Grammar.from_ebnf(str(grammar), root_rule_name=grammar.ir.root) == grammar
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert grammar.warnings == ()
    assert json.loads(grammar.source) == OPEN


def test_compiler_remembers_schemas() -> None:
    compiler = GrammarCompiler(INFO)
    first = compiler.compile_json_schema(OPEN)
    assert compiler.compile_json_schema(dict(OPEN)) is first
    assert compiler.compile_json_schema(OPEN, strict_mode=True) is not first
    compiler.clear_cache()
    assert compiler.compile_json_schema(OPEN) is not first


def test_equal_schemas_share_rules() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}}
    one = Grammar.from_json_schema({"properties": {"a": point}})
    many = Grammar.from_json_schema({"properties": {name: dict(point) for name in "abcdefgh"}})
    assert len(many.ir.rules) <= len(one.ir.rules) + 3


def test_each_combination_keeps_the_order_of_its_own_conditions() -> None:
    def has(name: str, most: int) -> dict[str, Any]:
        integer = {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}
        return integer | {"maxProperties": most}  # as many as are required: no others

    def inner(*names: str) -> dict[str, Any]:
        outer = {"type": "object", "required": ["m"], "maxProperties": 1}
        return {"allOf": [outer | {"properties": {"m": has(name, 2)}} for name in names]}

    members = {
        "p": {"allOf": [has("a", 2), has("b", 2)]},
        "w": {"allOf": [has("b", 2), has("a", 2)]},
        "deep_p": inner("a", "b"),
        "deep_w": inner("b", "a"),
        "x": {"allOf": [has("a", 3), has("b", 3), has("c", 3)]},
        "y": {"allOf": [has("b", 3), has("a", 3), has("c", 3)]},
    }
    schema = texts({"type": "object", "properties": members}, order="declared")
    for text in [
        '{"p": {"a": 1, "b": 2}, "w": {"b": 1, "a": 2}}',
        '{"w": {"b": 1, "a": 2}}',
        '{"deep_p": {"m": {"a": 1, "b": 2}}, "deep_w": {"m": {"b": 1, "a": 2}}}',
        '{"x": {"a": 1, "b": 2, "c": 3}, "y": {"b": 1, "a": 2, "c": 3}}',
    ]:
        assert text in schema, text
    for text in [
        '{"p": {"b": 1, "a": 2}}',
        '{"w": {"a": 1, "b": 2}}',
        '{"deep_w": {"m": {"a": 1, "b": 2}}}',
        '{"y": {"a": 1, "b": 2, "c": 3}}',
        '{"w": {"b": 1}}',
    ]:
        assert text not in schema, text


def test_conditions_in_another_order_are_covered_all_the_same() -> None:
    algebra = SchemaAlgebra(lambda place: (ANYTHING, True))
    one, two, three = (Place({"title": name}, None, "#", name) for name in "abc")
    first, second = algebra.all_of(one, two), algebra.all_of(two, one)
    assert first is not second
    assert algebra.all_of(two, one) is second
    assert algebra.all_of(one, two) is first
    every = Words(frozenset(("x",)))
    large, same = Members(((every, first),)), Members(((every, second),))
    small, other = Members(((every, algebra.all_of(two, three, one)),)), Members(((every, algebra.all_of(two, three)),))
    assert covers(large, same)
    assert covers(same, large)
    assert not covers(small, large)
    assert not covers(large, other)
    many = tuple(Members(((Words(frozenset((name,))), one),)) for name in "abcdefghijkl")
    assert algebra._united_objects((*many, large, same)) == (*many, large)
    assert algebra.meet_arrays((Items(rest=first),), (Items(rest=first), Items(rest=second))) == (Items(rest=first),)


def test_separators_may_be_a_list() -> None:
    """As configurations in JSON and YAML have them."""
    listed: Any = [",", ":"]
    made = Grammar.from_json_schema({"type": "object"}, any_whitespace=False, separators=listed)
    assert str(made) == str(Grammar.from_json_schema({"type": "object"}, any_whitespace=False, separators=(",", ":")))
