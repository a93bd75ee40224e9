"""What all figures have in common: one colour for each engine, and logarithmic axes whose labels are whole decades.

Read on: `running.py`, which gives every figure its title, `page.py`, which shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import plotly.graph_objects as go

__all__ = ["ENGINES", "label_decades"]

ENGINES: Final[Mapping[str, str]] = {
    "ours": "#2f6db5",
    "ours, all logits": "#7fb2e5",
    "ours, grammars remembered": "#7fb2e5",
    "ours, made tools alone": "#7fb2e5",
    "xgrammar": "#b5402f",
    "llguidance": "#2f8f5b",
    "glrmask": "#c79a00",
    "maskforge": "#7a5195",
}
"""Colours of the engines that are compared, the same in every figure."""
FEWEST: Final = 1.5  # decades of an axis below which the places in between need labels, too


def label_decades(figure: go.Figure) -> None:
    """Label logarithmic axes at the powers of ten alone, where they span enough of them.

    Otherwise plotly writes "2" and "5" in between, which read as other numbers.
    """
    for name in figure.layout:
        if not name.startswith(("xaxis", "yaxis")):
            continue
        axis = figure.layout[name]
        if axis.type != "log" or axis.dtick is not None or axis.tickvals is not None:
            continue
        letter, number = name[0], name[len("xaxis") :]
        drawn = [trace[letter] for trace in figure.data if (trace[f"{letter}axis"] or letter) == f"{letter}{number}"]
        values = np.concatenate(
            [np.empty(0), *(np.asarray(one, dtype=float).ravel() for one in drawn if one is not None)]
        )
        values = values[np.isfinite(values) & (values > 0)]
        if values.size and np.log10(values.max() / values.min()) >= FEWEST:
            axis.dtick = 1
