"""The report: one HTML page of all runs in a ledger, to be read offline, and its figures as SVG.

For each run: the verdicts on its claims with the paper's numbers, the figure (plotly, which the page brings along), the
tables with a legend of their heads, and where the numbers come from.  Static figures are drawn by the same plotly in a
headless Chromium.

Read on: `ledger.py` (`runs`), `report.py` (the same as Markdown), `columns.py` (what heads mean).
"""

from __future__ import annotations

import html
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pandas as pd
import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs

from experiments.claims import ClaimVerdict
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
CLAIM_HEADS: Final = ("verdict", "claim", "ours", "the paper")
STYLE: Final = """
:root { --ink: #1c2430; --soft: #64748b; --line: #dde3ea; --paper: #fff; --tint: #f5f7fa;
  --held: #1a7f4b; --refuted: #c0392b; --undecided: #6b7684; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f0; --soft: #9aa7b8; --line: #2f3845; --paper: #14181e;
  --tint: #1d232c; --held: #4cc38a; --refuted: #ff7b6b; --undecided: #9aa4b2 } }
* { box-sizing: border-box }
body { margin: 0; font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
main { max-width: 74rem; margin: 0 auto; padding: 1.5rem 2rem 5rem }
nav { position: sticky; top: 0; z-index: 2; background: var(--paper); border-bottom: 1px solid var(--line);
  padding: .5rem 2rem; font-size: .85rem; display: flex; flex-wrap: wrap; gap: .2rem 1rem }
nav a { color: var(--ink); text-decoration: none; white-space: nowrap } nav a:hover { text-decoration: underline }
h1 { font-size: 1.7rem; margin: .5rem 0 }
h2 { scroll-margin-top: 3rem; margin: 3rem 0 .3rem; padding-top: .8rem; border-top: 2px solid var(--line) }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem } .soft, small { color: var(--soft) }
.light { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .45em }
.held { --tone: var(--held) } .refuted { --tone: var(--refuted) } .undecided { --tone: var(--undecided) }
.light { background: var(--tone) } .word { color: var(--tone); font-weight: 600; white-space: nowrap }
.undecided .light { background: none; border: 2px solid var(--tone) }
.scroll { overflow-x: auto; max-width: 100% }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums }
th { background: var(--tint); text-align: left; vertical-align: bottom; font-weight: 600 }
th[title] { text-decoration: underline dotted; cursor: help }
th, td { padding: .28rem .7rem .28rem .45rem; border-bottom: 1px solid var(--line); vertical-align: top }
td.number, th.number { text-align: right } td.number { white-space: nowrap }
td.text { max-width: 28rem }
details { margin: .4rem 0 } summary { cursor: pointer; color: var(--soft) }
.claims { width: 100% } .claims td:first-child { min-width: 7.5rem } .claims td:nth-child(3) { min-width: 9rem }
.claims td { padding: .5rem .7rem .5rem .3rem }
.legend { font-size: .8rem; color: var(--soft); columns: 2; column-gap: 2.5rem; margin: .5rem 0 0; padding: 0 }
code { font-size: .95em; background: var(--tint); padding: 0 .25em; border-radius: 3px }
.caption { font-size: .8rem; color: var(--soft); margin: .2rem 0 1rem }
.legend div { break-inside: avoid } .legend b { color: var(--ink); font-weight: 600 }
pre { white-space: pre-wrap; font-size: .8rem; background: var(--tint); padding: .7rem 1rem }
@media (max-width: 50rem) { .legend { columns: 1 } main { padding: 1rem }
  nav { flex-wrap: nowrap; overflow-x: auto; padding: .5rem 1rem }
  .claims th { display: none } .claims tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0 }
  .claims td { display: block; border: 0; padding: .1rem 0 }
  .claims td[data-head]::before { content: attr(data-head) ": "; color: var(--soft) } }
"""


# Figures take the page's colours, and change with them.
DRESS: Final = """
const NARROW = 640;
const dark = matchMedia("(prefers-color-scheme: dark)");
const dress = () => {
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
  for (const figure of document.querySelectorAll(".plotly-graph-div")) {
    const change = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", "font.color": colour("--ink") };
    const beside = figure.dataset.legend ??= figure._fullLayout.legend?.orientation || "";
    if (beside === "v") {
      // Beside the axes a legend takes most of a narrow page.
      const below = figure.clientWidth < NARROW;
      Object.assign(change, below
        ? { "legend.orientation": "h", "legend.x": 0, "legend.y": -0.25, "legend.yanchor": "top" }
        : { "legend.orientation": "v", "legend.x": 1.02, "legend.y": 1, "legend.yanchor": "top" });
    }
    for (const axis of Object.keys(figure._fullLayout).filter((key) => /^[xy]axis\\d*$/.test(key)))
      for (const [key, name] of [["gridcolor", "--line"], ["zerolinecolor", "--soft"], ["linecolor", "--line"]])
        change[`${axis}.${key}`] = colour(name);
    Plotly.relayout(figure, change);
  }
};
dark.addEventListener("change", dress);
matchMedia(`(max-width: ${NARROW + 40}px)`).addEventListener("change", () => setTimeout(dress, 100));
dress();
"""


