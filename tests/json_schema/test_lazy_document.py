"""Rules that wait until they are needed: what may wait has no problems and has an instance; no verdict changes."""

from __future__ import annotations

import json
import sys
from inspect import CO_GENERATOR
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarError, GrammarMatcher, Options, UnsupportedSchemaError
from kernels_core.grammar.analysis import productive_rules, reachable_rules
from kernels_core.grammar.ir import DeferredRule
from kernels_core.grammar.json_schema import SchemaOptions, reach
from kernels_core.grammar.json_schema.compile import compile_schema
from kernels_core.grammar.json_schema.deferrable_schemas import DeferrableSchemas
from kernels_core.grammar.json_schema.dialect import DEFAULT, dialect_of
from kernels_core.grammar.json_schema.resolve import Documents
from tests.engine.driver import mask, tokenizer
from tests.json_schema.strategies import MANY

NAMES = ["a", "b"]
TEXTS = ['{"a":1}', '{"a":{"a":null}}', "[]", "1", '"x"', "null", '{"b":[true]}', "{}"]
VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])


def members(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(NAMES), inner)


def tagged(values: list[Any]) -> dict[str, Any]:
    """Objects that differ by a constant member."""
    options = [
        {"type": "object", "required": ["a"], "properties": {"a": {"const": number}, "b": value}}
        for number, value in enumerate(values)
    ]
    return {"oneOf": options}


scalars = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda kind: {"type": kind}),
    st.sampled_from([{"enum": [1, "x", None]}, {"const": True}, {"type": "string", "maxLength": 2}, True]),
    st.sampled_from([{"type": "integer", "minimum": 1, "maximum": 1}, {"type": "number", "exclusiveMinimum": 0}]),
    st.sampled_from([{"type": "string", "enum": [1]}, {"minimum": 3, "maximum": 2}, {"type": "strin"}, False]),
    st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/$defs/c"]).map(lambda target: {"$ref": target}),
)
schemas = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["object", ["object", "null"]]), "properties": members(inner)},
            optional={"required": st.lists(st.sampled_from(NAMES), unique=True), "additionalProperties": inner},
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"minItems": st.integers(0, 2)}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}, optional={"type": st.just("object")}),
        st.fixed_dictionaries(
            {"patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "^c"]), inner, min_size=1, max_size=2)},
            optional={
                "properties": st.dictionaries(st.sampled_from(["b", "d"]), inner),
                "required": st.lists(st.sampled_from(["a", "d"]), unique=True),
                "additionalProperties": inner,
            },
        ),
        st.fixed_dictionaries(
            {"items": st.lists(inner, min_size=1, max_size=2)},
            optional={"additionalItems": inner, "minItems": st.integers(0, 3), "maxItems": st.integers(0, 3)},
        ),
        st.lists(inner, min_size=2, max_size=3).map(tagged),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
    ),
    max_leaves=6,
)
documents = st.builds(
    lambda one, two, root: {"$defs": {"a": one, "b": two}, "anyOf": [root]}, schemas, schemas, schemas
)


def plain(root: Any) -> DeferrableSchemas:
    return DeferrableSchemas(root, DEFAULT, pointers=True, strict=False)


def test_nothing_is_made_that_is_not_asked_for() -> None:
    properties = {f"p{i}": {"type": "object", "properties": {"x": {"enum": [i]}}} for i in range(50)}
    grammar = Grammar.from_json_schema({"type": "object", "properties": properties, "additionalProperties": False})
    compiled = GrammarCompiler(VOCABULARY).compile_grammar(grammar)
    names = [f"p{i}" for i in range(50)]
    lowering = compiled.machine.tables.lowering
    assert not [rule for rule in lowering.rules if rule.name in names and rule.nfa is not None]
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string('{"p7": {"x": 7}, "p9": {"x": ')
    made = {rule.name for rule in lowering.rules if rule.name in names and rule.nfa is not None}
    assert made == {"p7", "p9"}
    assert made == {name for name in names if not isinstance(grammar.lazy_ir.rules[name], DeferredRule)}
    assert not any(isinstance(rule, DeferredRule) for rule in grammar.ir.rules.values())
    assert Grammar.from_ebnf(str(grammar)) == grammar


