"""Experiments in the cells of a notebook, or of any Python: `run("ablation")`, then its tables and its figure.

The command line (`experiments/cli/experiment.py`) does the same for a terminal.  Read on: `registry.py`, `sweep.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Final

import pandas as pd
from rich.console import Console

from experiments.claims import ClaimVerdict, judge, verdict_table
from experiments.columns import finished
from experiments.figures import label_decades
from experiments.ledger import Ledger
from experiments.registry import PRESETS, Experiment, find_experiment
from experiments.report import provenance, reasons
from experiments.sweep import run_sweep
from visualizers.mode import get_mode
from workbench.peers.catalogue import PEERS

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from experiments.trial import Params

TITLE_WIDTH: Final = 90
ENGINES_SHOWN: Final = ("Python", "maskscope", *PEERS)
PRESET: Final = "MASKSCOPE_PRESET"
"""The environment variable that names the preset of runs that name none; without it they are "quick"."""


@dataclass(frozen=True, repr=False)
class Result:
    """What came of an experiment: one row a trial in `frame`, and where the rows come from in `origin` (Markdown)."""

    experiment: Experiment
    frame: pd.DataFrame
    origin: str = field(default="")

    def tables(self) -> dict[str, pd.DataFrame]:
        """The experiment's tables by caption; the last one says why trials were not run or failed."""
        found = self.experiment.tables(self.frame) if len(finished(self.frame)) else {}
        trouble = reasons(self.frame)
        return found | ({"Not run, or failed": trouble} if len(trouble) else {})

    def verdicts(self) -> list[ClaimVerdict]:
        """What became of each claim of the experiment."""
        return judge(self.experiment.claims, self.frame)

    def claims(self) -> pd.DataFrame:
        """`verdicts`, one row a claim."""
        return verdict_table(self.verdicts())

    def table(self, number: int = 0) -> pd.DataFrame:
        """One of `tables()`, by its place."""
        return list(self.tables().values())[number]

    def plot(self) -> go.Figure:
        """The experiment's figure; over it its name, the number of trials, and seed, machine and versions."""
        figure = self.experiment.plot(self.frame)
        label_decades(figure)
        below = {"text": self._in_short(), "font": {"size": 10}}
        # Blanks that do not break keep the number of trials together.
        counted = f"({self._counted()})".replace(" ", "\xa0")
        named = "<br>".join(wrap(f"{self.experiment.title} {counted}", TITLE_WIDTH))
        title = {"text": named, "font": {"size": 14}, "subtitle": below}
        figure.update_layout(title=title, margin={"t": figure.layout.margin.t or 100}, template="plotly_white")
        return figure

    def caption(self) -> str:
        """What stands over and under the figure but its name: the number of trials, seed, machine, day, versions."""
        return "; ".join(part for part in (self._counted(), self._in_short()) if part)

    def _counted(self) -> str:
        done = len(finished(self.frame))
        return f"n = {done:,} trial{'' if done == 1 else 's'}"

    def _in_short(self) -> str:
        """Seed, machine, versions and day, as `origin` has them, in one line."""
        told = dict(line[2:].split(": ", 1) for line in self.origin.splitlines() if line.startswith("- "))
        machine = told.get("Machine", "").partition(";")[0]
        parts = [f"seed {told['Seed']}" if "Seed" in told else "", machine, told.get("Date", "")]
        versions = [part for part in told.get("Versions", "").split(", ") if part.startswith(ENGINES_SHOWN)]
        return "; ".join(part for part in [*parts, ", ".join(versions)] if part)

    def __repr__(self) -> str:
        counts = self.frame["status"].value_counts()
        shown = ", ".join(f"{number} {status}" for status, number in counts.items())
        return f"<Result of {self.experiment.name}: {shown}>"


def run(
    name: str,
    preset: str | None = None,
    *,
    ledger: Ledger | None = None,
    executor: Executor | None = None,
    grid: Sequence[Params] | None = None,
    progress: bool = False,
) -> Result:
    """Run what the ledger does not hold yet of the experiment `name`, and return all of it.

    preset: one of `registry.PRESETS`; None takes that of the environment (`MASKSCOPE_PRESET`), else "quick".
    ledger: None keeps nothing beyond the result.  executor: None runs in this process.  grid: instead of a preset's.
    progress: show a bar while it runs, where views are live (`visualizers.get_mode`).
    `KeyError` names the known experiments, `ValueError` the presets.
    """
    experiment = find_experiment(name)
    if grid is None:
        chosen = preset or os.environ.get(PRESET) or "quick"
        if chosen not in PRESETS:
            raise ValueError(f"no preset {chosen!r}; known: {', '.join(PRESETS)}")
        grid = experiment.grid(chosen)
    if ledger is None:
        with Ledger(":memory:") as passing:
            return run(name, preset, ledger=passing, executor=executor, grid=grid, progress=progress)
    # A page that nobody watches while it is made has no use for a bar.
    console = Console() if progress and get_mode() == "live" else None
    frame = run_sweep(experiment.module.trial, grid, ledger=ledger, sweep=name, executor=executor, console=console)
    return Result(experiment, frame, provenance(frame, ledger, f"experiments.running.run({name!r})"))
