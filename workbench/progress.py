"""A line that tells what one waits for, where somebody watches: in a notebook, and on a terminal.

Read on: `workbench/comparing/hunting.py` and `workbench/generation/loading.py`, which have something to tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from visualizers.glyphs import html_escape

T = TypeVar("T")


class Line:
    """`with Line("loading ...") as line: line.say("half of it")`; the line is gone at the end, also after an error."""

    def __init__(self, text: str) -> None:
        self._first = text
        self._handle: Any = None
        self._terminal = False

    def __enter__(self) -> Line:
        shell = sys.modules.get("IPython")
        running: Any = shell.get_ipython() if shell is not None else None
        if running is not None and hasattr(running, "kernel"):
            from IPython import display as shown

            display: Any = shown.display
            self._handle = display(self._html(self._first), display_id=True)
        elif sys.stderr.isatty():
            self._terminal = True
            self.say(self._first)
        return self

    def say(self, text: str) -> None:
        """Tell `text` in place of what was told before."""
        if self._handle is not None:
            self._handle.update(self._html(text))
        elif self._terminal:
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.say("")

    @staticmethod
    def _html(text: str) -> Any:
        from IPython import display as shown

        html: Any = shown.HTML
        return html(f"<i>{html_escape(text)}</i>" if text else "")


@contextmanager
def told(
    progress: Callable[[T], object] | None, first: str, say: Callable[[T], str]
) -> Iterator[Callable[[T], object]]:
    """Who hears how far something is: `progress`, or for None a line, of `first` and then what `say` makes of it."""
    if progress is not None:
        yield progress
        return
    with Line(first) as line:
        yield lambda found: line.say(say(found))
