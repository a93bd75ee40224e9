"""The first screen from Python's side: what the grammar did to the model, parts by name, what was refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.work import files
from workbench.panels.screen import ScreenPanel
from workbench.screen.gallery import FIRST, GALLERY
from workbench.screen.parts import marked, parts_of
from workbench.screen.recent import opened_last
from workbench.screen.recording import Option, Token, recorded, tokens_of
from workbench.screen.state import here_state, how, matched, text_state

SCHEMA = {
    "type": "object",
    "properties": {"unit": {"enum": ["celsius", "fahrenheit"]}},
    "required": ["unit"],
    "additionalProperties": False,
}
BYTES = [bytes((value,)) for value in range(256)]


def token(data: bytes, *options: Option, mass: float = 1.0, forced: bool = False) -> Token:
    return Token(data, 0.5, mass, forced, "made", 12.0, options)


def run() -> list[Token]:
    """A model that would write kelvin."""
    wish = Option(b"k", 0.9, 0.0, False)
    return [
        token(b"{", Option(b"{", 0.9, 1.0, True), mass=0.95),
        token(b'"unit"', Option(b'"unit"', 0.5, 1.0, True), mass=0.5),
        token(b":", forced=True),
        token(b'"', Option(b'"', 1.0, 1.0, True)),
        token(b"c", wish, Option(b"c", 0.06, 0.6, True), Option(b"f", 0.04, 0.4, True), mass=0.1),
        token(b"elsius", Option(b"elsius", 1.0, 1.0, True)),
    ]


def session_of(tokens: list[Token]) -> wb.Session:
    session = wb.Session(SCHEMA, BYTES)
    for one in tokens:
        session.step(one.data)
    return session


def test_what_the_grammar_did_has_four_words() -> None:
    assert [how(one) for one in run()] == ["agreed", "pushed", "forced", "agreed", "overruled", "agreed"]


def test_a_text_is_the_runs_as_far_as_it_agrees_and_typed_from_there() -> None:
    tokens = run()
    session = session_of([*tokens[:4], token(b"f"), token(b"ahren")])
    assert matched(session.steps, tokens) == 4
    shown = text_state(session, tokens, parts_of(session)).tokens
    assert [one.how for one in shown] == ["agreed", "pushed", "forced", "agreed", "typed", "typed"]
    assert "".join(one.text for one in shown) == '{"unit":"fahren'


def test_a_leaf_is_as_sure_as_its_tokens_were_under_the_grammar() -> None:
    tokens = [*run(), token(b'"}')]
    shown = text_state(session_of(tokens), tokens, ()).tokens
    # Each has the probability 0.5; that of `c` is more than all that is allowed, as only a rounded record has it.
    assert [one.sure for one in shown] == [None, None, None, *[pytest.approx(0.5**3)] * 4]
    assert "; as a whole /unit had a probability of 12.5 %" in shown[4].told
    (plain, *_) = text_state(session_of(tokens[:1]), tokens, ()).plain()["tokens"]
    assert plain[-1] is None
    typed = [*tokens[:4], token(b"f"), token(b"ahren")]
    assert {one.sure for one in text_state(session_of(typed), tokens, ()).tokens} == {None}


def test_leaves_are_those_of_a_generation() -> None:
    """Also where a token holds more than one leaf's bytes, and where an object stands in other text."""
    pytest.importorskip("torch")
    model = wb.load_model("demo", device="cpu")
    compiled = r'root ::= "å <call>{\"a\": " [0-9]{2,3} ", \"b\": \"" [a-zé]{1,6} "\"}</call>"'
    session = wb.Session(compiled, model.tokenizer)
    made = session.run(model, "weather", seed=3).generation
    tokens = tokens_of(made.steps)
    found = {told.partition("; as a whole /")[2].partition(" ")[0]: sure for told, sure in _told_sure(session, tokens)}
    inner = made.text_bytes[made.text_bytes.index(b"{") : made.text_bytes.index(b"}") + 1]
    assert set(found) == {"a", "b"} == set(json.loads(inner))
    for name, sure in found.items():
        value = json.dumps(json.loads(inner)[name], ensure_ascii=False).encode()
        start = made.text_bytes.index(value, made.text_bytes.index(f'"{name}"'.encode()) + 3)
        held = [one for one in made.steps if one.offset < start + len(value) and one.offset + len(one.token) > start]
        expected = math.prod(1.0 if one.forced else one.probability / one.feasible_mass for one in held)
        assert sure == pytest.approx(expected, rel=0.05)


