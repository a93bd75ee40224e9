"""A line that tells how far a hunt is, where somebody watches: in a notebook, and on a terminal.

Read on: `workbench/comparing/hunting.py`.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from visualizers.glyphs import html_escape
from workbench.comparing.finding import Hunt

__all__ = ["Line"]


class Line:
    """`with Line() as report: report(hunt)`; the line is gone at the end."""

    def __enter__(self) -> Line:
        self._handle: Any = None
        self._terminal = False
        shell = sys.modules.get("IPython")
        running: Any = shell.get_ipython() if shell is not None else None
        if running is not None and hasattr(running, "kernel"):
            from IPython import display as shown

            display: Any = shown.display
            html: Any = shown.HTML
            self._html = html
            self._handle = display(self._html("<i>hunting ...</i>"), display_id=True)
        else:
            self._terminal = sys.stderr.isatty()
        return self

    def __call__(self, hunt: Hunt) -> None:
        text = (
            f"hunting: {hunt.texts:,} texts, {hunt.places:,} places, {len(hunt.findings)} found, {hunt.seconds:.0f} s"
        )
        if self._handle is not None:
            self._handle.update(self._html(f"<i>{html_escape(text)}</i>"))
        elif self._terminal:
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._handle.update(self._html(""))
        elif self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
