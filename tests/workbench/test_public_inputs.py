"""What people bring from the public tools, as those tools' documentation has it: read as it is meant, or told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic.v1 import BaseModel

from workbench.languages import Source
from workbench.languages.not_a_schema import example_given
from workbench.languages.tools import ToolsError
from workbench.session import Session

BYTES = [bytes((value,)) for value in range(256)]
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
RIGHT, WRONG = '{"city": "Lund", "unit": "c"}', '{"city": "Lund", "unit": "k"}'
CALL = '<tool_call>\n{{"name": "get_weather", "arguments": {}}}\n</tool_call>'
SONG = {"toolSpec": {"name": "get_weather", "inputSchema": {"json": WEATHER}}}
ALLOWED = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]}


class Old(BaseModel):
    """Of pydantic 1."""

    city: str
    days: int = 3


ZOD = {
    "$ref": "#/definitions/w",
    "definitions": {"w": WEATHER},
    "$schema": "http://json-schema.org/draft-07/schema#",
}
TYPEBOX = {
    "type": "object",
    "required": ["city", "unit"],
    "properties": {
        "city": {"type": "string", "minLength": 4},
        "unit": {"anyOf": [{"const": "c", "type": "string"}, {"const": "f", "type": "string"}]},
        "pair": {"type": "array", "items": [{"type": "number"}], "additionalItems": False, "minItems": 1},
    },
}
OPENAPI = {**WEATHER, "xml": {"name": "w"}, "example": json.loads(RIGHT), "discriminator": {"propertyName": "unit"}}
TAG = {
    "type": "structural_tag",
    "structures": [
        {"begin": '<tool_call>\n{"name": "get_weather", "arguments": ', "schema": WEATHER, "end": "}\n</tool_call>"}
    ],
    "triggers": ["<tool_call>"],
}
FUNCTION = {"name": "get_weather", "description": "d", "parameters": WEATHER}
TOOL = {"type": "function", "function": {**FUNCTION, "strict": True}}
MCP = {"name": "get_weather", "title": "W", "inputSchema": WEATHER, "annotations": {"readOnlyHint": True}}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
GEMINI = {"functionDeclarations": [FUNCTION]}
ANY = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (ZOD, "{}"),
        (TYPEBOX, "{}"),
        (OPENAPI, "{}"),
        (TAG, CALL),
        ({**CHAT, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}}, CALL),
        ({"model": "m", "input": "x", "tools": [{"type": "function", **FUNCTION}], "tool_choice": ALLOWED}, CALL),
        ({**CHAT, "max_tokens": 9, "tools": [{"name": "get_weather", "input_schema": WEATHER}]}, CALL),
        ({**CHAT, "tools": [TOOL], "tool_choice": "any", "parallel_tool_calls": False}, CALL),
        (
            {**CHAT, "toolConfig": {"tools": [SONG, {"cachePoint": {"type": "default"}}], "toolChoice": {"any": {}}}},
            CALL,
        ),
        ({"contents": [], "tools": [GEMINI], "toolConfig": ANY}, CALL),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}}, CALL),
        ({"tools": [MCP], "nextCursor": "n", "_meta": {}}, CALL),
        ([{"name": "get_weather", "input_schema": WEATHER, "eager_input_streaming": True}], CALL),
        (FUNCTION, CALL),
    ],
)
def test_schemas_and_tools(given: Any, text: str) -> None:
    session = Session(json.dumps(given), BYTES)
    assert session.read(text.format(RIGHT)).ok
    assert session.is_completed
    assert not session.read(text.format(WRONG)).ok


JSON_GBNF = r"""root   ::= object
value  ::= object | string | ("true" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

ws ::= | " " | "\n" [ \t]{0,20}
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (
            JSON_GBNF,
            '{"a": {"b": true}}',
            "{a}",
        ),
        (
            "# kana\nroot ::= kana+ ([ \\t\\n] kana+)*\nkana ::= hiragana | [ァ-ヿ]\nhiragana ::= [ぁ-ゟ]",
            "ひら カ",
            "a",
        ),
        ('\n    root ::= pick\n\n    pick ::= "SELECT " ("a " | "b ")\n', "SELECT a ", "SELECT c "),
        (r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)", "192.168.0.1", "300.1"),
        ('\n?start: pick\n\n?pick: "SELECT " name ("," name)*\n\n?name: /[a-z]+/\n', "SELECT a,b", "SELECT 1"),
        ('%llguidance {}\nstart: "<j>" obj\nobj: %json {"const": 1}\n', "<j>1", "<j>2"),
    ],
    ids=["json.gbnf", "japanese.gbnf", "vllm sql", "outlines", "vllm lark", "guidance"],
)
def test_grammars_and_patterns(text: str, right: str, wrong: str) -> None:
    session = Session(text, BYTES)
    assert session.read(right).ok
    assert session.is_completed
    assert not session.read(wrong).ok


