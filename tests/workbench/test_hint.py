"""The few lines of a card: the verdict, what may come, who forbids it."""

from __future__ import annotations

import pytest

from tests.workbench.vocabulary import EOS
from workbench.explorer import explore
from workbench.hint import hint
from workbench.reading import StepError
from workbench.session import Session


def test_a_text_that_cannot_come(session: Session) -> None:
    session.set_prefix("[tr")
    assert hint(session, b"uX") == {
        "ok": False,
        "message": "X cannot come at byte 4, after u",
        "after": "e",
        "reasons": hint(session, b"uX")["reasons"],
        "bytes": "",
    }
    assert {reason["where"] for reason in hint(session, b"uX")["reasons"]} <= {"value"}
    assert hint(session, b"X")["message"] == "X cannot come at byte 3"
    assert session.text == b"[tr"


def test_tokens(session: Session) -> None:
    session.set_prefix("[true")
    said = hint(session, ord(","))
    assert (said["ok"], said["message"], said["bytes"], said["reasons"]) == (True, ", may come here", "2C", [])
    assert "17 characters" in said["after"]
    ended = hint(session, EOS)
    assert (ended["ok"], ended["reasons"]) == (False, [])
    assert "cannot come" in ended["message"]
    session.step("]")
    assert hint(session, EOS)["message"] == "may come here: the stop token: it ends the text"
    with pytest.raises(StepError):
        hint(session, 10**6)


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

        assert ask("tokens", id=ord("t"))["hint"] == hint(session, ord("t"))
        assert "outside the vocabulary" in str(ask("tokens", id=10**9)["error"])
        assert ask("text")["hint"] is None
        explorer.desk.do("prefix", text="[12;")
        assert ask("text")["hint"] == hint(session, b";")
        assert replies == []
