"""What became of each schema: the statuses, the CSV, and the tables by split and keyword."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import masks, statuses
from experiments.ledger import Ledger, params_hash
from experiments.measurement import in_turns
from experiments.registry import find_experiment
from experiments.statuses import by_keyword, by_split, status_of
from experiments.sweep import run_sweep
from workbench.cli import app
from workbench.peers.catalogue import installed


def walked(accepted: bool, **more: Any) -> dict[str, Any]:
    return {"accepted": accepted, "cut": False, "failure": None, "mask_ns": [1000, 3000], "accept_ns": [1]} | more


def row(*pairs: tuple[bool, bool], **more: Any) -> dict[str, Any]:
    """A trial of texts that are valid, and accepted."""
    about = {"engine": "ours", "file": "synthetic:0", "index": 0, "status": "ok", "id": "s", "compiled": True}
    about |= {"compile_ns": 5000, "first_mask_ns": 1000.0, "error": None, "valid": [valid for valid, _ in pairs]}
    return about | {"cold": [walked(accepted) for _, accepted in pairs]} | more


@pytest.mark.parametrize(
    ("trial", "status"),
    [
        (row((True, True), (False, False)), "right"),
        (row(), "right"),
        (row((True, True), (False, True)), "wrong acceptance"),
        (row((True, False)), "wrong rejection"),
        (row((True, False), (False, True)), "wrong acceptance and wrong rejection"),
        (row((True, True), cold=[walked(False, cut=True)]), "unjudged"),
        (row((True, True), cold=[walked(False, failure="lexer")]), "unjudged"),
        (row(compiled=False, refusal="'not' is\nnot supported"), "refused: 'not' is not supported"),
        (row(status="error", error="TrialTimeoutError: more than 60 s"), "time limit"),
        (row(status="error", error="WorkerDiedError: signal 11\nmore"), "failed: WorkerDiedError: signal 11"),
        (row(status="not run", error="not installed"), "not run"),
    ],
)
def test_the_status_of_a_trial(trial: dict[str, Any], status: str) -> None:
    assert status_of(trial) == status


def test_one_row_a_schema_with_every_engine() -> None:
    found = statuses.statuses(
        pd.DataFrame(
            [
                row((True, True), index=1),
                row((True, False), engine="peer", index=1),
                row((True, True), index=0, id="first"),
            ]
        )
    )
    assert found[["index", "id", "ours", "peer"]].values.tolist() == [
        [0, "first", "right", "not run"],
        [1, "s", "right", "wrong rejection"],
    ]
    assert "type" in found["keywords"][0].split(" ")  # of the schema that is named


def test_names_of_properties_are_no_keywords(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = '{"properties": {"maxItems": {"const": {"minimum": 1}}}, "items": [{"$ref": "#"}], "$defs": {"not": true}}'
    monkeypatch.setattr(statuses, "load_case", lambda name: masks.datasets.Case("x", schema, ()))
    statuses._words.cache_clear()
    assert statuses._words("f", 0) == ("$defs", "$ref", "const", "items", "properties")
    statuses._words.cache_clear()


def test_tables_by_split_and_by_keyword(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statuses, "FEWEST", 1)
    frame = pd.DataFrame(
        [
            row((True, True), file="synthetic:0"),
            row((False, True), file="synthetic:1"),
            row(file="synthetic:1", index=1, compiled=False, refusal="no", first_mask_ns=None),
        ]
    )
    split = {told["split"]: told for told in by_split(frame)}
    assert [split[name]["schemas"] for name in ("all", "synthetic:0", "synthetic:1")] == [3, 1, 2]
    assert (split["all"]["acceptances"], split["all"]["refused"], split["synthetic:0"]["right"]) == (1, 1, 100.0)
    assert (split["all"]["first"], split["all"]["mask"], split["all"]["mask max"]) == (6.0, 2.0, 3.0)
    keyword = {told["keyword"]: told for told in by_keyword(frame)}
    assert keyword["type"]["schemas"] == 3
    assert keyword["type"]["right"] == pytest.approx(100 / 3)


def test_a_small_run_writes_the_csv(tmp_path: Path) -> None:
    book, out = tmp_path / "book.sqlite", tmp_path / "schemas.csv"
    engines = [name for name in ("ours", "llguidance") if name in installed()]
    cases = [{"file": "synthetic:0", "index": index} for index in range(3)]
    grid = in_turns("engine", engines, cases, {"vocabulary": "demo", "max_tokens": None})
    with Ledger(book) as ledger:
        frame = run_sweep(masks.trial, grid, ledger=ledger, sweep="masks")
        ledger.record_run("masks", "masks", "experiment run masks", [params_hash(params) for params in grid])
    done = CliRunner().invoke(app, ["experiment", "schemas", str(out), "--ledger", str(book)])
    assert done.exit_code == 0, done.output
    written = pd.read_csv(out)
    assert written["index"].tolist() == [0, 1, 2]
    assert written["ours"].tolist() == ["right"] * 3
    tables = find_experiment("masks").tables(frame)
    assert tables["As MaskBench tells it, by split"]["schemas"].tolist()[0] == 3
    for words, message in (
        ([str(tmp_path / "x.json")], "must end in .csv"),
        ([str(out), "--section", "nonesuch"], "known: masks"),
    ):
        wrong = CliRunner().invoke(app, ["experiment", "schemas", *words, "--ledger", str(book)])
        assert wrong.exit_code == 2
        assert message in " ".join(wrong.output.replace("│", " ").split())
