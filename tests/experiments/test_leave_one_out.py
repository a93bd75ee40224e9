"""What a mechanism buys counts beyond what leaving nothing out shows, and every trial of the experiment runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import leave_one_out
from experiments.leave_one_out import WORKLOADS, WORTH_TABLE, Cell, Pair
from experiments.ledger import Ledger
from experiments.mechanisms import MECHANISMS, NOTHING
from experiments.running import run

HERE: Cell = ("demo", "schemas", "mask + accept")
THERE: Cell = ("demo", "schemas", "compile")


pytestmark = pytest.mark.usefixtures("no_data")


def pair(times: float, noise: float, *, inputs: int = 40, seed: int = 1) -> Pair:
    """Without the mechanism every call takes `times` as long, give or take `noise`."""
    random = np.random.default_rng(seed)
    whole = [random.uniform(1.0, 2.0, size=20) for _ in range(inputs)]
    return Pair(whole, [one * times * random.normal(1.0, noise, size=20) for one in whole])


def test_a_gain_counts_beyond_what_nothing_shows_at_the_same_place() -> None:
    names = [mechanism.name for mechanism in MECHANISMS[:3]]
    cells = {
        NOTHING: {HERE: pair(1.0, 0.01), THERE: pair(1.0, 0.6)},
        names[0]: {HERE: pair(1.3, 0.01), THERE: pair(1.0, 0.6)},  # clear
        names[1]: {HERE: pair(1.0, 0.01), THERE: pair(1.06, 0.6, seed=2)},  # where nothing differs as much
        names[2]: {HERE: pair(1.02, 0.001), THERE: pair(1.0, 0.01)},  # clear, and too little
    }
    effects = {name: {cell: one.effect(cell[2]) for cell, one in found.items()} for name, found in cells.items()}
    table = pd.DataFrame(leave_one_out._worth(effects)).set_index("mechanism")
    assert table.loc[names[0], "worth"] == "yes"
    assert table.loc[names[0], "there"] == "mask + accept, schemas, demo"
    assert table.loc[names[1], "worth"] in ("within the error", "below 1.05")
    assert table.loc[names[2], "worth"] == "below 1.05"
    assert table.loc[NOTHING, "worth"] != "yes"
    assert (table["low"] <= table["gain"]).all()
    assert (table.loc[names, "error"] >= 1.0).all()


def test_few_inputs_tell_nothing() -> None:
    effects = {name: {HERE: pair(2.0, 0.1, inputs=4).effect(HERE[2])} for name in (NOTHING, MECHANISMS[0].name)}
    assert leave_one_out._worth(effects) == []


def test_the_tail_is_that_of_all_calls() -> None:
    whole = [np.arange(1.0, 1001.0), np.full(1000, 2.0)]
    slow = [one.copy() for one in whole]
    slow[0][-5:] *= 3
    one = Pair(whole, slow)
    assert one.effect("mask p99.9").size == pytest.approx(3.0, rel=0.01)
    assert one.effect("mask").size == pytest.approx(1.0, abs=0.03)


def test_trials_run_both_sides(ledger: Ledger) -> None:
    grid = leave_one_out.grid("smoke")
    chosen = [trial for trial in grid if trial["left_out"] in (NOTHING, "direct walks", "lazy lowering")]
    result = run("leave-one-out", ledger=ledger, grid=chosen)
    assert set(result.frame["status"]) == {"ok"}, result.frame["error"].dropna().tolist()
    tables = result.tables()
    assert next(iter(tables[WORTH_TABLE.caption].columns)) == "mechanism"
    for workload in WORKLOADS:
        table = tables[f"demo, {workload}: times with each mechanism left out"]
        assert len(table) == 3
        assert (table["mask, us"] > 0).all()