@pytest.mark.parametrize("named", [{}, {"$id": "https://x/y"}])
def test_what_waits_was_checked_already(named: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(reach, "read", lambda pattern, ecma: checked.append(pattern))
    inner = {"type": "string", "pattern": "^a"}
    schema = {"not": {"pattern": "^b", "minProperties": 9}, "properties": {"a": {"properties": {"b": inner}}}}
    Grammar.from_json_schema({**named, **schema})
    assert checked == ["^b"]


def test_what_is_plain_waits_in_what_is_not() -> None:
    tags = [
        {
            "properties": {"kind": {"const": kind}, "value": {"pattern": f"^{kind}[0-9]+$", "maxLength": 9}},
            "required": ["kind"],
        }
        for kind in "abc"
    ]
    schema = {
        "type": "object",
        "properties": {
            "one": {"oneOf": tags},
            "two": {"allOf": [{"type": "integer", "multipleOf": 3}, {"minimum": 2}]},
        },
        "patternProperties": {"^x-": {"not": {"type": "string"}}, "^y": {"type": ["array", "string"], "minLength": 1}},
        "additionalProperties": False,
        "minProperties": 1,
    }
    compiled = GrammarCompiler(VOCABULARY).compile_json_schema(schema)
    right = ['{"one": {"kind": "b", "value": "b12"}, "two": 6}', '{"x-1": [null], "yes": "no"}', '{"y": []}']
    wrong = ['{"one": {"kind": "b", "value": "a12"}}', '{"two": 1}', '{"x-1": "x"}', '{"yes": ""}', "{}", '{"z": 1}']
    for text in right + wrong:
        matcher = GrammarMatcher(compiled)
        assert (matcher.accept_string(text) and matcher.is_completed()) == (text in right), text


def test_the_objects_of_a_union() -> None:
    options = [{"properties": {key: {"const": key}}, "minProperties": 1, "required": [key]} for key in "abc"]
    schema = {"properties": {"x": {"type": ["object", "null"], "anyOf": options}, "y": {"anyOf": options}}}
    grammar = Grammar.from_json_schema(schema)
    whole = compile_schema(schema, json.dumps(schema), SchemaOptions(), {}).ir
    compiler = GrammarCompiler(VOCABULARY)
    for text in ('{"x": null}', '{"x": {"a": "a"}}', '{"x": {}}', '{"y": {"b": 1}}', '{"y": {"b": "b", "c": "c"}}'):
        matchers = [GrammarMatcher(compiler.compile_grammar(one)) for one in (Grammar(whole), grammar)]
        verdicts = [one.accept_string(text) and one.is_completed() for one in matchers]
        assert verdicts[0] == verdicts[1], text


def test_ways_that_lead_nowhere_are_no_rules() -> None:
    """Two conditions on members, of which some choices leave none that could meet the other."""
    two = {"properties": {}, "minProperties": 2}
    strings = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    made = Grammar.from_json_schema({"allOf": [{"oneOf": [two, strings]}]}).lazy_ir.complete()
    assert set(reachable_rules(made)) <= productive_rules(made)


def test_what_surely_has_instances_and_cannot_be_written_is_found_when_compiling() -> None:
    differ = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    unique = {"type": "array", "items": {"type": "string"}, "not": {"uniqueItems": True}}
    deep = {"not": {"properties": {"a": {"type": "object", "patternProperties": {"^a": differ}}}}}
    schema = {"type": "object", "properties": {"a": {"patternProperties": {"^b": unique}}, "b": {"type": "string"}}}
    for one in (schema, {"allOf": [schema, {"not": {"required": ["c"]}}]}):
        with pytest.raises(UnsupportedSchemaError, match="uniqueItems"):
            Grammar.from_json_schema(one)
        assert len(Grammar.from_json_schema(one, lenient=True).warnings) == 1
    assert Grammar.from_json_schema({"properties": {"x": {"not": {"const": 3}}}, "minProperties": 2}).warnings == ()
    assert deep  # the complement of "all different" is refused as well
    with pytest.raises(UnsupportedSchemaError, match="uniqueItems"):
        Grammar.from_json_schema(deep)


def test_many_names_in_any_order_may_wait() -> None:
    closed = {"type": "object", "additionalProperties": False}
    many = closed | {"properties": {f"p{i}": {"type": "string"} for i in range(200)}}
    grammar = Grammar.from_json_schema(many)
    assert isinstance(grammar.lazy_ir.rules["root"], DeferredRule)
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_grammar(grammar))
    assert matcher.accept_string('{"p199": "", "p0": "", "p')


