"""Columns and tables as an experiment declares them: what a table's heads are, what they mean, how cells are computed.

    TABLES = (
        Table(
            "Compiling a request",
            (Column("tools", "tools", help="in a request"), Column("ms", "compiling", "ms", "a request", _average)),
            by=("tools",),
        ),
    )

A table that is made of trials is a `DataFrame` with the heads as labels; `frame.attrs["help"]` says what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

Row: TypeAlias = Mapping[str, Any]
"""One finished trial, or one row of a table, by the keys of its columns; frames of pandas know no types."""
Rows: TypeAlias = Iterable[Mapping[str, object]] | pd.DataFrame


@dataclass(frozen=True, slots=True)
class Column:
    """key: of the cell in a row.  head, unit: what stands above it.  help: what it means, for the legend.

    of: computes the cell, unless it is a parameter of the row's trials or `Table.rows` gives it.
    """

    key: str
    head: str = ""
    unit: str = ""
    help: str = ""
    of: Callable[[Any], object] | None = None

    @property
    def label(self) -> str:
        """The whole head."""
        return f"{self.head or self.key}, {self.unit}" if self.unit else self.head or self.key


@dataclass(frozen=True, slots=True)
class Table:
    """One table of an experiment.  Its rows are one for each finished trial, and columns compute cells of the trial (a
    mapping), or

    by: one for each group of finished trials that agree in these parameters, and columns compute cells of the group
    (`named`: parameters that are worked out first);
    rows: what a function of the finished trials returns, by key (`unfinished`: of all trials).

    A table without a caption stands for several with the same columns: `rows` returns the rows of each by its caption.
    """

    caption: str
    columns: Sequence[Column]
    by: Sequence[str] = ()
    rows: Callable[[pd.DataFrame], Rows | Mapping[str, Rows]] | None = None
    unfinished: bool = False
    named: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def cells(self, trials: pd.DataFrame) -> pd.DataFrame:
        """The rows by key, for figures and claims."""
        return pd.DataFrame(self._rows(finished(trials)))

    def shown(self, trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """By caption, as they are read."""
        rows = self._rows(trials if self.unfinished else finished(trials))
        parts = rows if self.caption == "" else {self.caption: rows}
        return {caption: explained(part, self.columns) for caption, part in parts.items()}

    def _rows(self, trials: pd.DataFrame) -> Any:
        if self.rows is not None:
            return self.rows(trials)
        if not self.by:
            return [self._row(trial, trial) for trial in trials.to_dict("records")]
        trials = self.named(trials) if self.named is not None else trials
        groups = trials.groupby(list(self.by), sort=False) if len(trials) else ()
        return [self._row(dict(zip(self.by, values, strict=True)), group) for values, group in groups]

    def _row(self, known: Row, trials: Row | pd.DataFrame) -> dict[str, object]:
        return {
            column.key: known.get(column.key) if column.of is None else column.of(trials) for column in self.columns
        }


def explained(rows: Rows, columns: Sequence[Column]) -> pd.DataFrame:
    """Rows by key under the heads of `columns`, in their order; a column that no row has is left out.

    `ValueError` where two columns have the same head: a reader could not tell them apart.
    """
    labels = [column.label for column in columns]
    if len(set(labels)) != len(labels):
        raise ValueError(f"two columns are called {max(labels, key=labels.count)!r}")
    frame = pd.DataFrame(rows)
    kept = [column for column in columns if column.key in frame]
    shown = frame[[column.key for column in kept]].set_axis([column.label for column in kept], axis=1)
    shown.attrs["help"] = {column.label: column.help for column in kept if column.help}
    return shown


def finished(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials that were run to their end."""
    return trials[trials["status"] == "ok"]


def where(trials: pd.DataFrame, **values: object) -> pd.DataFrame:
    """The trials with these parameters."""
    for name, value in values.items():
        trials = trials[trials[name] == value]
    return trials
