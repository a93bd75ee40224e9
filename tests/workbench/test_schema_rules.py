"""Which rule of the engine reads a place of a schema: known by what it reads, also before the text has been there."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from kernels_core import BudgetExceededError
from kernels_core.grammar.json_schema.rule_keys import RuleKeys
from workbench.provenance import pointers, rule_place, rules_at
from workbench.session import Session
from workbench.tokenizers import Tokenizer

STREET = {"type": "string", "minLength": 1}
SCHEMA = {
    "type": "object",
    "properties": {
        "email": {"type": "string", "format": "email"},
        "days": {"type": "array", "items": {"enum": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]}, "minItems": 2},
        "home": {"type": "object", "properties": {"street": STREET, "zip": {"pattern": "^[0-9]+$", "type": "string"}}},
        "office": {"type": "object", "properties": {"street": STREET, "floor": {"type": "integer"}}},
        "flag": {"type": "boolean"},
        "items": {"type": "boolean"},
    },
    "required": ["email", "days"],
    "additionalProperties": False,
}
TOOLS = [
    {"name": name, "parameters": {"type": "object", "properties": {"to": one}, "required": ["to"]}}
    for name, one in (
        ("mail", {"type": "string", "format": "email"}),
        ("call", {"type": "string", "pattern": "^[0-9]+$"}),
    )
]


@pytest.fixture
def session(tokenizer: Tokenizer) -> Session:
    return Session(SCHEMA, tokenizer)


def test_the_rule_of_a_place_is_that_which_reads_it_when_the_text_is_there(session: Session) -> None:
    text = '{"email": "a@b.org", "days": ["mon", "tue"], "home": {"street": "M"}, "office": {"street": "M'
    session.read(text)
    begins = {
        "#/properties/email": text.index('"a@b'),
        "#/properties/days": text.index('["mon'),
        "#/properties/days/items": text.index('"mon'),
        "#/properties/home": text.index('{"street'),
        "#/properties/office/properties/street": text.rindex('"M'),
    }
    assert pointers(session.inspect, begins.values()) == list(begins)
    for pointer, begin in begins.items():
        session.read(text[: begin + 1])
        # The innermost rule that began there and was made of a schema; others are parts of it.
        began = {item.rule for item in session.inspect.frontier().items if item.origin == begin}
        session.read(text)
        assert rules_at(session.inspect, pointer)[0] in began, pointer


def test_it_is_known_before_the_text_has_been_there(session: Session) -> None:
    session.read("{")
    made = session.inspect.compiled.grammar.lazy_ir.rules
    names = [name for name in ("email", "days", "home", "office") if name in made]
    assert len(names) > 1
    for name in names:
        assert rules_at(session.inspect, f"#/properties/{name}") == [name, "root"]
        assert rule_place(session.inspect, name) == f"#/properties/{name}"
    assert rules_at(session.inspect, "#/properties/days/minItems")[-1] == "root"
    assert rules_at(session.inspect, "#") == ["root"]
    assert rule_place(session.inspect, "root") == "#"
    assert rule_place(session.inspect, "ws") is None


def test_what_is_not_found_in_time_is_asked_for_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.read("{")
    with monkeypatch.context() as late:
        late.setattr(RuleKeys, "key", run_out)
        assert rules_at(session.inspect, "#/properties/email") == []
        assert rule_place(session.inspect, "email") is None
    assert rules_at(session.inspect, "#/properties/email") == ["email", "root"]
    assert rule_place(session.inspect, "email") == "#/properties/email"


def run_out(*_: object, **__: object) -> NoReturn:
    raise BudgetExceededError("milliseconds", 1_000, "a place")


def test_what_is_small_belongs_to_the_rule_around_and_a_member_may_be_called_as_a_keyword(session: Session) -> None:
    assert rules_at(session.inspect, "#/properties/flag") == ["root"]
    assert rules_at(session.inspect, "#/properties/items/type") == ["root"]
    assert rules_at(session.inspect, "#/properties") == ["root"]


def test_places_of_tools(tokenizer: Tokenizer) -> None:
    session = Session(TOOLS, tokenizer)
    for name in ("mail", "call"):
        assert session.read(f'<tool_call>\n{{"name": "{name}", "arguments": {{"to": "1').ok
        number = ("mail", "call").index(name)
        pointer = f"#/{number}/parameters/properties/to"
        found = rules_at(session.inspect, pointer)
        assert found, session.text
        assert rule_place(session.inspect, found[0]) in (pointer, f"#/{number}/parameters")


HOME = {
    "type": "object",
    "properties": {"street": STREET, "land": {"$ref": "#/$defs/land"}, "with": {"$ref": "#/$defs/home"}},
    "required": ["street"],
}
BEHIND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "home": {"$ref": "#/$defs/home"},
        "days": {"type": "array", "items": {"$ref": "#/$defs/land"}},
        "odd": {"not": {"$ref": "#/$defs/land"}, "$ref": "#/$defs/home"},
    },
    "$defs": {
        "home": HOME,
        "land": {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{2}$"}}},
    },
}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"home": {', ["#/properties/home", "#/$defs/home", "#/$defs/home/properties/with"]),
        ('{"home": {"street": "', ["#/$defs/home/properties/street"]),
        (
            '{"home": {"street": "M", "land": {',
            ["#/$defs/land", "#/$defs/home/properties/land", "#/properties/days/items"],
        ),
        ('{"home": {"street": "M", "land": {"code": "', ["#/$defs/land/properties/code"]),
        ('{"home": {"street": "M", "with": {', ["#/$defs/home", "#/$defs/home/properties/with"]),
        ('{"days": [', ["#/properties/days"]),
        ('{"days": [{', ["#/properties/days/items", "#/$defs/land"]),
    ],
)
def test_the_rule_of_a_place_behind_a_reference_is_that_which_reads_it(
    tokenizer: Tokenizer, text: str, places: list[str]
) -> None:
    session = Session(BEHIND, tokenizer)
    assert session.read(text).ok
    began = {item.rule for item in session.inspect.frontier().items if item.origin == len(text) - 1}
    for pointer in places:
        assert rules_at(session.inspect, pointer)[0] in began, pointer
    assert rule_place(session.inspect, rules_at(session.inspect, places[0])[0]) is not None


def test_the_first_place_of_a_rule_may_be_a_reference(tokenizer: Tokenizer) -> None:
    session = Session(BEHIND, tokenizer)
    assert session.read('{"home": {"street": "M').ok
    assert rule_place(session.inspect, "home") == "#/properties/home"
    assert rules_at(session.inspect, "#/properties/home") == ["home", "root"]


def test_a_reference_that_is_read_otherwise_belongs_to_the_rule_around(tokenizer: Tokenizer) -> None:
    session = Session(BEHIND, tokenizer)
    assert rules_at(session.inspect, "#/properties/odd")[-1] == "root"
    assert "home" not in rules_at(session.inspect, "#/properties/odd")


@pytest.mark.parametrize("left_out", [(), ("odd",)], ids=["read by the algebra", "deferrable"])
def test_places_behind_references_of_tools(tokenizer: Tokenizer, left_out: tuple[str, ...]) -> None:
    named = {name: one for name, one in BEHIND["properties"].items() if name not in left_out}
    session = Session([{"name": "mail", "parameters": {**BEHIND, "properties": named}}], tokenizer)
    text = '<tool_call>\n{"name": "mail", "arguments": {"home": {'
    assert session.read(text).ok
    began = {item.rule for item in session.inspect.frontier().items if item.origin == len(text) - 1}
    for pointer in ("#/0/parameters/properties/home", "#/0/parameters/$defs/home"):
        assert rules_at(session.inspect, pointer)[0] in began, pointer


def test_a_grammar_of_rules_has_none(tokenizer: Tokenizer) -> None:
    session = Session('root ::= "a" b\nb ::= "b"+', tokenizer)
    assert rules_at(session.inspect, "#/properties/a") == []
    assert rule_place(session.inspect, "b") is None
