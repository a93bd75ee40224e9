"""Where the text is in the grammar, from the root to what waits.

Read on: `kernels_core/inspect/derivation.py`, `visualizers/stack.py`.
"""

from __future__ import annotations

from visualizers.stack import StackView
from workbench.panels.base import Desk, Panel
from workbench.provenance import pointers
from workbench.session import Change

__all__ = ["StackPanel"]


class StackPanel(Panel):
    """The call stacks; a click on a level chooses its rule and its place in the source."""

    name = "stack"
    title = "Call stack"
    dock = "right_top"
    rank = 30

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: StackView = StackView()

    def update(self, change: Change | None) -> None:
        found = self.session.call_stack()
        self.view.show(found, pointers(self.session, (level.begin for level in found.levels)))
