"""An example in place of a schema, and a schema that takes more than it names: told, with what a click makes of it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from kernels_core import GrammarWarning
from workbench.languages import Draft
from workbench.languages.not_a_schema import example_given, schema_of
from workbench.languages.warnings import misspelt
from workbench.panels.source import SourcePanel

EXAMPLE = '{"name": "Anna", "age": 34}'
BYTES = [bytes((value,)) for value in range(256)]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_the_schema_of_a_shape_takes_its_value(value: Any) -> None:
    jsonschema.validate(value, schema_of(value))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (EXAMPLE, True),
        ('{"id": 3, "name": "Anna", "title": "Dr"}', True),
        ("{}", False),
        ('{"title": "anything"}', False),
        ('{"x-note": 1}', False),
        ('{"@type": "Person", "age": 34}', True),
        ('{"type": "object", "name": "Anna"}', False),
        ('{"$ref": "#/definitions/a", "definitions": {"a": {}}}', False),
        ('{"propertees": {}}', False),  # which looks misspelt
        ('{"type": "string", "prompt": "Your name?", "model": "user.name"}', False),  # somebody's own words
        ('{"type": "string", "format": "date", "input": "date", "model": "u.d"}', False),
        ('{"name": {"type": "string"}}', False),  # members without `properties`
    ],
)
def test_an_object_without_a_keyword_is_an_example(text: str, told: bool) -> None:
    assert (example_given(wb.Source.of(text, "json_schema")) is not None) == told


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ('{"name": "answer", "strict": true, "schema": {"type": "object"}}', "a schema stands at #/schema"),
        (
            '{"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"$ref": "#"}}}}',
            "a schema stands at #/response_format/json_schema/schema",
        ),
        (
            '{"text": "x", "generationConfig": {"responseSchema": {"type": "ARRAY"}}}',
            "#/generationConfig/responseSchema",
        ),
        ('{"guided_json": {"properties": {}}}', "#/guided_json"),
        ('{"$jsonSchema": {"bsonType": "object", "properties": {}}}', "#/$jsonSchema"),
        ('{"structured_outputs": {"json": {"anyOf": []}}}', "#/structured_outputs/json"),
        ('{"response_format": {"type": "json_object"}}', "if it is an example, take the schema of its shape"),
        ('{"city": 1, "schema": 2}', "if it is an example"),
        ('{"city": "Lund", "regex": "a+"}', "if it is an example"),
        ('{"model": "m", "messages": [], "format": {"type": "object"}}', "a schema stands at #/format"),
        ('{"model": "m", "messages": [], "format": "json"}', "what the answer is to be"),
        (
            '{"model": "m", "input": "x", "text": {"format": {"type": "json_schema", "schema": {"$ref": "#"}}}}',
            "#/text/",
        ),
        ('{"model": "m", "messages": [], "guided_regex": "a+"}', "a regular expression stands at #/guided_regex"),
        ('{"model": "m", "prompt": "x", "structured_outputs": {"choice": ["a"]}}', "#/structured_outputs/choice"),
        ('{"prompt": "x", "grammar": "root ::= [a-z]+"}', "a grammar stands at #/grammar"),
        (
            '{"text": "x", "sampling_params": {"json_schema": "{\\"type\\": \\"null\\"}"}}',
            "#/sampling_params/json_schema",
        ),
        ('{"inputs": "x", "parameters": {"grammar": {"type": "json", "value": {"enum": []}}}}', "grammar/value"),
        ('{"messages": [], "response_format": {"type": "structural_tag", "format": {}}}', "a structural tag stands at"),
        ('{"model": "m", "messages": []}', "take in its place what the answer is to be"),
    ],
)
def test_a_request_s_schema_is_pointed_at(text: str, cure: str) -> None:
    found = example_given(wb.Source.of(text, "json_schema"))
    assert found is not None
    assert cure in found.cure


def test_an_example_is_an_error_on_the_screen_with_the_schema_of_its_shape() -> None:
    with wb.explore(EXAMPLE, BYTES) as explorer:
        session, panel = explorer.session, explorer.panels["source"]
        assert isinstance(panel, SourcePanel)
        view = panel.view
        assert "this object is no schema: none of its keys (`name`, `age`) is a keyword" in view.mistakes[0]["message"]
        assert view.offer == "use the schema of this shape"
        panel.received({"kind": "offer"})
        assert session.edits.draft is None
        assert json.loads(session.document.text)["required"] == ["name", "age"]
        assert session.read(EXAMPLE).ok
        assert (view.offer, view.mistakes) == ("", [])
        explorer.desk.do("source", text=EXAMPLE)  # also where it is typed
        assert session.edits.draft is not None


@pytest.mark.parametrize(
    ("asked", "language", "text"),
    [
        ({"format": {"type": "null"}}, "json_schema", '{"type": "null"}'),
        ({"structured_outputs": {"choice": ["a+", "b"]}}, "regex", r"a\+|b"),
        ({"guided_grammar": 'start: "a"'}, "lark", 'start: "a"'),
        ({"tools": [], "response_format": {"schema": {"type": "null"}}}, "json_schema", '{"type": "null"}'),
        ({"generationConfig": {"responseSchema": {"type": "STRING"}}}, "json_schema", '{"type": "string"}'),
    ],
)
def test_a_request_offers_what_its_answer_is_to_be(asked: dict[str, Any], language: str, text: str) -> None:
    request = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], **asked})
    with wb.explore(request, BYTES) as explorer:
        panel = explorer.panels["source"]
        assert isinstance(panel, SourcePanel)
        assert "this object is a request to a model, or what one" in panel.view.mistakes[0]["message"]
        assert panel.view.offer.startswith("use what stands at #/")
        panel.received({"kind": "offer"})
        assert explorer.session.edits.draft is None
        assert (explorer.session.document.language, explorer.session.document.text) == (language, text)


def test_elsewhere_an_example_is_a_warning() -> None:
    session = wb.Session(EXAMPLE, BYTES)  # by the standard it is a schema
    assert session.read("[1]").ok
    from kernels_core import GrammarCompiler, TokenizerInfo
    from workbench.languages.output import compile_output

    with pytest.warns(GrammarWarning, match="this object is no schema"):
        compile_output(json.loads(EXAMPLE), GrammarCompiler(TokenizerInfo(BYTES)), for_a_model=True)


def test_an_object_that_takes_other_members_says_so_and_is_closed_by_a_click() -> None:
    schema = {"type": "object", "properties": {"home": {"properties": {"street": {"type": "string"}}}}}
    with wb.explore(schema, BYTES) as explorer:
        session, panel = explorer.session, explorer.panels["source"]
        assert isinstance(panel, SourcePanel)
        assert panel.view.status == "The object at # and 1 more also takes members that the schema does not name."
        assert session.read('{"other": 1}').ok
        panel.received({"kind": "offer"})
        assert (panel.view.status, panel.view.offer) == ("", "")
        assert not session.read('{"other": 1}').ok
        assert session.read('{"home": {"street": "x"}}').ok
    with wb.explore({**schema, "additionalProperties": False, "properties": {}}, BYTES) as explorer:
        assert explorer.views["source"].status == ""  # type: ignore[attr-defined]


def test_tools_that_take_other_members_say_so_and_are_closed_by_a_click() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}},
        {"name": "g", "input_schema": schema},
    ]
    other = '<tool_call>\n{"name": "g", "arguments": {"other": 1}}\n</tool_call>'
    with wb.explore(wb.Source.of(tools, "tools"), BYTES) as explorer:
        session, panel = explorer.session, explorer.panels["source"]
        assert isinstance(panel, SourcePanel)
        said = "The object at #/1/input_schema also takes members that the schema does not name."
        assert (panel.view.status, panel.view.offer) == (said, "close it")
        assert session.read(other).ok
        panel.received({"kind": "offer"})
        assert (panel.view.status, panel.view.offer) == ("", "")
        assert not session.read(other).ok
        assert session.read(other.replace("other", "city").replace("1}", '"x"}')).ok
    for closed in (tools[:1], {"tools": tools, "strict_mode": False}):
        with wb.explore(wb.Source.of(closed, "tools"), BYTES) as explorer:
            assert explorer.views["source"].status == ""  # type: ignore[attr-defined]


def test_a_schema_with_several_types_can_be_pasted() -> None:
    source = wb.Source.of('{"type": ["string", "null"]}')
    assert source.language == "json_schema"
    assert wb.Session(source, BYTES).read("null").ok


@pytest.mark.parametrize(
    "text", ['e ::= "x" | e "+" e', '?e: "x" | e "+" e\nt: "y"', '# root is meant\ne ::= "x" t\nt ::= ("+" "x")*']
)
def test_a_grammar_without_a_root_is_begun_at_its_first_rule_by_a_click(text: str) -> None:
    with wb.explore('root ::= "a"', BYTES) as explorer:
        session, panel = explorer.session, explorer.panels["source"]
        assert isinstance(panel, SourcePanel)
        explorer.panels["screen"].received({"kind": "paste", "text": text})
        assert panel.view.offer == "begin at e"
        assert "There is no grammar yet" in panel.view.status
        assert "no grammar yet" not in explorer.views["screen"].bar["note"]  # type: ignore[attr-defined]
        panel.received({"kind": "offer"})
        assert (session.edits.draft, panel.view.offer) == (None, "")
        assert session.read("x+x").ok
        panel.received({"kind": "source", "text": text.replace("x", "z")})
        assert session.read("z+z").ok


def test_another_mistake_of_a_grammar_offers_no_root() -> None:
    with wb.explore('root ::= "a"', BYTES) as explorer:
        for text in ('e ::= "x', "root ::= other", ""):
            draft = explorer.session.edits.source(text, language="ebnf")
            assert isinstance(draft, Draft)
            assert draft.offer is None


def test_a_schema_for_the_answer_beside_tools_is_told() -> None:
    tool = {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "additionalProperties": False}},
    }
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "null"}}}
    source = wb.Source.of(json.dumps({"messages": [], "tools": [tool], "response_format": form}))
    assert source.language == "tools"
    assert [one.pointer for one in misspelt(source)] == ["#/response_format"]
