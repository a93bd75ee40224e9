"""Plain schemas that are written as they are read say what the algebra says of them, in every layout and draft."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, UnsupportedSchemaError
from kernels_core.automata.lower import Lowering
from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.ir import DeferredRule, GrammarIR, Node
from kernels_core.grammar.json_schema import SchemaOptions
from kernels_core.grammar.json_schema.compile import compile_schema
from kernels_core.options import Options
from tests.engine.driver import minimal, tokenizer
from tests.json_schema.strategies import MANY

VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])
DRAFT_4 = "http://json-schema.org/draft-04/schema#"

numbers = st.integers(-3, 12) | st.sampled_from([0.5, 2.25, -1.0, 7.0])
constants = st.lists(
    st.sampled_from(["a", "b", "cd", 'q"', "é", 1, 2.0, 2.5, True, False, None]), min_size=1, max_size=7
)
bounds = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional=dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), numbers),
)
lengths = st.fixed_dictionaries(
    {"type": st.just("string")}, optional={"minLength": st.integers(0, 2), "maxLength": st.integers(2, 4)}
)
leaves = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda kind: {"type": kind}),
    st.lists(st.sampled_from(["string", "integer", "number", "boolean", "null"]), min_size=1, unique=True).map(
        lambda kinds: {"type": kinds}
    ),
    bounds,
    lengths,
    st.sampled_from(["date", "ipv4", "uuid", "unheard-of"]).map(lambda name: {"type": "string", "format": name}),
    st.sampled_from(["^a", "b$", "^[ab]{2}$"]).map(lambda pattern: {"type": "string", "pattern": pattern}),
    constants.map(lambda values: {"enum": values}),
    st.builds(
        lambda kinds, values: {"type": kinds, "enum": values},
        st.lists(st.sampled_from(["string", "integer", "null"]), min_size=1, unique=True),
        constants,
    ),
    st.sampled_from(["a", 3, None, True]).map(lambda value: {"const": value, "type": ["string", "integer", "boolean"]}),
    st.sampled_from(["#/$defs/a", "#/$defs/b"]).map(lambda target: {"$ref": target}),
)
names = st.text(st.sampled_from('ab/"é'), max_size=2)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with names that are required, some twice; never with free values, since those call themselves."""

    def drawn(kinds: Any, properties: dict[str, Any], needed: list[int], others: Any) -> dict[str, Any]:
        required = [name for i, name in enumerate(properties) for _ in range(needed[i])]
        schema = {"type": kinds, "properties": properties, "additionalProperties": others, "description": "an object"}
        return schema | ({"required": required} if required else {})

    needed = st.lists(st.integers(0, 2), min_size=3, max_size=3)
    kinds = st.sampled_from(["object", ["object", "null"]])
    members = st.dictionaries(names, inner | st.just(False), max_size=3)
    return st.builds(drawn, kinds, members, needed, st.just(False) | inner)


schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        objects(inner),
        st.fixed_dictionaries(
            {"type": st.sampled_from(["array", ["array", "string"]]), "items": inner},
            optional={"minItems": st.integers(0, 6), "maxItems": st.integers(0, 6)},
        ),
        st.lists(inner, min_size=1, max_size=6).map(lambda options: {"anyOf": options}),
        # What is said of numbers or strings in several options is one set, and is spelt as such.
        st.lists(bounds | lengths | constants.map(lambda values: {"enum": values}), min_size=2, max_size=3).map(
            lambda options: {"anyOf": options}
        ),
        inner.map(lambda one: {"allOf": [one]}),
        st.lists(st.sampled_from(["string", "number", "null"]), min_size=1, unique=True).map(
            lambda kinds: {"oneOf": [{"type": kind} for kind in kinds]}
        ),
    ),
    max_leaves=6,
)
options = st.builds(
    SchemaOptions,
    any_whitespace=st.booleans(),
    max_whitespace_cnt=st.just(1),
    whitespace_before_separators=st.booleans(),
    indent=st.sampled_from([None, 1]),
    strict_mode=st.booleans(),
    canonical_numbers=st.booleans(),
    plain_integers=st.booleans(),
    any_spelling=st.booleans(),
    formats=st.booleans(),
    order=st.sampled_from(["any", "declared"]),
)