@pytest.mark.parametrize(
    "options",
    [Options.laboratory(inline_limit=0), Options.laboratory(inline_limit=60), Options(lazy_lowering=False)],
)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_a_member_that_never_occurs_leaves_no_way_open(order: Any, options: Options) -> None:
    """In any order all members are parts of one loop, and one without a text would be waited for behind the comma."""
    members = {"a": {"type": "string", "const": 1}, "m": {"type": "null"}}
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    grammar = Grammar.from_json_schema(schema, order=order)
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY, options=options).compile_grammar(grammar))
    assert not matcher.accept_string('{"a')
    assert matcher.accept_string('{"m":null')
    assert mask(matcher) == set(b" \t\n\r}")
    assert not matcher.accept_string(",")


def test_what_waits_has_a_bounded_number_of_alternatives() -> None:
    options = [{"type": "object", "properties": {f"a{i}": {}}, "required": [f"a{i}"]} for i in range(4_100)]
    with pytest.raises(UnsupportedSchemaError, match="leave too many alternatives"):
        Grammar.from_json_schema({"anyOf": options})
    with pytest.raises(UnsupportedSchemaError, match="leave too many alternatives"):
        Grammar.from_json_schema({"anyOf": [{"anyOf": options[i : i + 410]} for i in range(0, 4_100, 410)]})
    tags = [
        {"type": "object", "properties": {"kind": {"const": i}, "x": {"type": "string"}}, "required": ["kind"]}
        for i in range(40)
    ]
    many = {"type": "object", "properties": {f"p{i}": {"oneOf": [*tags, {"const": i}]} for i in range(60)}}
    grammar = Grammar.from_json_schema(many)
    assert isinstance(grammar.lazy_ir.rules[grammar.lazy_ir.root], DeferredRule)
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_grammar(grammar))
    text = ", ".join(f'"p{i}": {{"kind": {i % 40}, "x": ""}}' for i in range(60))
    assert matcher.accept_string(f"{{{text}}}")
    assert matcher.is_completed()


@pytest.mark.parametrize(
    ("schema", "waits"),
    [
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "type": "null"}, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": {"$id": "#x", "id": "u"}}}, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": {"$id": "u"}}}, False),
        ({"properties": {"x": {"$ref": "#/definitions/a/x~1y"}}}, True),
        ({"properties": {"x": {"$ref": "#/anyOf/0"}}, "definitions": {}}, False),
    ],
)
def test_names_and_references(schema: dict[str, Any], waits: bool) -> None:
    document = {"definitions": {"a": {"type": "integer", "x/y": {"type": "integer"}}}, **schema}
    draft = DEFAULT if "$schema" not in schema else dialect_of(schema["$schema"])
    assert draft is not None
    documents = Documents(document, json.dumps(document), {})
    judge = DeferrableSchemas(document, draft, pointers=documents.has_local_references, strict=False)
    assert judge.holds(document) is waits


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"next": {"$ref": "#"}}}, True),
        ({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}, False),
        ({"type": "array", "items": {"$ref": "#"}}, True),
        ({"type": "array", "items": {"$ref": "#"}, "minItems": 1}, False),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, False),
        ({"anyOf": [{"items": {"$ref": "#"}}, {"type": "null"}]}, True),
        ({"anyOf": [{"$ref": "#"}]}, False),
        ({"$ref": "#"}, False),
    ],
)
def test_circles(schema: dict[str, Any], expected: bool) -> None:
    assert plain(schema).holds(schema) is expected


