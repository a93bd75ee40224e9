"""The engine's counters and what the last step changed of them.

Read on: `visualizers/live.py` (`CounterView`), `workbench/panels/base.py`.
"""

from __future__ import annotations

from visualizers.live import CounterView
from workbench.panels.base import Desk, Panel
from workbench.session import Change

__all__ = ["CachesPanel"]


class CachesPanel(Panel):
    """Counters since the grammar was compiled."""

    name = "caches"
    title = "Caches"
    dock = "right_bottom"
    rank = 30

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: CounterView = CounterView()
        self._compiled: object = None

    def update(self, change: Change | None) -> None:
        stats = self.session.cache_stats()
        if self._compiled is not self.session.compiled:  # another grammar counts from its own beginning
            self._compiled = self.session.compiled
            self.view.show(stats)
        self.view.show(stats)
