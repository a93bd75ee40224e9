"""The ledger: keys, replacement, refusal of what it could not give back, export."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.ledger import Ledger, LedgerError, canonical_json, params_hash
from experiments.machine import Machine, commit_name, describe_machine
from experiments.trial import Trial

HERE = Machine("host", "Linux", "cpu", 2, 8.0, "3.11", (("maskscope", "0"),))


def trial(params: dict[str, Any], metrics: dict[str, Any] | None = None, **changes: Any) -> Trial:
    made = Trial(params, "ok", metrics or {}, None, "2026-01-01T00:00:00+00:00", 0.5, 1.0, "abc", HERE)
    return replace(made, **changes)


def test_hash_depends_on_content_alone() -> None:
    assert params_hash({"a": 1, "b": [1, 2]}) == params_hash({"b": [1, 2], "a": 1})
    assert (
        len({params_hash(p) for p in ({"a": 1}, {"a": "1"}, {"a": True}, {"a": None}, {"a": 1.5}, {"b": 1}, {})}) == 7
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_canonical_text_reads_back(value: dict[str, Any]) -> None:
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": {1: 2}}, {"a": [{None: 2}]}, {"a": {1, 2}}, {"a": b"x"}])
def test_what_is_not_json_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(LedgerError):
        canonical_json(value)


def test_rows_come_back_flat_and_in_the_order_asked_for(ledger: Ledger) -> None:
    params = [{"x": x, "seed": 7} for x in range(4)]
    for entry in params:
        ledger.record("s", trial(entry, {"square": entry["x"] ** 2, "list": [entry["x"]]}))
    frame = ledger.frame("s", [params_hash(entry) for entry in reversed(params)])
    assert list(frame["square"]) == [9, 4, 1, 0]
    assert list(frame["list"]) == [[3], [2], [1], [0]]
    assert set(frame["git"]) == {"abc"}
    assert ledger.machines()[frame["machine"][0]] == HERE.to_dict()
    seeds = sqlite3.connect(ledger.path).execute("SELECT DISTINCT seed FROM trial").fetchall()
    assert seeds == [(7,)]


def test_same_parameters_replace_other_sweeps_stay(ledger: Ledger) -> None:
    ledger.record("s", trial({"x": 1}, {"y": 1}))
    ledger.record("t", trial({"x": 1}, {"y": 2}))
    ledger.record("s", trial({"x": 1}, {"y": 3}))
    assert list(ledger.frame("s")["y"]) == [3]
    assert list(ledger.frame("t")["y"]) == [2]
    assert ledger.forget("s", [params_hash({"x": 1}), params_hash({"x": 2})]) == 1
    assert ledger.frame("s").empty
    assert list(ledger.frame("t")["y"]) == [2]


@pytest.mark.parametrize(
    ("params", "metrics"),
    [({"x": 1}, {"x": 2}), ({"status": 1}, {}), ({"x": 1}, {"error": 2}), ({"x": 1}, {"y": float("inf")})],
)
def test_what_could_not_be_told_apart_is_not_written(
    ledger: Ledger, params: dict[str, Any], metrics: dict[str, Any]
) -> None:
    with pytest.raises(LedgerError):
        ledger.record("s", trial(params, metrics))
    assert ledger.frame("s").empty


def test_asking_for_a_trial_that_is_not_there(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="1 trials of 's'"):
        ledger.frame("s", [params_hash({"x": 1})])


def test_csv_has_every_row_with_nested_values_as_json(ledger: Ledger, tmp_path: Path) -> None:
    ledger.record("s", trial({"x": 1}, {"list": [1, 2], "text": "a"}))
    ledger.record("s", trial({"x": 2}, None, status="error", error="broke"))
    frame = pd.read_csv(ledger.export("s", tmp_path / "rows.csv"))
    assert json.loads(frame["list"][0]) == [1, 2]
    assert list(frame["status"]) == ["ok", "error"]


def test_export_says_what_it_cannot_do(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LedgerError, match="no trials"):
        ledger.export("s", tmp_path / "rows.csv")
    ledger.record("s", trial({"x": 1}))
    with pytest.raises(LedgerError, match=r"\.csv or \.parquet"):
        ledger.export("s", tmp_path / "rows.xlsx")
    for library in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(LedgerError, match="pip install pyarrow"):
        ledger.export("s", tmp_path / "rows.parquet")


def test_parquet_keeps_rows_and_types(ledger: Ledger, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install '.[distributed]'")
    for x in range(3):
        ledger.record("s", trial({"x": x, "half": x / 2, "mixed": x or "none"}, {"list": [x, {"y": x}]}))
    frame = pd.read_parquet(ledger.export("s", tmp_path / "rows.parquet"))
    assert list(frame["x"]) == [0, 1, 2]
    assert list(frame["half"]) == [0.0, 0.5, 1.0]
    assert [json.loads(cell) for cell in frame["list"]] == [[x, {"y": x}] for x in range(3)]
    assert [json.loads(cell) for cell in frame["mixed"]] == ["none", 1, 2]
    assert list(frame["git"]) == ["abc"] * 3


def test_other_files_are_not_taken_for_ledgers(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a database" * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(other)
    assert other.read_text() == "not a database" * 100
    with pytest.raises(LedgerError, match="no folder"):
        Ledger(tmp_path / "nowhere" / "ledger.sqlite")


@pytest.mark.parametrize(("layout", "problem"), [(99, "newer version .layout 99"), (-1, "another version .layout -1")])
def test_a_ledger_of_another_version_is_left_alone(layout: int, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {layout}")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=problem):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE notes (text TEXT)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="a database of something else"):
        Ledger(path)
    assert path.read_bytes() == before


def test_this_machine_is_described() -> None:
    found = describe_machine()
    assert found.cores >= 1
    assert found.memory_gb > 0
    assert {"maskscope", "numpy"} <= dict(found.versions).keys()
    assert json.loads(canonical_json(found.to_dict())) == found.to_dict()
    commit = commit_name()
    assert commit is None or len(commit.rstrip("+")) == 12


def test_what_a_recording_writes_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    (tmp_path / "experiments" / "results").mkdir(parents=True)
    results, code = tmp_path / "experiments" / "results" / "masks.json", tmp_path / "code.py"
    results.write_text("a")
    code.write_text("a")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "All")
    monkeypatch.setattr("experiments.machine.CHECKOUT", tmp_path)
    results.write_text("b")
    assert not str(commit_name.__wrapped__()).endswith("+")
    code.write_text("b")
    assert str(commit_name.__wrapped__()).endswith("+")
