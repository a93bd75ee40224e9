"""Places in a source by their names, and the line of them over the call stack."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.explorer import explore
from workbench.provenance.breadcrumbs import breadcrumbs
from workbench.session import Session
from workbench.tokenizers import Tokenizer

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "properties": {"type": ["integer", "null"]},
        "unit": {"enum": ["C", "F"]},
        "days": {"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"anyOf": [{"type": "number"}]}},
    },
    "additionalProperties": {"const": 1},
    "$defs": {"home": {"type": "object"}},
}
OPENAI = {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}
ANTHROPIC = {"name": "parameters", "input_schema": CITY}
TAG = {"type": "tag", "begin": "<tool=add>", "content": {"type": "json_schema", "json_schema": CITY}, "end": "</tool>"}
TAGS = {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool="], "tags": [TAG]}}
FUNCTION = "#/0/function/parameters"
CONTENT = "#/format/tags/0/content/json_schema"


@pytest.mark.parametrize(
    ("value", "pointer", "names", "kind"),
    [
        (CITY, "#", (), "object"),
        (CITY, "#/properties/city", ("city",), "string"),
        (CITY, "#/properties/properties", ("properties",), "integer or null"),
        (CITY, "#/properties/unit", ("unit",), "enum"),
        (CITY, "#/properties/days/items/anyOf/0", ("days", "item"), "number"),
        (CITY, "#/properties/days/prefixItems/0", ("days", "item 0"), "boolean"),
        (CITY, "#/additionalProperties", ("other member",), "const"),
        (CITY, "#/$defs/home", ("home",), "object"),
        (CITY, "#/properties/nowhere/items", ("nowhere", "item"), ""),
        ([OPENAI], "#", (), ""),
        ([OPENAI], "#/0", ("get_weather",), ""),
        ([OPENAI], FUNCTION, ("get_weather", "arguments"), "object"),
        ([OPENAI], f"{FUNCTION}/properties/city", ("get_weather", "arguments", "city"), "string"),
        ({"tools": [OPENAI]}, "#/tools/0/function/parameters", ("get_weather", "arguments"), "object"),
        ([ANTHROPIC], "#/0/input_schema/properties/city", ("parameters", "arguments", "city"), "string"),
        (TAGS, "#/format/tags", (), ""),
        (TAGS, "#/format/tags/0/begin", ("<tool=add>",), ""),
        (TAGS, f"{CONTENT}/properties/city", ("<tool=add>", "city"), "string"),
        ({"format": {**TAG, "begin": {"type": "token", "token": "<t>"}}}, "#/format/content", ("<t>",), ""),
    ],
)
def test_a_place_by_its_names(value: Any, pointer: str, names: tuple[str, ...], kind: str) -> None:
    assert breadcrumbs(value, pointer) == (names, kind)


@pytest.mark.parametrize(
    ("source", "text", "line"),
    [
        (
            [OPENAI],
            'Well. <tool_call>\n{"name": "get_weather", "arguments": {"city": "Lu',
            "get_weather &gt; arguments &gt; city &gt; string",
        ),
        (TAGS, 'Well. <tool=add>{"city": "Lu', "&lt;tool=add&gt; &gt; city &gt; string"),
        (CITY, '{"city": "Lu', "city &gt; string"),
    ],
)
def test_the_line_over_the_call_stack(source: Any, text: str, line: str, tokenizer: Tokenizer) -> None:
    session = Session(source, tokenizer)
    session.read(text)
    with explore(session).under_the_hood() as opened:
        opened.bring("stack")
        view: Any = opened.panels["stack"].view
        last = view.levels[view.stacks[0][-1]]
        assert last["names"][-1:] == ("city",)
        assert last["kind"] == "string"
        assert f">{line}</div>" in view.static_html()
