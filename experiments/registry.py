"""The catalogue of experiments.

An experiment is a module that declares
- a docstring: a first line that says what it is, and a line `Source:` (table and paper);
- `grid(preset) -> list[Params]` for each of `PRESETS`: the trials, as JSON values by name.  "smoke" is seconds, to see
  that it runs; "quick" is minutes, to see what comes out; "full" is everything.  More parameters are options, which
  `experiment run NAME --set OPTION=VALUE` sets; where trials go through schemas, `limit` is how many of them;
  where a model writes, `model` is what `load_model` takes, None for the experiment's own;
- `trial(params) -> dict`: one trial's metrics, JSON values by name; raises `NotRunError` where something is missing;
- `TABLES: Sequence[Table]`: the result, column by column (`columns.py`), the paper's table first;
- `plot(trials) -> plotly.graph_objects.Figure`, often one call of `plotly.express`;
- `CLAIMS: Sequence[Claim]`: what is claimed, by `claims_of`: numbers, whose bounds are in `claims.toml` (`claims.py`).

Tables, legends, the results page, the report and the verdicts are made of these.  Figures and claims see the trials
that were finished, one row each (`Ledger.frame`).  Adding one means writing the module and a line in `CATALOGUE`.
Read on: `sweep.py` (running), `report.py` (writing down).
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, Protocol, TypeAlias, cast, get_type_hints

import pandas as pd
import plotly.graph_objects as go
from pydantic import TypeAdapter, ValidationError

from experiments.claims import Claim
from experiments.columns import Table, finished
from experiments.trial import Metrics, Params

PRESETS: Final = ("smoke", "quick", "full")
CATALOGUE: Final = (
    "ablation", "compile-dynamic", "dispatch-size", "factorial", "formal", "gpu", "grammars", "leave-one-out", "masks",
    "panel-latency", "parsers", "reuse", "service", "serving", "tax", "tools",
)  # fmt: skip
"""The module of each has its name, with underscores."""


Option: TypeAlias = bool | int | float | str | tuple[str, ...] | None


class ExperimentModule(Protocol):
    """What a module must have to be an experiment."""

    TABLES: Sequence[Table]
    CLAIMS: Sequence[Claim]

    def grid(self, preset: str, **options: Option) -> Sequence[Params]: ...
    def trial(self, params: Params) -> Metrics: ...
    def plot(self, trials: pd.DataFrame) -> go.Figure: ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """One entry of the catalogue.  `module` holds the declarations; the rest is read from its docstring."""

    name: str
    module: ExperimentModule
    title: str
    source: str

    @property
    def options(self) -> dict[str, Option]:
        """What `grid` takes beside a preset, with defaults."""
        return {one.name: one.default for one in list(inspect.signature(self.module.grid).parameters.values())[1:]}

    def grid(self, preset: str, options: Sequence[str] = ()) -> Sequence[Params]:
        """The trials; options: as `name=value`, a list with commas.  `ValueError` names the known ones."""
        kinds, chosen = get_type_hints(self.module.grid), dict[str, Option]()
        for option in options:
            name, _, text = option.partition("=")
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise ValueError(f"{self.name} has no option {name!r}; known: {known}")
            listed = isinstance(self.options[name], tuple)
            value = [part.strip() for part in text.split(",") if part.strip()] if listed else text
            try:
                chosen[name] = TypeAdapter(kinds[name]).validate_python(value)
            except ValidationError:
                raise ValueError(f"{option}: {text!r} is no value of {name}") from None
        return self.module.grid(preset, **chosen)

    @property
    def claims(self) -> Sequence[Claim]:
        """What is judged (`claims.judge`)."""
        return self.module.CLAIMS

    def tables(self, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The declared tables, by caption; `attrs["help"]` of each says what its heads mean."""
        return {caption: shown for table in self.module.TABLES for caption, shown in table.shown(frame).items()}

    def plot(self, frame: pd.DataFrame) -> go.Figure:
        """The figure, without its title."""
        return self.module.plot(finished(frame))

    @classmethod
    def of(cls, name: str, module: ModuleType) -> Experiment:
        """Check that `module` is an experiment; `TypeError` says what it lacks."""
        missing = [function for function in ("grid", "trial", "plot") if not callable(getattr(module, function, None))]
        tables = getattr(module, "TABLES", ())
        if not tables or not all(isinstance(table, Table) for table in tables):
            missing.append("TABLES")
        claims = getattr(module, "CLAIMS", ())
        if not claims or not all(isinstance(claim, Claim) for claim in claims):
            missing.append("CLAIMS")
        text = module.__doc__ or ""
        said = re.search(r"^Source:\s*(.+(?:\n[ \t]+.+)*)", text, re.MULTILINE)  # it may go on over indented lines
        missing += [] if said else ["line 'Source:' in its docstring"]
        if missing:
            raise TypeError(f"{module.__name__} is no experiment: it has no {', no '.join(missing)}")
        title = text.strip().splitlines()[0].rstrip(".")
        return cls(name, cast(ExperimentModule, module), title, " ".join(said[1].split()) if said else "")


def find_experiment(name: str) -> Experiment:
    """The experiment called `name`; `KeyError` names the known ones."""
    if name not in CATALOGUE:
        raise KeyError(f"no experiment {name!r}; known: {', '.join(CATALOGUE)}")
    return Experiment.of(name, importlib.import_module(f"experiments.{name.replace('-', '_')}"))


def list_experiments() -> list[Experiment]:
    """All experiments, by name."""
    return [find_experiment(name) for name in CATALOGUE]


def repeated(grid: Sequence[Params], times: int) -> list[list[Params]]:
    """The grid `times` times, one list for each pass; from the second on its trials have a parameter `repeat`."""
    again: list[list[Params]] = [[{**params, "repeat": number} for params in grid] for number in range(1, times)]
    return [list(grid), *again]


def without_folders(option: str) -> str:
    """An option of a grid as it is recorded, without the folders of this machine."""
    name, equals, value = option.partition("=")
    parts = (Path(part).name if Path(part).is_absolute() else part for part in value.split(","))
    return f"{name}{equals}{','.join(parts)}"
