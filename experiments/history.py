"""What became of an experiment's claims, run after run: a record of each run, in a folder beside the ledger.

A ledger holds one row a trial, the newest; what the runs before it came to is kept here.  Read on: `record.py`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import pandas as pd
import plotly.express as express
import plotly.graph_objects as go

from experiments.columns import Column, explained
from experiments.pages import record_of
from experiments.record import Record
from experiments.running import Result

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


def keep_run(ledger: Path, section: str, result: Result) -> Path:
    """Write what a run came to, as a record without tables; the same trials once more take the place of their file."""
    ended = str(result.frame["started"].max()).replace(":", "").replace("+0000", "")
    return record_of(section, result, tables=False).save(_folder(ledger, section), ended)


def history(ledger: Path, section: str) -> pd.DataFrame:
    """One row a claim and run, by the rules of today, the oldest run first; empty where none was kept."""
    kept = (_read(path) for path in sorted(_folder(ledger, section).glob("*.json")))
    runs = [run for run in kept if run is not None]
    verdicts = [(run, one) for run in runs for one in run.verdicts]
    claims = list(dict.fromkeys(one.claim.what for _, one in verdicts))
    verdicts.sort(key=lambda pair: claims.index(pair[1].claim.what))
    rows = [
        {"what": one.claim.what, "day": run.day, "git": run.told("Commit"), "word": one.word}
        | {"size": one.size, "low": one.low, "high": one.high, "units": one.units}
        for run, one in verdicts
    ]
    return explained(rows, COLUMNS)


def _read(path: Path) -> Record | None:
    """What a file holds; None, with a warning, for one of an older form."""
    try:
        return Record.load(path)
    except (KeyError, TypeError) as error:
        warnings.warn(f"{path} is left out: an older form, or no record ({error!r})", stacklevel=3)
        return None


def draw_history(found: pd.DataFrame) -> go.Figure:
    """A line for each number of `history`, over the runs."""
    runs = found.assign(run=found["day"] + ", " + found["commit"].str.slice(0, 10))
    figure = express.line(runs, x="run", y="ours", color="number", hover_data=["verdict", "at least", "at most"])
    figure.update_traces(mode="lines+markers")
    return figure.update_layout(xaxis_title="day and commit of the run", template="plotly_white")


def _folder(ledger: Path, section: str) -> Path:
    return ledger.parent / f"{ledger.stem}_runs" / section