def test_models_of_pydantic_1() -> None:
    session = Session(Old, BYTES)
    assert session.read('{"city": "Lund"}').ok
    assert not session.read('{"city": "Lund", "days": "x').ok
    assert (session.document.name, session.document.why) == ("Old", "a pydantic model")


def test_json_with_comments(tmp_path: Path) -> None:
    path = tmp_path / "weather.jsonc"
    path.write_text(f"// of VS Code\n{json.dumps(WEATHER, indent=1)[:-2]},\n}}\n")
    for language in (None, "json_schema"):
        source = Source.of(path, language)
        assert source.language == "json_schema"
        assert source.value == WEATHER
        (mistake,) = Source.of(path, language).with_text(source.text.replace('"object"', '"objekt"')).check()
        assert mistake.line == 3


def test_json_with_comments_that_was_pasted_says_where_they_may_stay() -> None:
    for text in (f"{{ // of VS Code\n{json.dumps(WEATHER)[1:]}", f"// of VS Code\n{json.dumps(WEATHER)}"):
        source = Source.of(text)
        assert source.language == "json_schema"
        (mistake,) = source.check()
        assert "a file whose name ends in .jsonc may have them" in mistake.cure


def test_json_as_a_text_of_json_says_what_to_take() -> None:
    (mistake,) = Source.of(json.dumps(json.dumps(WEATHER, indent=1))).check()
    assert "parse that text, and give the object" in mistake.message
    assert Source.of('"[^"]*"').language == "regex"


@pytest.mark.parametrize(
    "text", ["openapi: 3.1.0\ninfo:\n  title: x\n", "type: object\nproperties:\n  city:\n    type: string\n"]
)
def test_yaml_is_called_so(text: str) -> None:
    with pytest.raises(ValueError, match="this looks like YAML, which is not read"):
        Source.of(text)


def test_functions_of_python_are_no_tools() -> None:
    with pytest.raises(TypeError, match=r"#/0: .*give the name, description and parameters"):
        Source.of([test_yaml_is_called_so])


def test_an_openapi_document_offers_nothing_of_its_own_shape() -> None:
    draft = Session.opened('{"openapi": "3.0.3", "info": {}, "components": {"schemas": {}}}', BYTES).edits.draft
    assert draft is not None
    assert draft.offer is None
    assert "in components.schemas" in draft.mistakes[0].cure


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (
            {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER}}},
            "format",
        ),
        ({**CHAT, "format": WEATHER, "stream": False}, "#/format"),
        ({**CHAT, "extra_body": {"guided_json": WEATHER}}, "#/extra_body/guided_json"),
        ({**CHAT, "output_format": {"type": "json_schema", "schema": WEATHER}}, "#/output_format/schema"),
        ({**CHAT, "functions": [FUNCTION]}, "#/functions"),
        ({"contents": [], "generationConfig": {"responseSchema": WEATHER}}, "#/generationConfig/responseSchema"),
        ({"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER}}, "#/json_schema/schema"),
        ({"format": {"type": "json_schema", "name": "w", "schema": WEATHER}}, "#/format/schema"),
        ({"inputs": "x", "parameters": {"grammar": {"type": "regex", "value": "a+"}}}, "#/parameters/grammar/value"),
        ({"json": WEATHER}, "#/json"),
        ({"choice": ["yes", "no"]}, "#/choice"),
        ({**CHAT, "structured_outputs": {"structural_tag": json.dumps(TAG)}}, "#/structured_outputs/structural_tag"),
    ],
)
def test_requests_are_told_apart(given: Any, where: str) -> None:
    found = example_given(Source.of(json.dumps(given)))
    assert found is not None
    assert where in found.cure
    assert found.cure.endswith("take that one")


def test_schemas_are_no_tools() -> None:
    with pytest.raises(
        ToolsError, match=r"this is a schema, and no tool: .*for one of several write {\"anyOf\": \[...\]}"
    ):
        Source.of([WEATHER, {"type": "string"}]).grammar()


def test_a_schema_as_a_text_says_what_to_take() -> None:
    with pytest.raises(ToolsError, match="an object, and not a string; parse that text, and give the object"):
        Source.of([{"name": "f", "parameters": json.dumps(WEATHER)}]).grammar()
