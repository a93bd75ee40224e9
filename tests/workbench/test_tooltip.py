"""The few lines of a card: the verdict, what may come, who forbids it."""

from __future__ import annotations

import pytest

from tests.workbench.vocabulary import EOS
from workbench.explorer import explore
from workbench.explorer.tooltip import tooltip
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
