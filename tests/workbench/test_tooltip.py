"""The few lines of a card: the verdict, what may come, who forbids it, in the words of the schema."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.workbench.vocabulary import EOS
from workbench.explorer import explore
from workbench.next.tooltip import tooltip
from workbench.panels.examples import ExamplesPanel
from workbench.provenance import forbidding
from workbench.session import Session
from workbench.session.result import StepError


def test_a_text_that_cannot_come(session: Session) -> None:
    session.read("[tr")
    assert tooltip(session.inspect, b"uX") == {
        "ok": False,
        "message": "X cannot come at byte 4, after u",
        "after": "e",
        "reasons": tooltip(session.inspect, b"uX")["reasons"],
        "bytes": "",
    }
    assert {reason["where"] for reason in tooltip(session.inspect, b"uX")["reasons"]} <= {"value"}
    assert tooltip(session.inspect, b"X")["message"] == "X cannot come at byte 3"
    assert session.text == b"[tr"


def test_tokens(session: Session) -> None:
    session.read("[true")
    said = tooltip(session.inspect, ord(","))
    assert (said["ok"], said["message"], said["bytes"], said["reasons"]) == (True, ", may come here", "2C", [])
    assert "17 characters" in said["after"]
    ended = tooltip(session.inspect, EOS)
    assert (ended["ok"], ended["reasons"]) == (False, [])
    assert "cannot come" in ended["message"]
    session.step("]")
    assert tooltip(session.inspect, EOS)["message"] == "may come here: the stop token: it ends the text"
    with pytest.raises(StepError):
        tooltip(session.inspect, 10**6)


def test_the_panels_answer(session: Session) -> None:
    with explore(session).under_the_hood() as explorer:
        replies: list[dict[str, object]] = []
        explorer.widget.send = lambda content, buffers=None: replies.append(content["content"])

        def ask(view: str, **content: object) -> dict[str, object]:
            asked = {
                "to": view,
                "content": {"type": "hint", "view": "me", "seq": 1, **content},
                "client": "me",
                "seq": 1,
            }
            explorer.widget._handle_custom_msg(asked, [])
            return replies.pop()

        assert ask("tokens", id=ord("t"))["hint"] == tooltip(session.inspect, ord("t"))
        assert "outside the vocabulary" in str(ask("tokens", id=10**9)["error"])
        assert replies == []


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
        (of(tags={"type": "array", "items": {"const": "x"}}), '{"tags": ["y"]}', 'an item of `tags` is "x" (`const`)'),
        ({"type": "integer", "maximum": 9}, "10", "the value is at most 9 (`maximum`)"),
        ({"enum": [[1], [2]]}, "3", "the value is one of [1], [2] (`enum`)"),
        ({"not": {"type": "string"}}, '"', '`not`: {"type": "string"}'),
    ],
)
def test_a_reason_names_the_member_and_what_it_is(schema: dict[str, Any], text: str, said: str) -> None:
    session = wb.Session(schema, BYTES)
    session.read("")
    reasons = forbidding(session.inspect, text, afresh=True, budget_ms=10_000)
    assert reasons[0].label.startswith(said)


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
