"""The panel that compares: computed when asked for, in a thread, marked when the place has changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import workbench as wb
from visualizers.compare import CompareView
from workbench.explorer.dashboard import Dashboard
from workbench.panels.compare import ComparePanel
from workbench.tokenizers import Tokenizer

WORDS = 'root ::= "call " name\nname ::= [a-z]+\n'
MORE = 'root ::= "call " name\nname ::= [a-z0-9]+ "!"?\n'


@pytest.fixture
def desk(tokenizer: Tokenizer) -> Iterator[Dashboard]:
    desk = Dashboard(wb.Session(WORDS, tokenizer), panels=[ComparePanel])
    desk.show("compare")
    yield desk
    desk.close()


def asked(desk: Dashboard, engine: str, grammar: str = "") -> CompareView:
    """Ask as the browser does, and wait for the answer."""
    panel = desk.panels["compare"]
    assert isinstance(panel, ComparePanel)
    panel.view.receive({"kind": "compare", "engine": engine, "grammar": grammar}, [])
    assert panel.thread is not None
    panel.thread.join(60)
    assert not panel.thread.is_alive()
    return panel.view


def test_nothing_is_computed_before_it_is_asked_for(desk: Dashboard) -> None:
    view = desk.panels["compare"].view
    assert isinstance(view, CompareView)
    desk.do("prefix", text="call a")
    assert (view.status, view.result) == ("idle", {})
    assert "nothing shown yet" in view.static_html()


def test_another_engine_at_this_place(desk: Dashboard) -> None:
    desk.do("prefix", text="call a")
    before = desk.session.inspect.cache_stats()
    view = asked(desk, "ours:parser=naive")
    assert view.status == "done"
    assert view.result["agree"]
    assert view.result["sides"][1]["side"] == "ours, naive: every token tried"
    assert view.result["sides"][0]["text"] == "call␣a"
    assert view.picture.startswith("data:image/png")
    assert desk.session.inspect.cache_stats() == before


def test_engines_that_are_not_here_are_named(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.panels.compare.installed", lambda: ["ours", "llguidance"])
    desk = Dashboard(wb.Session(WORDS, tokenizer), panels=[ComparePanel])
    desk.show("compare")
    view = desk.panels["compare"].view
    assert isinstance(view, CompareView)
    assert [choice["missing"] for choice in view.choices if "missing" in choice] == [
        f"not installed: pip install {name}" for name in ("xgrammar", "glrmask", "maskforge", "outlines-core")
    ]
    assert "llguidance" in [choice["id"] for choice in view.choices if "missing" not in choice]
    desk.close()


def test_the_present_grammar_can_be_fetched_into_the_box(desk: Dashboard) -> None:
    view = desk.panels["compare"].view
    assert isinstance(view, CompareView)
    view.receive({"kind": "present"}, [])
    assert view.other_text == WORDS


def test_options_and_bytes_are_said_in_words(tokenizer: Tokenizer) -> None:
    desk = Dashboard(
        wb.Session(WORDS, tokenizer, options=wb.Options(parser="naive", warm_start=False)), panels=[ComparePanel]
    )
    desk.do("prefix", text="call a")
    view = asked(desk, "ours", MORE.replace("call ", "dial "))
    assert view.result["sides"][0]["side"] == "here: ours, parser naive, no warm start"
    assert view.result["sides"][1]["stage"] == "text"
    assert "b'" not in view.result["sides"][1]["refusal"]
    desk.close()


def test_another_grammar_and_another_place(desk: Dashboard) -> None:
    desk.do("prefix", text="call a")
    view = asked(desk, "ours", MORE)
    (pair,) = view.result["pairs"]
    assert pair["only_other"] > 0
    assert "cannot come in name" in pair["differences"][0]["why"]
    desk.do("prefix", text="call ab")
    assert view.status == "stale"
    desk.do("prefix", text="call a")
    assert view.status == "done"
    desk.do("source", text=MORE)
    assert view.status == "stale"
    assert "cannot come" in view.static_html()


@pytest.mark.parametrize(
    ("engine", "grammar", "said"),
    [
        ("nonesuch", "", "no engine 'nonesuch'"),
        ("ours:parser=guess", "", "Options.parser must be one of"),
        ("ours:what=1", "", "write option=value"),
    ],
)
def test_what_cannot_be_asked_is_said(desk: Dashboard, engine: str, grammar: str, said: str) -> None:
    view = asked(desk, engine, grammar)
    assert view.status == "error"
    assert said in view.note


def test_a_grammar_that_is_refused_is_an_answer(desk: Dashboard) -> None:
    view = asked(desk, "ours", "root ::= nowhere ::=")
    assert view.status == "done"
    assert view.result["sides"][1]["stage"] == "grammar"
    assert view.result["pairs"] == []
    assert view.picture == ""
