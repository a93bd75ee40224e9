"""Undo and redo of a session's text, and the continuations that are kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from kernels_core import TokenizerInfo
from kernels_core.errors import BudgetExceededError, MaskscopeError
from tests.strategies import examples
from tests.workbench.vocabulary import EOS
from workbench.explorer import explore
from workbench.languages import Source
from workbench.session import Session
from workbench.session.history import Place, Step
from workbench.session.inspector import Inspector
from workbench.session.masks import Fills
from workbench.session.undo import PAUSE_SECONDS, Undo, Version


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def patient(session: Session) -> Clock:
    """A clock that the test moves: edits far apart are edits of their own."""
    clock = Clock()
    session._core.undo = Undo(clock)
    return clock


def kept(session: Session) -> list[bytes]:
    return [version.text for version in session.edits.kept]


def test_an_edit_in_the_middle_is_taken_back_and_done_again(session: Session) -> None:
    session.read('{"name":true}')
    steps = session.steps
    session.goto(3)
    here, text = session.place, session.text
    session.read(text + b"1")
    assert session.text == text + b"1"
    reading = session.undo()
    assert reading is not None
    assert reading.ok
    assert (session.steps, session.place) == (steps, here)
    assert session.redo() is not None
    assert session.text == text + b"1"
    assert session.redo() is None
    assert session.undo() is not None
    assert session.undo() is not None
    assert (session.text, session.undo()) == (b"", None)


def test_who_types_quickly_makes_one_edit(session: Session) -> None:
    clock = patient(session)
    for end in range(1, 5):
        clock.now += PAUSE_SECONDS / 2
        session.read("true"[:end])
    clock.now += 2 * PAUSE_SECONDS
    session.read("true ")
    session.read("true")  # deleting is another edit than typing
    texts = []
    while reading := session.undo():
        texts.append(reading.text)
    assert texts == [b"true ", b"true", b""]


def test_a_continuation_that_is_dropped_is_kept(session: Session) -> None:
    session.read("[true,false]")
    assert kept(session) == []
    session.seek(6)
    session.step("1")
    session.step("2")
    assert kept(session) == [b"[true,false]"]
    reading = session.edits.restore()
    assert (reading.ok, session.text) == (True, b"[true,false]")
    assert kept(session) == [b"[true,12"]
    session.edits.restore(0)
    assert session.text == b"[true,12"
    session.undo()
    assert session.text == b"[true,false]"
    with pytest.raises(IndexError, match="no continuation 7: 1 are kept"):
        session.edits.restore(7)
    session.seek(6)
    session.step("false]")  # the same again: nothing was lost
    assert kept(session) == [b"[true,12"]


def test_what_is_seen_while_typing_is_not_kept(session: Session) -> None:
    session.read("[true,fa")
    session.read("[true,")
    session.read("[truX,")  # refused, and still in the box
    assert kept(session) == []
    session.back()
    session.forward()
    assert (kept(session), session.edits.refused) == ([], b"X,")  # going elsewhere lets go of nothing
    session.step("e")
    assert (kept(session), session.edits.refused) == ([b"[truX,"], b"")
    reading = session.undo()
    assert reading is not None
    assert (reading.text, reading.read, reading.died_at) == (b"[truX,", 4, 4)
    assert (reading.message, session.text) == (session.read("[truX,").message, b"[tru")


def test_the_end_of_the_text_is_taken_back_too(session: Session) -> None:
    session.read("true")
    session.step(EOS)
    assert session.inspect.is_terminated
    session.undo()
    assert (session.inspect.is_terminated, session.text) == (False, b"true")
    session.redo()
    assert session.inspect.is_terminated


def test_under_another_grammar_a_text_comes_back_as_far_as_it_goes(session: Session) -> None:
    session.read("[true,false]")
    session.seek(5)
    session.set_grammar('root ::= "[true" ","* "]"?')
    assert session.text == b"[true"
    assert kept(session) == [b"[true,false]"]
    reading = session.edits.restore()
    assert (reading.died_at, session.text) == (6, b"[true,")
    assert kept(session) == []


@examples(1, HealthCheck.function_scoped_fixture)
@given(st.lists(st.sampled_from(["[", "1", ",", "]", "x", "back", "byte", "undo", "redo", "restore"]), max_size=14))
def test_whatever_was_done_undo_all_and_redo_all_come_back(session: Session, moves: list[str]) -> None:
    session.edits.clear()
    patient(session)
    for move in moves:
        if move in ("back", "byte"):
            session.back("byte" if move == "byte" else "token")
        elif move in ("undo", "redo"):
            session.undo() if move == "undo" else session.redo()
        elif move == "restore":
            session.edits.restore() if session.edits.kept else None
        else:
            session._core.undo._group = None
            session.read(session.text + move.encode())
    while session.redo():
        pass
    last = session.steps, session.place, session._core.rest
    count = 0
    while session.undo():
        count += 1
    assert session.steps == ()
    for _ in range(count):
        assert session.redo() is not None
    assert (session.steps, session.place, session._core.rest) == last
    assert session.redo() is None


def test_the_versions_kept_are_few_and_differ() -> None:
    edits = Undo()
    for number in [*range(20), 19]:
        edits.keep(Version((Step(0, str(number).encode()),), Place(1)))
    assert [version.text for version in edits.kept(b"")] == [str(number).encode() for number in range(19, 11, -1)]
    assert len(edits.kept(b"15 and on")) == 7


def test_the_desk_shows_what_was_taken_back(session: Session) -> None:
    with explore(session) as explorer:
        screen: Any = explorer.views["screen"]

        def send(**message: object) -> tuple[str, str, int]:
            explorer.widget._handle_custom_msg({"to": "screen", "content": message, "client": "me", "seq": 1}, [])
            return "".join(token[0] for token in screen.text["tokens"]), screen.text["refused"], screen.here["place"]

        assert send(kind="prefix", text="[true,false]")[:2] == ("[true,false]", "")
        send(kind="goto", index=1)
        assert send(kind="prefix", text="[12") == ("[12", "", 2)
        assert send(kind="undo") == ("[true,false]", "", 1)
        assert send(kind="redo") == ("[12", "", 2)
        assert send(kind="prefix", text="[true;")[:2] == ("[true", ";")
        assert send(kind="move", to="back", by="token")[:2] == ("[true", ";")
        assert send(kind="move", to="last")[:2] == ("[true", ";")
        send(kind="text", text=",")
        assert send(kind="undo")[:2] == ("[true", ";")
        assert "; cannot come" in screen.here["died"]


def test_what_a_cell_made_before_the_desk_opened_stays(session: Session) -> None:
    session.read("[true")
    assert session.edits.can_undo
    with explore(session):
        assert not session.edits.can_undo
        session.read("[true,1")
        with explore(session).under_the_hood():  # a second desk takes nothing away from the first
            assert session.edits.can_undo
        session.undo()
        assert (session.text, session.undo()) == (b"[true", None)
        assert not session.edits.can_undo


def test_another_vocabulary_is_one_edit_and_texts_of_before_are_cut_anew(session: Session) -> None:
    patient(session)
    session.read("[true,fa")
    session.goto(1)
    session.step("12")  # what came after is kept
    before = session.steps, session.place, session.tokenizer
    session.set_tokenizer([bytes((value,)) for value in range(256)])
    assert len(session.steps) == len(session.text) == 3
    assert kept(session) == [b"[true,fa"]
    session.edits.restore()  # it was cut into tokens that there are no more
    assert (session.text, len(session.steps)) == (b"[true,fa", 8)
    session.undo()
    session.undo()
    assert (session.steps, session.place, session.tokenizer) == before
    assert kept(session) == [b"[true,fa"]
    session.redo()
    assert len(session.steps) == len(session.text) == 3


def test_all_that_is_done_as_one_is_taken_back_at_once(session: Session) -> None:
    session.edits.memo = "before"
    session.examples = [("1", True)]
    session.read("[tr!")
    document = session.document
    for _ in range(20):
        with session.edits.as_one():
            session.edits.begin_anew()
            session.set_grammar('root ::= "a"+')
            session.edits.memo = "after"
            session.step("a")
            with session.edits.as_one():
                session.step("aa")
        session.undo()
        assert (session.text, session.edits.refused, session.document) == (b"[tr", b"!", document)
        assert (session.edits.memo, len(session.examples)) == ("before", 1)
        session.redo()
        assert (session.text, session.edits.refused, session.edits.memo) == (b"aaa", b"", "after")
        assert session.examples == ()
        session.undo()
    assert session.document is document


def test_what_cannot_be_taken_back_stays_to_be_taken_back(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.read("[true")
    with session.edits.as_one():
        session.edits.begin_anew()
        session.set_grammar('root ::= "a"+')
    with monkeypatch.context() as patched:
        patched.setattr(Source, "compile", fails)
        with pytest.raises(BudgetExceededError):
            session.undo()
    assert (session.text, session.edits.can_redo) == (b"", False)
    session.undo()
    assert session.text == b"[true"


def fails(*_arguments: object) -> None:
    raise BudgetExceededError("milliseconds", 1, "compiling")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize(
    "edit",
    [
        lambda session: session.read("[true,null,00,"),
        lambda session: session.edits.type(",12"),
        lambda session: session.seek("[false,true"),
        lambda session: session.set_grammar('root ::= "[" [a-z,]*'),
        lambda session: session.set_tokenizer(session.tokenizer),
        lambda session: session.edits.keep(list(b"[t"), b"[true"),
        lambda session: session.edits.keep([ord("["), 256, ord(",")], b"[true,12"),
        lambda session: session.undo(),
        lambda session: session.edits.restore(),
        lambda session: session.step("2"),
        lambda session: session.edits.take(ord("2")),
        lambda session: session.back(),
        lambda session: session.goto(0),
        lambda session: session.edits.byte(ord("2")),
    ],
)
def test_an_edit_that_is_interrupted_leaves_all_as_it_was(
    session: Session, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Session], object], number: int
) -> None:
    patient(session)
    session.read("[true,[12,")
    session.seek("[true,")
    session.read("[true,1")
    core = session._core
    before, fills, dropped = core.version(), session.inspect.fills, kept(session)
    calls = 0

    def counted(what: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                raise KeyboardInterrupt
            return what(*arguments)

        return call

    with monkeypatch.context() as patched:
        for of, name in [(Fills, "ask"), (Inspector, "_as_written"), (Inspector, "told")]:
            patched.setattr(of, name, counted(getattr(of, name)))
        with suppress(KeyboardInterrupt):
            edit(session)
    if calls < number:
        assert number > 1  # each of them can be interrupted once
        return
    assert core.version().same(before)
    assert core.matcher.text == session.text
    assert session.inspect.fills == fills
    assert kept(session) == dropped
    assert not session.edits.can_redo
    session.undo()
    assert (session.text, core.matcher.text) == (b"[true,", b"[true,")


def test_a_byte_is_asked_for_and_read_at_one_place(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.read("[tru")
    next_bytes, lock = Inspector.next_bytes, session._core.lock

    def move() -> None:
        if lock.acquire(0):
            session.seek(b"")
            lock.release()

    def asked(inspector: Inspector) -> bytes:
        found = next_bytes(inspector)
        other = Thread(target=move)
        other.start()
        other.join()
        return found

    monkeypatch.setattr(Inspector, "next_bytes", asked)
    session.edits.byte()
    assert session.text == b"[true"


def test_a_run_that_cannot_begin_changes_nothing(session: Session) -> None:
    session.read('{"name":true')
    before, document = session._core.version(), session.document
    told: list[str] = []
    session.on_change(told.append)
    pytest.importorskip("torch")
    from workbench.generation import load_model

    with pytest.raises(MaskscopeError, match="holds"):
        session.run(load_model("demo"), "long " * 2000)
    assert session._core.version().same(before)
    assert session.document is document
    assert session._core.matcher.text == session.text == b'{"name":true'
    assert told == []
    assert not session.model.is_running
    session.step("}")
    session.undo()
    assert session.text == b'{"name":true'


@pytest.fixture
def tagged() -> Session:
    """A token that the grammar names, and then letters; 257 is the token and 256 the end."""
    vocabulary = [bytes((value,)) for value in range(256)] + [b"</s>", b"<|tool|>"]
    info = TokenizerInfo(vocabulary, stop_token_ids=[256], special_token_ids=[257])
    parts = [{"type": "token", "token": 257}, {"type": "regex", "pattern": "[a-z]+"}]
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": parts}}
    return Session.opened(tag, info)


def test_who_goes_on_behind_what_a_model_finished_is_read(session: Session) -> None:
    for step in ("[", "true", "]", EOS):
        session.step(step)
    session.edits.remember()
    reading = session.edits.read(b"[true] ", as_written=True)
    assert (reading.read, session.inspect.is_terminated) == (6, False)
    session.set_grammar("[a-z]+", language="regex")
    for step in ("a", "b", EOS):
        session.edits.clear() if step == "a" else None
        session.step(step)
    session.edits.remember()
    assert session.edits.read(b"ab", as_written=True).ok
    assert session.inspect.is_terminated
    assert session.edits.read(b"abc", as_written=True).ok
    assert session.text == b"abc"


def test_the_status_of_what_is_refused_behind_a_control_token_comes_back(tagged: Session) -> None:
    for step in (257, "abc"):
        tagged.step(step)
    tagged.edits.remember()
    said = tagged.edits.read(b"<|tool|>abc9", as_written=True)
    tagged.edits.clear()
    again = tagged.undo()
    assert again is not None
    assert (tagged.text, tagged.edits.refused) == (b"<|tool|>abc", b"9")
    assert again.message == said.message


def test_an_undo_that_fails_late_can_be_tried_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    patient(session)
    session.read("[true")
    session.read("[true,false,12")
    with monkeypatch.context() as patched:
        patched.setattr("workbench.session.edits.lay", fails)
        with pytest.raises(BudgetExceededError):
            session.undo()
    assert (session.text, session.edits.can_redo) == (b"[true,false,12", False)
    session.undo()
    assert session.text == b"[true"


def test_a_view_that_fails_does_not_cut_the_history(session: Session) -> None:
    session.read("[true,12", "byte")

    def fails(_change: object) -> None:
        raise IndexError("of the view's own")

    forget = session.on_change(fails)
    with pytest.raises(IndexError, match="own"):
        session.seek("[true")
    forget()
    assert (session.text, len(session.steps)) == (b"[true", 8)


def test_a_view_that_fails_makes_no_draft_of_the_grammar_in_use(session: Session) -> None:
    forget = session.on_change(fails)
    with pytest.raises(BudgetExceededError):
        session.edits.source("root ::= [0-9]+")
    forget()
    assert session.document.text == "root ::= [0-9]+"
    assert session.edits.draft is None


def test_another_vocabulary_keeps_what_is_refused_and_what_is_undone(session: Session) -> None:
    session.read("[true]x")
    session.set_tokenizer(session.tokenizer)
    assert (session.text, session.edits.refused) == (b"[true]", b"x")
    session.read("[true,false]")
    session.seek("[true")
    session.set_tokenizer(session.tokenizer)
    assert (session.text, kept(session)) == (b"[true", [b"[true,false]"])