def _told_sure(session: wb.Session, tokens: Sequence[Token]) -> list[tuple[str, float]]:
    shown = text_state(session, tokens, ()).tokens
    return [(one.told, one.sure) for one in shown if one.sure is not None]


def test_a_character_that_is_cut_between_tokens_is_shown_once() -> None:
    session = wb.Session('root ::= [a-zö]+ "."', BYTES)
    for data in (b"a", b"\xc3", b"\xb6"):
        session.step(data)
    assert [one.text for one in text_state(session, (), ()).tokens] == ["a", "", "ö"]


def test_the_place_says_what_was_wanted_and_which_keyword_refused_it() -> None:
    tokens = run()
    session = session_of(tokens)
    session.goto(4)
    here, forbids = here_state(session, tokens)
    assert [(row.shown, row.before, row.after, row.taken) for row in here.next] == [
        ("c", 0.06, 0.6, True),
        ("f", 0.04, 0.4, False),
    ]
    (wanted,) = here.wanted
    assert (wanted.shown, wanted.before) == ("k", 0.9)
    assert "enum" in wanted.keyword
    assert forbids[0].pointer == "#/properties/unit/enum"
    assert "may not end yet" in here.end


@pytest.mark.parametrize(("allowed", "told"), [(2, "2 tokens allowed"), (1_236, "1,236 tokens allowed, 2 listed")])
def test_a_run_says_how_many_of_its_own_tokens_are_not_listed(allowed: int, told: str) -> None:
    tokens = run()
    session = session_of(tokens)
    session.goto(4)
    tokens[4] = replace(tokens[4], allowed=allowed)
    here, _ = here_state(session, tokens)
    assert (len(here.next), here.end) == (2, f"may not end yet · {told}")
    # Of what another grammar allowed nothing is known: the source in use says how many.
    assert here_state(session, tokens, judged=False)[0].end == "may not end yet · 2 tokens allowed"


def test_line_ends_are_named_as_the_text_shows_them() -> None:
    session = wb.Session('root ::= "\\n" "a"', BYTES)
    assert [row.shown for row in here_state(session, [token(b"\n", Option(b"\n", 0.9, 1.0, True))])[0].next] == ["↵"]
    assert "↵a" in [row.shown for row in here_state(session, ())[0].next]


def test_where_no_model_wrote_meanings_come_next() -> None:
    session = wb.Session(SCHEMA, BYTES)
    session.step('{"unit":')
    here, forbids = here_state(session, ())
    assert {row.shown for row in here.next} >= {'"celsius"', '"fahrenheit"'}
    count = session.inspect.allowed_array().size
    assert here.end == f"may not end yet · {count} tokens allowed, listed as texts"
    session.goto(0)
    session.step("{")
    assert here_state(session, ())[0].end.startswith("may not end yet: unit is required · ")
    assert all(row.before is None for row in here.next)
    assert here.wanted == forbids == ()


def test_what_is_open_lists_its_tokens_and_a_token_of_its_own_is_taken() -> None:
    vocabulary = wb.Session("root ::= [0-9]", "tekken").tokenizer
    with wb.explore('root ::= [0-9]{2} ("a" | "b")?', vocabulary) as explorer:
        view, session = explorer.desk.screen, explorer.session
        (digit,) = view.here["next"]
        assert (digit["shown"], digit["text"], digit["group"] != "", digit["token"]) == ("[0-9]", "", True, None)
        sent = answer(view, type="tokens", group=digit["group"], chip=digit["chip"])
        assert {one["id"] for one in sent["tokens"]} == set(session.inspect.allowed_ids())
        do(screen_of(explorer), "token", id=sent["tokens"][0]["id"])
        session.read("12a")
        assert view.here["end"] == "may end here · 1 token allowed"
        session.read("12")
        rows = {row["shown"]: row for row in view.here["next"]}
        assert (rows["a"]["text"], rows["a"]["group"]) == ("a", "")
        assert view.here["end"] == "may end here · 3 tokens allowed, listed as texts"
        (stop,) = [row for row in rows.values() if row["token"] is not None]
        do(screen_of(explorer), "token", id=stop["token"])
        assert session.inspect.is_terminated


