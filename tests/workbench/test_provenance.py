"""Where the parser is in the source's own words, and which words forbid a byte."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.grammar.structural_tag.build import FORMATS
from kernels_core.grammar.templates import model_templates
from tests.grammar.structural_tag.driver import INFO as TAG_INFO
from tests.grammar.structural_tag.test_formats import CASES as FORMAT_CASES
from tests.workbench.test_positions import LAYOUTS, VALUES
from workbench.explorer import explore
from workbench.languages import Source
from workbench.languages.positions import parts_of, read_json
from workbench.provenance import forbidding, place_at, provenance
from workbench.provenance.branches import Oracles
from workbench.provenance.formats import MAX_STEPS, MAX_THREADS, FormatWalk
from workbench.provenance.prefix import read_prefix
from workbench.provenance.rules import spelt_out
from workbench.provenance.schema import SchemaWalk
from workbench.session import Session

BYTES = [bytes((value,)) for value in range(256)]
INFO = TokenizerInfo([*BYTES, b""], stop_token_ids=[256])

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
        "days": {"type": "integer", "minimum": 3},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "pos": {"$ref": "#/$defs/pos"},
        "u": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
        "tree": {"$ref": "#/$defs/node"},
    },
    "required": ["city"],
    "patternProperties": {"^x-": {"type": "null"}},
    "additionalProperties": False,
    "$defs": {
        "pos": {"type": "array", "prefixItems": [{"type": "number"}], "items": {"type": "boolean"}, "minItems": 2},
        "node": {
            "oneOf": [
                {"properties": {"kind": {"const": "leaf"}, "value": {"type": "integer"}}, "required": ["kind"]},
                {
                    "properties": {"kind": {"const": "pair"}, "value": {"items": {"$ref": "#/$defs/node"}}},
                    "required": ["kind"],
                },
            ],
            "type": "object",
        },
    },
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}},
]
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f="],
        "tags": [
            {"begin": "<f=a>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</f>"},
            {"begin": "<f=b>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": ["</f>", "<!>"]},
        ],
    },
}


def at(source: Any, text: str) -> Session:
    session = Session(source, INFO)
    reading = session.read(text, by="byte")
    assert reading.ok, reading
    return session


def here(session: Session, role: str = "here") -> list[str]:
    return [str(place.pointer) for place in provenance(session.inspect) if place.role == role]


# -- JSON texts -------------------------------------------------------------------------------------------------------


@given(VALUES, LAYOUTS, st.data())
def test_a_cut_json_text_stands_where_the_whole_one_says(
    value: Any, layout: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value, **layout)
    cut = data.draw(st.integers(0, len(text)))
    found = read_prefix(text[:cut])
    whole = read_json(text)
    for pointer, entry in whole.entries.items():
        path = tuple(parts_of(pointer))
        if entry.start < cut < entry.end and text[entry.start] not in "{[":
            assert (found.part, tuple(map(str, found.path)), found.start) == ("value", path, entry.start)
        if entry.key is not None and entry.key[0] < cut < entry.key[1]:
            assert (found.part, tuple(map(str, found.path))) == ("name", path[:-1])
            assert found.partial == text[entry.key[0] : cut]
        inside = entry.start < cut < entry.end and text[entry.start] in "{["
        assert inside == (tuple(map(str, found.path))[: len(path)] == path and _is_open(found, path))
    number = isinstance(value, (int, float)) and not isinstance(value, bool)  # may go on
    assert (found.part == "end") == (cut == len(text) and not number)


def _is_open(found: Any, path: tuple[str, ...]) -> bool:
    return len(path) < len(found.levels)


# -- schemas ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ("", ["#"]),
        ("{", ["#"]),
        ('{"city', ["#"]),
        ('{"city": ', ["#/properties/city"]),
        ('{"city": "Lu', ["#/properties/city"]),
        ('{"city": "Lu", "pos": [1', ["#/$defs/pos/prefixItems/0"]),
        ('{"city": "Lu", "pos": [1, tr', ["#/$defs/pos/items"]),
        ('{"city": "Lu", "u": ', ["#/properties/u", "#/properties/u/anyOf/0", "#/properties/u/anyOf/1"]),
        ('{"city": "Lu", "u": "a', ["#/properties/u", "#/properties/u/anyOf/1"]),
        ('{"city": "Lu", "u": 1', ["#/properties/u", "#/properties/u/anyOf/0"]),
        ('{"city": "Lu", "x-1": ', ["#/patternProperties/^x-"]),
        ('{"city": "Lu", "tree": {"kind": "leaf", "value": ', ["#/$defs/node/oneOf/0/properties/value"]),
        (
            '{"city": "Lu", "tree": {"kind": "pair", "value": [{"kind": "p',
            ["#/$defs/node/oneOf/1/properties/kind"],
        ),
        ('{"city": "Lu"}', ["#"]),
    ],
)
def test_the_text_is_followed_through_the_schema(text: str, pointers: list[str]) -> None:
    assert here(at(SCHEMA, text)) == pointers


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ("{", [f"#/properties/{name}" for name in SCHEMA["properties"]]),
        ('{"city": "Lu", "u', ["#/properties/u", "#/properties/unit"]),
        ('{"city": "Lu", "unit": ', ["#/properties/unit/enum/0", "#/properties/unit/enum/1"]),
        ('{"city": "Lu", "unit": "c', ["#/properties/unit/enum/0"]),
        ('{"city": "Lu", "u": 3', []),
    ],
)
def test_names_and_values_that_may_come_are_next(text: str, pointers: list[str]) -> None:
    assert sorted(here(at(SCHEMA, text), "next")) == sorted(pointers)


def test_every_place_is_where_its_pointer_says() -> None:
    session = at(SCHEMA, '{"city": "Lu", "unit": ')
    source = session.document
    for place in provenance(session.inspect):
        assert place.pointer is not None
        assert place.span == source.json.entries[place.pointer].span
    assert source.text[slice(*provenance(session.inspect)[0].span)].startswith('"unit": {"type": "string"')  # type: ignore[misc]


@pytest.mark.parametrize(
    ("schema", "text", "pointers"),
    [
        ({"items": [{"type": "null"}], "additionalItems": {"type": "string"}}, '[null, "', ["#/additionalItems"]),
        ({"properties": {"a": True}, "additionalProperties": True}, '{"b": ', ["#/additionalProperties"]),
        ({"properties": {"a": {"type": "null"}}}, '{"b": ', []),
        (
            {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"maxProperties": 3}]},
            '{"a": 1',
            ["#/allOf/0/properties/a"],
        ),
        (
            {
                "properties": {"t": {"type": "boolean"}},
                "required": ["t"],
                "if": {"properties": {"t": {"const": True}}},
                "then": {"properties": {"v": {"type": "integer"}}},
                "else": {"properties": {"v": {"type": "string"}}},
            },
            '{"t": true, "v": ',
            ["#/then/properties/v"],
        ),
        ({"$defs": {"n": {"$anchor": "here", "type": "string"}}, "$ref": "#here"}, '"', ["#", "#here"]),
        (
            {"$id": "http://x.y/s", "$ref": "#/$defs/n", "$defs": {"n": {"type": "string"}}},
            '"a',
            ["#", "#/$defs/n"],
        ),
    ],
)
def test_keywords_of_all_kinds_are_walked(schema: dict[str, Any], text: str, pointers: list[str]) -> None:
    levels = SchemaWalk(schema, {}, Oracles()).levels(read_prefix(text))
    assert [site.pointer for site in levels[-1]] == pointers


# -- tags and tools ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "also"),
    [
        ("hello", ("free text", "#/format"), None),
        ("hello <", ("a tag begins, 1 byte of it read", "#/format"), "#/format/triggers/0"),
        ("<f=", None, "#/format/tags/1/begin"),
        ("<f=a", ("the beginning of tag '<f=a>', 1 of 2 bytes read", "#/format/tags/0/begin"), "#/format/tags/0"),
        ('<f=a>{"city": "L', ("in tag '<f=a>'", "#/format/tags/0/content"), None),
        (
            '<f=a>{"city": "Lu"}</f> and <f=b>1',
            ("in tag '<f=b>'", "#/format/tags/1/content"),
            "#/format/tags/1/end",
        ),
    ],
)
def test_tags_are_followed(text: str, first: tuple[str, str] | None, also: str | None) -> None:
    found = provenance(at(TAG, text).inspect)
    if first is not None:
        assert (found[0].label, found[0].pointer) == first
    if also is not None:
        assert also in [place.pointer for place in found]


def test_a_schema_in_a_tag_is_followed_from_where_its_content_began() -> None:
    inside = "#/format/tags/0/content/json_schema/properties"
    assert f"{inside}/u/anyOf/1" in here(at(TAG, 'x <f=a>{"city": "Lu"}</f> <f=a>{"city": "Lu", "u": "'))
    assert f"{inside}/unit/enum/1" in here(at(TAG, '<f=a>{"city": "Lu", "unit": "f'), "next")


def test_tools_are_followed_in_their_own_text() -> None:
    begin = 'sure <tool_call>\n{"name": "get_weather", "arguments": '
    assert here(at(TOOLS, "sure")) == ["#"]
    assert here(at(TOOLS, 'sure <tool_call>\n{"name": "get_')) == ["#/0", "#/1"]
    assert here(at(TOOLS, begin + '{"city": "')) == ["#/0", "#/0/function/parameters/properties/city"]
    older = {"structures": [{"begin": "<a>", "schema": SCHEMA, "end": "</a>"}], "triggers": ["<a"]}
    assert "#/structures/0/schema/properties/city" in here(at(older, '<a>{"city": "'))


@pytest.mark.parametrize("model", model_templates())
def test_every_text_of_a_template_has_a_reading(model: str) -> None:
    plain = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    tools = [{"name": "get_weather", "parameters": {**plain, "required": ["city"]}}, {"name": "noop"}]
    source = Source.of(tools, "tools", model=model, tool_choice="required")
    tag = source.tool_tag.tag
    compiled = GrammarCompiler(INFO).compile_grammar(source.grammar(INFO))
    walk = FormatWalk(tag["format"], "#/format", INFO, Oracles())
    rng = random.Random(model)
    met = set()
    for _ in range(3):
        matcher, text = GrammarMatcher(compiled), b""
        while len(text) < 200:
            possible = [byte for low, high in matcher.possible_bytes() for byte in range(low, high + 1)]
            if not possible:
                break
            telling = [byte for byte in possible if byte in b'<|[{"}]>/ctoal_']
            text += bytes((rng.choice(telling if telling and rng.random() < 0.9 else possible),))
            matcher.accept_string(text[-1:])
            if len(text) % 7 == 0:
                standings = walk.read(text)
                assert standings or matcher.is_completed(), text
                met |= {standing.where for standing in standings}
    assert met
    back = walk.read(text[:20])
    assert back == FormatWalk(tag["format"], "#/format", INFO, Oracles()).read(text[:20])


def test_every_format_is_followed() -> None:
    followed = set()
    for form, accepts, _ in FORMAT_CASES:
        walk = FormatWalk(form, "#/format", TAG_INFO, Oracles())
        for text in accepts:
            if isinstance(text, str) and len(text) > 1:
                assert walk.read(text[:1].encode()), form
        followed.add(form["type"])
    assert followed == set(FORMATS)


# -- grammars ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grammar", "text", "nodes"),
    [
        ('root ::= "ab" ("c" | word)* "!"\nword ::= [x-z]{2,} "-"', "abc", ['"c"', '"!"', "[x-z]", "word"]),
        ('root ::= "ab" ("c" | word)* "!"\nword ::= [x-z]{2,} "-"', "abxy", ["[x-z]", '"-"', "word"]),
        ("(ab|c[0-9]+)-x{2,3}", "", ["ab", "c"]),
        ("(ab|c[0-9]+)-x{2,3}", "c1", ["[0-9]", "-"]),
        ('start: hi NAME "!"?\nhi: "hello "\nNAME: /[a-z]+(-[0-9])?/', "hello ab", ["[a-z]", "-", '"!"', "NAME"]),
        ('start: NAME "=" INT\n%import common.CNAME -> NAME\n%import common.INT', "", ["CNAME", "NAME"]),
        ('start: NAME "=" INT\n%import common.CNAME -> NAME\n%import common.INT', "a=", ["INT", "INT"]),
    ],
)
def test_the_nodes_of_a_grammar_are_lit(grammar: str, text: str, nodes: list[str]) -> None:
    session = at(grammar, text)
    lit = [
        session.document.text[slice(*place.span)]
        for place in provenance(session.inspect)
        if place.role == "here" and place.span
    ]
    assert sorted(lit) == sorted(nodes)


def test_a_click_means_the_rule_or_the_value_there() -> None:
    session = at('root ::= "ab" word\nword ::= [x-z]', "")
    assert place_at(session.inspect, 25).rule == "word"  # type: ignore[union-attr]
    session = at(SCHEMA, "")
    offset = session.document.text.index('"minimum"') + 2
    assert place_at(session.inspect, offset).pointer == "#/properties/days/minimum"  # type: ignore[union-attr]


# -- why not ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dies", "reasons"),
    [
        ("", "[", [("#", "type")]),
        ("{", '"nmae', [("#", "additionalProperties")]),
        ("{", '"dayz"', [("#", "additionalProperties")]),
        ("{", '"days', []),
        ("{", "}", [("#", "required")]),
        ('{"city": ', "5", [("#/properties/city", "type")]),
        ('{"city": ', '"l', [("#/properties/city", "pattern")]),
        ('{"city": ', '"L"', [("#/properties/city", "minLength")]),
        ('{"city": "Lu", "unit": ', '"k', [("#/properties/unit", "enum")]),
        ('{"city": "Lu", "unit": ', "3", [("#/properties/unit", "type"), ("#/properties/unit", "enum")]),
        ('{"city": "Lu", "days": ', "2}", [("#/properties/days", "minimum")]),
        ('{"city": "Lu", "pos": [1', "]", [("#/$defs/pos", "minItems")]),
        ('{"city": "Lu", "pos": [', '"', [("#/$defs/pos/prefixItems/0", "type")]),
        ('{"city": "Lu", "u": ', '"abc', [("#/properties/u/anyOf/1", "maxLength")]),
        ('{"city": "Lu", "u": ', "t", [("#/properties/u/anyOf/0", "type"), ("#/properties/u/anyOf/1", "type")]),
        ('{"city": "Lu"', ', "y', [("#", "additionalProperties")]),
        ('{"city": "Lu"', ";", [("#", "")]),
        ('{"city": "Lu"}', "x", [("#", "")]),
        ('{"city": "Lu", "unit": "celsius"', ', "days', []),
        ('{"city": "Lu"', "}", []),
    ],
)
def test_the_keywords_that_forbid_a_byte_are_found_by_trying(
    text: str, dies: str, reasons: list[tuple[str, str]]
) -> None:
    session = at(SCHEMA, text)
    found = forbidding(session.inspect, dies, budget_ms=5_000)
    # What forbids is the keyword itself.
    at_keywords = [(f"{place}/{word}" if word else place, word) for place, word in reasons]
    assert [(place.pointer, place.keyword) for place in found] == at_keywords
    assert session.text.decode() == text
    for place in found:
        assert place.role == "forbids"
        if place.keyword:
            assert session.document.text[slice(*place.span)].startswith(f'"{place.keyword}"')  # type: ignore[misc]


def test_what_is_called_the_reason_is_one() -> None:
    """Without the keyword, in a schema of its own, the text goes on."""
    for text, dies in (('{"city": ', '"L"'), ('{"city": "Lu", "days": ', "2}"), ('{"city": "Lu", "u": ', '"abc')):
        session = at(SCHEMA, text)
        for place in forbidding(session.inspect, dies, budget_ms=5_000):
            schema = json.loads(session.document.text)
            holder = schema
            for part in parts_of(str(place.pointer))[:-1]:
                holder = holder[int(part)] if isinstance(holder, list) else holder[part]
            del holder[place.keyword]
            matcher = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(Grammar.from_json_schema(schema)))
            assert matcher.accept_string((text + dies).encode())


def test_tags_say_what_they_wait_for_and_grammars_what_they_expect() -> None:
    found = forbidding(at(TOOLS, "<tool_call>\n").inspect, "x")
    assert [place.pointer for place in found] == ["#/0", "#/1"]
    assert 'goes on with {"name"' in found[0].label
    inside = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Lu"'
    assert [(place.pointer, place.keyword) for place in forbidding(at(TOOLS, inside).inspect, ', "y')] == [
        ("#/0/function/parameters/additionalProperties", "additionalProperties")
    ]
    session = at('root ::= "ab" w\nw ::= [x-z]+ "!"', "abx")
    assert [session.document.text[slice(*place.span)] for place in forbidding(session.inspect, "q") if place.span] == [
        "[x-z]",
        '"!"',
    ]


def test_a_search_ends_with_its_budget() -> None:
    session = at(SCHEMA, '{"city": ')
    assert forbidding(session.inspect, "5", budget_ms=0) == ()
    assert forbidding(session.inspect, "5", budget_ms=5_000) != ()


def test_a_thousand_ways_to_go_on_cost_no_more_than_those_that_are_kept() -> None:
    """Every element may be left out, so behind each byte all that follow can begin, and so on for each reading."""
    element = {"type": "optional", "content": {"type": "const_string", "value": "ab"}}
    walk = FormatWalk({"type": "sequence", "elements": [element] * 5_000}, "#/format", INFO, Oracles())
    for text in (b"a", b"ab", b"aba", b"abab"):
        assert 0 < len(walk.read(text)) <= MAX_THREADS
        assert MAX_STEPS - walk._left < 5 * MAX_THREADS


SMALL = """root ::= factor ("+" factor)*
factor ::= number | call | name
call ::= name "(" factor (";" factor)* ")" | "(" factor ")" | "[" factor "]" | "<" factor ">"
name ::= [a-z]+
number ::= digits ("." digits)?
digits ::= [0-9]+
"""


def test_calls_of_rules_that_are_spelt_out_are_lit_where_no_other_call_leads_there() -> None:
    session = Session(SMALL, [bytes((value,)) for value in range(256)])

    def lit(text: str) -> set[str]:
        session.seek(text)
        places = [place for place in provenance(session.inspect) if place.role == "here"]
        for place in places:
            assert place.span is not None
            assert place.label.endswith(SMALL[slice(*place.span)])
        return {place.label for place in places}

    assert {"factor: number", "factor: call", "factor: name", "digits: [0-9]", "name: [a-z]"} <= lit("")
    # `digits` is called twice in `number`, and which call this is nobody knows: neither is lit.
    assert {"factor: number", 'number: "."'} <= lit("1")
    assert not {"number: digits", "factor: name"} & lit("1.5")
    assert spelt_out(session.inspect, session.inspect.automaton()) == ("name", "number", "digits")
    with explore(session) as explorer:
        explorer.bring("automaton")
        assert explorer.views["automaton"].spelt_out == ["name", "number", "digits"]  # type: ignore[attr-defined]
    schema = Session({"type": "integer"}, [b"1"]).inspect
    assert spelt_out(schema, schema.automaton()) == ()
