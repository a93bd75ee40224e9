"""What a person did before the kernel was restarted is offered again, and restored without erasing anything."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import IPython
import pytest

import workbench as wb
from workbench.explorer.explorer import Explorer
from workbench.languages import NOTHING
from workbench.screen import kept as store
from workbench.screen.gallery import FIRST
from workbench.screen.recent import opened_last
from workbench.screen.state import here_state
from workbench.session import Session
from workbench.session.examples import Example
from workbench.session.file import KeptError

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "kelvin"]}}}
TEXT = '{"city": "Lund", "un'


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(store.NOTEBOOK, str(tmp_path / "mine.ipynb"))
    monkeypatch.delenv("MASKSCOPE_KEEP", raising=False)
    return tmp_path / "maskscope" / "explorers"


def used(text: str = TEXT) -> Explorer:
    """An explorer in which a person typed, that was then drawn for the notebook."""
    explorer = wb.explore(SCHEMA)
    explorer.desk.do("prefix", text=text)
    explorer.session.examples = (Example('{"city": "Lund"}', must=True),)
    explorer.desk.do("goto", index=3)
    explorer.under_the_hood().bring("chart")
    explorer.renew_pictures()
    return explorer


def left(text: str = TEXT) -> Explorer:
    """An explorer that was used, in a kernel that is gone."""
    explorer = used(text)
    explorer.close()
    return explorer


def offer(explorer: Explorer) -> dict[str, Any]:
    found: dict[str, Any] = explorer.views["kept"].offer
    return found


def press(explorer: Explorer, kind: str) -> None:
    explorer.views["kept"].receive({"kind": kind}, [])


def test_a_new_kernel_offers_what_was_there_and_restores_all_of_it() -> None:
    before = left()
    with wb.explore(SCHEMA) as after:
        assert offer(after)["text"] == '{"city":␣"Lund",␣"un'
        assert offer(after)["examples"] == 1
        assert after.session.text == b""
        press(after, "restore")
        assert b"".join(step.data for step in after.session.steps) == TEXT.encode()
        assert after.session.text == before.session.text
        assert after.session.examples == before.session.examples
        assert after.desk.screen.pane == "chart"
        assert after.desk.arranged() == before.desk.arranged()
        assert offer(after) == {}
        assert after.desk.last_error is None


def test_restoring_is_an_edit_that_can_be_taken_back() -> None:
    left()
    with wb.explore(SCHEMA) as after:
        after.desk.do("prefix", text='{"unit": ')
        press(after, "restore")
        after.desk.do("undo")
        assert b"".join(step.data for step in after.session.steps) == b'{"unit": '


def test_what_is_sent_away_is_not_lost() -> None:
    left()
    with wb.explore(SCHEMA) as after:
        press(after, "leave")
        assert offer(after) == {}
        after.desk.do("prefix", text='{"unit": ')
        after.renew_pictures()
    with wb.explore(SCHEMA) as third:
        assert offer(third)["text"] == '{"unit":␣'
        third.desk.do("prefix", text="{")
        third.renew_pictures()
    kept = json.loads(next(iter(store._folder().glob("*.json"))).read_text())
    assert len(kept) == 3


def test_a_page_for_others_says_nothing_of_what_was_typed_before(tmp_path: Path) -> None:
    left()
    with wb.explore(SCHEMA) as after:
        assert offer(after)
        part = after.views["kept"].part()
        assert part["state"]["offer"] == {}
        assert after.views["kept"].static_html() == ""


def test_nothing_is_offered_to_another_source_or_of_an_empty_text(state: Path) -> None:
    left()
    with wb.explore({"type": "integer"}) as other:
        assert offer(other) == {}
        other.renew_pictures()
    assert len(list(state.glob("*.json"))) == 1


def test_a_source_that_is_pasted_again_offers_what_was_there() -> None:
    paste = {"kind": "paste", "text": json.dumps(SCHEMA)}
    with wb.explore() as before:
        before.panels["screen"].received(paste)
        before.desk.do("prefix", text=TEXT)
        before.renew_pictures()
    with wb.explore({"type": "integer"}) as after:
        assert offer(after) == {}
        after.panels["screen"].received(paste)
        assert offer(after)["text"]
        press(after, "restore")
        assert after.session.text == before.session.text != b""
        after.panels["screen"].received({"kind": "paste", "text": 'root ::= "a"'})
        assert offer(after) == {}


def test_who_opens_the_gallery_again_is_offered_the_last_thing_with_its_source_and_what_was_refused() -> None:
    grammar = 'root ::= word ("+" word)*\nword ::= [a-z]+\n'
    with wb.explore() as before:
        before.panels["screen"].received({"kind": "paste", "text": "root -> word"})
        before.desk.do("source", text=grammar, language="ebnf", options={})
        before.desk.do("prefix", text="a+b++c")
        before.renew_pictures()
    with wb.explore() as after:
        assert offer(after)["text"] == "a+b+"
        assert "root ::= word" in offer(after)["source"]
        press(after, "restore")
        assert after.session.document.text == grammar
        assert after.text == "a+b++c"
        assert after.session.text == b"a+b+"
        assert offer(after) == {}
        assert after.views["screen"].bar["entry"] == ""
        assert after.desk.last_error is None
        after.desk.do("undo")
        assert after.session.document.text == FIRST.source.text
        after.desk.do("redo")
        after.desk.do("move", to="back", by="token")
        assert after.text == after.state()["typed"] == "a+b++c", "also away from its end"


def test_a_draft_is_offered_with_the_source_that_it_was_written_over() -> None:
    with wb.explore() as before:
        before.panels["screen"].received({"kind": "paste", "text": 'root ::= "a"+'})
        before.desk.do("prefix", text="aa")
        before.desk.do("source", text='root ::= "a"+ (', language="ebnf", options={})
        before.renew_pictures()
    with wb.explore() as again:
        press(again, "restore")
        draft = again.session.edits.draft
        assert draft is not None
        assert draft.source.text == 'root ::= "a"+ ('


def test_what_is_still_open_in_this_kernel_is_not_offered_unless_its_cell_runs_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run_cell(name: str) -> None:
        parent = {"metadata": {"cellId": name}}
        monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(get_parent=lambda: parent))

    with used():
        for source in (SCHEMA, None):
            with wb.explore(source) as beside:
                assert offer(beside) == {}
    run_cell("first")
    with used('{"unit": '):
        run_cell("second")
        for source in (SCHEMA, None):
            with wb.explore(source) as beside:
                assert offer(beside)["text"] == '{"city":␣"Lund",␣"un', "that one is closed"
        run_cell("first")
        for source in (SCHEMA, None):
            with wb.explore(source) as again:
                assert offer(again)["text"] == '{"unit":␣'


def test_a_refused_text_leaves_the_places_before_it_known(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def look(session: Session, *args: Any, **options: Any) -> Any:
        looked.append(session.index)
        return here_state(session, *args, **options)

    with wb.explore(SCHEMA) as explorer:
        explorer.desk.do("prefix", text='{"city": 5')
        assert explorer.session.edits.refused
        monkeypatch.setattr("workbench.panels.screen.here_state", look)
        explorer.desk.do("move", to="back", by="token")
        explorer.desk.do("move", to="back", by="token")
        end = len(explorer.session.steps)
        assert looked == [end - 1, end - 2]
        for to in ("forward", "forward", "back", "back"):
            explorer.desk.do("move", to=to, by="token")
        assert looked == [end - 1, end - 2]


def test_another_notebook_offers_its_own_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    left()
    for other in (str(tmp_path / "other.ipynb"), None):
        if other is None:
            monkeypatch.delenv(store.NOTEBOOK)
        else:
            monkeypatch.setenv(store.NOTEBOOK, other)
        with wb.explore() as elsewhere, wb.explore(SCHEMA) as same:
            assert offer(elsewhere) == {}
            assert offer(same)["text"]


def test_a_source_that_cannot_be_read_any_more_keeps_the_text_away_from_another() -> None:
    left()
    (file,) = store._folder().glob("*.json")
    (kept,) = json.loads(file.read_text())
    kept["session"]["grammar"]["text"] = "{"
    file.write_text(json.dumps([kept]))
    with wb.explore() as after:
        before = after.text
        press(after, "restore")
        assert after.session.edits.draft is not None
        assert after.session.document == NOTHING
        assert after.session.examples == ()
        after.desk.do("undo")
        assert after.text == before


def test_what_is_older_than_a_day_is_offered_with_its_source_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    left()
    now = time.time()
    monkeypatch.setattr(store.time, "time", lambda: now + store.LATELY + 60)
    with wb.explore() as later, wb.explore(SCHEMA) as same:
        assert offer(later) == {}
        assert offer(same)["text"]


def test_a_source_that_is_edited_takes_its_place_in_the_list(state: Path) -> None:
    def listed() -> list[str]:
        return [source.text for source in opened_last()]

    with wb.explore() as explorer:
        explorer.renew_pictures()
        assert listed() == []
        for text in ('root ::= "a"', 'root ::= "b"'):
            explorer.panels["screen"].received({"kind": "paste", "text": text})
            for more in ("c", "d"):
                explorer.desk.do("source", text=f'{text} "{more}"', language="ebnf", options={})
                explorer.renew_pictures()
        assert listed() == ['root ::= "b" "d"', 'root ::= "a" "d"']
        (name, title), (older, _) = explorer.views["screen"].bar["recent"]
        assert title == 'EBNF: root ::= "b" "d"'
        assert title not in explorer.to_html()
        explorer.desk.do("source", text='start: "x"', language="lark", options={})
        explorer.renew_pictures()
        assert listed() == ['start: "x"', 'root ::= "b" "d"', 'root ::= "a" "d"'], "another source takes nobody's place"
        for _ in range(2):
            explorer.desk.do("undo")
            explorer.renew_pictures()
        assert len(listed()) == 3
        explorer.panels["screen"].received({"kind": "open", "name": older})
        assert explorer.session.document.text == 'root ::= "a" "d"'
        assert name != older


def test_a_recorded_run_is_nobodys_own(state: Path) -> None:
    with wb.explore() as explorer:
        explorer.desk.do("goto", index=4)
        explorer.renew_pictures()
        assert not state.exists()


def test_whoever_asks_hears_what_is_chosen() -> None:
    heard: list[Any] = []
    with wb.explore(SCHEMA) as explorer:
        end = explorer.on_select(heard.append)
        explorer.desk.select(token=1035)
        assert heard[-1] == explorer.selection
        assert heard[-1]["token"] == 1035
        explorer.desk.do("prefix", text="{")  # another text: nothing of the old is chosen any more
        assert heard[-1]["token"] is None
        end()
        explorer.desk.select(token=7)
        assert heard[-1]["token"] is None


def test_who_wants_nothing_kept_says_so(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left()
    before = opened_last()
    monkeypatch.setenv("MASKSCOPE_KEEP", "0")
    with used("{") as explorer:
        assert offer(explorer) == {}
        explorer.panels["screen"].received({"kind": "paste", "text": 'root ::= "never kept"'})
        explorer.renew_pictures()
        assert explorer.session.document.text == 'root ::= "never kept"'
        assert explorer.views["screen"].bar["recent"] == []
    monkeypatch.delenv("MASKSCOPE_KEEP")
    assert opened_last() == before
    assert len(list(state.glob("*.json"))) == 1
    assert "Lund" in next(iter(state.glob("*.json"))).read_text()


@pytest.mark.parametrize("broken", ["", "{", "[1]", '[{"session": {"format": "other"}}]', '{"a": 1}'])
def test_a_broken_file_is_as_none(broken: str, state: Path) -> None:
    left()
    (file,) = state.glob("*.json")
    file.write_text(broken)
    with wb.explore(SCHEMA) as after:
        assert offer(after) == {}
        assert after.desk.troubles == {}


def test_a_notebook_carries_the_state_to_another_machine(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        "visualizers.host.Host.display",
        lambda *given: pictures.append(given) or (lambda *now: pictures.append(now)),
    )
    with wb.explore(SCHEMA) as explorer:
        explorer._ipython_display_()
        explorer.desk.do("prefix", text=TEXT)
        explorer.renew_pictures()
    metadata = pictures[-1][-1]
    output = {"output_type": "display_data", "data": {}, "metadata": json.loads(json.dumps(metadata))}
    notebook = tmp_path / "mine.ipynb"
    notebook.write_text(json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [output]}]}))
    for file in state.glob("*.json"):
        file.unlink()
    assert Session.load(notebook).text == TEXT.encode()
    monkeypatch.setenv(store.NOTEBOOK, str(notebook))
    with wb.explore(SCHEMA) as after:
        assert offer(after)["text"] == '{"city":␣"Lund",␣"un'
    notebook.write_text(json.dumps({"nbformat": 4, "cells": []}))
    with pytest.raises(KeptError, match="holds no explorer with its state"):
        Session.load(notebook)