def test_a_text_that_is_ambiguous_says_so_where_it_may_end() -> None:
    grammar = 'root ::= sum "."\nsum ::= sum "+" sum | [1-9]\n'
    with wb.explore(grammar, BYTES) as explorer:
        view, session = explorer.desk.screen, explorer.session
        session.read("1+2+3")
        assert not view.here["whole"]
        session.step(".")
        assert (view.here["whole"], view.here["parses"]) == (True, None)
        answer(view, type="parses")
        assert view.here["parses"] == "2 parses"
        session.back()
        session.forward()
        assert view.here["parses"] == "2 parses", "it is not counted again"
        session.read("1+2.")
        answer(view, type="parses")
        assert view.here["parses"] == ""
    with wb.explore(SCHEMA, BYTES) as explorer:
        explorer.session.read('{"unit": "celsius"}')
        assert not explorer.desk.screen.here["whole"], "what a schema reads is written out for each count"


def answer(view: Any, **asked: Any) -> dict[str, Any]:
    """What a view answers the browser."""
    sent: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "send", sent.append)
        view.receive({"view": "", "seq": 1, **asked}, None)
    (found,) = sent
    assert "error" not in found
    return dict(found)


ARITHMETIC = """root ::= expr
expr ::= term (("+" | "-") term)*
term ::= factor (("*" | "/") factor)*
factor ::= number | name | call | list | "(" expr ")"
call ::= name "(" args? ")"
list ::= "[" args? "]"
args ::= expr ("," expr)*
name ::= [a-z]+
number ::= digits ("." digits)?
digits ::= [0-9]+
"""


def test_what_may_come_at_once_stands_first_and_what_a_separator_leads_to_shows_it() -> None:
    session = wb.Session(ARITHMETIC, BYTES)
    session.read("sin(1,[x,2]")
    rows = here_state(session, ())[0].next
    assert [row.shown for row in rows[:6]] == [")", ",", "*", "+", "-", "/"]
    assert all(row.text == row.shown for row in rows[:6])
    assert [row.shown for row in rows[6:]] == [",(", ",["]
    # Of more than fit, it says how many.
    session = wb.Session(
        "root ::= "
        + " | ".join(
            f'"{letter}{letter}."' for letter in "abcdefghijklmnopqrstuvwxyz" * 2 + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        ),
        BYTES,
    )
    here, _ = here_state(session, ())
    assert len(here.next) < 52
    assert here.more == f"and {52 - len(here.next)} more"


def test_what_the_model_took_is_listed_though_it_was_unlikely() -> None:
    options = [Option(b"abcdefgh"[at : at + 1], 0.1, 0.1, True) for at in range(6)]
    tokens = [token(b"z", *options)]
    session = wb.Session("root ::= [a-z]", BYTES)
    rows = here_state(session, tokens)[0].next
    assert [(row.shown, row.taken) for row in rows] == [("a", False), ("b", False), ("c", False), ("z", True)]


def test_parts_are_members_modes_and_marks_by_name() -> None:
    session = session_of(run())
    assert [(part.name, part.count) for part in parts_of(session)] == [("", 2), ("unit", 4)]
    assert marked(b"<|channel|>analysis<|message|>hm<|end|><|channel|>commentary to=functions.get_weather ") == [
        (0, "analysis"),
        (39, ""),
        (39, "get_weather"),
    ]
    assert marked(b"<think>so</think><function=add><parameter=a>1</parameter>") == [
        (0, "reasoning"),
        (17, ""),
        (17, "add"),
        (31, "a"),
        (57, ""),
    ]
    # In a schema the same letters are a string, and no part of a format.
    schema = wb.Session({"type": "string"}, BYTES)
    schema.step('"<think>')
    assert [part.name for part in parts_of(schema)] == ["JSON Schema"]


