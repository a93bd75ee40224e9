"""The explorer without a browser: messages in, states out; and a real model driving it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from ipywidgets.widgets.widget import _remove_buffers

from tests.strategies import examples
from tests.workbench.vocabulary import EOS, GRAMMAR
from visualizers.glyphs import box_text, parse
from visualizers.host import Host
from visualizers.mode import set_mode
from workbench.explorer import EXAMPLE_GRAMMAR, Explorer, explore
from workbench.session import Session
from workbench.session.run import RunError
from workbench.tokenizers import Tokenizer


@pytest.fixture
def explorer(session: Session) -> Iterator[Explorer]:
    with explore(session).under_the_hood() as opened:
        yield opened


def send(explorer: Explorer, **message: Any) -> dict[str, Any]:
    """What the browser would send; what the screen says of the place afterwards."""
    view = "source" if message["kind"] == "source" else "screen"
    explorer.widget._handle_custom_msg({"to": view, "content": message, "client": "me", "seq": 1}, [])
    return here(explorer)


def here(explorer: Explorer) -> dict[str, Any]:
    return dict(explorer.views["screen"].here)


def shown(explorer: Explorer) -> str:
    """The text on the screen, with what of it is refused."""
    text = explorer.views["screen"].text
    return "".join(token[0] for token in text["tokens"]) + str(text["refused"])


def type_prefix(explorer: Explorer, text: str) -> dict[str, Any]:
    return send(explorer, kind="prefix", text=text)


def test_typing_moves_every_panel_in_sight(explorer: Explorer) -> None:
    seen = {"automaton": "active", "tokens": "counts", "frontier": "items", "mask": "picture"}

    def now() -> dict[str, Any]:
        return {name: getattr(explorer.views[name], trait) for name, trait in seen.items()}

    before = now()
    type_prefix(explorer, '{"name"')
    assert {name for name in seen if before[name] != now()[name]} == {"automaton"}
    explorer.bring("chart", "mask", "tokens", "automaton")
    assert {name for name in seen if before[name] != now()[name]} == set(seen)
    assert shown(explorer) == '{"name"'
    assert set(explorer.views["automaton"].active) == set(explorer.session.inspect.frontier().active_states())
    explorer.bring("caches")
    assert explorer.views["caches"].stats["sets"] > 1
    assert explorer.views["operations"].about["position"] == 7
    assert {row["kind"] for row in explorer.views["operations"].rows} >= {"scan", "complete"}
    assert explorer.desk.troubles == {}


def test_every_active_state_is_in_the_picture_wherever_one_steps() -> None:
    pytest.importorskip("mistral_common")
    weather, forecast = ("get_weather", "get_forecast")
    content = {
        "type": "json_schema",
        "json_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }
    tags = [
        {"type": "tag", "begin": f"<tool={name}>", "content": content, "end": "</tool>"} for name in (weather, forecast)
    ]
    tag = {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool="], "tags": tags}}
    call = f'<tool={weather}>{{"city": "Lund", "days": 3}}</tool>'
    text = f'Let me look. {call} And then <tool={forecast}>{{"city": "Oslo"}}'
    session = Session(tag, "tekken")
    assert session.read(text).ok
    with explore(session).under_the_hood() as opened:
        view = opened.views["automaton"]
        assert session.read(text[: text.index('s": 3')]).ok
        for move in [*[session.back] * 4, *[session.forward] * 4]:
            move()
            lit = [*view.marks["active"], *view.marks["on"]]
            assert lit
            assert view.active
            shown = str(view.picture["panels"])
            assert all(f"'{name}'" in shown or f'"{name}"' in shown for name in lit)


def test_why_explains_the_token_that_is_chosen_and_lets_go_of_it_with_the_text(explorer: Explorer) -> None:
    view: Any = explorer.views["why"]
    explorer.bring("why")
    explorer.bring("next")  # Why is out of sight, and up to date
    explorer.desk.select(token=3)
    explorer.bring("why")
    assert view.why["subject"]["token"] == 3
    explorer.desk.select(token=4)
    assert view.why["subject"]["token"] == 4
    explorer.bring("next")
    explorer.desk.do("prefix", text="true")  # another text: nothing is chosen any more
    explorer.bring("why")
    assert not view.why
    explorer.desk.select(token=4)
    explorer.desk.do("prefix", text="[true")
    assert not view.why


def test_why_forgets_what_died_at_another_place(explorer: Explorer) -> None:
    explorer.bring("why")
    type_prefix(explorer, "{,")
    assert explorer.views["why"].why
    type_prefix(explorer, '{"name')
    assert not explorer.views["why"].why


def test_a_desk_that_nobody_sees_is_brought_up_to_date_when_it_comes_into_sight(explorer: Explorer) -> None:
    type_prefix(explorer, '{"name"')
    explorer.desk.host.asleep = True
    before, place = here(explorer), explorer.desk.host.place
    sent: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        ours = explorer.desk.host  # explorers of other tests may still draw
        patch.setattr(Host, "_send", lambda host, message, buffers=None: sent.append(message) if host is ours else None)
        explorer.session.step(":")
        assert here(explorer) == before
        assert explorer.desk.host.place == place
        assert sent == []
        explorer.desk.host.asleep = False
        assert sent
    assert explorer.desk.host.place["number"] != place["number"]
    assert shown(explorer) == '{"name":'
    assert set(explorer.views["automaton"].active) == set(explorer.session.inspect.frontier().active_states())
    assert "screen" in explorer.desk.host.place["fresh"]


def test_a_panel_in_trouble_says_so_and_the_others_go_on(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(change: object) -> None:
        raise RuntimeError("out of paint")

    monkeypatch.setattr(explorer.panels["automaton"], "update", broken)
    type_prefix(explorer, '{"name"')
    assert shown(explorer) == '{"name"'
    assert explorer.desk.troubles == {"automaton": "RuntimeError: out of paint"}
    monkeypatch.undo()
    type_prefix(explorer, '{"name":')
    assert explorer.desk.troubles == {}
    assert set(explorer.views["automaton"].active) == set(explorer.session.inspect.frontier().active_states())


@given(st.none() | st.text(max_size=8) | st.integers() | st.lists(st.text(max_size=3)))
def test_whatever_is_said_of_what_was_in_sight_only_panels_are(said: Any) -> None:
    with explore('root ::= "a"', [b"a"]) as opened:
        opened.desk.arrange({"pane": said, "hood": said, "docks": said})
        assert opened.desk.in_sight() == {"screen", "kept", "source"}


def test_what_is_in_sight(explorer: Explorer) -> None:
    assert explorer.desk.in_sight() == {"screen", "kept", "source", "automaton"}
    explorer.bring("tokens", "why")
    assert explorer.desk.in_sight() == {"screen", "kept", "source", "why"}
    explorer.bring("screen")
    assert explorer.desk.in_sight() == {"screen", "kept", "source"}


def test_what_is_chosen_is_shared_and_can_be_read_in_the_next_cell(explorer: Explorer) -> None:
    explorer.views["tokens"].selection = {"token": ord("t")}
    assert explorer.selection == {"token": ord("t"), "state": None, "rule": None, "pointer": None, "item": None}
    explorer.desk.select(rule="string")
    assert explorer.selection["token"] == ord("t")
    assert explorer.widget.shared__selection["rule"] == "string"
    explorer.widget.shared__selection = {"token": None}
    assert explorer.selection["rule"] == "string"
    assert explorer.views["tokens"].selection["token"] is None
    with pytest.raises(ValueError, match="no panel 'nothing'"):
        explorer.bring("nothing")


def test_a_text_that_dies_stays_in_the_box_with_the_reason(explorer: Explorer) -> None:
    state = type_prefix(explorer, '{"name";')
    assert shown(explorer) == '{"name";'
    assert explorer.views["screen"].text["refused"] == ";"
    assert "; cannot come" in state["died"]
    assert explorer.session.text == b'{"name"'
    assert not send(explorer, kind="move", to="back", by="token")["died"]


def sent_by(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], list[bytes]]]:
    """The messages that the explorer's widget sends from now on."""
    messages: list[tuple[dict[str, Any], list[bytes]]] = []
    monkeypatch.setattr(
        type(explorer.widget), "_send", lambda _, message, buffers=None: messages.append((message, buffers))
    )
    return messages


