"""The experiment on a small model behind the server: what it counts, and a run of its smallest preset."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from experiments import small_model
from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.sweep import run_sweep

pytest.importorskip("uvicorn")
pytest.importorskip("jsonschema")


def test_what_is_counted() -> None:
    """Unfinished answers, finished ones that are no instances, wrong tools, gaps and speeds reach their claims."""
    answers = {
        "kind": ["a"] * 4,
        "valid": [True, False, False, True],
        "right": [True, False, False, True],
        "tokens": [9] * 4,
    }
    finished = {"finished": [True, True, False, True]}
    trials = [
        {"part": "schemas", "temperature": 1, **answers, **finished},
        {"part": "extraction", **answers, "finished": [True] * 4},
        {"part": "choice", **answers, "finished": [True] * 4},
        {"part": "long prompt", "gaps": [0.1, 0.7], "kept": 3_000_000},
        {"part": "speed", "tokens": [90, 100], "took": [1.0, 1.0]},
    ]
    frame = pd.DataFrame([{"status": "ok", **one} for one in trials])
    effects = [claim.effect(frame) for claim in small_model.CLAIMS]
    assert [effect and round(effect.size, 3) for effect in effects] == [0.25, 1.0, 0.5, 0.5, 0.7, 0.9]
    made = find_experiment("small-model").tables(frame)
    assert made["Answers"]["finished answers"].tolist() == [3, 4, 4]
    assert made["Sixteen rows"]["constrained / free"].tolist() == [0.9]
    assert all(list(table.attrs["help"]) == list(table.columns) for table in made.values())
    assert len(find_experiment("small-model").plot(frame).data) == 2


@pytest.mark.parametrize(
    ("text", "valid"), [('{"name": "A", "age": 3, "city": "B"}', True), ('{"name": "A"}', False), ('{"name', False)]
)
def test_the_judge_reads_whole_instances(text: str, valid: bool) -> None:
    found, value = small_model._judged(small_model.PERSON, text)
    assert found is valid
    assert value == (None if text == '{"name' else json.loads(text))


@pytest.mark.long
def test_the_smallest_run(ledger: Ledger) -> None:
    frame = run_sweep(small_model.trial, small_model.grid("smoke", model="demo"), ledger=ledger, sweep="small-model")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    assert all(flag for one in frame["finished"].dropna() for flag in one)
    assert len(frame["gaps"].dropna()) == len(frame["kept"].dropna()) == 1
