"""The report: one HTML page of all runs in a ledger, to be read offline, and its figures as SVG.

For each run: the verdicts on its claims with the paper's numbers, the figure (plotly, which the page brings along), the
tables with a legend of their heads, and where the numbers come from.  Static figures are drawn by the same plotly in a
headless Chromium.

Read on: `report.html` (the template), `report.py` (the same as Markdown), `columns.py` (what heads mean).
"""

from __future__ import annotations

import html
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import jinja2
import pandas as pd
import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs

from experiments.claims import ClaimVerdict, Word
from experiments.columns import finished
from experiments.ledger import Ledger
from experiments.registry import find_experiment
from experiments.report import provenance, show
from experiments.running import Result
from experiments.trial import NotRunError
from workbench.cli.doctor import find_chromium

__all__ = ["Section", "page", "sections", "write_figures"]

SIZE: Final = (900, 520)
TITLE_HEIGHT: Final = 70
PANEL_REM: Final = 16


class Section:
    """One run, as `report.html` shows it."""

    def __init__(self, name: str, result: Result) -> None:
        self.name, self.experiment, self.origin = name, result.experiment, result.origin
        self.anchor = _anchor(name)
        self.verdicts = result.verdicts()
        self.word = together(self.verdicts)
        self.tables = {caption: Shown(table) for caption, table in result.tables().items()}
        self.caption = result.caption()
        self.figure: go.Figure | None = result.plot() if len(finished(result.frame)) else None
        self.drawn = "" if self.figure is None else _drawn(self.figure)


def together(verdicts: Sequence[ClaimVerdict]) -> Word:
    """A section's verdicts as one light: refuted if one is, held if all are."""
    words = {one.word for one in verdicts}
    return "refuted" if "refuted" in words else "held" if words == {"held"} else "undecided"


class Shown:
    """A table.  heads: (head, "number" or "text", what it means).  legend: heads by what they mean."""

    def __init__(self, table: pd.DataFrame) -> None:
        known: dict[str, str] = table.attrs.get("help", {})
        kinds = ["number" if _counts(table.iloc[:, at]) else "text" for at in range(table.shape[1])]
        self.heads = [(head, kind, known.get(head, "")) for head, kind in zip(table.columns, kinds, strict=True)]
        self.rows = list(table.itertuples(index=False))
        self.legend: dict[str, list[str]] = {}
        for head, said in known.items():
            self.legend.setdefault(said, []).append(head)


def sections(ledger: Ledger) -> list[Section]:
    """The last run of each section that the ledger holds, by name; runs of experiments that are gone are left out."""
    found = []
    for run in ledger.runs():
        try:
            experiment = find_experiment(run["sweep"])
        except KeyError:
            continue
        frame = ledger.frame(run["sweep"], run["keys"])
        origin = provenance(frame, ledger, run["command"])
        found.append(Section(run["section"], Result(experiment, frame, origin)))
    return found


def page(found: Sequence[Section]) -> str:
    """The HTML of the report, with everything that it needs."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"prose": _prose, "show": show}
    template = environment.from_string(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    words = [verdict.word for one in found for verdict in one.verdicts]
    counted = {word: words.count(word) for word in ("held", "refuted", "undecided")}
    return template.render(sections=found, counted=counted, plotly=get_plotlyjs()) + "\n"


def _drawn(figure: go.Figure) -> str:
    """A figure without its title, which the section has in its head and under the figure."""
    bare = go.Figure(figure)
    height = max(SIZE[1], int(bare.layout.height or 0)) - TITLE_HEIGHT
    bare.update_layout(title=None, height=None, margin={"t": max(30, int(figure.layout.margin.t or 0) - TITLE_HEIGHT)})
    drawn = plotly.io.to_html(
        bare, include_plotlyjs=False, full_html=False, config={"responsive": True}, default_height=f"{height}px"
    )
    # Axes side by side need their room: on a narrow page such a figure is moved sideways.
    across = len({axis.domain for axis in bare.select_xaxes()})
    least = PANEL_REM * across if across > 1 else 0
    return f'<div class="scroll"><div style="min-width: {least}rem">{drawn}</div></div>'


def _counts(column: pd.Series) -> bool:
    """Whether a column's cells are numbers, some of them bounds ("≥ 12")."""
    if pd.api.types.is_numeric_dtype(column):
        return True
    cells = [text for cell in column if (text := show(cell))]
    return bool(cells) and all(re.fullmatch(r"[≥≤<>~ ]*[-+]?[\d,.]+(?:e[-+]?\d+)?", text) for text in cells)


def _prose(text: str) -> str:
    """Text of docstrings and claims as HTML: what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower())


# -- static figures ---------------------------------------------------------------------------------------------------


def write_figures(figures: Mapping[str, go.Figure], folder: Path) -> list[Path]:
    """Each figure as `NAME.svg` in `folder`; `NotRunError` without Playwright or a Chromium."""
    chromium = find_chromium()
    if chromium is None:
        raise NotRunError("no Chromium to draw figures with")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NotRunError("no Playwright: pip install '.[test]'") from None
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            tab = browser.new_page()
            tab.set_content("<div id=figure></div>")
            tab.add_script_tag(content=get_plotlyjs())
            for name, figure in figures.items():
                path = folder / f"{_anchor(name)}.svg"
                path.write_bytes(_svg(tab, figure))
                written.append(path)
        finally:
            browser.close()
    return written


def _svg(tab: Any, figure: go.Figure) -> bytes:
    width, height = SIZE
    height = max(height, int(figure.layout.height or 0))
    options = {"format": "svg", "width": width, "height": height}
    url = tab.evaluate(
        "async ([figure, options]) => Plotly.toImage(JSON.parse(figure), options)", [figure.to_json(), options]
    )
    head, _, data = str(url).partition(",")
    return b64decode(data) if head.endswith(";base64") else unquote(data).encode()
