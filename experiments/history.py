"""What became of an experiment's claims, run after run: one JSON file a run, in a folder beside the ledger.

A ledger holds one row a trial, the newest; what the runs before it came to is kept here.  Read on: `claims.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Final

import pandas as pd
import plotly.express as express
import plotly.graph_objects as go

from experiments.claims import ClaimVerdict
from experiments.columns import Column, explained

COLUMNS: Final = (
    Column("what", "number", help="the number that decides a claim"),
    Column("day", help="of the run's last trial, UTC"),
    Column("git", "commit", help="of its trials; +: with changes that were not committed"),
    Column("word", "verdict", help="held, refuted or undecided"),
    Column("size", "ours", help="as it was measured"),
    Column("low", "at least", help="the lower end of the 95 % interval"),
    Column("high", "at most", help="its upper end"),
    Column("units", "n", help="how many independent units it was measured on"),
)


def keep_run(ledger: Path, section: str, frame: pd.DataFrame, verdicts: Sequence[ClaimVerdict]) -> Path:
    """Write what a run came to; the same trials once more take the place of their file."""
    ended = str(frame["started"].max())
    kept = []
    for one in verdicts:
        numbers = {name: getattr(one, name) for name in ("size", "low", "high")}
        known = {name: None if isnan(number) else number for name, number in numbers.items()}
        kept.append({"what": one.claim.what, "word": one.word, "units": one.units, **known})
    told = {"day": ended[:10], "git": ", ".join(sorted(set(frame["git"].dropna()))), "claims": kept}
    path = _folder(ledger, section) / f"{ended.replace(':', '').replace('+0000', '')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1) + "\n")
    return path


def history(ledger: Path, section: str) -> pd.DataFrame:
    """One row a claim and run, the oldest run first; empty where none was kept."""
    runs = [json.loads(path.read_text()) for path in sorted(_folder(ledger, section).glob("*.json"))]
    claims = dict.fromkeys(one["what"] for run in runs for one in run["claims"])
    rows = [
        {"day": run["day"], "git": run["git"], **one}
        for what in claims
        for run in runs
        for one in run["claims"]
        if one["what"] == what
    ]
    return explained(rows, COLUMNS)


def draw_history(found: pd.DataFrame) -> go.Figure:
    """A line for each number of `history`, over the runs."""
    runs = found.assign(run=found["day"] + ", " + found["commit"].str.slice(0, 10))
    figure = express.line(runs, x="run", y="ours", color="number", hover_data=["verdict", "at least", "at most"])
    figure.update_traces(mode="lines+markers")
    return figure.update_layout(xaxis_title="day and commit of the run", template="plotly_white")


def _folder(ledger: Path, section: str) -> Path:
    return ledger.parent / f"{ledger.stem}_runs" / section
