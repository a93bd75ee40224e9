"""HTML that displays itself in a notebook.

Read on: `visualizers/standalone.py` (pages and frames), `workbench/trace.py`, `workbench/generation/trace.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Page"]


@dataclass(frozen=True)
class Page:
    """HTML that displays itself in a notebook; `text` is what a terminal shows."""

    document: str = field(repr=False)
    text: str

    def _repr_html_(self) -> str:
        return self.document

    def __repr__(self) -> str:
        return self.text