@pytest.mark.parametrize(
    "member",
    [
        {"type": "boolean", "enum": ["True", "False"], "description": "x"},
        {"type": "array", "items": {"type": "string"}, "enum": ["a"]},
        {"type": "string", "pattern": "^a", "maxLength": 2, "enum": [1]},
        {"type": ["integer", "null"], "const": "a"},
    ],
)
def test_a_member_that_never_occurs(member: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"x": member, "y": {"type": "null"}}, "additionalProperties": False}
    needed = schema | {"required": ["x"]}
    assert not plain(needed).holds(needed)
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_json_schema(schema))
    assert matcher.accept_string('{"y":null}')
    assert matcher.is_completed()
    matcher.reset()
    assert not matcher.accept_string('{"x"')


def test_equal_schemas_have_equal_keys() -> None:
    def keys(schema: dict[str, Any]) -> dict[str, bytes]:
        ir = Grammar.from_json_schema(schema).lazy_ir
        ir.expand(ir.root)
        return {name: rule.key for name, rule in ir.rules.items() if isinstance(rule, DeferredRule)}

    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    other = {"type": "object", "properties": {"x": {"type": "integer"}}}
    one = keys({"$id": "one", "type": "object", "properties": {"a": inner, "b": other}})
    two = keys({"$id": "one", "type": "object", "properties": {"b": inner, "c": {"type": "null"}}})
    assert one["a"] == two["_b"] != one["_b"]


def test_token_sets_are_not_shared_where_the_rest_of_a_document_decides_the_order_of_names() -> None:
    """What two parts of a document ask of one value is one term, with names in the order in which it came first."""

    def inner(name: str, kind: str) -> dict[str, Any]:
        value = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
        return {"type": "object", "properties": {"x": value}, "required": ["x"]}

    one, two = inner("a", "integer"), inner("b", "string")
    last = {"w": {"allOf": [two, one]}}
    alone = {"type": "object", "properties": last, "additionalProperties": False}
    behind = {"type": "object", "properties": last | {"p": {"allOf": [one, two]}}, "additionalProperties": False}
    vocabulary = [bytes([byte]) for byte in range(256)] + [b': {"a": ', b': {"b": ']
    info = tokenizer(vocabulary)
    naive = GrammarCompiler(info, options=Options(parser="naive"))
    for documents in ((alone, behind), (behind, alone)):
        compiler = GrammarCompiler(info, options=Options.laboratory(direct_limit=0, differential_from=0))
        for document in documents:
            matchers = [GrammarMatcher(way.compile_json_schema(document)) for way in (compiler, naive)]
            for byte in b'{"w": {"x"':
                assert [matcher.accept_string(bytes([byte])) for matcher in matchers] == [True, True]
                assert mask(matchers[0]) == mask(matchers[1])


@pytest.mark.parametrize(
    ("schema", "before", "after"),
    [
        ({"properties": {"a": {"type": "string", "enum": ["x", "\\"]}}}, '{"a":', b'"'),
        ({"properties": {"a": {"anyOf": [{"type": "number"}, {"minimum": 2}]}}}, '{"a":', b'"{[1'),
        ({"patternProperties": {"a.?b|c": {"type": "null"}}, "minProperties": 1}, "{", b'"'),
    ],
)
def test_what_was_cut_short_is_made_again(schema: dict[str, Any], before: str, after: bytes) -> None:
    """An interrupt comes between any two lines of what writes rules; the mask that was asked for is the same later."""
    compiler = GrammarCompiler(VOCABULARY, cache_enabled=False)
    left, cut = 0, 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left, cut
        code = frame.f_code
        if "kernels_core/grammar/json_schema" not in code.co_filename or code.co_flags & CO_GENERATOR:
            return None
        left -= 1
        if left == 0:
            cut += 1
            raise KeyboardInterrupt
        return trace

    expected: set[int] | None = None
    at = 0
    while cut == at:
        at += 1
        matcher = GrammarMatcher(compiler.compile_json_schema({"type": "object"} | schema))
        left, outer = at, sys.gettrace()
        sys.settrace(trace)
        try:
            matcher.accept_string(before)
            found = mask(matcher)
        except KeyboardInterrupt:
            sys.settrace(outer)
            assert matcher.position or matcher.accept_string(before)
            found = mask(matcher)
        finally:
            sys.settrace(outer)
        expected = expected or found
        assert found == expected, at
    assert cut > 10  # strings that were drawn once are not drawn again
    assert expected is not None
    assert expected >= set(after)


