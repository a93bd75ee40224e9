"""What the report of every experiment has: heads that are explained, and a figure with its units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from experiments.running import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go


def told(result: Result, *others: str) -> tuple[dict[str, pd.DataFrame], go.Figure]:
    """The tables and the figure of a run in which the status of each trial is "ok", or one of `others`."""
    assert set(result.frame["status"]) <= {"ok", *others}, result.frame["error"].dropna().tolist()
    assert "ok" in set(result.frame["status"])
    tables, figure = result.tables(), result.plot()
    for table in tables.values():
        assert list(table.attrs["help"]) == list(table.columns)
    assert figure.layout.yaxis.title.text
    assert "maskscope" in figure.layout.title.subtitle.text
    return tables, figure
