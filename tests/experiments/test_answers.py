"""Requests that choose their tools, and the files of the Berkeley Function-Calling Leaderboard."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

from experiments import bfcl, compile_dynamic, datasets
from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.sweep import run_sweep

pytestmark = pytest.mark.usefixtures("no_data")


def test_compile_dynamic_experiment(ledger: Ledger) -> None:
    grid = [params for params in compile_dynamic.grid("smoke") if params["engine"] == "ours"]
    assert {params["setting"] for params in grid} == {"static", "dynamic"}
    frame = run_sweep(compile_dynamic.trial, grid, ledger=ledger, sweep="compile-dynamic")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    assert [len(spent) for spent in frame["compile_ns"]] == [3, 3]
    (table,) = find_experiment("compile-dynamic").tables(frame).values()
    assert table["n"].tolist() == [2, 2]
    assert len(find_experiment("compile-dynamic").plot(frame).data) == 2


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


def written(question: bfcl.Question) -> list[tuple[str, dict[str, Any]]]:
    """Right calls, with the last of the allowed values that are none of leaving out."""
    found = []
    for name, allowed in question.answers:
        arguments = {key: [one for one in values if one != ""][-1] for key, values in allowed.items()}
        arguments["at"] = {key: values[-1] for key, values in arguments["at"].items()}
        found.append((name, arguments))
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
        name, arguments = calls[0]
        jsonschema.validate(arguments, question.functions[name])
        assert bfcl.is_right(question, calls)
        assert bfcl.is_right(question, calls[::-1])
        shorter = [(name, {k: v for k, v in given.items() if k != "unit"}) for name, given in calls]
        assert bfcl.is_right(question, shorter)
        louder = [(name, given | {"unit": given["unit"].upper()}) for name, given in calls]
        assert bfcl.is_right(question, louder)
        for change in (
            {"base": 1000},
            {"base": True},
            {"more": 1},
            {"at": {"x": 0.5}},
            {"at": {"x": 0.5, "tags": ["b", "a"]}},
        ):
            assert not bfcl.is_right(question, [(name, arguments | change), *calls[1:]])
        assert not bfcl.is_right(question, [*calls, calls[0]])
        assert not bfcl.is_right(question, [])
        assert not bfcl.is_right(question, [("other", arguments), *calls[1:]])


def test_files_that_are_not_the_leaderboards(tmp_path: Path) -> None:
    with pytest.raises(datasets.DataError, match="possible_answer"):
        bfcl.read_questions(tmp_path)
    file = leaderboard(tmp_path, 3) / "BFCL_v3_simple.json"
    good = file.read_text()
    for bad, said in (("{", "line 1 is not JSON"), ('{"id": 1}', "line 1: a line needs")):
        file.write_text(f"{bad}\n{good}")
        with pytest.raises(datasets.DataError, match=said):
            bfcl.read_questions(file)
    file.write_text(good.replace('"content"', '"contents"', 2))
    with pytest.raises(datasets.DataError, match="simple_0"):
        bfcl.read_questions(file)