def test_messages_are_those_of_the_widgets(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    type_prefix(explorer, '{"name":[true,12]}')
    explorer.bring("chart", "mask")
    messages = sent_by(explorer, monkeypatch)
    for act in (
        lambda: send(explorer, kind="move", to="first"),
        lambda: send(explorer, kind="move", to="forward", by="token"),
        lambda: explorer.bring("caches", "next"),
    ):
        act()
    assert len(messages) >= 3
    for message, buffers in messages:
        assert (message["method"], message["buffer_paths"], buffers) == ("update", [], [])
        names = set(message["state"])
        state, paths, _ = _remove_buffers({name: getattr(explorer.widget, name) for name in names})
        assert paths == []
        assert json.loads(json.dumps(message["state"])).keys() == state.keys()


SELDOM = ("automaton__picture", "automaton__pictures")


def test_a_step_sends_what_changed(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = explorer.session
    type_prefix(explorer, '{"name":[' + ",".join(["true", "12", "null"] * 25) + "]}")
    send(explorer, kind="move", to="first")
    messages = sent_by(explorer, monkeypatch)
    for index in range(1, len(session.steps) + 1):
        messages.clear()
        send(explorer, kind="move", to="forward", by="token")
        # A picture of the automaton comes when it is laid out: by itself, or with the step that is then on its way.
        (message,) = [message for message, _ in messages if "place" in message["state"]]
        assert session.index == index
        usual = {key: value for key, value in message["state"].items() if key not in SELDOM}
        assert len(json.dumps(usual)) < 10_000
        assert "screen__text" not in usual


def test_moves_and_clicks(explorer: Explorer) -> None:
    explorer.views["screen"].pane = "place"  # type: ignore[attr-defined]
    type_prefix(explorer, "[true,12]")
    assert send(explorer, kind="move", to="first")["where"] == "byte 0 · after step 0 of 5"
    assert send(explorer, kind="move", to="forward", by="byte")["where"].startswith("byte 1 ")
    assert send(explorer, kind="goto", index=2)["place"] == 2
    send(explorer, kind="move", to="last")
    assert send(explorer, kind="token", id=EOS)["end"] == "the text has ended"
    assert "may end here" in send(explorer, kind="move", to="back", by="byte")["end"]


def test_a_bad_grammar_is_shown_in_place_and_the_last_good_one_stays(explorer: Explorer) -> None:
    type_prefix(explorer, '{"a":1}')
    automaton, picture = explorer.session.inspect.automaton(), explorer.views["automaton"].picture
    send(explorer, kind="source", text='root ::= "a"\nb ::= ??', client="me", seq=3)
    editor: Any = explorer.views["source"]
    assert [(mistake["line"], mistake["column"]) for mistake in editor.mistakes] == [(2, 7)]
    assert editor.status == "The last good grammar stays in use."
    assert editor.document["text"] == 'root ::= "a"\nb ::= ??'
    assert (editor.document["client"], editor.document["seq"]) == ("me", 3)
    assert (explorer.session.inspect.automaton(), explorer.views["automaton"].picture) == (automaton, picture)
    assert explorer.session.document.text == GRAMMAR
    send(explorer, kind="source", text='root ::= "{" .*', client="me", seq=4)
    assert editor.mistakes == []
    assert editor.status == ""
    assert explorer.views["automaton"].picture != picture
    assert explorer.session.text == b'{"a":1}'


def test_mending_the_grammar_revives_the_text(explorer: Explorer) -> None:
    assert type_prefix(explorer, "maybe")["died"]
    send(explorer, kind="source", text=GRAMMAR.replace('"null"', '"maybe"'), client="me", seq=1)
    assert "may end here" in here(explorer)["end"]
    assert explorer.session.text == b"maybe"


@examples(1, HealthCheck.function_scoped_fixture)
@given(
    st.sampled_from(["source", "prefix", "move", "goto", "token", "stop", "dance", ""]),
    st.text(max_size=30) | st.none() | st.integers(-(10**12), 10**12) | st.floats() | st.lists(st.text(max_size=3)),
)
def test_nonsense_never_raises_nor_logs(explorer: Explorer, kind: str, value: object) -> None:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        send(explorer, kind=kind, text=value, to=value, by=value, index=value, id=value, client=value, seq=value)
        explorer.widget.shared__selection = {"token": value}
    finally:
        logging.getLogger().removeHandler(handler)
    assert records == []
    assert explorer.session.inspect.frontier().position == explorer.session.inspect.position
    assert here(explorer)["where"].startswith(f"byte {explorer.session.inspect.position:,} ")


def test_the_token_chosen_in_the_table_is_explained(explorer: Explorer) -> None:
    why: Any = explorer.views["why"]
    explorer.bring("why")

    def chosen(token: int) -> tuple[int, bool]:
        explorer.views["tokens"].selection = {"token": token}
        return why.why["subject"]["token"], why.why["ok"]

    assert chosen(ord("t")) == (ord("t"), True)
    assert chosen(ord("q")) == (ord("q"), False)
    send(explorer, kind="prefix", text="true")
    assert chosen(EOS) == (EOS, True)
    send(explorer, kind="move", to="first")  # another place of the same text
    assert not why.why["ok"]
    explorer.widget._handle_custom_msg({"to": "why", "content": {"kind": "token", "id": ord("t")}}, [])
    assert explorer.session.text == b"t"


def test_the_chosen_token_goes_when_the_text_becomes_another(explorer: Explorer) -> None:
    def edits() -> Iterator[Callable[[], Any]]:
        yield lambda: send(explorer, kind="prefix", text="[tr", client="me", seq=1)
        yield lambda: send(explorer, kind="prefix", text="[tr;", client="me", seq=2)  # all that differs is refused
        yield lambda: send(explorer, kind="prefix", text="[tr", client="me", seq=3)
        yield lambda: send(explorer, kind="token", id=ord("u"))
        yield lambda: send(explorer, kind="undo")
        yield lambda: explorer.session.step("ue")

    for edit in edits():
        explorer.views["tokens"].selection = {"token": ord("t")}
        explorer.desk.select(rule="string")
        assert explorer.selection["token"] == ord("t")
        edit()
        assert explorer.views["tokens"].selection["token"] is None
        assert explorer.selection["token"] is None
    explorer.views["tokens"].selection = {"token": ord("t")}
    send(explorer, kind="move", to="back", by="token")
    assert explorer.selection["token"] == ord("t")
    send(explorer, kind="select", token=None)
    assert explorer.selection["token"] is None


def test_what_a_cell_does_reaches_the_views(explorer: Explorer, tokenizer: Tokenizer) -> None:
    explorer.session.step('{"a')
    assert shown(explorer) == '{"a'
    explorer.session.set_grammar('root ::= "{" [a-z"]*')
    assert explorer.views["source"].document["text"] == 'root ::= "{" [a-z"]*'
    assert shown(explorer) == '{"a'
    explorer.session.set_tokenizer([bytes((value,)) for value in range(256)])
    explorer.bring("tokens")
    assert "256" in str(explorer.views["tokens"].counts["all"])


def test_only_what_changed_is_sent(explorer: Explorer) -> None:
    type_prefix(explorer, '{"name":1')
    type_prefix(explorer, '{"name":')  # so that the engine makes nothing new below
    sent: list[str] = []
    for view in (
        explorer.views["automaton"],
        explorer.views["frontier"],
        explorer.views["mask"],
        explorer.views["source"],
    ):
        view.observe(
            lambda change: sent.append(change["name"]),
            names=["picture", "active", "items", "document", "places"],
        )
    explorer.refresh()
    assert sent == []
    type_prefix(explorer, '{"name":1')
    assert "picture" not in sent
    assert "active" in sent


def test_closing_lets_go_of_the_session(session: Session) -> None:
    opened = explore(session).under_the_hood()
    opened.close()
    state = here(opened)
    session.step("[")
    assert here(opened) == state


def test_the_static_twin_survives_a_sanitiser(explorer: Explorer) -> None:
    type_prefix(explorer, "[true, 1x")
    page = explorer.static_html()
    assert "1x" in page.replace("</span>", "").replace("&", "") or "underline wavy" in page
    assert not re.search(r"<(script|style|svg|iframe|link)\b|\son\w+=", page)
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/html"] == page
    set_mode("static")
    try:
        assert set(explorer._repr_mimebundle_()) == {"text/plain", "text/html"}
    finally:
        set_mode(None)


def test_saved_page_and_bad_suffix(explorer: Explorer, tmp_path: Path) -> None:
    assert "<!doctype html>" in explorer.save(tmp_path / "here.html").read_text()
    with pytest.raises(ValueError, match=r"\.html"):
        explorer.save(tmp_path / "here.png")


def test_the_example_grammar_explores_the_default_vocabulary() -> None:
    with explore(EXAMPLE_GRAMMAR) as opened:
        state = type_prefix(opened, 'call add(1, "two")')
        assert "may end here" in state["end"]
        assert opened.session.tokenizer.info.vocab_size == 131_072
        assert opened.session.document.text == EXAMPLE_GRAMMAR


@given(st.binary(max_size=40))
def test_box_text_is_exact(data: bytes) -> None:
    assert parse(box_text(data)) == data


@pytest.fixture(scope="module")
def model() -> Any:
    pytest.importorskip("torch")
    from workbench.generation import load_model

    return load_model("demo", device="cpu")


def test_generation_moves_the_views(explorer: Explorer, model: Any) -> None:
    session, positions = explorer.session, []
    session.on_change(lambda change: positions.append(session.inspect.position))
    trace = asyncio.run(explorer.generate(model, "weather in Lund", seed=1, max_tokens=12))
    assert 0 < len(trace) <= 12
    assert trace.text.encode() == session.text
    assert session.tokenizer.info.fingerprint == model.tokenizer.info.fingerprint
    assert not session.model.is_running
    assert explorer.views["screen"].bar["running"] is False
    assert shown(explorer) == box_text(session.text)
    assert len(set(positions)) > 2
    assert len(trace.frontiers) == trace.followed + 1
    assert len(trace.to_frame()) == len(trace)


def test_a_generation_says_that_it_brings_its_own_vocabulary(explorer: Explorer, model: Any) -> None:
    session = explorer.session
    before = session.tokenizer.name
    assert session.inspect.vocabulary == before
    for _ in range(2):
        session.run(model, "weather in Lund", seed=1, max_tokens=2)
        told = f"{model.name} (the model's; {before} before the run)"
        assert session.inspect.vocabulary == told
        assert explorer.views["source"].document["summary"].endswith(f"vocabulary {told}")
        assert told in repr(session)
    session.set_tokenizer(model.tokenizer)
    assert session.inspect.vocabulary == model.name, "it was asked for"


def test_a_generation_is_stopped_by_the_button_and_everything_goes_on(explorer: Explorer, model: Any) -> None:
    session = explorer.session

    async def stopped() -> Any:
        task = asyncio.ensure_future(explorer.generate(model, "buy bread", seed=1, max_tokens=200, pace=0.01))
        await steps_taken(session, 3)
        assert explorer.views["screen"].bar["running"] is True
        with pytest.raises(RunError, match="already running"):
            session.run(model, "another")
        send(explorer, kind="stop")
        return await task

    trace = asyncio.run(stopped())
    assert trace.generation.finish_reason == "interrupted"
    assert 3 <= len(trace) < 200
    assert explorer.views["screen"].bar["running"] is False
    session.back()
    assert here(explorer)["place"] == len(session.steps) - 1


def test_an_interrupted_generation_leaves_its_trace_and_a_usable_session(session: Session, model: Any) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(session.generate(model, "buy bread", seed=1, max_tokens=200, pace=0.01))
        await steps_taken(session, 4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not session.model.is_running
    assert session.trace is not None
    assert session.trace.text.encode() == session.text
    assert len(session.trace) >= 4

    def interrupt(change: str) -> None:
        if change == "place" and session.index == 2:
            raise KeyboardInterrupt

    forget = session.on_change(interrupt)
    trace = session.run(model, "buy bread", seed=1, max_tokens=200)
    forget()
    assert trace.generation.finish_reason == "interrupted"
    assert session.run(model, "buy bread", seed=1, max_tokens=5).generation.finish_reason == "length"


def test_moving_the_session_by_hand_ends_the_run(session: Session, model: Any) -> None:
    async def moved() -> Any:
        task = asyncio.ensure_future(session.generate(model, "buy bread", seed=1, max_tokens=200, pace=0.01))
        await steps_taken(session, 3)
        session.back()
        return await task

    trace = asyncio.run(moved())
    assert trace.reason == "the session was moved by hand"
    assert trace.generation.finish_reason == "interrupted"
    assert not trace.valid
    with explore(session) as explorer:
        ended = explorer.views["screen"].bar["outcome"]  # type: ignore[attr-defined]
        assert ended["told"].startswith("not finished: stopped by you")
        assert ended["goes_on"]
        assert explorer.text.encode() == b"".join(step.data for step in session.steps)


def test_a_free_generation_is_read_along_until_the_grammar_refuses(
    session: Session, model: Any, tmp_path: Path
) -> None:
    free = session.run(model, "weather in Lund", constrained=False, seed=1, max_tokens=20)
    assert not free.valid
    assert free.died is not None
    assert free.died.died_at == len(session.text)
    assert free.generation.text_bytes.startswith(session.text)
    assert "refused" in repr(free)
    assert "underline wavy" in free._repr_html_()
    assert not re.search(r"<(script|style|svg|iframe|link)\b|\son\w+=", free._repr_html_())
    page = session.run(model, "weather in Lund", seed=1, max_tokens=5).save(tmp_path / "run.html")
    assert page.read_text().startswith("<!doctype html>")
    assert page.stat().st_size < 200_000
    assert "<iframe" in free.show()._repr_html_()


def test_a_generation_in_the_background_shares_the_views(explorer: Explorer, model: Any) -> None:
    future = explorer.session.model.run_in_background(model, "timer for 5 minutes", seed=2, max_tokens=30)
    while not future.done():
        explorer.refresh()
        explorer.views["tokens"].selection = {"token": 40 + explorer.session.index}
        time.sleep(0.01)  # a busy loop would keep the interpreter from the model
    assert len(future.result()) <= 30
    assert explorer.views["screen"].bar["running"] is False
    assert shown(explorer) == box_text(explorer.session.text)


async def steps_taken(session: Session, count: int) -> None:
    """Wait until a running generation has taken `count` steps."""
    while not (session.model.is_running and session.index >= count):
        await asyncio.sleep(0.002)


def test_the_picture_of_an_explorer_says_first_how_it_comes_alive(explorer: Explorer) -> None:
    before, _, after = explorer.static_html().partition("run the cell to use it")
    assert len(before) < 300, "above everything else"
    assert len(after) > 300


def test_the_first_screen_opens_without_what_only_a_hunt_needs() -> None:
    """`jsonschema` compiles dozens of grammars when it is imported, and so does what it calls."""
    code = "import sys, workbench as wb; wb.explore(); print([m for m in ('jsonschema', 'torch') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
