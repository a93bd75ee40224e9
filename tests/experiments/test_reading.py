"""From rows to tables: tails, the common subset, verdicts, Markdown."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from experiments.ledger import Ledger
from experiments.measurement import mistakes, samples, verdicts
from experiments.report import print_tables, provenance, reasons, show, shown_table, to_markdown
from experiments.sweep import run_sweep
from experiments.tails import compare, describe
from tests.experiments import trials


def test_tails_are_measured_values_in_microseconds() -> None:
    times = list(range(1000, 1_002_000, 1000))  # 1 us to 1001 us
    found = describe(times[::-1])
    assert found == {"n": 1001, "avg": 501, "p50": 501, "p90": 901, "p99": 991, "p99.9": 1000, "max": 1001}
    assert math.isnan(describe([])["p50"])
    few = describe([5000, 6000])
    assert (few["p50"], few["max"]) == (6, 6)
    assert all(math.isnan(few[name]) for name in ("p90", "p99", "p99.9"))  # the maximum by another name


def test_ratios_are_taken_against_the_best_peer_of_each_statistic() -> None:
    table = compare({"mask": {"ours": [1000, 1000], "a": [4000, 4000], "b": [2000, 9000]}, "alone": {"ours": [1]}})
    ratio = table[table["engine"] == "ours / best peer"].iloc[0]
    assert ratio["p50"] == 1 / 4  # "higher" median of b is 9
    assert ratio["max"] == 1 / 4
    assert ratio["avg"] == 1 / 4
    assert list(table[table["metric"] == "alone"]["engine"]) == ["ours"]
    assert compare({}).empty


def one_walk(mask: list[int], accepted: bool = True, **changes: Any) -> dict[str, Any]:
    made = {
        "tokens": len(mask) - 1, "taken": len(mask) - 1, "accepted": accepted, "cut": False, "hidden": 0,
        "false_hope": 0, "failure": None, "fresh": "", "mask_ns": mask, "accept_ns": mask[:-1],
    }  # fmt: skip
    return made | changes


def row(engine: str, index: int, cold: list[dict[str, Any]], valid: list[bool], **changes: Any) -> dict[str, Any]:
    warm = [one | {"mask_ns": [1] * len(one["mask_ns"])} for one in cold]
    made = {
        "engine": engine, "index": index, "status": "ok", "compiled": True, "compile_ns": 100 * index,
        "first_mask_ns": 7, "cold": cold, "warm": warm, "valid": valid, "error": None,
    }  # fmt: skip
    return made | changes


ROWS = pd.DataFrame(
    [
        row("ours", 1, [one_walk([10, 20, 30], fresh="101"), one_walk([40, 50])], [True, False]),
        row("peer", 1, [one_walk([11, 21], accepted=False), one_walk([41, 51, 61], accepted=False)], [True, False]),
        row("ours", 2, [one_walk([70])], [True]),
        {"engine": "peer", "index": 2, "status": "ok", "compiled": False, "compile_ns": 5},
        {"engine": "peer", "index": 3, "status": "error", "error": "WorkerDiedError: x"},
        row("ours", 3, [one_walk([80], failure="dead"), one_walk([90], cut=True)], [True, True]),
        {"engine": "absent", "index": 1, "status": "not run", "error": "not installed"},
    ]
)


def test_common_subset_is_the_same_tokens_for_all() -> None:
    common = samples(ROWS, ["index"], common=True)
    assert common["compile"]["ours"].tolist() == common["compile"]["peer"].tolist() == [100]
    assert common["mask"]["ours"].tolist() == [10, 20, 40, 50]
    assert common["mask"]["peer"].tolist() == [11, 21, 41, 51]
    assert common["accept"]["ours"].tolist() == [10, 40]
    assert common["mask + accept"]["ours"].tolist() == [20, 80]
    assert common["mask, first visits"]["ours"].tolist() == [10]
    assert len(common["mask, seen before"]["ours"]) == 4
    assert common["time to first mask"]["peer"].tolist() == [107]


def test_own_subset_is_everything_an_engine_did() -> None:
    own = samples(ROWS, ["index"], common=False)
    assert own["mask"]["ours"].tolist() == [10, 20, 30, 40, 50, 70, 80, 90]
    assert own["mask"]["peer"].tolist() == [11, 21, 41, 51, 61]
    assert own["mask, first visits"] == {"ours": pytest.approx([10, 30])}
    assert "absent" not in own["mask"]


def test_verdicts_count_both_kinds_of_mistakes() -> None:
    found = verdicts(ROWS).set_index("engine")
    ours, peer = found.loc["ours"], found.loc["peer"]
    assert (ours["inputs"], ours["compiled"], ours["valid refused"], ours["invalid accepted"]) == (3, 3, 0, 1)
    assert (ours["engine errors"], ours["unjudged"], ours["wrong inputs"]) == (1, 1, 1)
    assert (peer["inputs"], peer["compiled"], peer["refused"], peer["failed"]) == (3, 1, 1, 1)
    assert (peer["valid refused"], peer["invalid accepted"], peer["wrong inputs"]) == (1, 0, 1)
    assert found.loc["absent", "not run"] == 1


def test_mistakes_are_named() -> None:
    found = mistakes(ROWS, ["index"])
    assert found.to_dict("records") == [
        {"engine": "ours", "index": 1, "text": 1, "verdict": "invalid, accepted", "taken": "1 of 1"},
        {"engine": "peer", "index": 1, "text": 0, "verdict": "valid, refused", "taken": "1 of 1"},
    ]
    assert len(mistakes(ROWS, ["index"], most=1)) == 1


def test_numbers_are_shown_with_three_digits() -> None:
    shown = [show(value) for value in (0.012345, 1.5, 12.345, 1234.5, 7.0, float("nan"), None, True, "x", np.int64(12))]
    assert shown == ["0.0123", "1.50", "12.3", "1,234", "7", "", "", "True", "x", "12"]


def test_markdown_is_a_table() -> None:
    text = to_markdown(shown_table("t", pd.DataFrame({"name": ["a|b", "c"], "value": [1.0, float("nan")]})))
    assert text.splitlines() == ["| name | value |", "| --- | ---: |", "| a\\|b | 1 |", "| c |  |"]


def test_tables_are_printed_whole() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    print_tables({"times": compare({"mask": {"ours": [123_456_000], "a": [1]}}), "none": pd.DataFrame()}, console)
    text = console.export_text()
    assert "123,456" in text
    assert "ours / a" in text  # the only peer by its name
    assert "none: nothing was measured" in text


def test_a_run_says_where_it_comes_from(ledger: Ledger) -> None:
    frame = run_sweep(trials.square, [{"x": 3, "seed": 4}], ledger=ledger, sweep="s")
    origin = provenance(frame, ledger, "python -m workbench experiment run s")
    for word in ("Command: `python -m workbench", "Date: 20", "Seed: 4", "Versions: Python 3", "numpy", "1 ok"):
        assert word in origin


def test_reasons_are_counted(ledger: Ledger) -> None:
    grid = [{"engine": "e", "kind": kind, "n": n} for n in range(2) for kind in ("raise", "not run", "fine")]
    frame = run_sweep(trials.trouble, grid, ledger=ledger, sweep="s")
    found = {(row["status"], row["reason"]): row["trials"] for row in reasons(frame).to_dict("records")}
    assert found == {("error", "ValueError: no good"): 2, ("not run", "not installed"): 2}
