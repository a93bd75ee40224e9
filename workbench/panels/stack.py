"""Where the text is in the grammar, from the root to what waits.

Read on: `kernels_core/inspect/derivation.py`, `visualizers/stack.py`.
"""

from __future__ import annotations

from kernels_core.inspect.derivation import call_stack
from visualizers.stack import StackView
from workbench.panels.base import Desk, Panel
from workbench.session import Change

__all__ = ["StackPanel"]


class StackPanel(Panel):
    """The call stacks; a click on a level chooses its rule."""

    name = "stack"
    title = "Call stack"
    dock = "right_top"
    rank = 30

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: StackView = StackView()

    def update(self, change: Change | None) -> None:
        self.view.show(call_stack(self.session.matcher))
