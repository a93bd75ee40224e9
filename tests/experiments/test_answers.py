"""Experiments on answers and requests: accuracy, the pipeline's staircase, requests that choose their tools."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pandas as pd
import pytest

from experiments import accuracy, bfcl, calling, compile_dynamic, datasets, pipeline
from experiments.claims import judge as judge_claims
from experiments.demo_model.tools import TOOLS, Call, judge, read_calls, render, tool_list
from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.sweep import run_sweep
from experiments.trial import NotRunError
from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo

CALLS = (Call("set_timer", {"minutes": 5}),)
ASKED = [{"name": "set_timer", "arguments": {"minutes": 5}}]


pytestmark = pytest.mark.usefixtures("no_data")


@pytest.mark.parametrize(
    ("answer", "called", "valid", "right"),
    [
        (render(CALLS), True, True, True),
        (render([Call("set_timer", {"minutes": 6})]), True, True, False),
        (render(CALLS) + " Done!", True, True, True),
        ("Sure. " + render(CALLS * 3), True, True, False),
        ("Sure. " + render(CALLS) + render([Call("set_timer", {"minutes": 0})]), True, False, False),
        ("Sure.", False, False, False),
        ("<tool_call>{", True, False, False),
        (render(CALLS).removesuffix("</tool_call>"), True, False, False),
    ],
)
def test_an_answer_is_judged(answer: str, called: bool, valid: bool, right: bool) -> None:
    found = accuracy.judged(answer, *read_calls(answer), ASKED)
    assert found == {"asked": True, "called": called, "valid": valid, "right": right}


def test_where_nothing_is_asked_for_it_is_right_to_call_nothing() -> None:
    for answer, right in (("You are welcome.", True), (render(CALLS), False), ("<tool_call>no", False)):
        assert accuracy.judged(answer, *read_calls(answer), []) | {"called": None, "valid": None} == {
            "asked": False,
            "called": None,
            "valid": None,
            "right": right,
        }


def takes(grammar: Grammar, text: str) -> bool:
    info = TokenizerInfo([bytes((byte,)) for byte in range(256)] + [b"</s>"], stop_token_ids=[256])
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(grammar))
    return bool(matcher.accept_string(text)) and matcher.is_completed()


def test_the_tag_grammar_takes_free_text_and_whole_calls_only() -> None:
    (request,) = calling.requests("demo", 1, seed=0, trained=True)
    assert judge(render(CALLS)) is None
    assert takes(request.tags(), "Well. " + render(CALLS) + " and " + render(CALLS))
    assert takes(request.tags(), "nothing to call")
    assert not takes(request.tags(), "<tool_call>later</tool_call>")
    assert not takes(request.tags(), render(CALLS)[:-3])
    assert takes(request.calls(), render(CALLS * 3))
    assert not takes(request.calls(), render(CALLS * 4))
    assert not takes(request.calls(), "nothing to call")


def test_requests_of_the_demo_model_are_of_three_kinds() -> None:
    found, again = (calling.requests("demo", 200, seed=1, trained=True) for _ in range(2))
    assert [one.short for one in found] == [one.short for one in again]
    counts = Counter(len(one.asked) for one in found)
    assert set(counts) == {0, 1, 2, 3}
    assert all(one.long.endswith(one.short) and tool_list() in one.long for one in found)
    stranger = calling.requests("demo", 1, seed=1, trained=False)[0]
    assert all(name in stranger.short and name in stranger.long for name in TOOLS)
    assert "minutes" not in stranger.short
    assert "minutes" in stranger.long


@pytest.fixture
def bfcl_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tools in the layout of the data folder."""
    folder = tmp_path / "data" / "bfcl"
    folder.mkdir(parents=True)

    def write(name: str, lines: list[dict[str, Any]]) -> None:
        (folder / name).write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))

    closed = {"type": "object", "additionalProperties": False}
    number = {**closed, "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    write("tools.jsonl.gz", [{"name": f"tool.{name}", "parameters": number} for name in "abc"])
    write(
        "calls.jsonl.gz",
        [
            {"name": "tool.a", "arguments": {"n": 7}},
            {"name": "tool.b", "arguments": {"n": 8}, "question": "Eight of b, please"},
        ],
    )
    monkeypatch.setenv("MASKSCOPE_DATA", str(tmp_path / "data"))


def test_requests_of_the_data_folder(bfcl_folder: None) -> None:
    found = {one.asked[0]["name"]: one for one in calling.requests("bfcl", 5, seed=0, trained=False)}
    assert set(found) == {"tool.a", "tool.b"}
    assert found["tool.a"].short.endswith("Call tool.a. n: 7.")
    assert found["tool.b"].long.endswith("Eight of b, please")
    assert '"integer"' in found["tool.a"].long
    assert '"integer"' not in found["tool.a"].short
    good = '<tool_call>{"name": "tool.a", "arguments": {"n": 7}}</tool_call>'
    request = found["tool.a"]
    assert request.read(f"So: {good}") == ([request.asked[0]], None)
    assert request.read(good.replace("7", '"7"'))[1] == "arguments against their schema"
    assert request.read(good.replace("tool.a", "tool.z"))[1] == "unknown tool"
    assert takes(request.calls(), good)
    assert not takes(request.calls(), "So: " + good)
    assert takes(request.tags(), "So: " + good)
    assert not takes(request.tags(), good.replace("7", '"7"'))
    assert {params["source"] for params in accuracy.grid("quick")} == {"demo", "bfcl"}


def test_without_a_data_folder_there_is_no_bfcl() -> None:
    assert {params["source"] for params in accuracy.grid("quick")} == {"demo"}
    with pytest.raises(NotRunError, match="BFCL"):
        calling.requests("bfcl", 1, seed=0, trained=False)


def test_accuracy_experiment(ledger: Ledger) -> None:
    pytest.importorskip("torch")
    grid = [{**params, "prompts": 3} for params in accuracy.grid("smoke")]
    frame = run_sweep(accuracy.trial, grid, ledger=ledger, sweep="accuracy")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    bound = frame[frame["way"] == "constrained"].iloc[0]
    assert bound["valid"] == bound["called"] == [True] * 3
    tables = find_experiment("accuracy").tables(frame)
    assert list(tables["Answers, by way"]["way"]) == list(accuracy.WAYS)
    assert len(find_experiment("accuracy").plot(frame).data) == 4
    verdicts = judge_claims(accuracy.CLAIMS, frame)
    assert all(one.word == "undecided" for one in verdicts)  # three prompts decide nothing


def flags(**values: list[bool]) -> dict[str, list[bool]]:
    return {name: values.get(name, [True] * 10) for name in accuracy.FLAGS} | {"cut": values.get("cut", [False] * 10)}


def test_the_claims_of_accuracy_can_fail() -> None:
    good, bad = [True] * 10, [False] * 10
    rows = [
        {"status": "ok", "source": "demo", "way": "unconstrained", **flags(right=bad)},
        {"status": "ok", "source": "demo", "way": "constrained", **flags()},
        {"status": "ok", "source": "demo", "way": "structural tag", **flags(valid=[True] * 9 + [False])},
    ]
    words = {one.claim.text: one.word for one in judge_claims(accuracy.CLAIMS, pd.DataFrame(rows))}
    more = "The demo model answers more requests rightly with constraints than without, where calls are asked for."
    tagged = "Every call behind a structural tag can be run, in answers that were not cut short."
    assert words["Every constrained answer that was not cut short can be run."] == "held"
    assert words[tagged] == "refuted"
    assert words[more] == "held"
    rows[0] |= flags(right=good)
    rows[2] |= flags(valid=[True] * 9 + [False], cut=[False] * 9 + [True])
    words = {one.claim.text: one.word for one in judge_claims(accuracy.CLAIMS, pd.DataFrame(rows))}
    assert words[more] == "refuted"
    assert words[tagged] == "undecided"  # nine answers are whole


@pytest.mark.long
def test_pipeline_experiment(ledger: Ledger) -> None:
    frame = run_sweep(pipeline.trial, pipeline.grid("smoke"), ledger=ledger, sweep="pipeline")
    assert set(frame["status"]) <= {"ok", "not run"}, frame["error"].dropna().tolist()
    done = frame[frame["status"] == "ok"]
    assert len(done) >= 2
    for row in done.to_dict("records"):
        assert row["states"]["minimised"] <= row["states"]["ahead"]
        assert row["calls"]["forced"] <= row["calls"]["scan"] == row["tokens"]
        assert row["calls"]["drafts"] <= row["calls"]["forced"]
    table = find_experiment("pipeline").tables(frame)["The staircase, means of a request"]
    assert list(table["step"]) == list(pipeline.STAGES)
    assert len(find_experiment("pipeline").plot(frame).data) == 4


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
    (table,) = find_experiment("compile-dynamic").tables(frame).values()
    assert table["n"].tolist() == [2, 2]
    assert len(find_experiment("compile-dynamic").plot(frame).data) == 2


def test_schemas_that_no_finite_automaton_takes_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from experiments.datasets import Case, Instance

    recursive = '{"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}'
    monkeypatch.setattr(pipeline, "load_case", lambda name: Case("x", recursive, (Instance("[[]]", True),)))
    with pytest.raises(NotRunError, match="ahead"):
        pipeline.trial({"file": "x", "index": 0, "vocabulary": "demo", "max_tokens": 5})


# -- files of the leaderboard as they are published -------------------------------------------------------------------


def leaderboard(folder: Path, seed: int, count: int = 12) -> Path:
    """A small file of questions and its answers, by a seeded generator; every third asks for two calls."""
    random = Random(f"leaderboard {seed}")
    questions, answers = [], []
    for number in range(count):
        tool, calls = f"math.area_{number}", []
        for _ in range(2 if number % 3 == 2 else 1):
            base, unit = random.randint(1, 99), random.choice(["cm", "square metres"])
            calls.append({tool: {"base": [base], "unit": [unit, ""], "at": [{"x": [0.5, 1.5], "tags": [["a", "b"]]}]}})
        properties = {
            "base": {"type": "integer", "description": "of the triangle"},
            "unit": {"type": "string"},
            "at": {
                "type": "dict",
                "properties": {"x": {"type": "float"}, "tags": {"type": "tuple", "items": {"type": "string"}}},
                "required": ["x", "tags"],
            },
            "any": {"type": "any"},
        }
        parameters = {"type": "dict", "properties": properties, "required": ["base", "at"]}
        other = {"name": "other", "description": "no use", "parameters": {"type": "dict", "properties": {}}}
        function = [{"name": tool, "description": "an area", "parameters": parameters}, other]
        asked = [[{"role": "system", "content": "no"}, {"role": "user", "content": f"Areas of {number}, please"}]]
        questions.append({"id": f"simple_{number}", "question": asked, "function": function})
        answers.append({"id": f"simple_{number}", "ground_truth": calls})
    (folder / "possible_answer").mkdir(parents=True, exist_ok=True)
    for name, records in (("", questions), ("possible_answer/", answers)):
        (folder / f"{name}BFCL_v3_simple.json").write_text("\n".join(map(json.dumps, records)) + "\n")
    (folder / "BFCL_v3_no_answers.json").write_text(json.dumps(questions[0]))
    return folder


def written(question: bfcl.Question) -> list[dict[str, Any]]:
    """Right calls, with the last of the allowed values that are none of leaving out."""
    found = []
    for name, allowed in question.answers:
        arguments = {key: [one for one in values if one != ""][-1] for key, values in allowed.items()}
        arguments["at"] = {key: values[-1] for key, values in arguments["at"].items()}
        found.append({"name": name, "arguments": arguments})
    return found


def test_questions_of_the_leaderboard_and_their_answers(tmp_path: Path) -> None:
    folder = leaderboard(tmp_path, 1)
    questions = bfcl.read_questions(folder)
    assert [one.id for one in questions] == [f"simple_{number}" for number in range(12)]
    assert questions == bfcl.read_questions(folder / "BFCL_v3_simple.json")
    assert questions[3].text == "Areas of 3, please"
    schema = questions[0].functions["math.area_0"]
    assert (schema["type"], schema["additionalProperties"], schema["required"]) == ("object", False, ["base", "at"])
    assert schema["properties"]["at"]["properties"]["x"] == {"type": "number"}
    assert schema["properties"]["at"]["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["any"] == {}
    for question in questions:
        calls = written(question)
        jsonschema.validate(calls[0]["arguments"], question.functions[calls[0]["name"]])
        assert bfcl.is_right(question, calls)
        assert bfcl.is_right(question, calls[::-1])
        shorter = [{**call, "arguments": {k: v for k, v in call["arguments"].items() if k != "unit"}} for call in calls]
        assert bfcl.is_right(question, shorter)
        louder = [
            {**call, "arguments": call["arguments"] | {"unit": call["arguments"]["unit"].upper()}} for call in calls
        ]
        assert bfcl.is_right(question, louder)
        for change in (
            {"base": 1000},
            {"base": True},
            {"more": 1},
            {"at": {"x": 0.5}},
            {"at": {"x": 0.5, "tags": ["b", "a"]}},
        ):
            assert not bfcl.is_right(question, [{**calls[0], "arguments": calls[0]["arguments"] | change}, *calls[1:]])
        assert not bfcl.is_right(question, [*calls, calls[0]])
        assert not bfcl.is_right(question, [])
        assert not bfcl.is_right(question, [{**calls[0], "name": "other"}, *calls[1:]])


def test_requests_from_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"bfcl:{leaderboard(tmp_path, 2)}"
    found = calling.requests(source, 12, seed=0, trained=False)
    questions = {one.text: one for one in bfcl.read_questions(tmp_path)}
    assert len(found) == 12
    assert [one.short for one in found] != [one.short for one in calling.requests(source, 12, seed=1, trained=False)]
    request = next(one for one in found if len(one.asked) == 2)
    calls = written(questions[request.short.rpartition("\n")[2]])
    text = "\n".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)
    assert takes(request.calls(), text)
    assert takes(request.tags(), f"So: {text} Done.")
    assert not takes(request.calls(), text.replace('"base": ', '"base": "'))
    for answer, right in ((text, True), (text.replace('"x": 1.5', '"x": 2.5'), False)):
        assert accuracy.judged(answer, *request.read(answer), request.asked, request.right) == {
            "asked": True,
            "called": True,
            "valid": True,
            "right": right,
        }
    monkeypatch.setenv("MASKSCOPE_BFCL", str(tmp_path))
    assert {params["source"] for params in accuracy.grid("smoke")} == {"demo", source}


def test_files_that_are_not_the_leaderboards(tmp_path: Path) -> None:
    with pytest.raises(NotRunError, match="possible_answer"):
        calling.requests(f"bfcl:{tmp_path}", 1, seed=0, trained=False)
    file = leaderboard(tmp_path, 3) / "BFCL_v3_simple.json"
    good = file.read_text()
    for bad, said in (("{", "line 1 is not JSON"), ('{"id": 1}', "line 1: a line needs")):
        file.write_text(f"{bad}\n{good}")
        with pytest.raises(datasets.DataError, match=said):
            bfcl.read_questions(file)
    file.write_text(good.replace('"content"', '"contents"', 2))
    with pytest.raises(datasets.DataError, match="simple_0"):
        bfcl.read_questions(file)