@pytest.mark.parametrize("entry", GALLERY, ids=lambda entry: entry.name)
def test_each_entry_of_the_gallery_has_a_run_that_its_grammar_takes(entry: Any) -> None:
    recording = recorded(entry.name)
    assert recording is not None
    assert recording.model in ("smollm2", "demo")
    with wb.explore() as explorer:
        explorer.open(entry.name)
        assert explorer.last_error is None
        assert explorer.desk.troubles == {}
        assert explorer.desk.screen.bar["look"] == entry.look != ""
        text: Any = explorer.views["screen"].text  # type: ignore[attr-defined]
        told = [how for _, how, *_ in text["tokens"]]
        assert len(told) == sum(bool(one.data) for one in recording.tokens)
        assert all(one.allowed >= (1 if one.forced else 2) for one in recording.tokens)
        assert "typed" not in told
        assert sum(count for _, _, count in text["parts"]) == len(told)
        rests = explorer.desk.screen.bar["rests"]
        after = "".join(shown for shown, *_ in text["tokens"][rests:])
        assert after.replace("↵", "\n").startswith(entry.rests[:2]) if entry.rests else not after


def test_without_a_source_the_first_entry_opens_at_its_beginning_and_plays() -> None:
    with wb.explore() as explorer:
        bar: Any = explorer.views["screen"].bar  # type: ignore[attr-defined]
        assert explorer.session.place == wb.Session(FIRST.source, BYTES).place
        assert (bar["entry"], bar["plays"]) == (FIRST.name, 1)
        named = explorer.session.tokenizer.name
        assert bar["speaker"] == f"a recorded run of SmolLM2, in its own tokens; bars are of {named}"
        assert explorer.desk.in_sight() == {"screen", "kept", "source"}
        session = explorer.session
        overruled = next(
            at for at, one in enumerate(recorded(FIRST.name).tokens) if b"kel" in [o.data for o in one.options]
        )  # type: ignore[union-attr]
        session.goto(overruled)
        source: Any = explorer.views["source"]
        assert source.forbids[0]["pointer"].endswith("/unit/enum")


def test_what_may_come_is_looked_for_where_somebody_sees_it() -> None:
    with wb.explore(SCHEMA, BYTES) as explorer:
        view: Any = explorer.views["screen"]
        explorer.bring("chart")
        explorer.session.step('{"unit":')
        assert (view.here["place"], view.here["next"], view.here["end"], view.here["more"]) == (1, (), "", "…")
        assert "may not end yet" in explorer.static_html()
        explorer.session.step('"')
        assert view.here["next"] == ()
        view.pane = "place"
        assert any("celsius" in row["shown"] for row in view.here["next"])
        assert "may not end yet" in view.here["end"]


def test_the_bar_is_made_when_something_else_than_the_place_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    make = ScreenPanel._bar

    def bar(panel: ScreenPanel) -> dict[str, Any]:
        made.append(make(panel))
        return made[-1]

    with wb.explore() as explorer:
        panel, view = screen_of(explorer), explorer.desk.screen
        monkeypatch.setattr(ScreenPanel, "_bar", bar)
        for to in ("first", "forward", "last", "back"):
            do(panel, "move", to=to)
        assert made == []
        do(panel, "open", name="no such entry")
        assert "no such entry" in view.bar["message"]
        do(panel, "move", to="back")
        assert view.bar["message"] == ""
        assert len(made) == 2


