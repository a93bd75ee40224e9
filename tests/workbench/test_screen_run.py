"""A run from the first screen: what it refuses, how it ended, and how one takes its text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.explorer import Explorer
from workbench.languages.draft import DraftError
from workbench.panels.ablate import AblatePanel
from workbench.panels.screen import ScreenPanel

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


@pytest.mark.parametrize("kind", ["run", "step", "branch", "paste"])
def test_a_source_with_a_mistake_is_not_run_and_stays(explorer: Explorer, kind: str) -> None:
    session, broken = explorer.session, SCHEMA.replace('"object"', '"objct"')
    if kind == "paste":
        panel(explorer).received({"kind": "paste", "text": broken})
        kind = "run"
    else:
        explorer.desk.do("source", text=broken)
    assert "the source has a mistake, so nothing was run: line 1, column 10" in ask(explorer, kind)["message"]
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
    assert set(explorer.value) == {"city"}
    roomy = ask(explorer, "run", limit=2000)["outcome"]
    assert roomy["kind"] == "complete"
    assert "limit" not in roomy["told"]
    assert json.loads(explorer.text) == explorer.value


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
    explorer.session.read("")
    assert bar(explorer)["outcome"] is None
    assert "press Run" in ask(explorer, "continue")["message"]


def test_a_text_that_was_cut_is_no_value(explorer: Explorer) -> None:
    explorer.session.read('{"city": "Lu')
    with pytest.raises(ValueError, match=r"no JSON value: .*it ends in '\{\"city\": \"Lu'"):
        _ = explorer.value


@pytest.mark.parametrize("grammar", [True, False])
def test_the_code_that_is_copied_makes_the_same_text(explorer: Explorer, grammar: bool) -> None:
    with pytest.raises(ValueError, match="press Run"):
        panel(explorer).code()
    ask(explorer, "run", grammar=grammar, limit=40)
    explorer.session.goto(3)
    ask(explorer, "branch", grammar=grammar, limit=40)
    code = panel(explorer).code()
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == explorer.text + "\n"


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
