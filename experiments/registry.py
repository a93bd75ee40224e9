"""The catalogue of experiments.

An experiment is a module with
- a docstring: a first line that says what it is, and the lines `Source:` (table and paper), `Claim:`, `Refuted by:`;
- `grid(preset) -> list[Params]` for each of `PRESETS`: the trials, as JSON values by name.  "smoke" is seconds, to see
  that it runs; "quick" is minutes, to see what comes out; "full" is everything.  Where trials go through schemas,
  `grid(preset, limit=None)`: that many of them, evenly spread, whatever the preset takes; where a model writes,
  `grid(preset, model=None)`: what `load_model` takes, None for the experiment's own;
- `trial(params) -> dict`: one trial's metrics, JSON values by name; raises `NotRunError` where something is missing;
- `tables(frame) -> dict[str, DataFrame]`: the result by caption, the paper's table first;
- `plot(frame) -> plotly.graph_objects.Figure`;
- `CLAIMS: Sequence[Claim]`: what is claimed, as numbers with bounds (`claims.py`).

`frame` is `Ledger.frame`: one row a trial.  Adding one means writing the module and a line in `CATALOGUE`.
Read on: `sweep.py` (running), `report.py` (writing down).
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Protocol, cast

import pandas as pd
import plotly.graph_objects as go

from experiments.claims import Claim
from experiments.trial import Params

__all__ = [
    "CATALOGUE",
    "PRESETS",
    "Experiment",
    "ExperimentModule",
    "find_experiment",
    "list_experiments",
    "repeated",
]

PRESETS: Final = ("smoke", "quick", "full")
CATALOGUE: Final[Mapping[str, str]] = {
    "ablation": "experiments.ablation",
    "accuracy": "experiments.accuracy",
    "compile-dynamic": "experiments.compile_dynamic",
    "dispatch-size": "experiments.dispatch_size",
    "e2e": "experiments.e2e",
    "formal": "experiments.formal",
    "generation": "experiments.generation",
    "gpu": "experiments.gpu",
    "growth": "experiments.growth",
    "leave-one-out": "experiments.leave_one_out",
    "masks": "experiments.masks",
    "memory": "experiments.memory",
    "panel-latency": "experiments.panel_latency",
    "parsers": "experiments.parsers",
    "pipeline": "experiments.pipeline",
    "reuse": "experiments.reuse",
    "scale": "experiments.scale",
    "service": "experiments.service",
    "small-model": "experiments.small_model",
    "soak": "experiments.soak",
    "tax": "experiments.tax",
    "tools": "experiments.tools",
}
FUNCTIONS: Final = ("grid", "trial", "tables", "plot")
STATEMENTS: Final = ("Source", "Claim", "Refuted by")


class ExperimentModule(Protocol):
    """What a module must have to be an experiment."""

    CLAIMS: Sequence[Claim]

    def grid(self, preset: str, **chosen: Any) -> Sequence[Params]: ...
    def trial(self, params: Params) -> Mapping[str, Any]: ...
    def tables(self, frame: pd.DataFrame) -> Mapping[str, pd.DataFrame]: ...
    def plot(self, frame: pd.DataFrame) -> go.Figure: ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """One entry of the catalogue.  `module` holds the functions; the rest is read from its docstring."""

    name: str
    module: ExperimentModule
    title: str
    source: str
    claim: str
    refuted_by: str

    @property
    def choices(self) -> frozenset[str]:
        """What `grid` takes beside the preset: `limit`, a number of schemas; `model`, the name of a model."""
        return frozenset(inspect.signature(self.module.grid).parameters) & {"limit", "model"}

    @property
    def claims(self) -> Sequence[Claim]:
        """What is judged (`claims.judge`)."""
        return self.module.CLAIMS

    @classmethod
    def of(cls, name: str, module: ModuleType) -> Experiment:
        """Check that `module` is an experiment; `TypeError` says what it lacks."""
        missing = [function for function in FUNCTIONS if not callable(getattr(module, function, None))]
        if missing:
            raise TypeError(f"{module.__name__} is no experiment: it has no {', '.join(missing)}")
        claims = getattr(module, "CLAIMS", ())
        if not claims or not all(isinstance(claim, Claim) for claim in claims):
            raise TypeError(f"{module.__name__} is no experiment: CLAIMS must hold at least one `Claim`")
        text = module.__doc__ or ""
        said = {word: _statement(text, word) for word in STATEMENTS}
        silent = [word for word, sentence in said.items() if not sentence]
        if silent:
            raise TypeError(f"{module.__name__}: the docstring has no line that starts with {silent[0] + ':'!r}")
        title = text.strip().splitlines()[0].rstrip(".")
        return cls(name, cast(ExperimentModule, module), title, said["Source"], said["Claim"], said["Refuted by"])


def find_experiment(name: str) -> Experiment:
    """The experiment called `name`; `KeyError` names the known ones."""
    if name not in CATALOGUE:
        raise KeyError(f"no experiment {name!r}; known: {', '.join(sorted(CATALOGUE))}")
    return Experiment.of(name, importlib.import_module(CATALOGUE[name]))


def list_experiments() -> list[Experiment]:
    """All experiments, by name."""
    return [find_experiment(name) for name in sorted(CATALOGUE)]


def repeated(grid: Sequence[Params], times: int) -> list[list[Params]]:
    """The grid `times` times, one list for each pass; from the second on its trials have a parameter `repeat`."""
    again: list[list[Params]] = [[{**params, "repeat": number} for params in grid] for number in range(1, times)]
    return [list(grid), *again]


def _statement(text: str, word: str) -> str:
    """The sentence after `word:`, which may go on over indented lines."""
    found = re.search(rf"^{word}:\s*(.+(?:\n[ \t]+.+)*)", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""
