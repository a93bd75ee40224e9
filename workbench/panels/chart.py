"""Where the Earley parser stands: the items of the frontier, and the operations of the last step.

Read on: `visualizers/live.py` (the views), `workbench/panels/base.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from visualizers.live import FrontierView, OperationView
from visualizers.live_base import LiveView
from workbench.panels.base import Desk, Panel
from workbench.session import Change

__all__ = ["ChartPanel"]


class ChartPanel(Panel):
    """Frontier and operations below each other."""

    name = "chart"
    title = "Chart"
    dock = "right_top"
    rank = 20

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: FrontierView = FrontierView()
        self.operations = OperationView()

    @property
    def views(self) -> Mapping[str, LiveView[Any]]:
        return {"frontier": self.view, "operations": self.operations}

    def update(self, change: Change | None) -> None:
        self.view.show(self.session.frontier())
        self.operations.show(self.session.operations())
