"""The panels of the screen, one module each; every subclass of `Panel` that a module here defines is on it.

Read on: `workbench/panels/base.py` (what a panel is), `workbench/explorer/dashboard.py` (where they lie).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from workbench.panels.base import TABS, Panel

__all__ = ["panel_types"]


@cache
def panel_types() -> tuple[type[Panel], ...]:
    """All panels in the order of their tabs."""
    found: list[type[Panel]] = []
    for module in pkgutil.iter_modules(__path__):
        if module.name == "base":
            continue
        home = importlib.import_module(f"{__name__}.{module.name}")
        for value in vars(home).values():
            if isinstance(value, type) and issubclass(value, Panel) and value.__module__ == home.__name__:
                found.append(value)
    return tuple(sorted(found, key=lambda panel: (TABS.index(panel.tab), panel.rank, panel.name)))
