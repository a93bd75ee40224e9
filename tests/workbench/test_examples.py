"""Texts that must and must not be taken: judged, kept with the session, on the screen, and as a test."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.session.examples import MAX_EXAMPLES, Example, as_test
from workbench.session.file import KeptError

BYTES = [*(bytes((value,)) for value in range(256)), b"</s>"]
GRAMMAR = 'root ::= "[" [a-z]+ "]"'
EXAMPLES = [("[ab]", True), ("[a1]", True), ("[ab", False), ("[]", False), ("[b]", False)]


@pytest.fixture
def session() -> wb.Session:
    session = wb.Session(GRAMMAR, BYTES)
    session.examples = EXAMPLES
    return session


def test_each_is_judged_as_a_whole_text_wherever_the_session_stands(session: wb.Session) -> None:
    session.read("[abc")
    before = session.inspect.cache_stats()
    judged = session.inspect.examples()
    assert [one.ok for one in judged] == [True, False, True, True, False]
    assert [one.farthest for one in judged] == [4, 2, 3, 1, 3]
    assert "1 cannot come at byte 2" in judged[1].told
    assert "may not end yet" in judged[2].told
    assert judged[4].told == "taken"
    assert session.inspect.cache_stats() == before


def test_a_text_over_the_budget_is_neither_taken_nor_refused() -> None:
    session = wb.Session('root ::= "a"+', BYTES, options=wb.Options(max_bytes=60_000))
    session.examples = [(200_000 * "a", True), (200_000 * "a", False)]
    judged = session.inspect.examples()
    if judged[0].reading is None:
        assert not judged[0].ok
        assert not judged[1].ok
    assert judged[0].ok != judged[1].ok or judged[0].reading is None


def test_they_are_kept_with_the_session(session: wb.Session, tmp_path: Path) -> None:
    kept = session.save(tmp_path / "kept.json")
    again = wb.Session.load(kept, session.tokenizer)
    assert again.examples == session.examples == tuple(Example(*one) for one in EXAMPLES)
    value = json.loads(kept.read_text())
    del value["examples"]  # a file of before
    assert wb.Session.load(value, session.tokenizer).examples == ()
    for bad in (
        [{"text": 1, "must": True}],
        [{"text": "a", "must": 1}],
        ["a"],
        "a",
        [{"text": "", "must": True}] * 999,
    ):
        with pytest.raises(KeptError):
            wb.Session.load({**value, "examples": bad}, session.tokenizer)
    with pytest.raises(ValueError, match="at most"):
        session.examples = [("a", True)] * (MAX_EXAMPLES + 1)


def test_the_test_that_is_saved_fails_where_an_example_does(
    session: wb.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "saved_examples.py").write_text(as_test(session.document, session.examples))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(wb, "Session", lambda source: type(session)(source, BYTES))
    import saved_examples  # type: ignore[import-not-found]

    failed = []
    for text, taken in saved_examples.EXAMPLES:
        try:
            saved_examples.test_examples(text, taken)
        except AssertionError:
            failed.append(text)
    assert failed == ["[a1]", "[b]"]
    del sys.modules["saved_examples"]


def test_the_screen_adds_turns_and_drops_them_and_judges_anew_after_an_edit(session: wb.Session) -> None:
    with wb.explore(session) as explorer:
        panel, view = explorer.panels["examples"], explorer.views["examples"]
        explorer.views["screen"].pane = "examples"  # type: ignore[attr-defined]

        def rows() -> list[list[Any]]:
            found: list[list[Any]] = view.rows  # type: ignore[attr-defined]
            return found

        assert [row[2] for row in rows()] == [True, False, True, True, False]
        panel.received({"kind": "set", "number": 4, "text": "[b]", "must": True})
        panel.received({"kind": "drop", "number": 3})
        panel.received({"kind": "set", "number": 99, "text": "[ö]", "must": True})
        assert [row[:4] for row in rows()[2:]] == [
            ["[ab", False, True, 3],
            ["[b]", True, True, 3],
            ["[ö]", True, False, 1],
        ]
        session.read("[xyz]")
        session.goto(1)
        panel.received({"kind": "keep", "must": True})
        assert rows()[-1][:3] == ["[xyz]", True, True]
        explorer.desk.do("source", text='root ::= "[" [a-zö0-9]+ "]"', language="ebnf")
        assert [row[2] for row in rows()] == [True] * 6 if rows()[2][2] else False
        assert "[a-zö0-9]" in view.code  # type: ignore[attr-defined]
        explorer.desk.do("source", text="root ::= (", language="ebnf")
        assert view.draft  # type: ignore[attr-defined]
        assert "must be taken" in explorer.static_html()
