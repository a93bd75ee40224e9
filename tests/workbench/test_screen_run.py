"""A run from the first screen: what it refuses, how it ended, and how one takes its text."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.explorer import Explorer
from workbench.languages.draft import DraftError
from workbench.panels.ablate import AblatePanel
from workbench.panels.screen import ScreenPanel, load, with_recorded
from workbench.screen.recording import Option, Token, recorded
from workbench.screen.state import here_state, text_state

SCHEMA = """{"type": "object", "properties": {"city": {"type": "string", "maxLength": 200}},
 "required": ["city"], "additionalProperties": false}"""
ASKED: dict[str, Any] = {"prompt": "weather in Lund", "seed": 2, "temperature": 1.0, "grammar": True, "limit": 60}


@pytest.fixture
def explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Explorer]:
    pytest.importorskip("torch")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with wb.explore(SCHEMA) as found:
        panel(found).received({"kind": "choose", "model": "demo"})
        yield found


def panel(explorer: Explorer) -> ScreenPanel:
    found = explorer.panels["screen"]
    assert isinstance(found, ScreenPanel)
    return found


def bar(explorer: Explorer) -> dict[str, Any]:
    found: dict[str, Any] = explorer.views["screen"].bar  # type: ignore[attr-defined]
    return found


def ask(explorer: Explorer, kind: str, **asked: Any) -> dict[str, Any]:
    panel(explorer).received({"kind": kind, **ASKED, **asked})
    panel(explorer).wait()
    return bar(explorer)


@pytest.mark.parametrize("kind", ["run", "step", "paste"])
def test_a_source_with_a_mistake_is_not_run_and_stays(explorer: Explorer, kind: str) -> None:
    session, broken = explorer.session, SCHEMA.replace('"object"', '"objct"')
    if kind == "paste":
        panel(explorer).received({"kind": "paste", "text": broken})
        kind = "run"
    else:
        explorer.desk.do("source", text=broken)
    assert "the source has a mistake, so nothing was run: line 1, column 2 (#/type)" in ask(explorer, kind)["message"]
    assert session.trace is None
    assert session.edits.draft is not None
    assert session.edits.draft.source.text == broken
    with pytest.raises(DraftError, match="objct"):
        session.run(wb.load_model("demo"), "weather in Lund")
    ablate = explorer.panels["ablate"]
    assert isinstance(ablate, AblatePanel)
    with pytest.raises(DraftError, match="objct"):
        ablate.run({"mechanisms": ["jit"], "repeats": 1})
    # A model that is free needs no source.
    assert ask(explorer, "run", grammar=False)["message"] == ""
    assert session.edits.draft.source.text == broken


def test_a_run_under_a_grammar_is_whole_and_says_when_the_limit_ended_it(explorer: Explorer) -> None:
    limited = ask(explorer, "run", limit=12)["outcome"]
    assert limited["kind"] == "complete"
    assert "the limit of 12 made it come to an end" in limited["told"]
    assert limited["told"].startswith(f"complete: {len(explorer.session.steps)} tokens")
    assert set(explorer.value) == {"city"}
    roomy = ask(explorer, "run", limit=2000)["outcome"]
    assert roomy["kind"] == "complete"
    assert "limit" not in roomy["told"]
    assert json.loads(explorer.text) == explorer.value


def test_a_run_that_calls_none_of_the_tools_says_so(explorer: Explorer) -> None:
    panel(explorer).open("tool_call")
    quiet = ask(explorer, "run", prompt="hello", seed=1, temperature=1.5, limit=40)["outcome"]
    assert "<tool_call>" not in explorer.text
    assert quiet["kind"] == "complete"
    assert quiet["told"].endswith(", and no tool was called")
    call = ask(explorer, "run", prompt="weather in Lund", seed=2, temperature=1.0, limit=100)["outcome"]
    assert "<tool_call>" in explorer.text
    assert "no tool" not in call["told"]


def test_a_run_that_was_cut_says_so_and_goes_on(explorer: Explorer) -> None:
    cut = ask(explorer, "run", grammar=False, limit=5)["outcome"]
    assert cut == {"kind": "cut", "told": "not finished: stopped after 5 tokens, the limit", "goes_on": True}
    first = explorer.session.trace
    assert first is not None
    more = ask(explorer, "continue", grammar=False, limit=3)["outcome"]
    assert more["told"] == "not finished: stopped after 8 tokens, the limit"
    second = explorer.session.trace
    assert second is not None
    assert second.generation.tokens[:5] == first.generation.tokens
    explorer.session.read("{")
    assert bar(explorer)["outcome"] is None
    assert "press Run" in ask(explorer, "continue")["message"]


@pytest.mark.parametrize("kind", ["step", "branch", "continue"])
def test_what_goes_on_from_a_place_shows_no_beginning_again(explorer: Explorer, kind: str) -> None:
    session, view = explorer.session, explorer.desk.screen
    ask(explorer, "run", limit=30, grammar=kind != "continue")
    trace = session.trace
    assert trace is not None
    tokens = view.text["tokens"]
    at = len(session.steps)
    if kind == "branch":
        at = [at for at, one in enumerate(tokens) if one[1] == "overruled"][-1]
    elif kind == "step":
        at = 6
    session.goto(at)
    places, shown = [], []
    session.on_change(lambda _change: places.append(session.index))
    view.observe(lambda change: shown.append(change["new"]["tokens"]), names="text")
    ask(explorer, kind, limit=3, grammar=kind != "continue")
    assert bar(explorer)["message"] == ""
    assert min(places) >= at
    assert session.trace is not None
    assert session.trace.frontiers[: at + 1] == trace.frontiers[: at + 1]
    assert session.trace.followed == len(session.trace.frontiers) - 1
    assert shown
    for one in shown:  # neither text nor colours go and come again
        assert [token[:2] for token in one[:at]] == [token[:2] for token in tokens[:at]]


def test_a_text_that_was_cut_is_no_value(explorer: Explorer) -> None:
    explorer.session.read('{"city": "Lu')
    with pytest.raises(ValueError, match=r"no JSON value: .*it ends in '\{\"city\": \"Lu'"):
        _ = explorer.value


@pytest.mark.parametrize("grammar", [True, False])
def test_the_code_that_is_copied_makes_the_same_text(
    explorer: Explorer, grammar: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="press Run"):
        panel(explorer).code()
    ask(explorer, "run", grammar=grammar, limit=40)
    explorer.session.goto(min(8, len(explorer.session.steps)))
    ask(explorer, "step", grammar=grammar, limit=40, seed=4)
    code = panel(explorer).code()
    exec(code, {})
    assert capsys.readouterr().out == explorer.text + "\n"


def test_a_transcript_ends_where_another_would_speak() -> None:
    from workbench.panels.screen import _turns

    assert _turns("User: Hello\nAssistant: Hi\nUser: Well?\nAssistant:") == ("\nUser:",)
    assert _turns("What is 2 + 2?") == ()


def test_a_text_is_shortened_as_a_part_of_the_edit_that_wrote_it() -> None:
    session = wb.Session("root ::= [a-z ]*", [bytes((value,)) for value in range(256)])
    session.edits.watch()
    session.step(b"one ")
    session.step(b"two")
    session.edits.shorten(5)
    assert (session.text, [step.data for step in session.steps]) == (b"one t", [b"one ", b"t"])


BYTES = [bytes((value,)) for value in range(256)]
UNIT = {"properties": {"unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["unit"], "type": "object"}


def free(*pieces: bytes) -> list[Token]:
    """A run without a grammar: nothing was refused, whatever was likely."""
    options = (Option(b"k", 0.9, 0.9, True), Option(b"c", 0.05, 0.05, True))
    return [Token(piece, 0.9, 1.0, False, "", 0.0, options) for piece in pieces]


def test_a_run_without_the_grammar_is_judged_by_the_source_in_use() -> None:
    tokens = free(b'{"unit": "', b"kelvin", b'"}')
    session = wb.Session(UNIT, BYTES)
    session.step(tokens[0].data)
    here, _ = here_state(session, tokens, judged=False)
    assert [(row.shown, row.after) for row in here.next] == [("c", None)]
    assert [row.shown for row in here.wanted] == ["kelvin", "k"]
    assert here.wanted[0].keyword == '`unit` is one of "celsius", "fahrenheit" (`enum`)'
    assert "expected there: c f; the source says so at #/properties/unit/enum" in here.wanted[0].why
    text = text_state(session, tokens, (), b'kelvin"}', judged=False)
    assert [one.how for one in text.tokens] == ["free", "refused", "refused"]
    # Where nothing was refused it is said by whom.
    session.goto(0)
    here, _ = here_state(session, free(b"{"), judged=False)
    assert [row.shown for row in here.wanted] == ["k", "c"]
    assert [row.shown for row in here.next] == ["{"]  # of what it thought of nothing may come


def test_the_colours_of_a_run_are_those_of_its_own_source(explorer: Explorer) -> None:
    ask(explorer, "run", limit=20)
    view: Any = explorer.views["screen"]
    judged = {one[1] for one in view.text["tokens"]}
    assert judged - {"typed"}
    explorer.desk.do("source", text=SCHEMA.replace("200", "201"))
    assert {one[1] for one in view.text["tokens"]} == {"typed"}
    assert view.bar["outcome"] is None
    explorer.desk.do("source", text=SCHEMA)
    assert {one[1] for one in view.text["tokens"]} == judged
    ask(explorer, "run", limit=20, grammar=False)
    assert {one[1] for one in view.text["tokens"]} <= {"typed", "refused"}


def test_after_an_edit_is_taken_back_by_hand_the_run_is_as_before() -> None:
    with wb.explore(UNIT, BYTES) as explorer:
        session = explorer.session
        session.step(b'{"unit": "')
        session.step(b"cel")
        session.step(b"sius")
        session.edits.remember()
        before = session.steps
        for text in ('{"unit": "celsius"', '{"unit": "celsius', '{"unit": "celsiu', '{"unit": "celsius'):
            explorer.desk.do("prefix", text=text)
        assert session.steps == before
        explorer.desk.do("prefix", text='{"unit": "cxelsius')
        assert explorer.desk.reading is not None
        assert not explorer.desk.reading.ok
        explorer.desk.do("prefix", text='{"unit": "celsius')
        assert session.steps == before


def test_the_schema_is_told_by_a_click(explorer: Explorer) -> None:
    assert bar(explorer)["untold"]
    panel(explorer).received({"kind": "tell", "prompt": "Where?"})
    now = bar(explorer)
    assert now["prompt"].startswith('Where?\n\nYou answer with JSON that fits this schema: {"type": "object"')
    assert not now["untold"]
    ask(explorer, "run", prompt=now["prompt"], limit=20, chat=False)
    assert explorer.session.trace is not None
    assert now["prompt"] in explorer.session.trace.generation.prompt


F = {"name": "find", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}}
TOOLS = [
    [{"type": "function", "function": F}],
    {"type": "function", "function": F},
    {"model": "llama", "tools": [{"type": "function", "function": F}]},
    {"toolConfig": {"tools": [{"toolSpec": {"name": "find", "inputSchema": {"json": F["parameters"]}}}]}},
    [{"functionDeclarations": [F]}],
]


@pytest.mark.parametrize("tools", TOOLS, ids=["list", "one", "request", "Bedrock", "Gemini"])
def test_tools_are_told_by_a_click_and_chosen_however_they_are_written(explorer: Explorer, tools: object) -> None:
    panel(explorer).received({"kind": "paste", "text": json.dumps(tools)})
    assert [word for word, _ in bar(explorer)["tool_choices"]] == ["auto", "required", "none", "only find"]
    assert bar(explorer)["untold"] == "tools"
    panel(explorer).received({"kind": "tell", "prompt": "Where?"})
    now = bar(explorer)
    assert now["prompt"].startswith("Where?\n\nThese are functions that you can call:\n{")
    *_, told, call = now["prompt"].partition("To call one of them, write:\n")
    assert told
    assert explorer.session.inspect.explain(call.replace("FUNCTION", "find").replace("ARGUMENT", "what")).ok
    assert not now["untold"]


def test_a_prompt_that_names_its_tools_tells_them(explorer: Explorer) -> None:
    panel(explorer).open("tool_call")
    explorer.desk.refresh()
    assert not bar(explorer)["untold"]


def test_a_source_that_was_pasted_gives_the_box_its_name_also_with_a_mistake(explorer: Explorer) -> None:
    panel(explorer).open("ambiguous")
    panel(explorer).received({"kind": "paste", "text": "start: word\nwrd: /a+/\n"})
    assert explorer.session.edits.draft is not None
    assert (bar(explorer)["entry"], bar(explorer)["title"]) == ("", "Lark")
    assert not bar(explorer)["untold"]
    assert 'Read as Lark: rules are written with ":".' in bar(explorer)["note"]
    explorer.desk.do("source", text="start: word\nword: /a+/\n", language=None)
    assert explorer.session.edits.draft is None
    assert "Read as" not in bar(explorer)["note"]


def test_json_on_one_line_is_laid_out_where_it_is_pasted(explorer: Explorer) -> None:
    names = {f"name_{number}": {"type": "string", "minLength": 1} for number in range(40)}
    text = json.dumps({"type": "object", "properties": names})
    panel(explorer).received({"kind": "paste", "text": text})
    shown = explorer.session.document.text
    assert shown.count("\n") > 40
    assert max(map(len, shown.splitlines())) <= 88
    assert json.loads(shown) == json.loads(text)
    # What would be lost is left as it was typed: a key that is there twice, a spelling over lines of one's own.
    for left in (text.replace('"name_1"', '"name_0"'), json.dumps(json.loads(text), indent=1)):
        panel(explorer).received({"kind": "paste", "text": left})
        assert explorer.session.document.text == left


def test_what_the_model_reads_is_told_before_it_runs(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(panel(explorer).view, "send", sent.append)
    assert explorer.session.trace is None
    ask(explorer, "reads", prompt="Where is Lund?", chat=False)
    assert [one["reads"] for one in sent] == ["Where is Lund?"]
    ask(explorer, "reads", prompt="", chat=False)
    assert "no tokens" in bar(explorer)["message"]


def test_what_a_person_has_set_stays_where_another_source_is_pasted(explorer: Explorer) -> None:
    fields = {"seed": 7, "temperature": 0.25, "grammar": False, "limit": 33, "chat": False}
    panel(explorer).received({"kind": "tell", **fields, "prompt": "Where is Lund?"})
    told = bar(explorer)["prompt"]
    panel(explorer).received({"kind": "paste", "text": '{"const": 1}', **fields, "prompt": told})
    now = bar(explorer)
    assert {name: now[name] for name in fields} == fields
    assert now["prompt"] == "Where is Lund?"  # the schema of before is not this one's
    explorer.desk.do("undo")
    assert bar(explorer)["prompt"] == told
    # What the gallery asks is nobody's own; where nothing is opened all stays.
    panel(explorer).received({"kind": "open", "name": "tool_call", **fields, "prompt": "mine"})
    entry = bar(explorer)
    assert entry["prompt"].endswith("Assistant:")
    assert (entry["grammar"], entry["limit"]) == (True, 33)
    panel(explorer).received({"kind": "paste", "text": "celsius", **fields, "prompt": "typed"})
    assert bar(explorer)["offer"]
    assert bar(explorer)["prompt"] == "typed"
    panel(explorer).received({"kind": "offer", **fields, "prompt": entry["prompt"]})
    assert explorer.session.document.text == "celsius"
    assert (bar(explorer)["prompt"], bar(explorer)["seed"]) == ("", 7)


def test_calls_are_chosen_where_the_source_has_tools(explorer: Explorer) -> None:
    assert not {"tool_choices", "call_format"} & set(bar(explorer))
    panel(explorer).open("tool_call")
    explorer.desk.refresh()
    assert bar(explorer)["call_format"] == "qwen_3"
    assert [word for word, _ in bar(explorer)["tool_choices"]][:4] == ["auto", "required", "none", "only get_weather"]
    assert bar(explorer)["tool_choice"] == "auto"
    for word, free in (("required", False), ("none", True), ("only send_mail", False), ("auto", True)):
        panel(explorer).received({"kind": "choose", "tool_choice": word})
        assert bar(explorer)["tool_choice"] == word
        assert explorer.session.inspect.explain("Let me see.").ok is free
    panel(explorer).received({"kind": "choose", "tool_choice": "required"})
    shown = explorer.views["screen"].here["next"]  # type: ignore[attr-defined]
    assert all(row["before"] is None for row in shown)  # the recorded run was of another choice
    panel(explorer).received({"kind": "choose", "tool_choice": "only nobody"})
    assert "nobody" in bar(explorer)["message"] or explorer.session.edits.draft is not None


def test_a_vocabulary_and_a_format_of_calls_are_named_once(explorer: Explorer) -> None:
    now = bar(explorer)
    assert [now["tokenizer"]] == now["tokenizers"]  # tekken by its full name
    ask(explorer, "run", limit=20)
    assert bar(explorer)["tokenizers"] == ["demo", "tekken"]
    panel(explorer).received({"kind": "choose", "tokenizer": "tekken"})
    assert bar(explorer)["tokenizers"] == now["tokenizers"]
    tools = {"model": "llama", "tool_choice": "required", "tools": [{"type": "function", "function": F}]}
    panel(explorer).received({"kind": "paste", "text": json.dumps(tools)})
    assert bar(explorer)["call_format"] == "llama"
    assert "tool_choices" not in bar(explorer)
    (option,) = [one for one in explorer.views["source"].document["options"] if one["name"] == "model"]  # type: ignore[attr-defined]
    assert option["label"] == "format of calls"


def test_what_a_recorded_run_wrote_under_another_choice_is_nobody_s_text(explorer: Explorer) -> None:
    panel(explorer).open("tool_call")
    explorer.session.goto(5)  # it plays
    assert explorer.session.text.startswith(b" Let me")
    panel(explorer).received({"kind": "choose", "tool_choice": "only send_mail"})
    assert explorer.session.edits.refused
    ask(explorer, "run", limit=80)
    assert explorer.session.trace is not None, bar(explorer)["message"]


def test_what_a_person_typed_and_is_refused_is_not_run_past(explorer: Explorer) -> None:
    panel(explorer).open("tool_call")
    panel(explorer).received({"kind": "choose", "tool_choice": "only send_mail"})
    explorer.desk.do("prefix", text="Nobody wrote this")
    ask(explorer, "run", limit=5)
    assert explorer.session.trace is None
    assert "the grammar refuses Nobody" in bar(explorer)["message"].replace("␣", " ")


def test_a_word_that_names_no_file_may_be_read_as_a_pattern(explorer: Explorer) -> None:
    panel(explorer).received({"kind": "paste", "text": "celsius"})
    now = bar(explorer)
    assert "there is no file 'celsius'" in now["message"]
    assert now["offer"] == "read it as a regular expression"
    panel(explorer).received({"kind": "offer"})
    assert (explorer.session.document.language, explorer.session.document.text) == ("regex", "celsius")
    assert not bar(explorer)["offer"]
    assert not bar(explorer)["message"]


def test_what_a_run_was_given_of_a_recorded_one_keeps_its_colours() -> None:
    entry = recorded("tool_call")
    assert entry is not None
    ours = entry.tokens
    went_on = [*(replace(one, given=True, options=()) for one in ours), *free(b"x")]
    assert with_recorded(went_on, ours) == [*ours, went_on[-1]]
    parted = [*went_on[:2], replace(went_on[2], data=b"?"), *went_on[3:]]
    assert with_recorded(parted, ours)[:3] == [*ours[:2], parted[2]]
    drawn = free(ours[0].data)
    assert with_recorded(drawn, ours) == drawn  # nothing was given


def test_what_the_grammar_refused_has_no_place_to_go_to(explorer: Explorer) -> None:
    ask(explorer, "run", grammar=False, limit=20)
    model = explorer.panels["model"]
    model.received({"kind": "goto", "index": 19})
    assert explorer.last_error is None
    explorer.desk.do("goto", index=10_000)
    assert explorer.last_error is not None


def test_a_run_of_a_cell_is_not_the_screens(explorer: Explorer) -> None:
    ask(explorer, "step")
    assert "so far" in bar(explorer)["outcome"]["told"]
    explorer.session.run(wb.load_model("demo"), "weather", max_tokens=3, seed=1)
    explorer.refresh()
    assert "so far" not in bar(explorer)["outcome"]["told"]
    with pytest.raises(ValueError, match="press Run"):
        panel(explorer).code()


def test_a_run_asks_for_its_masks_itself_whatever_stood_there_before() -> None:
    """The text before it is laid under the grammar of the model's white space, and asks for no mask there."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    model, kinds = wb.load_model("demo"), []
    for text in ("", None):
        session = wb.Session(schema, model.tokenizer)
        if text is None:
            session.read(wb.generate(model, "hi", schema, max_tokens=30, complete=True, seed=2).text)
        trace = session.run(model, "hi", seed=2, max_tokens=30)
        kinds.append([step.fill.kind for step in trace.generation.steps if step.fill is not None])
    assert kinds[0] == kinds[1]