class Section:
    """One run: `name` is the section's, `result` what came of it."""

    def __init__(self, name: str, result: Result) -> None:
        self.name, self.result = name, result
        self.verdicts = result.verdicts()
        self.tables = result.tables()
        self.figure: go.Figure | None = result.plot() if len(finished(result.frame)) else None


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
    links = "".join(f'<a href="#{_anchor(one.name)}">{_dots(one.verdicts)}{html.escape(one.name)}</a>' for one in found)
    words = [verdict.word for one in found for verdict in one.verdicts]
    counted = ", ".join(f"{words.count(word)} {word}" for word in ("held", "refuted", "undecided"))
    body = "".join(_section(one) for one in found) or "<p>The ledger holds no runs yet.</p>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Maskscope: evidence</title>'
        f"<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body><nav>{links}</nav><main>"
        "<h1>Evidence</h1><p>What the experiments claim, judged by numbers, with the paper's beside them. "
        f"{len(words)} claims: {counted}. <span class=soft>Held: the whole 95 % interval keeps the bound; refuted: "
        "none of it does; undecided: neither, or fewer than five independent units. The paper is XGrammar-2.</span></p>"
        f"{body}</main><script>{DRESS}</script></body></html>\n"
    )


def _section(one: Section) -> str:
    experiment = one.result.experiment
    parts = [f'<h2 id="{_anchor(one.name)}">{html.escape(one.name)}</h2><p>{_prose(experiment.title)}.<br>']
    parts.append(f"<small>Source: {_prose(experiment.source)}</small></p>{_claims(one.verdicts)}")
    if one.figure is not None:
        parts.append(_drawn(one.figure))
        parts.append(f'<p class="caption">{html.escape(one.result.caption())}</p>')
    for number, (caption, table) in enumerate(one.tables.items()):
        shown = f"<h3>{html.escape(caption)}</h3>{_table(table)}"
        parts.append(shown if number < 2 else f"<details><summary>{html.escape(caption)}</summary>{shown}</details>")
    parts.append(
        "<details><summary>Where these numbers come from</summary>"
        f"<pre>{html.escape(one.result.origin)}</pre></details>"
    )
    return "".join(parts)


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


def _claims(verdicts: Sequence[ClaimVerdict]) -> str:
    rows = []
    for one in verdicts:
        claim = one.claim
        interval = f"<br><small>95 %: {show(one.low)} to {show(one.high)}</small>" if one.low == one.low else ""
        units = f"<br><small>n = {one.units:,} {html.escape(one.unit)}</small>" if one.units else ""
        why = f"<br><small>{_prose(one.why)}</small>" if one.why else ""
        differs = f"<br><small>{_prose(claim.differs)}</small>" if claim.differs else ""
        cells = (
            f'<span class="light"></span><span class="word">{one.word}</span>{why}',
            f"{_prose(claim.text)}<br><small>{_prose(claim.what)}, must be {claim.bound}</small>",
            f"{show(one.size) or '–'}{interval}{units}",
            f"{_prose(claim.paper) or '–'}{differs}",
        )
        named = zip(("", "", *CLAIM_HEADS[2:]), cells, strict=True)  # where cells stand under each other
        row = "".join(f'<td data-head="{head}">{cell}</td>' if head else f"<td>{cell}</td>" for head, cell in named)
        rows.append(f'<tr class="{one.word}">{row}</tr>')
    heads = "".join(f"<th>{head}</th>" for head in CLAIM_HEADS)
    return f'<div class="scroll"><table class="claims"><tr>{heads}</tr>{"".join(rows)}</table></div>'


def _table(table: pd.DataFrame) -> str:
    """A table, and what its heads mean."""
    if table.empty:
        return "<p class=soft>Nothing was measured.</p>"
    known: dict[str, str] = table.attrs.get("help", {})
    kinds = ["number" if _counts(table.iloc[:, at]) else "text" for at in range(table.shape[1])]
    heads = []
    for head, kind in zip(map(str, table.columns), kinds, strict=True):
        title = f' title="{html.escape(known[head])}"' if head in known else ""
        heads.append(f'<th class="{kind}"{title}>{html.escape(head)}</th>')
    rows = [
        "".join(f'<td class="{kind}">{html.escape(show(cell))}</td>' for cell, kind in zip(row, kinds, strict=True))
        for row in table.itertuples(index=False)
    ]
    by_meaning: dict[str, list[str]] = {}
    for head, said in known.items():
        by_meaning.setdefault(said, []).append(head)
    legend = "".join(
        f"<div><b>{html.escape('; '.join(named))}</b>: {html.escape(said)}</div>" for said, named in by_meaning.items()
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{"".join(heads)}</tr>{body}</table></div><div class="legend">{legend}</div>'


def _counts(column: pd.Series) -> bool:
    """Whether a column's cells are numbers, some of them bounds ("≥ 12")."""
    if pd.api.types.is_numeric_dtype(column):
        return True
    cells = [text for cell in column if (text := show(cell))]
    return bool(cells) and all(re.fullmatch(r"[≥≤<>~ ]*[-+]?[\d,.]+(?:e[-+]?\d+)?", text) for text in cells)


def _prose(text: str) -> str:
    """Text of docstrings and claims: what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _dots(verdicts: Sequence[ClaimVerdict]) -> str:
    """A section's verdicts as one light: refuted if one is, held if all are."""
    words = {one.word for one in verdicts}
    word = "refuted" if "refuted" in words else "held" if words == {"held"} else "undecided"
    return f'<span class="{word}"><span class="light"></span></span>'


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
