"""Tables whose heads are explained, and figures: their units, and their files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

from experiments.columns import Column, Table, explained
from experiments.figures import ENGINES as COLOURS
from experiments.figures import write_figures
from experiments.ledger import Ledger
from experiments.running import run
from experiments.trial import NotRunError
from tests.experiments.reports import told
from workbench.peers.catalogue import ENGINES

pytestmark = pytest.mark.usefixtures("no_data")


def test_the_smallest_run_is_told(ledger: Ledger) -> None:
    """Those of other experiments are looked at by the tests that run them."""
    told(run("tools", "smoke", ledger=ledger), "not run")


def test_every_engine_has_a_colour_of_its_own() -> None:
    assert len({COLOURS[name] for name in ENGINES}) == len(ENGINES)


def test_heads_of_a_table_are_told_apart_and_explained() -> None:
    columns = (Column("a", "mask", "us", "making one mask"), Column("b", "bytes"), Column("c", "never there"))
    table = explained([{"b": 1, "a": 2.5}], columns)
    assert list(table.columns) == ["mask, us", "bytes"]
    assert table.attrs["help"] == {"mask, us": "making one mask"}
    with pytest.raises(ValueError, match="two columns are called 'mask, us'"):
        explained([], (*columns, Column("d", "mask, us")))


def test_rows_of_a_table_are_trials_or_groups_of_them() -> None:
    trials = pd.DataFrame({"status": ["ok", "ok", "error"], "kind": ["x", "x", "y"], "spent": [1.0, 3.0, 9.0]})
    each = Table("each", (Column("kind"), Column("twice", of=lambda one: 2 * one["spent"])))
    assert each.cells(trials).to_dict("list") == {"kind": ["x", "x"], "twice": [2.0, 6.0]}
    mean = Column("mean", of=lambda some: some["spent"].mean())
    grouped = Table("", (Column("kind"), mean), by=("kind",))
    assert grouped.cells(trials).to_dict("records") == [{"kind": "x", "mean": 2.0}]
    counted = Table("all", (Column("n"),), rows=lambda some: [{"n": len(some)}], unfinished=True)
    assert counted.shown(trials)["all"]["n"].tolist() == [3]


@pytest.mark.browser
def test_figures_are_drawn_as_svg(tmp_path: Path) -> None:
    figure = go.Figure()
    figure.add_scatter(x=[1, 2, 3], y=[4, 5, 6], name="a line with a name")
    figure.update_layout(height=700)
    try:
        (path,) = write_figures({"One figure": figure}, tmp_path / "figures")
    except NotRunError as reason:
        pytest.skip(str(reason))
    assert path.name == "one-figure.svg"
    text = path.read_text()
    assert text.startswith("<svg")
    assert 'height="700"' in text