def plain_rules(ir: GrammarIR) -> dict[str, tuple[Any, Any]]:
    """The rules that wait for a plain schema, with what is written for them; all are made."""
    found: dict[str, tuple[Any, Any]] = {}
    while new := [rule for name, rule in ir.rules.items() if hasattr(rule, "schema") and name not in found]:
        for rule in new:
            found[rule.name] = (rule, rule.make(True))
    return found


def automaton(lowering: Lowering, name: str, body: Node) -> tuple[Any, Any]:
    nfa = Nfa()
    assert nfa.fill(lowering, body, name, (), 1_000_000)
    return minimal(lowering, nfa)


@MANY
@given(objects(schemas), leaves, leaves, options, st.booleans())
def test_what_is_read_says_what_the_algebra_says(
    schema: dict[str, Any], one: dict[str, Any], two: dict[str, Any], options: SchemaOptions, old: bool
) -> None:
    definitions = {name: leaf for name, leaf in (("a", one), ("b", two)) if "$ref" not in leaf}
    document: dict[str, Any] = {
        "$defs": {"a": {"type": "null"}, "b": {"type": "string"}} | definitions,
        "items": schema,
    }
    document |= {"type": "array"} | ({"$schema": DRAFT_4} if old else {})
    text = json.dumps(document)
    try:
        ir = compile_schema(json.loads(text), text, options, {}, defer=True).ir
    except ValueError:
        return  # it has no instance
    rules = plain_rules(ir)
    whole = {
        name: rule.reader.document.written(rule.schema, rule.level, name)
        for name, (rule, _) in rules.items()
        if rule.schema is not True and not rule.begun
    }
    try:
        ir.complete()
        lowering = Lowering(ir, Options(parser="fsm", max_states=1_000_000))
    except ValueError:
        return  # a schema that is everything calls itself
    for name, body in whole.items():
        assert automaton(lowering, name, rules[name][1]) == automaton(lowering, name, body), rules[name][0].schema


def test_most_of_what_is_drawn_is_plain() -> None:
    document = {"type": "array", "items": {"type": ["object", "null"], "properties": {"a": {"enum": ["é", 1]}}}}
    ir = compile_schema(document, json.dumps(document), SchemaOptions(), {}, defer=True).ir
    assert len(plain_rules(ir)) >= 3


def takes(schema: dict[str, Any], text: str) -> bool:
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_json_schema(schema))
    return matcher.accept_string(text) and matcher.is_completed()


def test_a_name_that_is_required_twice_comes_once() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["z", "z", "a"]}
    assert takes(schema, '{"a": null, "z": 1}')
    assert not takes(schema, '{"a": null, "z": 1, "z": 1}')
    assert not takes(schema, '{"a": null}')


def test_an_object_without_any_member() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null", "enum": ["x"]}}, "additionalProperties": False}
    assert takes(schema, "{ }")
    assert not takes(schema, '{"a": null}')


@pytest.mark.parametrize("order", ["any", "declared"])
def test_members_without_a_value_may_not_come(order: Any) -> None:
    members = {"a": False, "b": {"type": "integer"}, "c": {"type": "boolean", "enum": ["x"]}}
    grammar = Grammar.from_json_schema({"type": "object", "properties": members}, order=order)
    assert isinstance(grammar.lazy_ir.rules[grammar.lazy_ir.root], DeferredRule)
    compiled = GrammarCompiler(VOCABULARY).compile_grammar(grammar)
    for text, taken in (('{"b": 1, "d": 1}', True), ('{"b": 1, "a": 1}', False), ('{"c": "x"}', False)):
        matcher = GrammarMatcher(compiled)
        assert (matcher.accept_string(text) and matcher.is_completed()) is taken


@pytest.mark.parametrize("draft", [None, DRAFT_4])
def test_words_that_a_draft_does_not_know_say_nothing(draft: str | None) -> None:
    tags = [{"type": "object", "properties": {"k": {"const": k}}, "required": ["k"]} for k in "ab"]
    schema: dict[str, Any] = {"oneOf": tags} | ({"$schema": draft} if draft else {})
    if draft is None:
        assert takes(schema, '{"k": "a"}')
        assert not takes(schema, '{"k": "c"}')
    else:  # both are the same, so that no object is in exactly one
        with pytest.raises(ValueError, match="oneOf"):
            takes(schema, '{"k": "a"}')


