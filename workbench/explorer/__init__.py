"""The explorer: every panel of a session on one screen, kept at the same place.

In reading order: `explorer` (what a person opens), `dashboard` (the panels and what is done in them), `position_ids`
(places by number), `export` (a page without Python).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from workbench.explorer.explorer import EXAMPLE_GRAMMAR, Explorer, explore, last

__all__ = ["EXAMPLE_GRAMMAR", "Explorer", "explore", "last"]

__getattr__, __dir__ = lazy_names(__name__, cure="pip install 'maskscope[workbench]'")
