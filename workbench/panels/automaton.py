"""The automaton with the active states lit.

Read on: `visualizers/live.py` (`AutomatonView`), `workbench/panels/base.py`.
"""

from __future__ import annotations

from visualizers.live import AutomatonView
from workbench.panels.base import Desk, Panel
from workbench.session import Change

__all__ = ["AutomatonPanel"]


class AutomatonPanel(Panel):
    """Laid out once for each grammar; a step lights other states."""

    name = "automaton"
    title = "Automaton"
    dock = "right_top"
    rank = 10

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: AutomatonView = AutomatonView(desk.session.automaton())

    def update(self, change: Change | None) -> None:
        automaton = self.session.automaton()
        if self.view.automaton is not automaton and self.view.automaton != automaton:
            self.view.automaton = automaton
        self.view.show(self.session.frontier())