def test_a_model_that_was_fetched_meanwhile_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.panels.screen.model_word", lambda: "demo")
    with wb.explore() as explorer:
        panel, view = screen_of(explorer), explorer.desk.screen
        writers: Any = explorer.views["ablate"]
        assert [word for word, _ in view.bar["models"]] == ["demo"]
        do(panel, "open", name="no such entry")
        monkeypatch.setattr("workbench.panels.screen.model_word", lambda: "smollm2")
        do(panel, "models")  # somebody is about to choose
        assert [word for word, _ in view.bar["models"]] == ["smollm2", "demo"]
        assert "no such entry" in view.bar["message"]
        assert view.bar["model"] == "demo"
        explorer.bring("ablate")
        assert [word for word, _ in writers.choices["writers"]] == ["", "smollm2", "demo"]
        monkeypatch.setattr("workbench.panels.screen.model_word", lambda: "demo")
        explorer.widget.asleep = True  # one goes to a terminal and comes back
        explorer.widget.asleep = False
        assert [word for word, _ in view.bar["models"]] == ["demo"]


TAGS = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<tool="],
        "tags": [
            {"begin": f"<tool={name}>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</tool>"}
            for name in ("weather", "forecast")
        ],
    },
}


def test_a_tag_has_one_name_from_its_beginning_to_its_end() -> None:
    session = wb.Session(TAGS, BYTES)
    session.read('So: <tool=weather>{"unit": "celsius"}</tool> ok', by="byte")
    assert [part.name for part in parts_of(session)] == ["free text", "trigger", "weather", "free text"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('root ::= "[" (word ("," word)*)? "]"\nword ::= [a-z]+\n', "[ab,cd]"),
        (SCHEMA, '{"unit": "celsius"}'),
        (TAGS, 'So: <tool=weather>{"unit": "celsius"}</tool>'),
        ([{"type": "function", "function": {"name": "get", "parameters": SCHEMA}}], "Let me see."),
    ],
    ids=["rules", "schema", "tags", "tools"],
)
def test_a_step_back_runs_few_files_and_asks_the_engine_nothing(source: Any, text: str) -> None:
    with wb.explore(source, BYTES) as explorer:
        session, views = explorer.session, explorer.views
        explorer.desk.do("prefix", text=text)
        assert session.text == text.encode()

        def seen() -> tuple[Any, ...]:
            return views["screen"].here, views["source"].places, views["source"].forbids  # type: ignore[attr-defined]

        count = len(session.steps)
        explorer.desk.do("move", to="first")
        there = [seen()]
        for _ in range(count):
            explorer.desk.do("move", to="forward", by="token")
            there.append(seen())
        asked = session.inspect.cache_stats()
        for index in reversed(range(count)):
            run = files(lambda: explorer.desk.do("move", to="back", by="token"))
            assert seen() == there[index]
            assert "workbench/explorer/dashboard.py" in run
            assert len(run) <= 25, sorted(run)
            assert not [one for one in run if re.match("workbench/(next|provenance|session/shadow)", one)]
        assert session.inspect.cache_stats() == asked
        assert explorer.desk.troubles == {}
        # What is known is of this text: another has places of its own.
        explorer.desk.do("prefix", text=text[:-1])
        explorer.desk.do("move", to="back", by="token")
        assert seen()[0]["where"].endswith(f"of {len(session.steps):,}")


def test_a_pasted_source_replaces_the_entry_and_an_unknown_entry_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("MASKSCOPE_KEEP", raising=False)
    with wb.explore() as explorer:
        panel = screen_of(explorer)
        panel.received({"kind": "paste", "text": '{"type": "boolean"}'})
        bar: Any = explorer.views["screen"].bar  # type: ignore[attr-defined]
        assert explorer.session.document.language == "json_schema"
        assert (bar["entry"], bar["speaker"]) == ("", "")
        assert [title for _, title in bar["recent"]] == ['JSON Schema: {"type": "boolean"}']
        for number in range(6):
            panel.received({"kind": "paste", "text": f'{{"const": {number}}}'})
        assert [json.loads(source.text)["const"] for source in opened_last()] == [5, 4, 3, 2, 1]
        *_, (name, _) = explorer.views["screen"].bar["recent"]  # type: ignore[attr-defined]
        panel.received({"kind": "open", "name": name})
        assert explorer.session.document.text == '{"const": 1}'
        assert [json.loads(source.text)["const"] for source in opened_last()] == [1, 5, 4, 3, 2]
        panel.received({"kind": "open", "name": "nothing"})
        bar = explorer.views["screen"].bar  # type: ignore[attr-defined]
        assert "the gallery has no 'nothing'" in bar["message"]


