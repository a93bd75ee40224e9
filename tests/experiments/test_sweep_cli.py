"""Parts of a run, and ledgers that are merged, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.trial import Params, attempt
from tests.experiments import trials
from workbench.cli import app


def test_parts_are_merged_into_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is printed by itself; the run is known as a whole once both are in one ledger."""
    grid: list[Params] = [{"setting": "static", "x": x} for x in range(4)]
    module = find_experiment("reuse").module
    monkeypatch.setattr(module, "grid", lambda preset: grid)
    monkeypatch.setattr(module, "trial", trials.not_installed)
    books = [tmp_path / f"{part}.sqlite" for part in (1, 2)]
    for part, book in enumerate(books, 1):
        words = ["experiment", "run", "reuse", "--quick", "--part", f"{part}/2", "--ledger", str(book)]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        with Ledger(book) as ledger:
            assert len(ledger.frame("reuse")) == 2
            assert ledger.runs() == []
    whole = tmp_path / "whole.sqlite"
    done = CliRunner().invoke(app, ["experiment", "merge", *map(str, books), "--ledger", str(whole)])
    assert done.exit_code == 0, done.output
    assert "2 trials added" in done.output
    with Ledger(whole) as ledger:
        assert sorted(ledger.frame("reuse")["x"]) == [0, 1, 2, 3]
        assert [run["section"] for run in ledger.runs()] == ["reuse"]
        ledger.record("reuse", attempt(trials.square, {"x": 9}))
    again = CliRunner().invoke(app, ["experiment", "merge", str(books[0]), "--ledger", str(whole)])
    assert "0 trials added, 0 replaced, 2 known already" in again.output


@pytest.mark.parametrize("part", ["3/2", "0/2", "1", "a/b", "/"])
def test_parts_that_there_are_not(part: str) -> None:
    done = CliRunner().invoke(app, ["experiment", "run", "reuse", "--part", part], env={"COLUMNS": "300"})
    assert done.exit_code == 2
    assert "write K/N" in done.output


def test_merging_what_is_not_there(tmp_path: Path) -> None:
    words = ["experiment", "merge", str(tmp_path / "absent.sqlite"), "--ledger", str(tmp_path / "book.sqlite")]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "300"})
    assert done.exit_code == 2
    assert "no ledger" in done.output
