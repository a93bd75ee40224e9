"""Documents that references lead to: those that are reached are copied, and no others are touched."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, UnsupportedSchemaError

COMPILER = GrammarCompiler(TokenizerInfo([bytes([byte]) for byte in range(256)]))


class Untouched:
    """A document that fails whoever reads it."""

    def model_json_schema(self) -> Any:
        raise AssertionError("a document was read that no reference leads to")


def takes(schema: Any, resources: dict[str, Any], text: str) -> bool:
    matcher = GrammarMatcher(COMPILER.compile_json_schema(schema, resources=resources))
    return matcher.accept_string(text) and matcher.is_completed()


CHAIN = {
    "https://x.org/a.json": {"items": {"$ref": "b.json#/$defs/one"}},
    "https://x.org/b.json": '{"$defs": {"one": {"$ref": "#/$defs/two"}, "two": {"const": 1.50}}}',
    "https://x.org/c.json": Untouched(),
}


@pytest.mark.parametrize(
    ("schema", "resources", "good", "bad"),
    [
        pytest.param({"$ref": "https://x.org/a.json"}, CHAIN, "[1.5]", "[1]", id="through another document"),
        pytest.param({"$id": "https://x.org/r/", "$ref": "../a.json"}, CHAIN, "[1.5]", "[1]", id="from a base"),
        pytest.param({"const": 3, "$defs": {"x": {"$ref": "#"}}}, CHAIN, "3", "4", id="nowhere"),
        pytest.param(
            {"allOf": [{"$id": "https://x.org/r/s", "$ref": "../b.json#/$defs/one"}]},
            CHAIN,
            "1.5",
            "2",
            id="from a base inside",
        ),
        pytest.param(
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$id": "https://y.org/",
                "$ref": "https://x.org/a.json",
            },
            CHAIN,
            "[1.5]",
            "[1]",
            id="an identifier beside a reference",
        ),
        pytest.param(
            {"$ref": "urn:named"},
            {"k": {"$id": "urn:named", "const": 1}, "c": Untouched()},
            "1",
            "2",
            id="by its own name",
        ),
        pytest.param(
            {"$ref": "urn:inner"},
            {"k": {"$defs": {"x": {"$id": "urn:inner", "const": 1}}}},
            "1",
            "2",
            id="a part's name",
        ),
        pytest.param(
            {"$schema": "urn:plain", "minimum": 3},
            {
                "urn:plain": {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": True},
                },
                "c": Untouched(),
            },
            "1",
            "[",
            id="a dialect",
        ),
    ],
)
def test_what_is_reached_is_read(schema: Any, resources: dict[str, Any], good: str, bad: str) -> None:
    assert takes(schema, resources, good)
    assert not takes(schema, resources, bad)


@pytest.mark.parametrize("reference", ["http://x/doc", "http://x/doc#/$defs/a", "http://x/doc#k", "http://y/real"])
def test_references_in_a_document_begin_at_the_name_that_it_gives_itself(reference: str) -> None:
    document = {"$id": "http://y/real", "$ref": "other", "$defs": {"a": {"$anchor": "k", "$ref": "other"}}}
    resources: dict[str, Any] = {"http://x/doc": document, "http://y/other": {"type": "integer"}}
    for given in (resources, {**resources, "http://x/other": {"type": "string"}}):
        assert takes({"$ref": reference}, given, "1")
        assert not takes({"$ref": reference}, given, '"')


@pytest.mark.parametrize("first", ["http://x/a", "http://x/b"])
def test_a_schema_with_a_name_is_of_the_draft_of_the_document_around_it(first: str) -> None:
    inner = {"$id": "http://x/b", "dependencies": {"p": ["q"]}}
    older = {"$id": "http://x/a", "$schema": "http://json-schema.org/draft-07/schema#", "items": inner}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "prefixItems": [{"$ref": first}, {"$ref": "http://x/b"}],
    }
    both: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({**schema, "$defs": {"a": older}}, {}),
        (schema, {"http://x/a": older}),
    ]
    for document, given in both:
        assert takes(document, given, '[[], {"p": 1, "q": 2}]')
        assert not takes(document, given, '[[], {"p": 1}]')


UNKNOWN = {"$id": "http://x/a", "$schema": "http://x/mine", "type": "string", "$defs": {"b": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "resources", "place"),
    [
        ({"$ref": "http://x/a"}, {"http://x/a": UNKNOWN}, "http://x/a#"),
        ({"$ref": "http://x/a#/$defs/b"}, {"http://x/a": UNKNOWN}, "http://x/a#/$defs/b"),
        ({"$ref": "http://x/a", "$defs": {"a": UNKNOWN}}, {}, "http://x/a#"),
        ({"items": UNKNOWN}, {}, "#/items"),
        (UNKNOWN, {}, "#"),
        (UNKNOWN, {"http://x/b": {}}, "#"),
    ],
)
def test_a_dialect_that_nobody_knows_is_refused_wherever_it_counts(schema: Any, resources: Any, place: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match="unknown dialect 'http://x/mine'") as caught:
        Grammar.from_json_schema(schema, resources=resources)
    assert [(one.pointer, one.keyword) for one in caught.value.problems] == [(place, "$schema")]
    assert takes({"items": {"$ref": "http://x/b"}, "$defs": {"a": UNKNOWN, "b": {"$id": "http://x/b"}}}, {}, "[1]")


@pytest.mark.parametrize("name", ["http://x/d", "d"])
def test_a_name_of_two_schemas_leads_nowhere(name: str) -> None:
    one, other = {"$id": name, "type": "integer"}, {"$id": "http://x/d", "type": "string"}
    schema = {"$id": "http://x/", "items": {"$ref": "d"}}
    both: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({**schema, "$defs": {"a": one, "b": other}}, {}),
        ({**schema, "$defs": {"a": one}}, {"http://x/d": {"type": "string"}}),
    ]
    for documents in both:
        with pytest.raises(UnsupportedSchemaError, match=r"#/items, \$ref: two schemas are called 'http://x/d'"):
            Grammar.from_json_schema(documents[0], resources=documents[1])
        assert takes({**documents[0], "items": True}, documents[1], "[1]")
    assert takes({**schema, "$defs": {"a": one, "b": {**one}}}, {}, "[1]")


def test_a_document_that_is_not_here_is_named() -> None:
    with pytest.raises(UnsupportedSchemaError, match=r"'https://x\.org/d\.json' .* is not here"):
        takes({"$ref": "https://x.org/d.json"}, {"https://x.org/a.json": {}}, "1")


def test_what_a_reference_may_mean_is_of_the_document_that_it_names() -> None:
    resources = {
        "urn:a": {"$defs": {"Address": {}, "home": {"$ref": "#/$defs/Adress"}}},
        "urn:b": {"$id": "urn:b", "items": {"$id": "urn:c", "definitions": {"Person": {}}}},
    }
    for reference, meant in (
        ("urn:a#/$defs/Adress", "points to nothing; did you mean 'urn:a#/$defs/Address'?"),
        ("urn:a#/$defs/home", "the reference '#/$defs/Adress' points to nothing; did you mean '#/$defs/Address'?"),
        ("urn:c#/definitions/Persn", "did you mean 'urn:c#/definitions/Person'?"),
        ("urn:b#/$defs/Name", "'urn:b#/$defs/Name' points to nothing (lenient"),
        ("urn:a#/$defs/Name", "'urn:a#/$defs/Name' points to nothing (lenient"),
        ("#/$defs/Nam", "did you mean '#/$defs/Name'?"),
    ):
        schema = {"$ref": reference, "$defs": {"Name": {}, "b": {"$ref": "urn:b"}}}
        with pytest.raises(UnsupportedSchemaError) as caught:
            Grammar.from_json_schema(schema, resources=resources)
        assert meant in str(caught.value), reference


def test_a_grammar_keeps_the_documents_of_its_time() -> None:
    resources = {"urn:a": {"properties": {"x": {"const": 1}}}}
    schema = {"properties": {"y": {"$ref": "urn:a"}}}
    before = COMPILER.compile_json_schema(schema, resources=resources)
    resources["urn:a"]["properties"]["x"]["const"] = 2
    for compiled, digit, other in (
        (before, "1", "2"),
        (COMPILER.compile_json_schema(schema, resources=resources), "2", "1"),
    ):
        assert GrammarMatcher(compiled).accept_string(f'{{"y":{{"x":{digit}}}}}')
        assert not GrammarMatcher(compiled).accept_string(f'{{"y":{{"x":{other}')


def test_equal_documents_are_kept_once_and_count_in_the_size() -> None:
    long = {"description": "x" * 10_000, "const": 1}
    plain = Grammar.from_json_schema({"$ref": "urn:a"}, resources={"urn:a": {"const": 1}})
    first, second = (
        Grammar.from_json_schema(
            {"$ref": "urn:a", "title": title}, resources={"urn:a": dict(long), "urn:b": Untouched()}
        )
        for title in "ab"
    )
    documents = [grammar.made_from[2]["resources"] for grammar in (first, second)]
    assert documents[0]["urn:a"] is documents[1]["urn:a"]
    assert list(documents[0]) == ["urn:a"]
    assert first.kept_characters - plain.kept_characters > 10_000
    assert len(repr(first.key)) < 1_000
    again = pickle.loads(pickle.dumps(first))
    assert again.key == first.key
    assert str(again) == str(first)


def test_equal_parts_of_a_document_are_one_and_mean_what_they_meant() -> None:
    long, other = "u" * 50, "v" * 50
    document = {
        "properties": {
            "a": {"enum": [long, other, 1, True, [long], []]},
            "b": {"enum": [long, other, 1, True, [long], []]},
            "c": {"enum": [long, other, True, 1, {}, [[]]]},
            "d": {"$id": "https://y.org/", "$ref": "#/$defs/e", "$defs": {"e": {"const": 1}}},
            "e": {"$id": "https://z.org/", "$ref": "#/$defs/e", "$defs": {"e": {"const": 2}}},
        }
    }
    grammar = Grammar.from_json_schema({"$ref": "urn:a"}, resources={"urn:a": document})
    copy = grammar.made_from[2]["resources"]["urn:a"]
    assert json.dumps(copy) == json.dumps(document)
    parts = copy["properties"]
    assert parts["a"] is parts["b"]
    assert parts["a"]["enum"][0] is parts["c"]["enum"][0]
    assert parts["a"]["enum"][4][0] is parts["a"]["enum"][0]
    for name, good, bad in (("b", "true", "false"), ("c", "{}", "[]"), ("d", "1", "2"), ("e", "2", "1")):
        assert takes({"$ref": "urn:a"}, {"urn:a": document}, f'{{"{name}": {good}}}')
        assert not takes({"$ref": "urn:a"}, {"urn:a": document}, f'{{"{name}": {bad}}}')


def test_identifiers_inside_each_other_take_no_time() -> None:
    schema: Any = {"$ref": "urn:a"}
    for depth in range(50):
        schema = {"$id": f"d{depth}/", "allOf": [schema]}
    assert takes(schema, {"urn:a": {"const": 1}}, "1")


def test_a_name_may_stand_twice_for_the_same_schema() -> None:
    """Notes, the name itself and a draft that is in force anyway make no difference; 1 and true do."""
    inner = {"$id": "http://x/b", "type": "null"}
    root = {"$id": "http://x/", "$ref": "b", "$defs": {"b": inner}}
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "B"}
    for document in ({"type": "null"}, inner | draft):
        assert takes(root, {"http://x/b": document}, "null")
    with pytest.raises(UnsupportedSchemaError, match="two schemas are called"):
        Grammar.from_json_schema(root, resources={"http://x/b": {"type": "string"}})
    for one, other in ((1, True), (True, 1)):
        twice = {"properties": {"a": {"$id": "q", "const": one}, "b": {"$id": "q", "const": other}, "c": {"$ref": "q"}}}
        with pytest.raises(UnsupportedSchemaError, match="two schemas are called"):
            Grammar.from_json_schema(twice)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "a schema must be an object or a Boolean, not a list"),
        ("[]", "a schema must be an object or a Boolean, not a list"),
        (3, "a schema must be an object or a Boolean, not a number"),
        ("1.5", "a schema must be an object or a Boolean, not a number"),
        (None, "a schema must be an object or a Boolean, not null"),
        ('"a"', "a schema must be an object or a Boolean, not a string"),
        ("a", "it is no JSON: Expecting value"),
        ("1" * 5000, "it is no JSON: Exceeds the limit"),
        ('{"minimum": 1e-9999999999999999999}', "it is no JSON: the exponent of 1e-9999999999999999999 is too large"),
        ("[" * 100_000, "it is nested too deeply"),
        (object(), "a schema is a dict, a bool, JSON text or a pydantic model class, not object"),
        ({"enum": [{1, 2}]}, "a schema holds {1, 2}, which is not JSON"),
    ],
)
def test_a_document_that_is_no_schema_is_refused_by_its_name(document: Any, reason: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match="urn:a#, schema: the document that is given for it: ") as caught:
        Grammar.from_json_schema({"items": {"$ref": "urn:a"}}, resources={"urn:a": document})
    assert reason in str(caught.value)
    with pytest.raises(UnsupportedSchemaError, match=r"the document 'urn:nowhere' .* is not here"):
        Grammar.from_json_schema({"items": {"$ref": "urn:nowhere"}}, resources={"urn:a": document})


def test_only_documents_that_may_hold_a_name_are_looked_through() -> None:
    """A name inside a document is found; one malformed document in a registry costs the others nothing."""
    resources: dict[str, Any] = {
        "https://x.test/all.json": {"$defs": {"a": {"$id": "parts/one.json", "const": 1}, "b": {"$id": "ü.json"}}},
        "https://x.test/none.json": {"const": 2},
        "https://x.test/bad.json": {"$defs": [], "$ref": 3},
    }
    for reference in ("https://x.test/parts/one.json", "https://x.test/ü.json"):
        grammar = Grammar.from_json_schema({"$ref": reference}, resources=resources)
        assert [*grammar.made_from[2]["resources"]] == ["https://x.test/all.json"]
    escaped: dict[str, Any] = {**resources, "https://x.test/all.json": json.dumps(resources["https://x.test/all.json"])}
    assert "\\u00fc" in escaped["https://x.test/all.json"]
    grammar = Grammar.from_json_schema({"$ref": "https://x.test/ü.json"}, resources=escaped)
    assert [*grammar.made_from[2]["resources"]] == ["https://x.test/all.json"]
    assert takes({"$ref": "https://x.test/parts/one.json"}, resources, "1")
    assert not takes({"$ref": "https://x.test/parts/one.json"}, resources, "2")


@pytest.mark.parametrize("part", [{"$defs": []}, {"$defs": {"a": 3}}, {"properties": {"a": [1]}}])
def test_what_is_malformed_in_a_document_is_named(part: Any) -> None:
    with pytest.raises(
        UnsupportedSchemaError, match=r"#/items, \$ref: names of schemas .*: urn:a#/\S+ must be"
    ) as caught:
        Grammar.from_json_schema({"items": {"$ref": "urn:a#b"}}, resources={"urn:a": part})
    assert "has no attribute" not in str(caught.value)


def test_resources_are_a_mapping() -> None:
    resources: Any = [{"$id": "urn:a"}]
    with pytest.raises(TypeError, match="resources are a mapping from URIs to schemas, not list"):
        Grammar.from_json_schema({"items": {"$ref": "urn:a"}}, resources=resources)


@pytest.mark.parametrize("word", ['"$id"', '"\\u0024id"'])
def test_references_to_names_lead_there(word: str) -> None:
    """A schema that names itself is where its references begin, however the text spells the keyword."""
    inner = {"$id": "http://a/b", "$defs": {"t": {"type": "null"}}, "properties": {"x": {"$ref": "#/$defs/t"}}}
    document = {"$defs": {"t": {"type": "boolean"}, "n": inner}, "properties": {"y": {"$ref": "#/$defs/n"}}}
    text = json.dumps(document).replace('"$id"', word)
    assert takes(text, {}, '{"y": {"x": null}}')
    assert not takes(text, {}, '{"y": {"x": true}}')