def test_given_tokens_may_come_from_an_iterator() -> None:
    model = wb.load_model("demo")
    begin = [model.tokenizer.encode(text)[0] for text in ('"', "z", "q", "z", "q")]
    session = wb.Session({"type": "string"}, model.tokenizer)
    trace = session.run(model, "hi", seed=2, max_tokens=30, begin=iter(begin))
    assert [step.token_id for step in trace.generation.steps[:5]] == begin
    assert session.text.startswith(b'"zqzq')
    assert trace.died is None


class Gate:
    """What waits at the gate until it is opened, and says that it is there."""

    def __init__(self) -> None:
        self.there, self.open = threading.Event(), threading.Event()

    def before(self, action: Callable[..., Any]) -> Callable[..., Any]:
        def acted(*args: Any, **more: Any) -> Any:
            self.there.set()
            assert self.open.wait(60)
            return action(*args, **more)

        return acted


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Gate:
    """A model that is not loaded, or has not read the prompt, before the gate is opened."""
    pytest.importorskip("torch")
    from workbench.generation.model import ModelRun

    gate = Gate()
    if request.param == "loads":
        monkeypatch.setattr("workbench.panels.screen._models", {})
        monkeypatch.setattr("workbench.panels.screen.load", gate.before(load))
    else:
        load("demo")
        monkeypatch.setattr(ModelRun, "advance", gate.before(ModelRun.advance))
    return gate


