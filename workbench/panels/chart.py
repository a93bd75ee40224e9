"""Where the Earley parser stands: the frontier, the operations of the last step, and those behind one item.

Read on: `visualizers/live_frontier.py` and `visualizers/operations.py` (the views), `workbench/panels/base.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.derivation import chain, dots_read, ways
from kernels_core.inspect.snapshots import EarleyItem
from visualizers.live_base import LiveView
from visualizers.live_frontier import MAX_ITEMS, FrontierView
from visualizers.operations import OperationView
from workbench.panels.base import Desk, Panel
from workbench.provenance import pointers
from workbench.screen.state import OF_RULES
from workbench.session import Change

MAX_WAYS: Final = 100
"""Items of a frontier whose derivations are counted."""


class ChartPanel(Panel, name="chart", title="Chart", rank=20):
    """The parser's items, and the operations of the last step, or those behind the item that is chosen.

    The item chosen in the frontier is the selection's item.  `frontend/src/operations.css` puts both in place.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: FrontierView = FrontierView()
        self.operations = OperationView()
        self.view.observe(self._chosen, names="selected_item")

    @property
    def views(self) -> Mapping[str, LiveView[Any]]:
        return {"frontier": self.view, "operations": self.operations}

    def update(self, change: Change | None) -> None:
        frontier = self.session.inspect.frontier()
        shown = self._read(frontier.items[:MAX_ITEMS])
        frontier = replace(frontier, items=(*shown, *frontier.items[MAX_ITEMS:]))
        self.view.show(frontier, pointers(self.session.inspect, (item.origin for item in shown)), self._ways(shown))
        self._show_operations()

    def _read(self, items: Sequence[EarleyItem]) -> Sequence[EarleyItem]:
        """Those of a grammar of rules with the alternatives that were read in what has ended."""
        if self.session.document.language not in OF_RULES:
            return items
        try:
            dots = dots_read(self.session.inspect.matcher, items)
        except BudgetExceededError:
            return items
        return [replace(item, dot=dot) for item, dot in zip(items, dots, strict=True)]

    def _ways(self, items: Sequence[EarleyItem]) -> tuple[int, ...]:
        """In how many ways each can be derived; of a long frontier, the first; none where the chart is too large."""
        try:
            return ways(self.session.inspect.matcher, items[:MAX_WAYS])
        except BudgetExceededError:
            return ()

    def chosen(self) -> None:
        """Somebody let go of the item, or chose another."""
        item = self.desk.selection.get("item")
        if item != self.view.selected_item and (item is None or item in range(len(self.view.items))):
            self.view.selected_item = item

    def _chosen(self, _change: object) -> None:
        """A person chose an item of the frontier, or let go of it."""
        with self.session.inspect.held():
            self._show_operations()
        if self.desk.selection.get("item") != self.view.selected_item:
            self.desk.select(item=self.view.selected_item)

    def _show_operations(self) -> None:
        chosen, frontier = self.view.selected_item, self.view.frontier
        if chosen is None or frontier is None or not 0 <= chosen < len(frontier.items):
            self.operations.show(self.session.inspect.operations())
        else:
            self.operations.show(chain(self.session.inspect.matcher, frontier.items[chosen]))