def test_tools_wait_for_their_call() -> None:
    def tool(name: str, properties: dict[str, Any]) -> dict[str, Any]:
        content = {"type": "json_schema", "json_schema": {"type": "object", "properties": properties}}
        return {"type": "tag", "begin": f"<{name}>", "content": content, "end": "</>"}

    tools = [tool(f"t{i}", {"x": {"enum": [i]}}) for i in range(20)]
    tag = {"type": "triggered_tags", "triggers": ["<t"], "tags": [*tools, tool("t_", {"x": {"multipleOf": 3}})]}
    compiler = GrammarCompiler(VOCABULARY)
    compiled = compiler.compile_structural_tag({"type": "structural_tag", "format": tag})
    rules = compiled.grammar.lazy_ir.rules

    def waiting() -> set[str]:
        return {name for name, rule in rules.items() if isinstance(rule, DeferredRule)}

    early = waiting()
    # What comes after the trigger, and what may wait of the schema that cannot wait as a whole.
    assert early == {"t_1", "any", "other_key"}
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string(b"a <t")
    assert waiting() == early
    for text, taken in ((b'a <t7>{"x": 7}</> b', True), (b'<t8>{"x": 7', False), (b'<t_>{"x": 9}</>', True)):
        assert GrammarMatcher(compiled).accept_string(text) is taken
    assert {f"t{i}" for i in range(20)} & rules.keys() == {"t7", "t8"}


conditions = st.recursive(
    st.one_of(
        st.sampled_from(["string", "integer", "boolean", "null", "object"]).map(lambda kind: {"type": kind}),
        st.sampled_from(["#/$defs/a", "#/$defs/b"]).map(lambda target: {"$ref": target}),
        st.sampled_from(
            [
                {"pattern": "^a"},
                {"minimum": 3, "maximum": 2},
                {"enum": [1, "x", None]},
                {"type": "string", "pattern": "^[ab]*$", "maxLength": 3},
                {"type": "integer", "multipleOf": 3, "minimum": 1},
                {"const": {"a": 1}},
                {"required": ["a"]},
                {"uniqueItems": True, "items": {"enum": [1, "x", None]}},
                {"type": "array", "uniqueItems": True},
            ]
        ),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"properties": members(inner)},
            optional={
                "required": st.lists(st.sampled_from(NAMES), unique=True),
                "additionalProperties": inner,
                "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "^c"]), inner, max_size=2),
                "minProperties": st.integers(0, 2),
                "maxProperties": st.integers(0, 3),
                "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "^[ab]"}, {"enum": ["a"]}]),
                "dependencies": st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"contains": inner, "minItems": st.integers(0, 2), "maxItems": st.integers(0, 3)},
        ),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner}, optional={"else": inner}),
        *(
            st.fixed_dictionaries({word: st.lists(inner, min_size=1, max_size=3)}, optional={"type": st.just("object")})
            for word in ("anyOf", "oneOf", "allOf")
        ),
    ),
    max_leaves=8,
)
conditional = st.builds(
    lambda one, two, root: {"$defs": {"a": one, "b": two}, "allOf": [root]}, conditions, conditions, conditions
)


@MANY
@given(documents | conditional)
def test_waiting_changes_no_verdict(document: dict[str, Any]) -> None:
    """What waits has instances and no problems; a document that has none, or has some, is refused either way."""
    text = json.dumps(document)
    try:
        whole = compile_schema(document, text, SchemaOptions(), {}).ir
    except UnsupportedSchemaError:
        with pytest.raises(UnsupportedSchemaError):
            Grammar.from_json_schema(document)
        return
    grammar = Grammar.from_json_schema(document)
    waiting = {name for name, rule in grammar.lazy_ir.rules.items() if isinstance(rule, DeferredRule)}
    made = grammar.lazy_ir.complete()  # raises where something cannot be written
    if waiting:
        assert set(reachable_rules(made)) <= productive_rules(made)
    compiler = GrammarCompiler(VOCABULARY)
    now, document = compiler.compile_grammar(Grammar(whole)), compiler.compile_json_schema(document)
    for one in TEXTS:
        matchers = [GrammarMatcher(now), GrammarMatcher(document)]
        verdicts = [matcher.accept_string(one) and matcher.is_completed() for matcher in matchers]
        assert verdicts[0] == verdicts[1], one


