"""The object that is being written: what is there, what may come, what is required, whether it may close; held against
the parser."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.workbench.test_provenance import INFO, at
from workbench.explorer.dashboard import Dashboard
from workbench.panels.next import NextPanel
from workbench.provenance.elements import STYLES, read_elements
from workbench.session import Session
from workbench.tokenizers import Tokenizer

PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "street": {"type": "string"},
        "city": {"type": "string"},
        "zip": {"type": "integer"},
        "land": {"enum": ["SE", "NO"]},
    },
    "required": ["city", "land"],
    "additionalProperties": False,
}
ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "note": {"type": "string"}, "to": PLACE, "lines": {"type": "array"}},
    "required": ["to"],
}


def states(session: Session, level: int = 0) -> dict[str, str]:
    return {member.name: member.state for member in session.inspect.members().objects[level].members}


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("{", "declared", {"street": "next", "city": "next", "zip": "later", "land": "later"}),
        ("{", "any", dict.fromkeys(PLACE["properties"], "next")),
        ('{"city": "L', "declared", {"street": "passed", "city": "here", "zip": "next", "land": "next"}),
        ('{"city": "L', "any", {"street": "next", "city": "here", "zip": "next", "land": "next"}),
        ('{"city": "L"', "declared", {"street": "passed", "city": "done", "zip": "next", "land": "next"}),
        ('{"city": "L", ', "declared", {"street": "passed", "city": "done", "zip": "next", "land": "next"}),
        ('{"city": "L", "l', "declared", {"street": "passed", "city": "done", "zip": "passed", "land": "next"}),
        ('{"city": "L", "l', "any", {"street": "later", "city": "done", "zip": "later", "land": "next"}),
        ('{"land": "SE"', "any", {"street": "next", "city": "next", "zip": "next", "land": "done"}),
    ],
)
def test_the_members_of_an_object(text: str, order: Any, expected: dict[str, str]) -> None:
    session = Session(PLACE, INFO, order=order).seek(text)
    assert states(session) == expected
    assert session.inspect.members().objects[0].ordered is (order == "declared")


@pytest.mark.parametrize(
    ("text", "missing", "blocked"),
    [
        ("{", ["city", "land"], "city, land are required"),
        ('{"city": "L', ["land"], "the value of city is not complete"),
        ('{"city": "L"', ["land"], "land is required"),
        ('{"city": "L", ', ["land"], "land is required"),
        ('{"city": "L", "l', ["land"], "a name has begun"),
        ('{"city": "L", "land": "SE"', [], ""),
    ],
)
def test_what_is_required_and_whether_it_may_close(text: str, missing: list[str], blocked: str) -> None:
    session = at(PLACE, text)
    found = session.inspect.members().objects[0]
    assert (found.missing, found.blocked) == (missing, blocked)
    if found.now != "member":
        assert found.may_close == session.inspect.matcher.fork().accept_string("}")
    assert ("may close now" in found.summary) == found.may_close == (not blocked)


AGED = {
    "type": "object",
    "properties": {
        "age": {"type": "integer", "maximum": 200},
        "share": {"type": "number"},
        "name": {"type": "string"},
    },
    "required": ["age", "name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "text", "blocked"),
    [
        (AGED, '{"age": ', "the value of age is not complete"),
        (AGED, '{"age": -', "the value of age is not complete"),
        (AGED, '{"age": 12', "name is required"),
        (AGED, '{"age": 130', "name is required"),
        (AGED, '{"age": 130, "share": 1.', "the value of share is not complete"),
        (AGED, '{"age": 130, "share": 1.5', "name is required"),
        ({**AGED, "required": ["age"]}, '{"age": 12', ""),
        ({**AGED, "required": ["age"]}, '{"age": 12, "share": 1e', "the value of share is not complete"),
        ({**AGED, "required": ["age"], "minProperties": 2}, '{"age": 12', "at least 2 members are required (minProp"),
        ({"type": "object", "properties": {"at": {"type": "integer", "minimum": 100}}}, '{"at": 12', "the value of at"),
    ],
)
def test_a_number_that_may_end_is_complete(schema: dict[str, Any], text: str, blocked: str) -> None:
    session = at(schema, text)
    found = session.inspect.members().objects[0]
    assert found.blocked.startswith(blocked)
    assert found.may_close == (not blocked) == session.inspect.matcher.fork().accept_string("}")


def test_a_number_in_the_arguments_of_a_tool_may_be_complete() -> None:
    parameters = {
        "type": "object",
        "properties": {"limit": {"type": "integer", "maximum": 50}, "q": {"type": "string"}},
    }
    tag = {
        "type": "tag",
        "begin": "<call>",
        "content": {"type": "json_schema", "json_schema": parameters},
        "end": "</call>",
    }
    session = at({"type": "structural_tag", "format": tag}, '<call>{"limit": 3')
    assert session.inspect.members().objects[0].may_close
    session.step("}")
    assert b"<" in session.inspect.next_bytes()


def test_objects_in_objects_and_arrays() -> None:
    session = at(ORDER, '{"id": 1, "to": {"city": "L", "land": "SE"}, "lines": [{"x": 1}, ')
    found = session.inspect.members()
    assert [one.label for one in found.objects] == ["#"]
    assert found.objects[0].names("done", "here") == ["id", "to", "lines"]
    assert found.objects[0].others == "any name"
    session = Session({**ORDER, "additionalProperties": False}, INFO, order="declared").seek(
        '{"id": 1, "to": {"city": "L"'
    )
    assert [(one.label, one.pointer) for one in session.inspect.members().objects] == [
        ("to", "#/properties/to"),
        ("#", "#"),
    ]
    assert states(session, 1) == {"id": "done", "note": "passed", "to": "here", "lines": "next"}
    assert "members come in the schema's order, and note comes before to" in str(session.inspect.members().rows())
    assert not at(ORDER, "").inspect.members()
    assert not at(ORDER, '{"to": {"city": "L", "land": "SE"}}').inspect.members()
    assert not at('root ::= "{" [a-z]* "}"', "{a").inspect.members()


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize(
    "schema",
    [
        PLACE,
        {**PLACE, "additionalProperties": {"type": "integer"}, "minProperties": 3},
        {"allOf": [PLACE, {"required": ["zip"]}]},
        {
            "type": "object",
            "properties": {"kind": {"type": "string"}, "a": {"type": "integer"}, "b": {"type": "integer"}},
            "anyOf": [
                {"properties": {"kind": {"const": "x"}}, "required": ["kind", "a"]},
                {"properties": {"kind": {"const": "y"}}, "required": ["kind", "b"]},
            ],
        },
        {
            "type": "object",
            "properties": {"card": {"type": "integer"}, "name": {"type": "string"}, "way": {"type": "string"}},
            "dependentRequired": {"card": ["name", "way"]},
        },
    ],
)
def test_what_is_worked_out_inside_a_value_is_what_the_parser_says_behind_it(
    schema: dict[str, Any], order: Any
) -> None:
    """Along texts that are walked by taking the members that may come: nothing that is called required can be left
    out, and what may come next while a value is written is what may come behind it."""
    values = {"kind": '"x"', "street": '"s"', "city": '"c"', "name": '"n"', "way": '"w"', "land": '"SE"'}
    looked = 0
    for first in range(3):
        session = Session(schema, INFO, order=order).seek("{")
        for turn in range(6):
            found = session.inspect.members().objects[0]
            assert found.may_close == session.inspect.matcher.fork().accept_string("}")
            if found.missing:
                assert not found.may_close
            possible = found.names("next")
            for name in possible:
                lead = "" if turn == 0 else ","
                assert session.inspect.matcher.fork().accept_string(f'{lead}"{name}"')
            if not possible:
                break
            name = possible[(first + turn) % len(possible)]
            lead = "" if turn == 0 else ", "
            session.step(f'{lead}"{name}": ')
            inside = session.inspect.members().objects[0]
            assert inside.names("here") == [name]
            value = values.get(name, "1")
            if not session.inspect.matcher.fork().accept_string(value):
                value = '"y"'
            session.step(value + (" " if value == "1" else ""))
            behind = session.inspect.members().objects[0]
            if "minProperties" not in schema and "anyOf" not in schema and "dependentRequired" not in schema:
                assert inside.names("next") == behind.names("next")
            looked += 1
    assert looked > 4


ARGUMENTS = {"city": "Lund", "days": 3, "where": {"street": "a", "no": [1, 2]}}


@pytest.mark.parametrize("style", ["qwen_xml", "minimax_xml", "glm_xml", "kimi_k3_xml", "deepseek_xml"])
def test_elements_are_read_like_json(style: str) -> None:
    """At the end of each value, and inside one, the path is that of the argument."""
    kind = STYLES[style]
    text = ""
    for (name, value), following in pairwise([*ARGUMENTS.items(), ("", "")]):
        json_type = {str: "string", int: "number", dict: "object"}[type(value)]
        text += kind.front + name + "".join(kind.middles[json_type])
        written = value if isinstance(value, str) else json.dumps(value)
        for cut in range(1, len(written)):
            found = read_elements(text + written[:cut], kind)
            assert found.path[:1] == (name,)
            assert found.part in ("value", "name", "colon", "after")
        if name == "where":
            assert read_elements(text + '{"street": "a', kind).path == ("where", "street")
        text += written + name.join(kind.back) if kind.back[1:] else written + kind.back[0]
        found = read_elements(text, kind)
        assert (found.part, found.path) == ("name", ())
        assert found.levels[0].names[-1] == name
        assert read_elements(text + kind.front[:3], kind).part == "name"
        assert following is not None


def test_a_whole_number_of_an_open_type_is_an_element_too() -> None:
    style = STYLES["kimi_k3_xml"]
    text = f"{style.front}days{style.integer}3{style.back[0]}{style.front}city"
    assert read_elements(text, style).levels[0].names == ["days"]
    assert read_elements(f"{style.front}days{style.integer}3", style).path == ("days",)


def test_elements_in_elements() -> None:
    style = STYLES["cohere_xml"]
    text = '<cofl:value name="where" type="dict"><cofl:value name="street" type="raw">a'
    assert read_elements(text, style).path == ("where", "street")
    text += '</cofl:value></cofl:value><cofl:value name="all" type="list"><cofl:value type="json">1</cofl:value>'
    assert read_elements(text, style).path == ("all",)
    text += '<cofl:value type="json">2'
    assert read_elements(text, style).path == ("all", 1)
    assert read_elements(text, style).levels[0].names == ["where", "all"]


TOOLS = {
    "model": "qwen_3_5",
    "order": "declared",
    "tools": [
        {"type": "function", "function": {"name": "get_weather", "parameters": PLACE}},
        {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}},
    ],
}


def test_a_name_that_is_tried_is_read_with_its_entities() -> None:
    schema = {"type": "object", "properties": {"a&b": {"type": "string"}}, "additionalProperties": False}
    leaf = {"type": "json_schema", "style": "cohere_xml", "json_schema": schema}
    member = '<cofl:value name="a&amp;b" type="raw">'
    session = at({"type": "structural_tag", "format": leaf}, f"{member}x</cofl:value>")
    for tried in (member, '<cofl:value name="a&amp;b'):  # whole, or its end not written yet
        assert session.inspect.explain(tried).about == "a&b is there already, and a name comes once"


def test_arguments_that_are_written_as_elements_are_places_too() -> None:
    session = at(TOOLS, "<tool_call>\n<function=get_weather>\n<parameter=city>\nLu")
    found = session.inspect.members().objects[0]
    assert found.label == "get_weather"
    assert found.names("here") == ["city"]
    assert found.missing == ["land"]
    assert found.pointer == "#/tools/0/function/parameters"
    from workbench.provenance import provenance

    here = [place.pointer for place in provenance(session.inspect) if place.role == "here"]
    assert "#/tools/0/function/parameters/properties/city" in here
    session.step("nd\n</parameter>\n")
    found = session.inspect.members().objects[0]
    assert found.names("next") == ["zip", "land"]
    assert found.blocked == "land is required"
    session.step("<parameter=land>\nSE\n</parameter>\n")
    assert session.inspect.members().objects[0].may_close
    session.step("</function>")
    assert not session.inspect.members()


def test_arguments_that_are_written_as_elements_have_reasons() -> None:
    session = at(TOOLS, "<tool_call>\n<function=get_weather>\n<parameter=city>\nLund\n</parameter>\n")
    found = session.inspect.why("</function>")
    assert found.reasons is not None
    assert "#/tools/0/function/parameters/required" in [place.pointer for place in found.reasons]
    assert (
        "members come in the schema's order, and street comes before city"
        in session.inspect.why("<parameter=street>").message
    )
    misspelt = session.inspect.why("<parameter=lnad>")
    assert 'the schema has no member "lnad"' in misspelt.message
    assert b"<parameter=land>" in misspelt.suggestions


def test_the_panel_shows_the_object_and_its_numbers_add_up(tokenizer: Tokenizer) -> None:
    desk = Dashboard(Session(PLACE, tokenizer), [NextPanel])
    try:
        desk.show("next")
        view: Any = desk.views["next"]
        for text in ("{", '{"city": "L', '{"city": "L", ', '{"city": "L", "zip": 3'):
            desk.session.seek(text)
            view.tab = "refused"
            desk.refresh()
            told = desk.session.inspect.members().state()
            assert (view.members, [one["counts"] for one in view.objects]) == ({}, [told["objects"][0]["counts"]])
            view.tab = "members"
            assert view.members == told
            assert view.members["objects"][0]["missing"][-1] == "land"
            outlook, refused = view.outlook, view.refused
            assert outlook["allowed"] + refused["total"] == outlook["size"] == tokenizer.info.vocab_size
            assert refused["control"] == outlook["control"]
            total, rejected, uncertain = (
                int(word.replace(",", "")) for word in refused["sum"].split() if word[0].isdigit()
            )
            assert total == refused["total"] == rejected + uncertain
        assert "still required: land" in desk.panels["next"].static_html()
        assert desk.troubles == {}
    finally:
        desk.close()


def as_elements(value: dict[str, Any], style: str, path: tuple[Any, ...] = ()) -> list[tuple[str, tuple[Any, ...]]]:
    """Pieces of text, each with the path of the value that it is of."""
    kind = STYLES[style]
    pieces: list[tuple[str, tuple[Any, ...]]] = []
    for name, inner in value.items():
        json_type = {str: "string", int: "number", dict: "object", list: "array"}[type(inner)]
        pieces.append((kind.front + name + "".join(kind.middles[json_type]), path))
        here = (*path, name)
        if kind.nested and isinstance(inner, dict):
            pieces += as_elements(inner, style, here)
        elif kind.nested and isinstance(inner, list):
            for number, item in enumerate(inner):
                assert isinstance(item, int)
                middle = "".join(kind.middles["number"]).removeprefix('"')
                pieces.append((kind.item + middle, here))
                pieces.append((json.dumps(item), (*here, number)))
                pieces.append((kind.item_back, here))
        else:
            pieces.append((inner if isinstance(inner, str) else json.dumps(inner), here))
        pieces.append((name.join(kind.back) if kind.back[1:] else kind.back[0], path))
    return pieces


@pytest.mark.parametrize("style", list(STYLES))
def test_every_style_of_elements_is_followed_through_its_schema(style: str) -> None:
    """The engine takes the text; behind each piece the path is right, and what is said of the object is true."""
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "where": {"type": "object", "properties": {"street": {"type": "string"}, "no": {"type": "integer"}}},
            "days": {"type": "array", "items": {"type": "integer"}},
            "last": {"type": "integer"},
        },
        "required": ["city", "last"],
        "additionalProperties": False,
    }
    value = {"city": "Lund", "where": {"street": "a", "no": 1}, "days": [1, 2], "last": 3}
    leaf = {"type": "json_schema", "json_schema": schema, "style": style, "order": "declared"}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<c>", "content": leaf, "end": "</c>"}}
    session = at(tag, "<c>")
    text, members = "", 0
    for piece, path in as_elements(value, style):
        text += piece
        session.step(piece)
        found = session.inspect.members().objects
        top = found[-1]
        assert (top.label, top.ordered) == ("<c>", True)
        if path:
            assert read_elements(text, STYLES[style]).path[: len(path)] == path
            assert top.names("here") == [path[0]]
        else:
            members = len(top.names("done"))
            if top.now == "name":
                assert top.may_close == session.inspect.matcher.fork().accept_string("</c>")
                for name in top.names("next"):
                    assert session.inspect.matcher.fork().accept_string(STYLES[style].front + name)
    assert members == 4
    assert session.inspect.members().objects[0].may_close
