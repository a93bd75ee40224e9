"""Where the text is in the grammar, from the root to what waits.

Read on: `kernels_core/inspect/derivation.py`, `visualizers/stack.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from visualizers.stack import StackView
from workbench.panels.base import Desk, Panel
from workbench.provenance import pointers
from workbench.provenance.breadcrumbs import Breadcrumbs, breadcrumbs
from workbench.session import Change


class StackPanel(Panel, name="stack", title="Call stack", rank=30):
    """The rules that are open, from the root to what waits; a click chooses a rule and its place in the source."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: StackView = StackView()

    def update(self, change: Change | None) -> None:
        found = self.session.inspect.call_stack()
        places = pointers(self.session.inspect, (level.begin for level in found.levels))
        self.view.show(found, places, self._named(places))

    def _named(self, places: Sequence[str | None]) -> dict[str, Breadcrumbs]:
        """The names of places in the source; those of this source are kept."""
        source = self.session.document
        known: dict[str, Breadcrumbs] = self.once("crumbs", source, dict)
        for place in places:
            if place is not None and place not in known:
                known[place] = breadcrumbs(source.value, place)
        return known
