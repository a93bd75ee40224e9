"""The automaton around the parser.

Read on: `visualizers/live_automaton.py` (`AutomatonView`), `workbench/panels/base.py`.
"""

from __future__ import annotations

from typing import Any

from visualizers.live import AutomatonView
from workbench.panels.base import Desk, Panel
from workbench.session import Change

__all__ = ["AutomatonPanel"]


class AutomatonPanel(Panel):
    """A step lights other states; a state that is clicked is chosen everywhere, a rule chosen elsewhere is shown."""

    name = "automaton"
    title = "Automaton"
    dock = "right_top"
    rank = 10

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: AutomatonView = AutomatonView(desk.session.automaton())
        self.view.observe(self._picked, names=["selected", "rule"])

    def update(self, change: Change | None) -> None:
        self.view.automaton = self.session.automaton()
        self.view.show(self.session.frontier())

    def chosen(self) -> None:
        selection = self.desk.selection
        self.view.choose(selection.get("state"), selection.get("rule"))

    def _picked(self, change: Any) -> None:
        key = "state" if change["name"] == "selected" else "rule"
        if self.desk.selection.get(key) != change["new"]:
            self.desk.select(**{key: change["new"]})
