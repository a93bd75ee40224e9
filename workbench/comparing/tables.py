"""Rich tables that fit 100 columns, each with a legend.

Read on: `workbench/comparing/comparison.py`, `workbench/comparing/finding.py`, `workbench/cli/comparing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypedDict

from rich import box
from rich.console import JustifyMethod, OverflowMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


class Column(TypedDict, total=False):
    """How a column is set, in the words of rich."""

    justify: JustifyMethod
    no_wrap: bool
    overflow: OverflowMethod
    min_width: int
    max_width: int


def grid(*columns: tuple[str, Column], title: str = "") -> Table:
    """A table in the style of all: a line under the head, nothing between rows."""
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1))
    for name, options in columns:
        table.add_column(name, **options)
    return table


RIGHT: Final[Column] = {"justify": "right", "no_wrap": True}
FOLD: Final[Column] = {"overflow": "fold"}


def legend(*lines: str) -> Iterator[Padding]:
    for line in lines:
        yield Padding(Text(line, style="dim"), (0, 0, 0, 2))


def duration(seconds: float | None) -> str:
    """Three digits with a unit."""
    if seconds is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            value = seconds * factor
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    raise AssertionError