def test_a_run_from_the_screen_is_followed_and_goes_on_from_a_place() -> None:
    pytest.importorskip("torch")
    with wb.explore() as explorer:
        panel = screen_of(explorer)
        panel.received({"kind": "choose", "model": "demo"})
        panel.received({"kind": "run", "prompt": "weather in Lund", "seed": 2, "temperature": 1.0, "grammar": True})
        panel.wait()
        session = explorer.session
        assert session.trace is not None
        first = session.trace.generation
        bar: Any = explorer.views["screen"].bar  # type: ignore[attr-defined]
        assert (bar["message"], bar["speaker"]) == ("", "the demo model wrote this, in its own vocabulary (demo)")
        assert len(first) > 2
        session.goto(2)
        panel.received({"kind": "step", "prompt": "weather in Lund", "seed": 2, "temperature": 1.0, "grammar": True})
        panel.wait()
        assert session.trace.generation.tokens == first.tokens[:3]


def test_each_refused_token_has_its_reason() -> None:
    tokens = run()
    tokens[4] = token(b"c", Option(b"k", 0.6, 0.0, False), Option(b"_", 0.3, 0.0, False), mass=0.1)
    session = session_of(tokens)
    session.goto(4)
    here, forbids = here_state(session, tokens)
    assert [(row.shown, "enum" in row.keyword) for row in here.wanted] == [("k", True), ("_", True)]
    assert [place.keyword for place in forbids] == ["enum"]


def screen_of(explorer: Any) -> ScreenPanel:
    panel = explorer.panels["screen"]
    assert isinstance(panel, ScreenPanel)
    return panel


def state_of(explorer: Any) -> tuple[Any, ...]:
    """All of a screen that a person would miss."""
    session, views = explorer.session, explorer.views
    bar = {name: views["screen"].bar[name] for name in ("entry", "prompt", "seed", "temperature", "tokenizer")}
    hows = [(text, how) for text, how, *_ in views["screen"].text["tokens"]]
    refused = views["screen"].text["refused"]
    return session.document, session.steps, session.place, session.examples, bar, hows, refused


ASKED = {"prompt": "weather in Lund", "seed": 2, "temperature": 1.0, "grammar": True}


def do(panel: ScreenPanel, kind: str, **more: Any) -> None:
    panel.received({"kind": kind, **more})
    panel.wait()


def test_a_branch_goes_on_with_what_was_wanted_and_one_undo_brings_all_back() -> None:
    pytest.importorskip("torch")
    with wb.explore() as explorer:
        panel, session = screen_of(explorer), explorer.session
        assert not session.edits.can_undo
        tokens = recorded(FIRST.name).tokens  # type: ignore[union-attr]
        at = next(at for at, one in enumerate(tokens) if one.refused is not None)
        session.examples = [("x", False)]
        do(panel, "choose", model="demo")
        session.goto(at)
        before = state_of(explorer)
        do(panel, "branch", **{**ASKED, "prompt": FIRST.prompt})
        shown: Any = explorer.views["screen"].text["tokens"]  # type: ignore[attr-defined]
        kept = b"".join(one.data for one in tokens[:at])
        wish = tokens[at].refused
        assert wish is not None
        text = "".join(text for text, *_ in shown).encode()
        assert text.startswith(kept + wish.data)
        assert session.trace is not None
        assert not session.trace.generation.constrained
        assert shown[-1][1] == "refused"
        do(panel, "goto", index=len(session.steps))
        assert "cannot come at byte" in explorer.views["screen"].here["died"]  # type: ignore[attr-defined]
        assert explorer.views["source"].forbids  # type: ignore[attr-defined]
        assert "Ctrl+Z" in explorer.views["screen"].bar["note"]  # type: ignore[attr-defined]
        after = state_of(explorer)
        do(panel, "undo")
        assert state_of(explorer) == before
        assert session.trace is None
        do(panel, "redo")
        assert state_of(explorer) == after
        do(panel, "undo")
        assert state_of(explorer) == before