@pytest.mark.parametrize("waits", ["loads", "reads the prompt"], indirect=True)
@pytest.mark.parametrize("kind", ["paste", "open", "stop"])
def test_while_a_model_loads_or_reads_it_is_said_and_another_source_is_opened(
    explorer: Explorer, waits: Gate, kind: str, request: pytest.FixtureRequest
) -> None:
    session, screen = explorer.session, panel(explorer)
    screen.received({"kind": "run", **ASKED})
    assert waits.there.wait(60)
    doing = request.node.callspec.params["waits"]
    assert bar(explorer)["busy"] == f"the demo model {doing}"
    loader = screen.thread
    assert loader is not None
    reading = session.model.is_running
    assert reading == (doing != "loads")
    screen.received({"kind": kind, "text": '{"const": 1}', "name": "ambiguous"})
    if kind == "stop" and reading:
        waits.open.set()
        loader.join(60)
        assert bar(explorer)["outcome"]["told"].startswith("not finished: stopped by you after ")
        return
    assert not bar(explorer)["busy"]
    assert not session.model.is_running
    here, steps = session.document, session.steps
    assert bool(steps) == (kind == "open")
    assert here.text == ('{"const": 1}' if kind == "paste" else SCHEMA if kind == "stop" else here.text)
    waits.open.set()
    loader.join(60)
    assert not loader.is_alive()
    now = bar(explorer)
    assert (now["busy"], now["message"], now["outcome"], session.trace) == ("", "", None, None)
    assert (session.document, session.steps) == (here, steps)
    assert ask(explorer, "run", limit=20)["message"] == ""
    assert session.trace is not None


