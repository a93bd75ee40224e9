"""The experiment on the service: its requests, its own judgement of answers, and a run of its smallest preset."""

from __future__ import annotations

import json
from dataclasses import astuple

import pandas as pd
import pytest

from experiments import service
from experiments.clients import Asked, Outcome, _fault, make_requests
from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.sweep import run_sweep

pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def test_requests_are_the_same_for_the_same_numbers() -> None:
    requests = make_requests(60, 20, 1)
    assert requests == make_requests(60, 20, 1)
    assert requests != make_requests(60, 20, 2)
    assert {asked.kind for asked in requests} == {"schema", "tools", "text", "regex", "broken", "leaving"}
    assert len({json.dumps(asked.body) for asked in requests}) <= 20


@pytest.mark.parametrize(
    ("asked", "text", "calls", "finish", "fault"),
    [
        (Asked("schema", {}, SCHEMA), '{"a": 1}', [], "stop", ""),
        (Asked("schema", {}, SCHEMA), '{"a": "1"}', [], "stop", "$.a: "),
        (Asked("schema", {}, SCHEMA), '{"a": 1', [], "stop", "not JSON"),
        (Asked("schema", {}, SCHEMA), '{"a": 1', [], "length", ""),
        (Asked("schema", {}, SCHEMA), '{"a": "', [], "length", "not the beginning"),
        (Asked("schema", {}, SCHEMA), '{"a": 1, "a": 1}', [], "stop", "not judged"),
        (Asked("regex", {}), "Rain, wind.", [], "stop", ""),
        (Asked("regex", {}), "Ra", [], "stop", "not of the pattern"),
        (Asked("tools", {}, {"f": SCHEMA}), "", [["f", '{"a": 1}']], "tool_calls", ""),
        (Asked("tools", {}, {"f": SCHEMA}), "", [["g", "{}"]], "tool_calls", "no tool"),
        (Asked("tools", {}, {"f": SCHEMA}), "hm", [], "stop", "no call"),
        (Asked("broken", {}), "x", [], "stop", "was taken"),
        (Asked("text", {}), "x", [], "", "finish_reason"),
    ],
)
def test_answers_are_judged(asked: Asked, text: str, calls: list[list[str]], finish: str, fault: str) -> None:
    found = _fault(asked, text, calls, finish)
    assert bool(found) == bool(fault)
    assert fault in found


def test_verdicts_see_what_was_lost() -> None:
    right = astuple(Outcome("text", "answered", True, 5.0, 1.0, 10, "stop"))
    lost = astuple(Outcome("text"))
    for outcomes, expected in (([right] * 6, [0.0, 0.0]), ([right] * 6 + [lost], [1.0, 1.0])):
        frame = pd.DataFrame([{"status": "ok", "outcomes": outcomes, "memory": [[1, 10], [2, 10]]}])
        effects = [claim.effect(frame) for claim in service.CLAIMS]
        assert [effect.size for effect in effects[:2] if effect is not None] == expected
        assert [effect.units for effect in effects[4:] if effect is not None] == [0]


@pytest.mark.long
def test_the_smallest_run(ledger: Ledger) -> None:
    frame = run_sweep(service.trial, service.grid("smoke"), ledger=ledger, sweep="service")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    (outcomes,) = frame["outcomes"]
    assert len(outcomes) == 24
    assert [row for row in outcomes if not row[2]] == []
    assert frame["left_over"].tolist() == [0]
    made = find_experiment("service").tables(frame)
    assert all(list(table.attrs["help"]) == list(table.columns) for table in made.values())
    assert len(find_experiment("service").plot(frame).data) >= 3
