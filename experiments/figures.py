"""What all figures have in common: one colour for each engine, labels of logarithmic axes, files.

Their files are drawn by the same plotly in a headless Chromium.

Read on: `running.py`, which gives every figure its title.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from experiments.jupyter import chromium_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

ENGINES: Final[Mapping[str, str]] = {
    "ours": "#2f6db5",
    "ours, grammars remembered": "#7fb2e5",
    "ours, made tools alone": "#7fb2e5",
    "xgrammar": "#b5402f",
    "xgrammar-default": "#e08a7d",
    "llguidance": "#2f8f5b",
    "glrmask": "#c79a00",
    "maskforge": "#7a5195",
    "outlines": "#8c8c8c",
}
"""Colours of the engines that are compared, the same in every figure."""
BY_ENGINE: Final[Mapping[str, object]] = {"color": "engine", "color_discrete_map": ENGINES}
LOG: Final[Mapping[str, object]] = {"log_x": True, "log_y": True, "markers": True}
"""Of `plotly.express`: a colour for each engine; both axes logarithmic."""
BLUE, RED, GREEN, YELLOW = "#2f6db5", "#b5402f", "#2f8f5b", "#c79a00"
SIZE: Final = (900, 520)
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


def write_figures(figures: Mapping[str, go.Figure], folder: Path) -> list[Path]:
    """Each figure as `NAME.svg` in `folder`; `NotRunError` without Playwright or a Chromium."""
    written = []
    with chromium_page("draw figures with") as tab:
        folder.mkdir(parents=True, exist_ok=True)
        tab.set_content("<div id=figure></div>")
        tab.add_script_tag(content=get_plotlyjs())
        for name, figure in figures.items():
            path = folder / (re.sub(r"\W+", "-", name.lower()) + ".svg")
            path.write_bytes(_svg(tab, figure))
            written.append(path)
    return written


def _svg(tab: Page, figure: go.Figure) -> bytes:
    width, height = SIZE
    height = max(height, int(figure.layout.height or 0))
    options = {"format": "svg", "width": width, "height": height}
    url = tab.evaluate(
        "async ([figure, options]) => Plotly.toImage(JSON.parse(figure), options)", [figure.to_json(), options]
    )
    head, _, data = str(url).partition(",")
    return b64decode(data) if head.endswith(";base64") else unquote(data).encode()
