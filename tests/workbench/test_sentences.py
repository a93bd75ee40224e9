"""Reasons in the words of the schema: which member, which keyword, which bound."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench.panels.examples import ExamplesPanel
from workbench.provenance import forbidding, sentence

BYTES = [bytes((value,)) for value in range(256)]


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "text", "said"),
    [
        (of(age={"type": "integer", "minimum": 0, "maximum": 120}), '{"age": 130}', "`age` is at most 120 (`maximum`)"),
        (of(unit={"enum": ["a", "b"]}), '{"unit": "c"}', '`unit` is one of "a", "b" (`enum`)'),
        (
            of(name={"type": "string", "maxLength": 2}),
            '{"name": "abc"}',
            "`name` has at most 2 characters (`maxLength`)",
        ),
        (of(name={"type": "string"}), '{"name": 1}', "`name` is of the type string (`type`)"),
        (of(name={"type": "string"}), '{"age": 1}', "the value takes no member that is not named"),
        (of(tags={"type": "array", "items": {"const": "x"}}), '{"tags": ["y"]}', "an item of `tags` is x (`const`)"),
        ({"type": "integer", "maximum": 9}, "10", "the value is at most 9 (`maximum`)"),
    ],
)
def test_a_reason_names_the_member_and_what_it_is(schema: dict[str, Any], text: str, said: str) -> None:
    session = wb.Session(schema, BYTES)
    session.read("")
    reasons = forbidding(session.inspect, text, afresh=True, budget_ms=10_000)
    assert sentence(session.document, reasons[0]).startswith(said)


def test_reasons_of_a_text_from_the_beginning_do_not_depend_on_the_place() -> None:
    schema = of(age={"type": "integer", "maximum": 120})
    session = wb.Session(schema, BYTES).seek('{"age": 1')
    assert not forbidding(session.inspect, "2}", budget_ms=10_000)
    assert forbidding(session.inspect, "30}", budget_ms=10_000)
    assert forbidding(session.inspect, '{"age": 130}', afresh=True, budget_ms=10_000)
    assert not forbidding(session.inspect, '{"age": 12}', afresh=True, budget_ms=10_000)


def test_an_example_that_dies_says_why_in_its_own_terms() -> None:
    with wb.explore(of(age={"type": "integer", "minimum": 0, "maximum": 120}), BYTES) as explorer:
        explorer.views["screen"].pane = "examples"  # type: ignore[attr-defined]
        panel = explorer.panels["examples"]
        assert isinstance(panel, ExamplesPanel)
        panel.received({"kind": "set", "number": 0, "text": '{"age": 130}', "must": False})
        assert panel.view.rows[0][4].startswith("`age` is at most 120 (`maximum`): 0 cannot come at byte 10")