@pytest.mark.parametrize(("draft", "taken"), [(None, True), (DRAFT_4, False)])
def test_what_an_integer_is_depends_on_the_draft(draft: str | None, taken: bool) -> None:
    members = {"a": {"type": "integer"}, "b": {"type": "integer", "minimum": 1}, "c": {"type": "integer", "enum": [7]}}
    schema: dict[str, Any] = {"type": "object", "properties": members} | ({"$schema": draft} if draft else {})
    for text in ('{"a": 5.0}', '{"b": 5.0}', '{"c": 7.0}'):
        assert takes(schema, text) is taken
        assert takes(schema, text.replace(".0", ""))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([{"type": "number", "minimum": 1}, {"type": "number", "maximum": 1}], "100e-1"),
        ([{"type": "string", "maxLength": 3}, {"type": "string", "minLength": 2}], '"\\u0061"'),
    ],
)
def test_options_that_add_up_to_everything_may_be_spelt_in_any_way(options: list[dict[str, Any]], text: str) -> None:
    assert takes({"anyOf": options}, text)
    assert takes({"anyOf": [{"anyOf": options}, {"type": "null"}]}, text)
    assert not takes({"anyOf": options[:1]}, text)


def test_integers_beside_other_numbers_need_not_be_digits_alone() -> None:
    compiler = GrammarCompiler(VOCABULARY)
    for options, taken in (([{"type": "integer"}, {"const": 2.5}], True), ([{"type": "integer"}, {"const": 3}], False)):
        matcher = GrammarMatcher(compiler.compile_json_schema({"anyOf": options}, plain_integers=True))
        assert (matcher.accept_string("5.0") and matcher.is_completed()) is taken


def test_equal_parts_are_one_rule_whatever_is_said_about_them() -> None:
    members = {f"p{i}": {"type": "integer", "minimum": 3, "description": f"number {i}"} for i in range(5)}
    ir = Grammar.from_json_schema({"type": "object", "properties": members}).lazy_ir
    ir.expand(ir.root)
    assert [name for name, rule in ir.rules.items() if isinstance(rule, DeferredRule) and name[0] == "p"] == ["p0"]


def test_few_fixed_texts_need_no_rule() -> None:
    members = {
        "a": {"enum": ["x", "y"]},
        "b": {"type": ["string", "null"]},
        "c": {"anyOf": [{"const": "z"}, {"type": "null"}]},
    }
    ir = Grammar.from_json_schema({"type": "object", "properties": members, "additionalProperties": False}).lazy_ir
    ir.expand(ir.root)
    assert set(ir.rules) == {"ws", "root", "string", "string_rest"}


@pytest.mark.parametrize(
    ("member", "plain"),
    [
        ({"$id": "/a/b", "type": "null"}, True),
        ({"$id": "/a/b", "type": "null", "$schema": DRAFT_4}, False),
        ({"$id": "http://[", "type": "null"}, False),
        ({"$id": "/a/b", "properties": {"x": {"$ref": "#"}}}, False),
        ({"id": "/a/b", "properties": {"x": {"$ref": "#"}}}, True),
    ],
)
def test_names_matter_where_something_refers_to_them(member: dict[str, Any], plain: bool) -> None:
    schema = {"type": "object", "properties": {"m": member}}
    ir = compile_schema(schema, json.dumps(schema), SchemaOptions(lenient=True), {}, defer=True).ir
    assert hasattr(ir.rules[ir.root], "schema") is plain
    inside = {"$id": "urn:x", "type": "object", "properties": {"x": {"$ref": "#"}, "y": {"type": "null"}}}
    document = {"type": "object", "properties": {"m": inside, "n": {"type": "boolean"}}}
    assert takes(document, '{"m": {"x": {"y": null}}, "n": true}')
    assert not takes(document, '{"m": {"x": {"y": true}}}')  # "#" is the schema that has a name


def test_constants_beside_no_type_at_all_are_a_problem_when_the_schema_is_compiled() -> None:
    """Such a member never occurs, and was put off until somebody asked for its rule."""
    for member in ({"enum": ["a"], "type": []}, {"const": 1, "type": []}):
        with pytest.raises(UnsupportedSchemaError, match="#/properties/x, type: type must name at least one type"):
            Grammar.from_json_schema({"type": "object", "properties": {"x": member}, "additionalProperties": False})
