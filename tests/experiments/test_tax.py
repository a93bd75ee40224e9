"""What form costs in meaning: questions, how answers are judged, the statistics, and all of it with a small model."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from scipy import stats

from experiments import bfcl, tax
from experiments.claims import judge as judge_claims
from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.sweep import run_sweep
from experiments.trial import NotRunError

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
QUESTION = bfcl.Question(
    "q", "Weather in Lund for 3 days?", {"weather": WEATHER}, [("weather", {"city": ["Lund"], "days": [3]})]
)


pytestmark = pytest.mark.usefixtures("no_data")


# -- questions ---------------------------------------------------------------------------------------------------------


def test_made_questions_can_be_answered() -> None:
    questions = tax.made_questions(40, seed=1)
    assert len({one.id for one in questions}) == 40
    assert len({one.text for one in questions}) > 30
    assert [one.text for one in tax.made_questions(10, seed=1)] == [one.text for one in questions[:10]]
    assert [one.text for one in tax.made_questions(40, seed=2)] != [one.text for one in questions]
    for question in questions:
        ((name, allowed),) = question.answers
        arguments = {key: values[0] for key, values in allowed.items()}
        jsonschema.validate(arguments, question.functions[name])
        assert tax.judged(question, json.dumps(arguments)) == {"called": True, "valid": True, "right": True}
        for value in arguments.values():
            if isinstance(value, str):
                assert value in question.text
        first = next(iter(arguments))
        changed = arguments | {first: 99 if isinstance(arguments[first], int) else "elsewhere"}
        assert not tax.judged(question, json.dumps(changed))["right"]


def joined(folder: Path, *, count: int = 3) -> Path:
    """Questions and answers in one file, as the data folder has them."""
    records = [
        {
            "id": f"simple_python_{number}",
            "question": [[{"role": "user", "content": f"Weather in Lund for {number} days?"}]],
            "functions": [{"name": "weather", "parameters": {**WEATHER, "type": "dict"}}],
            "answers": [{"weather": {"city": ["Lund"], "days": [number]}}],
        }
        for number in range(count)
    ]
    wind = {"name": "wind", "parameters": {"type": "dict", "properties": {}}}
    records.append({**records[0], "id": "multiple_0", "functions": [wind, *records[0]["functions"]]})
    records.append({**records[0], "id": "irrelevance_0", "answers": None})
    records.append({**records[0], "id": "simple_two", "answers": records[0]["answers"] * 2})
    file = folder / "questions.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    return file


def test_questions_from_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = joined(tmp_path)
    assert len(bfcl.read_questions(file)) == 5
    monkeypatch.setenv("MASKSCOPE_BFCL", str(file))
    (params, *_) = [one for one in tax.grid("smoke") if one["source"] != "made"]
    found = tax._questions(params | {"count": 10})
    assert {one.id for one in found} == {f"simple_python_{number}" for number in range(3)}
    assert [one.id for one in tax._questions(params | {"first": 1, "count": 1})] == [found[1].id]
    grid = tax.grid("smoke", categories=("simple", "multiple"), arms=tax.ARMS[:4])
    assert [one["source"] for one in grid[::4]] == [f"bfcl:{file}", f"bfcl multiple:{file}", "made"]
    (multiple,) = tax._questions(grid[4] | {"count": 10})
    assert tax._schema(multiple)["required"] == ["city", "days"]  # of the function that is to be called
    assert tax.judged(multiple, '{"city": "Lund", "days": 0}')["right"]
    with pytest.raises(ValueError, match="no arm 'free and easy'; known: free"):
        tax.grid("smoke", arms=("free and easy",))
    with pytest.raises(NotRunError, match="there is no file"):
        tax._questions({**params, "source": f"bfcl:{tmp_path / 'absent'}"})
    with pytest.raises(NotRunError, match="data folder"):
        tax._questions({**params, "source": "bfcl"})


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "called", "valid", "right"),
    [
        ('{"city": "Lund", "days": 3}', True, True, True),
        ('{"city": "lund", "days": 3}', True, True, True),
        ('{"city": "Oslo", "days": 3}', True, True, False),
        ('Sure! {"city": "Lund", "days": 3} There.', True, True, True),
        ('```json\n{"name": "weather", "arguments": {"city": "Lund", "days": 3}}\n```', True, True, True),
        ('{ no } {"city": "Lund", "days": 3}', True, True, True),
        ('{"city": "Lund", "days": "3"}', True, False, False),
        ('{"city": "Lund"}', True, False, False),
        ('{"city": "Lund", "days": 3, "more": 1}', True, False, False),
        ('{"city": "Lund", "days": 3', False, False, False),
        ("weather(Lund, 3)", False, False, False),
        ("", False, False, False),
    ],
)
def test_an_answer_is_judged(text: str, called: bool, valid: bool, right: bool) -> None:
    assert tax.judged(QUESTION, text) == {"called": called, "valid": valid, "right": right}


def test_arguments_that_are_called_so_are_no_wrapping() -> None:
    schema = {"type": "object", "properties": {"arguments": {"type": "object"}}}
    assert tax.read_answer('{"arguments": {"a": 1}}', schema) == {"arguments": {"a": 1}}


# -- statistics --------------------------------------------------------------------------------------------------------


def test_pairs_and_intervals() -> None:
    one = [True] * 9 + [False] * 1 + [True] * 20
    other = [False] * 9 + [True] * 1 + [True] * 20
    gained, lost, p = tax.mcnemar(one, other)
    assert (gained, lost) == (9, 1)
    assert p == pytest.approx(2 * sum(stats.binom.pmf(k, 10, 0.5) for k in (0, 1)))
    assert tax.mcnemar(one, one) == (0, 0, 1.0)
    with pytest.raises(ValueError, match="no pairs"):
        tax.mcnemar([True], [])
    low, high = tax.wilson(8, 10)
    assert (low, high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert tax.wilson(0, 10)[0] == pytest.approx(0)


def rows(**flags: dict[str, list[bool]]) -> pd.DataFrame:
    """A trial of ten made questions for each arm."""
    questions = tax.made_questions(10)
    found = []
    for arm in tax.ARMS:
        told = flags.get(arm, {})
        values = {name: told.get(name, [True] * 10) for name in tax.FLAGS} | {"cut": [False] * 10}
        answers = [{"id": one.id, "said": "", "text": "{}"} for one in questions]
        shared = {"arm": arm, "source": "made", "first": 0, "count": 10, "model": "demo", "seed": 0, "status": "ok"}
        found.append(shared | values | {"answers": answers, "tokens": [5] * 10, "seconds_each": 0.5})
    return pd.DataFrame(found)


def test_the_claims_can_fail() -> None:
    words = [one.word for one in judge_claims(tax.CLAIMS, rows())]
    assert words == ["held", "refuted", "refuted", "held", "held"]
    worse = [True] + [False] * 9
    frame = rows(
        both={"right": worse, "valid": [True] * 9 + [False]},
        schema={"right": [False] * 10},
        draft={"right": [False] * 10},
    )
    words = [one.word for one in judge_claims(tax.CLAIMS, frame)]
    assert words[0] == "refuted"
    assert words[1] == "undecided"  # nine valid answers are too few
    assert words[3] == "held"  # reasons gain
    assert (
        judge_claims(tax.CLAIMS, rows(both={"right": [True] * 10}, reason={"right": [False] * 10}))[3].word == "refuted"
    )


def test_tables_tell_of_pairs_and_of_what_is_valid_and_wrong() -> None:
    frame = rows(both={"right": [False] * 8 + [True] * 2})
    arms, pairs, listed = find_experiment("tax").tables(frame).values()
    assert list(arms["arm"]) == list(tax.ARMS)
    both = arms[arms["arm"] == "both"].iloc[0]
    assert both["right, % (95 %)"].startswith("20 (")
    assert both["valid, but wrong, % (95 %)"].startswith("80 (")
    pair = pairs[(pairs["arm"] == "both") & (pairs["against"] == "schema") & (pairs["flag"] == "right")].iloc[0]
    assert (pair["only it"], pair["only the other"]) == (0, 8)
    assert pair["McNemar's p"] < 0.05
    assert len(tax.wrong(frame)) == 8
    assert len(listed) == tax.SHOWN
    drawn = find_experiment("tax").plot(frame).data
    assert len(drawn) == 4
    assert sum(bar.y[list(bar.x[1]).index("both")] for bar in drawn) == pytest.approx(100)


# -- with a model ------------------------------------------------------------------------------------------------------


def test_every_arm_runs_and_a_wrong_answer_can_be_written_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(tax, "TOKENS", {"answer": 60, "reason": 20, "draft": 30})
    frame = run_sweep(tax.trial, tax.grid("smoke"), ledger=ledger, sweep="tax")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    assert list(frame["arm"]) == list(tax.ARMS)
    for row in frame.to_dict("records"):
        if row["arm"] in tax.BOUND:
            assert row["valid"] == [True, True]
            assert row["cut"] == [False, False]
        for answer in row["answers"]:
            assert bool(answer["said"]) == (row["arm"] in ("reason", "draft"))
    listed = tax.wrong(frame).to_dict("records")
    assert listed  # the demo model knows nothing of this
    for row in listed[:3]:
        made = tax.trace(row)
        assert made.text.strip() == row["text"]
        assert made.steps[0].allowed_count > 0


def test_the_grid_is_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tax.grid("full", limit=15)
    assert {(one["first"], one["count"]) for one in found} == {(0, 10)}
    monkeypatch.setenv("MASKSCOPE_BFCL", "questions.jsonl.gz")
    asked = [one for one in tax.grid("full", limit=15) if one["source"] != "made"]
    assert {(one["first"], one["count"]) for one in asked} == {(0, 10), (10, 5)}
    assert {one["arm"] for one in found} == set(tax.ARMS)
    assert {one["source"] for one in found} == {"made"}
