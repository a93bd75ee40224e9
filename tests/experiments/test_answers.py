"""Experiments on answers and requests: accuracy, the pipeline's staircase, requests that choose their tools."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import accuracy, compile_dynamic, pipeline
from experiments.demo_model.dialogues import Dialogue
from experiments.demo_model.tools import Call, judge, render
from experiments.ledger import Ledger
from experiments.sweep import run_sweep
from experiments.trial import NotRunError
from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo

CALLS = (Call("set_timer", {"minutes": 5}),)
ASKED = Dialogue("five minutes please", render(CALLS), CALLS, spoilt=False)


@pytest.fixture(autouse=True)
def no_data(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKSCOPE_DATA", str(tmp_path / "absent"))


@pytest.mark.parametrize(
    ("answer", "free_text", "called", "valid", "right"),
    [
        (render(CALLS), False, True, True, True),
        (render([Call("set_timer", {"minutes": 6})]), False, True, True, False),
        (render(CALLS) + " Done!", False, True, False, False),
        (render(CALLS) + " Done!", True, True, True, True),
        ("Sure. " + render(CALLS * 3), True, True, True, False),
        ("Sure.", True, False, False, False),
        ("<tool_call>{", True, True, False, False),
    ],
)
def test_an_answer_is_judged(answer: str, free_text: bool, called: bool, valid: bool, right: bool) -> None:
    found = accuracy._judged(answer, ASKED, free_text=free_text)
    assert found == {"called": called, "valid": valid, "right": right}


def test_the_tag_grammar_takes_free_text_and_whole_calls_only() -> None:
    info = TokenizerInfo([bytes((byte,)) for byte in range(256)] + [b"</s>"], stop_token_ids=[256])
    compiled = GrammarCompiler(info).compile_grammar(accuracy.tag_text())

    def takes(text: str) -> bool:
        matcher = GrammarMatcher(compiled)
        return matcher.accept_string(text) and matcher.is_completed()

    assert judge(render(CALLS)) is None
    assert takes("Well. " + render(CALLS) + " and " + render(CALLS))
    assert takes("nothing to call")
    assert not takes("<tool_call>later</tool_call>")
    assert not takes(render(CALLS)[:-3])


def test_accuracy_experiment(ledger: Ledger) -> None:
    pytest.importorskip("torch")
    grid = [params | {"prompts": 2} for params in accuracy.grid("smoke") if params["way"] != "grammar in the prompt"]
    frame = run_sweep(accuracy.trial, grid, ledger=ledger, sweep="accuracy")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    bound = frame[frame["way"] == "constrained"].iloc[0]
    assert bound["valid"] == bound["called"] == [True, True]
    tables = accuracy.tables(frame)
    assert list(tables["Answers, by way"]["way"]) == ["unconstrained", "constrained", "structural tag"]
    assert len(accuracy.plot(frame).data) == 3


def test_pipeline_experiment(ledger: Ledger) -> None:
    frame = run_sweep(pipeline.trial, pipeline.grid("smoke"), ledger=ledger, sweep="pipeline")
    assert set(frame["status"]) <= {"ok", "not run"}, frame["error"].dropna().tolist()
    done = frame[frame["status"] == "ok"]
    assert len(done) >= 2
    for row in done.to_dict("records"):
        assert row["states"]["minimised"] <= row["states"]["ahead"]
        assert row["calls"]["forced"] <= row["calls"]["scan"] == row["tokens"]
        assert row["calls"]["drafts"] <= row["calls"]["forced"]
    table = pipeline.tables(frame)["The staircase, means of a request"]
    assert list(table["step"]) == list(pipeline.STAGES)
    assert len(pipeline.plot(frame).data) == 3


def test_a_draft_that_is_the_text_itself_spares_most_calls() -> None:
    from experiments.datasets import DEMO, open_tokenizer
    from workbench.peers.ours import Ours

    tokenizer = open_tokenizer(DEMO)
    text = '["alpha", "beta", "gamma", "delta"]'
    compiled = Ours(tokenizer).compile_schema('{"type": "array", "items": {"type": "string"}}').compiled
    tokens = tokenizer.encode(text)
    alone, drafted = (pipeline._calls(compiled, tokenizer, text.encode(), other) for other in ((), tokens))
    assert drafted < alone <= len(tokens)


def test_compile_dynamic_experiment(ledger: Ledger) -> None:
    grid = [params for params in compile_dynamic.grid("smoke") if params["engine"] == "ours"]
    assert {params["setting"] for params in grid} == {"static", "dynamic"}
    frame = run_sweep(compile_dynamic.trial, grid, ledger=ledger, sweep="compile-dynamic")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    assert [len(spent) for spent in frame["compile_ns"]] == [3, 3]
    (table,) = compile_dynamic.tables(frame).values()
    assert table["n"].tolist() == [2, 2]
    assert len(compile_dynamic.plot(frame).data) == 2


def test_schemas_that_no_finite_automaton_takes_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from experiments.datasets import Case, Instance

    recursive = '{"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}'
    monkeypatch.setattr(pipeline, "load_case", lambda name: Case("x", recursive, (Instance("[[]]", True),)))
    with pytest.raises(NotRunError, match="ahead"):
        pipeline.trial({"file": "x", "index": 0, "vocabulary": "demo", "max_tokens": 5})