def test_a_model_goes_on_from_what_a_person_typed() -> None:
    pytest.importorskip("torch")
    with wb.explore() as explorer:
        panel, session = screen_of(explorer), explorer.session
        do(panel, "choose", model="demo")
        do(panel, "prefix", text="I will look <tool_call>")
        typed = state_of(explorer)
        do(panel, "run", **ASKED)
        assert b"".join(step.data for step in session.steps).startswith(b"I will look <tool_call>")
        assert len(session.steps) > 5
        assert explorer.views["screen"].bar["note"] == ""  # type: ignore[attr-defined]
        do(panel, "run", **{**ASKED, "seed": 3})  # from the same beginning, drawn anew
        assert b"".join(step.data for step in session.steps).startswith(b"I will look <tool_call>")
        do(panel, "undo")
        do(panel, "undo")
        assert state_of(explorer) == typed
        # What is refused is no beginning, and stays.
        do(panel, "prefix", text="I will look <tool_call>?!")
        typed = state_of(explorer)
        do(panel, "run", **ASKED)
        assert "the grammar refuses ?!" in explorer.views["screen"].bar["message"]  # type: ignore[attr-defined]
        assert state_of(explorer) == typed
        # A step in the midst takes the rest away, says so, and gives it back.
        session.goto(2)
        midst = state_of(explorer)
        do(panel, "step", **ASKED)
        assert session.trace is not None
        assert session.text.startswith(b"I will")
        assert [step.given for step in session.trace.steps].count(False) == 1
        assert "Ctrl+Z" in explorer.views["screen"].bar["note"]  # type: ignore[attr-defined]
        do(panel, "undo")
        assert state_of(explorer) == midst


def test_what_was_typed_and_is_refused_has_its_reason() -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer", "maximum": 9}}}
    with wb.explore(schema, BYTES) as explorer:
        do(screen_of(explorer), "prefix", text='{"days": 12')
        view: Any = explorer.views["screen"]
        assert view.here["died"].endswith(": `days` is at most 9 (`maximum`)")
        assert explorer.views["source"].forbids[0]["pointer"] == "#/properties/days/maximum"  # type: ignore[attr-defined]


def test_going_elsewhere_keeps_what_was_refused() -> None:
    with wb.explore('root ::= "ab" [0-9]+ "."', BYTES) as explorer:
        panel, session = screen_of(explorer), explorer.session
        do(panel, "prefix", text="ab1xyz")
        view: Any = explorer.views["screen"]
        assert "x cannot come at byte 3" in view.here["died"]
        for index in (3, 0, 1, 3):
            do(panel, "goto", index=index)
            assert view.text["refused"] == "xyz"
            assert ("x cannot come" in view.here["died"]) == (index == 3)
        # Typing goes on from it, and what is taken back is there with it.
        do(panel, "prefix", text="ab1xy")
        do(panel, "goto", index=1)
        do(panel, "undo")
        assert (view.text["refused"], session.text) == ("xyz", b"ab1")
        do(panel, "goto", index=2)
        do(panel, "text", text="7")
        assert (view.text["refused"], session.text) == ("", b"ab7")


def test_another_source_begins_with_nothing_and_one_undo_brings_the_former_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("MASKSCOPE_KEEP", raising=False)
    with wb.explore() as explorer:
        panel, session = screen_of(explorer), explorer.session
        session.examples = [("x", False)]
        session.goto(7)
        before = state_of(explorer)
        do(panel, "paste", text='root ::= "a"+ "b"')
        bar: Any = explorer.views["screen"].bar  # type: ignore[attr-defined]
        assert (session.steps, session.examples, session.edits.kept) == ((), (), ())
        assert (bar["prompt"], bar["seed"], bar["entry"]) == ("", before[4]["seed"], "")
        assert "Ctrl+Z" in bar["note"]
        do(panel, "undo")
        assert state_of(explorer) == before
        for kind, more in (
            ("open", {"name": "sql"}),
            ("open", {"name": bar["recent"][0][0]}),
            ("paste", {"text": "root ::= (("}),
        ):
            do(panel, kind, **more)
            assert session.examples == ()
            do(panel, "undo")
            assert state_of(explorer) == before
            assert session.edits.draft is None


