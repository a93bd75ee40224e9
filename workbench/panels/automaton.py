"""The automaton around the parser.

Read on: `visualizers/live_automaton.py` (`AutomatonView`), `visualizers/way.py`, `workbench/panels/base.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.forest import Forest, engine
from kernels_core.inspect.snapshots import Automaton
from visualizers.live import AutomatonView
from visualizers.way import Column, Travelled, Way
from workbench.panels.base import Desk, Panel
from workbench.session import Change, Session

__all__ = ["AutomatonPanel", "WayOf"]


class AutomatonPanel(Panel):
    """A step lights other states; a state that is clicked is chosen everywhere, a rule chosen elsewhere is shown."""

    name = "automaton"
    title = "Automaton"
    dock = "right_top"
    rank = 10

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._way = WayOf(desk.session)
        self.view: AutomatonView = AutomatonView(desk.session.automaton())
        self.view.observe(self._picked, names=["selected", "rule"])

    def update(self, change: Change | None) -> None:
        self.view.automaton = automaton = self.session.automaton()
        self.view.show(self.session.frontier(), self._way.travelled(automaton))

    def chosen(self) -> None:
        selection = self.desk.selection
        self.view.choose(selection.get("state"), selection.get("rule"))

    def _picked(self, change: Any) -> None:
        key = "state" if change["name"] == "selected" else "rule"
        if self.desk.selection.get(key) != change["new"]:
            self.desk.select(**{key: change["new"]})


class WayOf:
    """The way of a session's text through its automaton."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._way: tuple[object, Way] | None = None

    def travelled(self, automaton: Automaton) -> Travelled:
        """Where the text went; nothing of a text whose chart is too large to be looked at."""
        compiled = self._session.compiled
        if self._way is None or self._way[0] is not compiled:
            self._way = compiled, Way(automaton)
        _, way = self._way
        way.grow(automaton)
        forest = engine(compiled)
        with forest.lock:
            try:
                forest.seek(self._session.matcher.steps())
            except BudgetExceededError:
                return Travelled()
            return way.go(_bytes(forest), _Columns(forest))


def _bytes(forest: Forest) -> bytes:
    """One byte for each column but the first; a token without text has one too."""
    return b"".join(step.text or (b"" if step.token is None else b"\0") for step in forest.steps)


class _Columns(Sequence[Column]):
    """The columns of a forest, looked up when they are asked for."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest

    def __len__(self) -> int:
        return self._forest.last + 1

    @overload
    def __getitem__(self, index: int) -> Column: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Column]: ...
    def __getitem__(self, index: int | slice) -> Column | Sequence[Column]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        return [(item.state, item.origin) for item in self._forest.chart.column(index)]