@pytest.mark.parametrize("waits", ["reads the prompt"], indirect=True)
def test_a_generation_of_a_cell_is_left_where_another_source_is_opened(explorer: Explorer, waits: Gate) -> None:
    session = explorer.session
    future = session.model.run_in_background(wb.load_model("demo"), "weather", seed=2, max_tokens=30)
    assert waits.there.wait(60)
    explorer.open("tool_call")
    steps = session.steps
    assert steps
    assert not session.model.is_running
    waits.open.set()
    future.result(60)
    assert session.steps == steps
    assert session.trace is None
    assert bar(explorer)["speaker"].startswith("a recorded run")
    explorer.desk.do("undo")
    assert session.document.text == SCHEMA
    assert session.trace is not None
    assert session.trace.generation.finish_reason == "interrupted"


def test_a_generation_that_is_left_keeps_what_it_has_written(explorer: Explorer) -> None:
    session, gate = explorer.session, Gate()
    follow = session.edits.take

    def take(*args: Any, **more: Any) -> bool:
        if len(session.steps) == 5:
            return bool(gate.before(follow)(*args, **more))
        return follow(*args, **more)

    session.edits.take = take  # type: ignore[method-assign]
    panel(explorer).received({"kind": "run", **ASKED})
    assert gate.there.wait(60)
    assert bar(explorer)["busy"].startswith("the demo model")  # writes, where the bar was told since
    written = session.text
    panel(explorer).received({"kind": "paste", "text": '{"const": 1}'})
    gate.open.set()
    panel(explorer).wait()
    assert (session.text, session.document.text) == (b"", '{"const": 1}')
    assert session.trace is None
    explorer.desk.do("undo")
    assert session.text == written
    trace = session.trace
    assert trace is not None
    assert (trace.followed, len(trace.frontiers)) == (5, 6)
