"""What every recorded run can do: display itself in a cell, in a terminal, as a page and in a frame.

A record knows no picture of itself: whoever draws it has registered one (`kernels_core/display.py`).

Read on: `workbench/reports/displays.py` (who draws), `visualizers/standalone.py` (pages and frames).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Final

from kernels_core.display import Displayed, drawn, renderer
from visualizers.standalone import iframe, save_html

WIDTH: Final = 100
"""Columns of what is printed."""


@dataclass(frozen=True)
class Page:
    """HTML that displays itself in a notebook; `text` is what a terminal shows."""

    document: str = field(repr=False)
    text: str

    def _repr_html_(self) -> str:
        return self.document

    def __repr__(self) -> str:
        return self.text


def as_text(thing: object) -> str:
    """What `thing` looks like in a terminal of `WIDTH` columns, without colours."""
    from rich.console import Console

    console = Console(width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(thing)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def _as_html(thing: object) -> str:
    """The same for a notebook, with colours."""
    from rich.console import Console

    console = Console(width=WIDTH, record=True, file=StringIO())
    console.print(thing)
    return console.export_html(inline_styles=True, code_format='<pre style="line-height:normal">{code}</pre>')


class Printed(Displayed):
    """Shows itself as text in a terminal, too: by the renderer of its class, or by what it tells rich."""

    def _repr_html_(self) -> str | None:
        if renderer(type(self)) is None and hasattr(self, "__rich_console__"):
            return _as_html(self)
        return super()._repr_html_()

    def __str__(self) -> str:
        text = renderer(type(self), "text")
        if text is None:
            return as_text(self) if hasattr(self, "__rich_console__") else repr(self)
        return str(text(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In IPython's terminal: as `print` shows it."""
        printer.text(repr(self) if cycle else str(self))


class Record(Printed):
    """A recorded run, which is a page as well."""

    def to_html(self, *, title: str = "", heading: bool = True) -> str:
        """The run as one HTML document, stepped by the arrow keys, without Python.

        Without `heading` it has no title line and no margins, as in a frame.
        """
        return str(drawn(self, "page", title=title, heading=heading))

    def save(self, path: str | Path, *, title: str = "") -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        return save_html(path, self.to_html(title=title))

    def show(self, *, height: int = 640) -> Page:
        """The same page in a frame, `height` pixels high, for the notebook: step with the arrow keys."""
        return Page(iframe(self.to_html(heading=False), height=height), str(self))
