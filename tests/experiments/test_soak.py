"""Requests of strangers, and the soak that sends them: seconds of it, and that it finds what must never be."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from experiments import datasets, soak, soaking
from experiments.claims import judge
from experiments.held import are_full
from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.soaking import Load
from experiments.soaking import soak as run_soak
from experiments.strangers import HOSTILE, make_request
from experiments.sweep import run_sweep
from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from workbench.cli import app


@pytest.fixture
def info() -> TokenizerInfo:
    words = [bytes((value,)) for value in range(256)] + [b'{"', b'": ', b'", "', b"true", b"12"]
    return TokenizerInfo([*words, b"</s>"], stop_token_ids=[len(words)])


def test_requests_are_the_same_on_every_machine_and_of_three_kinds() -> None:
    made = [make_request(3, index) for index in range(300)]
    assert made == [make_request(3, index) for index in range(300)]
    assert made != [make_request(4, index) for index in range(300)]
    kinds = [request.kind for request in made]
    assert {kind: kinds.count(kind) > 20 for kind in ("valid", "broken", "hostile")} == dict.fromkeys(
        ("valid", "broken", "hostile"), True
    )
    for request in made:
        if request.kind != "broken":
            json.loads(request.text)
    assert len({request.text for request in made}) > 290
    assert len(HOSTILE) > 5


def test_seconds_of_it(info: TokenizerInfo) -> None:
    found = run_soak(info, Load(1.5, matchers=8, threads=4, window_s=0.5, given=['{"type": "integer"}']))
    assert found["tokens"] > 100
    assert found["requests"]["valid"] > 5
    assert {kind for kind, *_ in found["errors"]} <= {"refused", "limit", "dead end"}
    assert len(found["windows"]) >= 2
    assert sum(window["tokens"] for window in found["windows"]) <= found["tokens"]
    held = found["windows"][-1]["held"]
    assert held["grammars"] > 0
    assert held["heaps, in use"] > held["token sets"] > 0
    mask = found["times"]["mask, processor"]
    assert 0 < mask["p50"] <= mask["p99"] <= mask["p99.9"] <= 1.04 * mask["max"]
    assert sum(found["requests"].values()) == found["times"]["compile"]["n"]


def test_garbage_collections_are_counted_by_themselves(info: TokenizerInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    class Collecting:
        def __init__(self, compiled: Any) -> None:
            self._inner = GrammarMatcher(compiled)
            self.fill_next_token_bitmask = self._inner.fill_next_token_bitmask
            self.is_terminated = self._inner.is_terminated
            self.num_steps = 0

        def accept_token(self, token: int) -> bool:
            gc.collect()
            return bool(self._inner.accept_token(token))

    monkeypatch.setattr("experiments.soaking.GrammarMatcher", Collecting)
    before = list(gc.callbacks)
    times = run_soak(info, Load(1.0, matchers=1, threads=1, window_s=0.1))["times"]
    assert gc.callbacks == before
    assert times["garbage collection, processor"]["n"] >= times["accept"]["n"]
    assert times["accept, processor"]["p50"] < times["garbage collection, processor"]["p50"]


def test_what_must_never_be_is_counted(info: TokenizerInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: GrammarCompiler, schema: str) -> Any:
        raise KeyError("not an error on purpose")

    monkeypatch.setattr(GrammarCompiler, "compile_json_schema", fail)
    found = run_soak(info, Load(0.3, matchers=2, threads=2, window_s=0.1))
    assert {kind for kind, *_ in found["errors"]} == {"not documented"}
    assert sum(window["never"] for window in found["windows"]) > 0
    assert all("not an error on purpose" in sample for *_, sample in found["errors"])


def test_a_mask_that_is_too_wide_is_counted_and_ends_with_1(
    info: TokenizerInfo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Refusing:
        def __init__(self, compiled: Any) -> None:
            self._inner = GrammarMatcher(compiled)
            self.text = b""

        def fill_next_token_bitmask(self, row: Any) -> bool:
            return bool(self._inner.fill_next_token_bitmask(row))

        def accept_token(self, token: int) -> bool:
            return False

    monkeypatch.setattr("experiments.soaking.GrammarMatcher", Refusing)
    found = run_soak(info, Load(0.5, matchers=2, threads=1, window_s=0.1))
    assert "mask too wide" in {kind for kind, *_ in found["errors"]}
    assert command(tmp_path, "minutes=0.015", "matchers=2", "threads=1").exit_code == 1


def test_the_experiment_and_its_claims(ledger: Ledger) -> None:
    frame = run_sweep(soak.trial, soak.grid("smoke"), ledger=ledger, sweep="soak")
    assert set(frame["status"]) == {"ok"}, frame["error"].dropna().tolist()
    tables = find_experiment("soak").tables(frame)
    assert tables["The soak"]["must never be"].tolist() == [0]
    assert {"mask", "compile", "accept"} <= set(tables["Times in it, us"]["metric"])
    assert (tables["What became of requests"]["kind"] == "asked").sum() >= 2
    assert len(find_experiment("soak").plot(frame).data) == 2
    assert next(str(verdict.word) for verdict in judge(soak.CLAIMS, frame)) in ("held", "undecided")


def test_growth_counts_from_when_caches_are_full() -> None:
    def window(resident: int, grammars: int, full: bool) -> dict[str, Any]:
        return {"seconds": 30.0, "resident": resident, "full": full, "held": {"grammars": grammars}}

    filling = [window(100_000_000 * n, 1_000_000 * n, False) for n in range(4)]
    full = [window(400_000_000 + 1_000_000 * n, 4_000_000, True) for n in range(4)]
    windows = [*filling, *full]
    assert soak._full_after(windows) == 120
    assert soak._growth(windows, "resident") == pytest.approx(2_000_000)
    assert soak._growth(windows, "grammars") == pytest.approx(0, abs=1)
    assert [row["growth"] for row in soak._holders(windows)] == [2.0, 0.0]
    assert np.isnan(soak._growth(filling, "resident"))
    found = pd.DataFrame([{"status": "ok", "windows": windows}])
    assert soak._grown(found).size == pytest.approx(2)
    assert soak._grown(pd.DataFrame([{"status": "ok", "windows": filling}])).units == 0


def test_caches_are_full_near_their_budgets() -> None:
    budgets = {"cache_bytes": 100, "pool_bytes": 50}
    assert are_full({"grammars": 90, "token sets": 40}, **budgets)
    assert not are_full({"grammars": 60, "token sets": 40}, **budgets)
    assert not are_full({"grammars": 90, "token sets": 30}, **budgets)
    assert are_full({"grammars": 90}, **budgets)  # without a cross-grammar cache


def command(folder: Path, *options: str) -> Result:
    words = ["experiment", "run", "soak", "--json", "--ledger", str(folder / "l.sqlite")]
    for option in (*options, f"vocabulary={datasets.DEMO}"):
        words += ["--set", option]
    return CliRunner().invoke(app, words)


def test_the_command(tmp_path: Path) -> None:
    done = command(tmp_path, "minutes=0.02", "matchers=4", "threads=2")
    assert done.exit_code == 0, done.output
    assert "tokens/s" in done.stderr
    (counted,) = json.loads(done.stdout)["trials"]
    assert counted["tokens"] > 0
    assert {"windows", "errors", "times", "requests"} <= set(counted)


def test_a_window_tells_only_what_was_timed_in_it() -> None:
    before = soaking._Counts()
    before.note("mask", 2_000)
    after = soaking._sum([before])
    after.note("accept", 3_000)
    window = soaking._window(before, after, 1.0)
    assert set(window.times) == {"accept"}
    assert window.times["accept"]["n"] == 1
    assert 3 <= window.times["accept"]["max"] < 3.2
