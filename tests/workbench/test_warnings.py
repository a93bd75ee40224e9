"""Misspelt keywords of schemas: told where they stand, and nothing else is."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from kernels_core import Grammar, GrammarWarning
from kernels_core.compiler import told_elsewhere
from workbench.explorer import explore
from workbench.languages import Source
from workbench.languages.warnings import doubts, misspelt, unread_ends
from workbench.session import Session
from workbench.tokenizers import Tokenizer

SCHEMA = {
    "type": "object",
    "additionalProperites": False,
    "properties": {"requred": {"maxlength": 3}, "b": {"anyOf": [{"enmu": [1]}, {"itmes": {"min_length": 2}}]}},
    "x-order": 1,
    "note": "not `not`",
    "example": {"propertes": 1},
    "$defs": {"patern": {"not": {"patern": "a"}}},
}
MEANT = {
    "#/additionalProperites": "additionalProperties",
    "#/properties/requred/maxlength": "maxLength",
    "#/properties/b/anyOf/0/enmu": "enum",
    "#/properties/b/anyOf/1/itmes": "items",
    "#/$defs/patern/not/patern": "pattern",
}


def test_each_is_told_where_it_stands() -> None:
    source = Source.of(json.dumps(SCHEMA, indent=2))
    found = misspelt(source)
    assert {one.pointer: one.cure for one in found} == {at: f"did you mean `{meant}`?" for at, meant in MEANT.items()}
    assert [one.start for one in found] == sorted(one.start for one in found)
    for one in found:
        assert source.text[one.start : one.end] == json.dumps(str(one.pointer).rpartition("/")[2])
        assert source.text.count("\n", 0, one.start) + 1 == one.line


@pytest.mark.parametrize(
    "source",
    [
        {
            "type": "structural_tag",
            "format": {"type": "json_schema", "json_schema": {"requred": ["a"], "type": "object"}},
        },
        [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "requred": ["a"]}}}],
    ],
)
def test_schemas_inside_tags_and_tools(source: Any) -> None:
    (found,) = misspelt(Source.of(source))
    assert found.cure == "did you mean `required`?"


@pytest.mark.parametrize("text", ["root ::= [a-z]", "{", '{"type": "object", "properties": {"itmes": true}}', "true"])
def test_nothing_is_told_of_what_is_right_or_no_schema(text: str) -> None:
    language = "json_schema" if text[0] != "r" else "ebnf"
    assert misspelt(Source(language, text)) == ()


def test_the_panel_warns_and_the_engine_does_as_before(tokenizer: Tokenizer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperites": False}
    with explore(Session(schema, tokenizer)).under_the_hood() as explorer:
        (told,) = explorer.views["source"].mistakes
        assert told["warning"]
        assert told["pointer"] == "#/additionalProperites"
        assert explorer.session.edits.draft is None
        assert explorer.session.read('{"b": 1}').ok
        page = explorer.views["source"].static_html()
        assert "did you mean" in page


def test_what_the_engine_says_stands_beside_what_is_misspelt(tokenizer: Tokenizer) -> None:
    text = "root ::= [digit]+\ndigit ::= [0-9]\n"
    session = Session(text, tokenizer)
    found = doubts(session.document, session.inspect.compiled.grammar)
    assert [(one.line, one.column) for one in found] == [(1, 10), (2, 1)]
    lenient = Session({"itmes": True, "not": {"uniqueItems": True}}, tokenizer, lenient=True)
    said = [str(one) for one in doubts(lenient.document, lenient.inspect.compiled.grammar)]
    assert ["did you mean `items`" in one or "the keyword is ignored" in one for one in said] == [True, True]
    with explore(session).under_the_hood() as explorer:
        assert [told["warning"] for told in explorer.views["source"].mistakes] == [True, True]


NOTED = "root ::= [digit]+\ndigit ::= [0-9]\n"


@pytest.mark.parametrize("source", [NOTED, {"type": "object", "additionalProperites": False}])
def test_a_session_tells_its_caller_whatever_was_imported_before(source: Any, tokenizer: Tokenizer) -> None:
    for begin in (lambda: Session(source, tokenizer), lambda: Session("[a-z]+", tokenizer).set_grammar(source)):
        with pytest.warns(GrammarWarning) as told:
            begin()
        assert {one.filename for one in told} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Session.opened(source, tokenizer)  # a panel shows it
        with told_elsewhere():
            Session(source, tokenizer)


def test_nothing_that_is_imported_sets_a_filter() -> None:
    code = (
        "import warnings; before = list(warnings.filters)\n"
        "import workbench.cli, workbench.comparing, workbench.languages.warnings\n"
        "import workbench.explorer, workbench.serving\n"
        "try: import workbench.generation.loop\n"
        "except ImportError: pass\n"
        "ours = [one for one in warnings.filters if one not in before and 'workbench' in str(one)]\n"
        "assert not ours, ours"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


MEMBERS = {"name": {"type": "string"}, "age": {"type": "integer"}}
URL = {"type": "string", "format": "url"}
DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (
            {"type": "string", "format": "uuid4"},
            {"#/format": 'the format "uuid4" is not checked; did you mean "uuid"?'},
        ),
        ({"type": ["null", "string"], "format": "dateTime"}, {"#/format": 'did you mean "date-time"?'}),
        ({"type": "string", "format": "ipvanyaddress"}, {"#/format": "say in a `pattern`"}),
        (
            {"type": "string", "format": "phone"},
            {"#/format": 'the format "phone" is not checked; say in a `pattern` what it is to be'},
        ),
        ({"type": "string", "format": "idn-hostname"}, {"#/format": "say in a `pattern`"}),
        ({"type": "string", "format": "phone", "pattern": "^[0-9]+$"}, {}),
        ({"type": "string", "format": "file-path"}, {}),  # any text
        ({"format": "int64"}, {}),
        ({"items": URL, "contains": URL}, {"#/items/format": 'did you mean "uri"?'}),
        ({"type": "integer", "format": "int32"}, {}),
        ({"format": "enum", "enum": ["a"]}, {}),
        ({"format": "password"}, {}),
        ({"title": "x", "$defs": {"a/b": {"type": "null"}}}, {"#/$defs": '`"$ref": "#/$defs/a~1b"`'}),
        ({"type": "object", "definitions": {"a": {}}}, {"#/definitions": "every value of this type is allowed; refer"}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, {}),
        (MEMBERS, {"#/name": "no keyword is called `name`, `age`"}),
        ({"properties": {"home": MEMBERS}}, {"#/properties/home/name": "write it in `properties`"}),
        ({"properties": {"additionalProperties": False}}, {"#/properties/additionalProperties": "beside `properties`"}),
        ({"anyOf": [{"$ref": "#/pet"}], "pet": {"type": "object"}, "x-ui": {"type": "string"}}, {}),
        ({"type": "string", "min": 1}, {"#/min": "did you mean `minLength`?"}),
        ({"type": ["number"], "max": 1}, {"#/max": "did you mean `maximum`?"}),
        ({"bsonType": "int"}, {"#/bsonType": "did you mean `type`?"}),
        ({"type": "integer", "ge": 1}, {"#/ge": "did you mean `minimum`?"}),
        ({"type": "string", "regex": "a"}, {"#/regex": "did you mean `pattern`?"}),
        ({"regex": "a"}, {}),
        ({"type": "string", "options": ["a", "b"]}, {"#/options": "`options` is no keyword: it forbids nothing; did"}),
        ({"items": {"type": "integer", "choices": [1, 2]}}, {"#/items/choices": "did you mean `enum`?"}),
        ({"type": "string", "choices": ["a"], "enum": ["a"]}, {}),
        ({"type": "string", "options": [{"label": "A"}]}, {}),
        ({"type": "string", "options": []}, {}),
        ({"properties": {"options": {"type": "array"}, "length": {}}, "choices": ["a"]}, {}),
        ({"type": ["null", "string"], "length": 3}, {"#/length": "did you mean `minLength` and `maxLength`?"}),
        ({"type": "array", "length": 3}, {"#/length": "did you mean `minItems` and `maxItems`?"}),
        ({"type": "string", "length": 3, "maxLength": 3}, {}),
        ({"type": "string", "length": "short"}, {}),
        ({"type": "number", "length": 3}, {}),
        ({"type": "string", "title": "Name", "lt": "Pavadinimas"}, {}),  # in Lithuanian
        ({"items": {"x-schema": {"type": "null"}, "exampleSchema": {"type": "null"}}}, {}),
        (
            {"items": {"schema": {"type": "null"}, "required": True}},
            {"#/items/schema": "put it in the place of what is around it", "#/items/required": "list the name"},
        ),
        (
            {"name": "q", "in": "query", "required": True, "schema": {"type": "null"}},  # a parameter of OpenAPI
            {"#/required": "list the name in `required`", "#/schema": "put it in the place of what is around it"},
        ),
        ({"items": {"type": "object", "x-ui": 1, "itemSchema": {"type": "null"}}}, {}),
        ({"type": "string", "nullable": True}, {"#/nullable": 'add "null" to `type`'}),
        ({"type": "string", "nullable": False}, {}),
        ({"enum": ["a"], "nullable": True}, {"#/nullable": "for null write `anyOf` of this and"}),
        ({"enum": ["a", None], "nullable": True}, {}),
        ({"const": None, "nullable": True}, {}),
        ({"const": 1, "nullable": True}, {"#/nullable": "for null write `anyOf` of this and"}),
        ({"anyOf": [{"type": "null"}, {"enum": [1]}], "nullable": True}, {}),
        ({"minLength": 1, "nullable": True}, {}),
        ({"oneOf": [{"const": None}, {"type": "string"}], "nullable": True}, {}),
        ({"items": {"optional": False}}, {"#/items/optional": "list the name in `required` of the object around it"}),
        ({"items": {"optional": True}}, {}),
        ({"type": ["string", "null"], "nullable": True}, {}),
        ({"type": ["null", "string"], "max": 1}, {"#/max": "did you mean `maxLength`?"}),
        ({"minimum": 1, "min": 1, "type": "integer", "bsonType": "int"}, {}),
        ({"properties": MEMBERS, "ui:options": {"type": "string"}, "widget": {"type": "string"}}, {}),
        ({"$ref": "#/P", "P": {"properties": {"q": {"$ref": "#/Q"}}}, "Q": {"type": "null"}}, {}),
        ({"$schema": "https://spec.openapis.org/oas/3.0/dialect", "type": "string", "nullable": True}, {}),
        ({"type": "integer", "minLength": 2}, {"#/minLength": "speaks of strings, and `type` allows none: it forbids"}),
        ({"items": {"type": ["array", "null"], "maximum": 2}}, {"#/items/maximum": "did you mean `maxItems`?"}),
        (
            {"type": "string", "minimum": 1, "minLength": 1},
            {"#/minimum": "of numbers, and `type` allows none: it forb"},
        ),
        ({"type": "boolean", "properties": {"a": {}}}, {"#/properties": "speaks of objects"}),
        ({"type": ["integer", "string"], "minLength": 2, "maximum": 3}, {}),
        ({"type": "string", "properties": {}, "required": [], "additionalProperties": False, "minItems": 0}, {}),
        ({"type": "integer", "format": "int32", "allOf": [{"minLength": 3}]}, {}),
        (
            {"items": {"properties": {"name": {}}, "required": ["nmae"], "additionalProperties": False}},
            {"#/items/required": '`additionalProperties` forbids it: no object is left; did you mean "name"?'},
        ),
        ({"items": {"required": ["a"], "additionalProperties": False}}, {"#/items/required": "declare it in `prop"}),
        ({"$ref": "#/$defs/a", "required": ["a"], "additionalProperties": False, "$defs": {"a": {}}}, {}),
        ({"items": {"required": ["a"], "additionalProperties": False, "patternProperties": {"a": {}}}}, {}),
        ({"$schema": DRAFT_4, "const": 1}, {"#/const": "the draft of this schema does not know `const`"}),
    ],
)
def test_what_forbids_less_than_its_author_means_is_told_once(schema: Any, told: dict[str, str]) -> None:
    found = {one.pointer: str(one) for one in Grammar.from_json_schema(schema).warnings}
    assert found.keys() == told.keys()
    assert all(said in found[pointer] for pointer, said in told.items())
    assert [one.pointer for one in misspelt(Source.of(schema, "json_schema"))] == list(told)


def test_of_tools_what_is_meant_by_their_api_is_no_mistake() -> None:
    own = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True, "max_length": 4}}, "requred": []}
    (told,) = misspelt(Source.of({"tools": [{"function_declarations": [{"name": "f", "parameters": own}]}]}))
    assert told.pointer == "#/tools/0/function_declarations/0/parameters/requred"


def test_a_grammar_of_a_schema_tells_misspelt_keywords() -> None:
    found = Grammar.from_json_schema(SCHEMA).warnings
    assert {one.pointer for one in found} == set(MEANT)
    assert str(
        found[0]
    ) == "#/additionalProperites: `additionalProperites` is no keyword: it forbids nothing; did you " + (
        "mean `additionalProperties`?"
    )
    tag = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {"requred": ["a"]}}}
    assert [one.pointer for one in Grammar.from_structural_tag(tag).warnings] == ["#/format/json_schema/requred"]
    assert Grammar.from_json_schema({"type": "object"}).warnings == ()


@pytest.mark.parametrize("word", ["schema", "grammars/answer", "answer.yaml", "schema.json"])
def test_a_word_is_a_name_that_leads_nowhere_and_no_pattern(word: str, tokenizer: Tokenizer) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Session(word, tokenizer)
    assert Session(word, tokenizer, language="regex").read(word.replace("\\", "")).ok


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("z.object({name: z.string()})", "TypeScript or GraphQL"),
        ("const City = z.object({name: z.string()})", "TypeScript or GraphQL"),
        ("curl http://localhost/v1/completions -d '{}'", "a command of curl"),
        ("class City(BaseModel): name: str", "Python"),
        ("first name = letter , letter ;", ""),
        ("type x{2,3}", ""),
        ("SELECT a FROM b WHERE c = [0-9]+;", ""),
        ("z.o(b|j)ect", ""),
        ("curls? [0-9]+", ""),
        ("a file of notes.txt", ""),
        (r"""["'][a-z]+["']""", ""),
    ],
)
def test_a_line_that_is_hardly_a_pattern_is_told(text: str, looks: str) -> None:
    source = Source.of(text)
    assert source.language == "regex"
    found = doubts(source, source.grammar())
    assert [str(one) for one in found] == [str(one) for one in found if f": this looks like {looks}, and" in str(one)]
    assert len(found) == bool(looks)
    said = Source.of(text, "regex")
    assert doubts(said, said.grammar()) == ()


IGNORING = 'start: NAME ";"\nNAME: /[a-z]+/\n%ignore " "\n'
INITIAL = '%llguidance {"allow_initial_skip": true}\n'


@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("trailing", [False, True])
def test_what_is_ignored_at_the_ends_of_a_text_is_as_it_is_told(initial: bool, trailing: bool) -> None:
    text = (INITIAL if initial else "") + IGNORING
    session = Session(text, [bytes((value,)) for value in range(256)], language="lark", trailing_skip=trailing)
    found = list(unread_ends(session.document))
    said = " ".join(one.message for one in found)
    assert len(found) == (not (initial and trailing))
    assert all(text[one.start : one.end] == "%ignore" for one in found)
    assert session.read(" a;").ok == initial == ("in front of the first" not in said)
    assert session.read("a ; ").ok == trailing == ("behind the last" not in said)


def test_nothing_is_told_of_a_comment_that_ignores() -> None:
    source = Source("lark", 'start: "a" // %ignore\n// %ignore WS\n')
    assert list(unread_ends(source)) == []
