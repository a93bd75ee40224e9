"""Experiments from a notebook: `running.run`, the presets, and steps on a GPU."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from experiments import gpu
from experiments.claims import judge
from experiments.ledger import Ledger
from experiments.registry import CATALOGUE, find_experiment
from experiments.running import PRESET, run
from tests.experiments.reports import told


def test_smoke_is_small_and_needs_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever data folder there is: synthetic schemas and the demo model's vocabulary."""
    for name in CATALOGUE:
        module: Any = find_experiment(name).module
        smoke, full = module.grid("smoke"), module.grid("full")
        assert len(smoke) <= len(full)
        assert {params.get("vocabulary", "demo") for params in smoke} <= {"demo", "tekken"}  # both are installed
        assert {params.get("file", "")[:10] for params in smoke} <= {"", "synthetic:"}
        with pytest.raises(KeyError):
            module.grid("quck")


def test_run_takes_its_preset_from_the_environment(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    monkeypatch.setenv(PRESET, "smoke")
    result = run("reuse", ledger=ledger)
    assert len(result.frame) == len(find_experiment("reuse").module.grid("smoke"))
    assert len(result.table())
    assert "n = 4 trials" in told(result)[1].layout.title.text.replace("\xa0", " ")
    assert "Machine:" in result.origin
    seconds = result.frame["seconds"].tolist()
    assert run("reuse", ledger=ledger).frame["seconds"].tolist() == seconds  # nothing was measured again
    assert repr(result) == "<Result of reuse: 4 ok>"
    monkeypatch.setenv(PRESET, "enormous")
    with pytest.raises(ValueError, match="known: smoke, quick, full"):
        run("reuse")
    with pytest.raises(KeyError, match="known: ablation"):
        run("nonesuch")


def test_a_run_without_a_ledger_leaves_no_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    grid = find_experiment("parsers").module.grid("smoke")
    result = run("parsers", grid=[params for params in grid if params["engine"] in ("earley, all", "pushdown, all")])
    assert list(told(result)[0]) == [
        "Earley and pushdown automaton with the same mechanisms",
        "Each variant on the schemas it took, us",
        "Verdicts",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_that_is_not_there_is_the_reason() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    found = run("gpu", grid=gpu.grid("full")[:1])
    assert "no GPU here" in found.tables()["Not run, or failed"]["reason"][0]


def test_a_claim_about_a_gpu_is_judged_by_its_steps() -> None:
    ns = {"free": [1000.0] * 24, "ours": [1005.0] * 24, "rows": [2000.0] * 24, "llguidance": [1050.0] * 24}
    row = {"status": "ok", "part": "steps", "device": "cuda", "source": "schemas", "rows": 16, "row_bytes": 16_384}
    row |= {"loops": list(ns), "peers": ["llguidance"], "pass_ns": [900.0]}
    row |= {"ns": {"cold": ns, "warm": ns}, "bytes": {"cold": [9999] * 24, "warm": [64] * 24}}
    frame = pd.DataFrame([row])
    assert [verdict.word for verdict in judge(gpu.CLAIMS, frame)] == ["held"] * 3
    slow = row | {"ns": {"cold": ns, "warm": ns | {"ours": [1040.0] * 24}}, "bytes": {"cold": [0], "warm": [6400] * 24}}
    assert [verdict.word for verdict in judge(gpu.CLAIMS, pd.DataFrame([row, slow]))] == ["refuted"] * 3