def test_what_a_model_writes_without_the_grammar_agrees_with_nobody() -> None:
    pytest.importorskip("torch")
    with wb.explore() as explorer:
        panel = screen_of(explorer)
        panel.received({"kind": "choose", "model": "demo"})
        panel.received({"kind": "run", "prompt": "weather in Lund", "seed": 1, "temperature": 1.0, "grammar": False})
        panel.wait()
        view: Any = explorer.views["screen"]
        told = {how for _, how, *_ in view.text["tokens"]}
        assert "free" in told
        assert told <= {"free", "refused"}
        assert view.bar["speaker"].startswith("the demo model wrote this")
        assert view.bar["look"] == ""


def test_the_picture_without_a_kernel_is_the_screen_where_one_stood_last() -> None:
    with wb.explore() as explorer:
        session = explorer.session
        session.goto(10)
        first = explorer.static_html()
        session.goto(31)
        last = explorer.static_html()
        assert first != last
        seen, _, under = last.partition("<summary>Under the hood</summary>")
        for text in (
            FIRST.title,
            "a recorded run of SmolLM2",
            "get_weather",
            "overruled",
            "cel",
            "kel",
            "may not end yet",
        ):
            assert text in seen
        assert "<b>Caches</b>" in under
        # As many tokens are behind the place as there are, and the mark is before the first of them.
        tokens = explorer.views["screen"].text["tokens"]  # type: ignore[attr-defined]
        assert seen.count("opacity:0.5") == len(tokens) - 31
        assert seen.count("▏") == 1


def test_the_pictures_that_notebooks_keep_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("visualizers.host.Host.display", lambda *_: lambda now, _: shown.append(now))
    monkeypatch.setattr("workbench.explorer.explorer.LATER_SECONDS", 0.0)
    with wb.explore() as explorer:
        explorer._ipython_display_()
        explorer._ipython_display_()  # a second view of the same
        explorer.session.goto(20)
        later = explorer._later
        assert later is not None
        later.join()
        assert len(shown) == 2
        assert shown[0] == shown[1] == explorer.picture()
    explorer.session.goto(0)
    assert len(shown) == 2


def test_a_saved_page_holds_the_screen_with_its_run() -> None:
    with wb.explore() as explorer:
        explorer.session.goto(33)
        explorer.views["screen"].pane = "caches"  # type: ignore[attr-defined]
        copy = wb.Session.load(explorer.session.to_json(), explorer.session.tokenizer)
        with wb.explore(copy) as other:
            screen_of(other).take(screen_of(explorer))
            other.refresh()
            told = [how for _, how, *_ in other.views["screen"].text["tokens"]]  # type: ignore[attr-defined]
            assert "overruled" in told
            assert "typed" not in told
            assert other.views["screen"].pane == "caches"  # type: ignore[attr-defined]


def test_what_a_person_writes_in_place_of_a_run_is_what_is_shown_refused() -> None:
    with wb.explore() as explorer:
        recording = recorded(FIRST.name)
        assert recording is not None
        at = next(at for at, one in enumerate(recording.tokens) if one.refused is not None)
        kept = b"".join(one.data for one in recording.tokens[:at]).decode()
        do(screen_of(explorer), "prefix", text=f"{kept}zz")
        text: Any = explorer.views["screen"].text  # type: ignore[attr-defined]
        assert "".join(shown for shown, *_ in text["tokens"]) + text["refused"] == f"{kept}zz"
        assert text["refused"] == "zz"


def test_a_source_with_a_mistake_that_is_opened_is_followed_by_no_grammar() -> None:
    with wb.explore() as explorer:
        before = explorer.session.document
        do(screen_of(explorer), "paste", text='{"type": oops}')
        draft = explorer.session.edits.draft
        assert draft is not None
        assert draft.status == "There is no grammar yet, and nothing but the empty text is allowed."
        assert not explorer.session.inspect.explain(b"x").ok
        do(screen_of(explorer), "undo")
        assert (explorer.session.document, explorer.session.edits.draft) == (before, None)