def test_all_references_to_a_schema_are_one_rule() -> None:
    name = {"type": "object", "properties": {"first": {"type": "string"}}}
    fields = {f"f{i}": {"$ref": "#/definitions/name", "description": f"number {i}"} for i in range(9)}
    schema = {"type": "object", "properties": fields, "definitions": {"name": name}}
    grammar = Grammar.from_json_schema(schema)
    compiled = GrammarCompiler(VOCABULARY).compile_grammar(grammar)
    assert GrammarMatcher(compiled).accept_string('{"f0": {"first": "x"}, "f3": {"first": "y"}, "f8": {"z": 1}}')
    assert [rule.name for rule in compiled.machine.tables.lowering.rules].count("name") == 1
    assert not any(rule.name.startswith("f") for rule in compiled.machine.tables.lowering.rules)


def test_an_object_is_written_as_it_is_read() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", 2]}, "c": True, "d": {"$ref": "#"}},
        "required": ["b", "z"],
    }
    compiled = GrammarCompiler(VOCABULARY).compile_json_schema(schema)
    for text, taken in (
        ('{"a": 1, "b": "x", "z": [], "y": 0}', True),
        ('{"b": 2, "c": null, "d": {"b": 2, "z": 1}, "z": 1}', True),
        ('{"b": 3', False),
        ('{"a": 1.5', False),
        ('{"b": 2, "y": 1', True),
        ('{"b": 2, "y": 1, "z": 0, "a": 3}', True),
        ('{"b": 2, "y": 1, "b"', False),
        ('{"b": 2}', False),
        ("{}", False),
    ):
        assert GrammarMatcher(compiled).accept_string(text) is taken


def test_what_the_caller_does_afterwards_changes_nothing() -> None:
    def draw() -> dict[str, Any]:
        inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
        return {"type": "object", "properties": {"a": inner, "b": {"$ref": "urn:other"}}}

    compiler = GrammarCompiler(VOCABULARY)
    schema, other = draw(), {"type": "object", "properties": {"y": {"type": "boolean"}}}
    arguments: dict[str, Any] = {"type": "object", "properties": {"m": {"multipleOf": 3}, "a": draw()}}
    tool = {"type": "json_schema", "json_schema": arguments}
    arguments["properties"]["a"]["properties"].pop("b")
    tag = {"type": "structural_tag", "format": tool}
    compiled = [
        compiler.compile_json_schema(schema, resources={"urn:other": other}),
        compiler.compile_structural_tag(tag),
    ]
    for changed in (schema, arguments["properties"]["a"]):
        changed["properties"]["a"]["properties"]["x"]["type"] = "string"
    other["properties"]["y"]["type"] = "string"  # type: ignore[index]
    assert GrammarMatcher(compiled[0]).accept_string('{"a": {"x": 1}, "b": {"y": true}}')
    assert GrammarMatcher(compiled[1]).accept_string('{"m": 3, "a": {"a": {"x": 1}}}')


def test_keys_of_rules_see_through_escapes() -> None:
    def keys(kind: str, word: str) -> set[bytes]:
        deep = '{"type":"object","properties":{"z":{"' + word + '":"#"}}}'
        text = '{"type":"object","properties":{"k":{"type":"' + kind + '"},"n":' + deep + "}}"
        ir = Grammar.from_json_schema(text).lazy_ir
        ir.expand(ir.root)
        return {rule.key for rule in ir.rules.values() if isinstance(rule, DeferredRule) and rule.name == "n"}

    for word in ("$dynamicRef", "\\u0024dynamicRef", "$ref", "\\u0024ref"):
        assert not keys("integer", word) & keys("string", word)


@pytest.mark.parametrize(
    "schema",
    [
        '{"minimum": ' + "1" * 5000 + "}",
        {"minimum": 10**5000},
        {"prefixItems": [{}], "items": {"$ref": "#/prefixItems/" + "1" * 5000}},
        {"type": "string", "pattern": "(((a{20}){20}){20})", "maxLength": 40},
    ],
)
def test_hostile_schemas_are_refused(schema: Any) -> None:
    with pytest.raises((GrammarError, UnsupportedSchemaError)):
        Grammar.from_json_schema(schema)
