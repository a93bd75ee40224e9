"""Free text with tags: what was read as what, what is watched for.

Read on: `kernels_core/inspect/dispatch.py`, `visualizers/triggers.py`.
"""

from __future__ import annotations

from visualizers.triggers import TriggerView
from workbench.panels.base import Desk, Panel
from workbench.provenance import reader_of, tags
from workbench.provenance.tags import all_tags
from workbench.session import Change


class TriggersPanel(Panel, name="triggers", title="Triggers", rank=50):
    """Free text and tags: what is open, what is watched for, and what may fire."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: TriggerView = TriggerView()

    def update(self, change: Change | None) -> None:
        found = tags(self.session.inspect)
        self.view.known = [one.state() for one in all_tags(reader_of(self.session.inspect))]
        self.view.show(self.session.inspect.modes())
        self.view.tags = found.state()
        if found.beginning:  # the source knows the names of tags, the grammar only those of rules
            self.view.about = {**self.view.about, "sentence": found.beginning, "mode": "trigger"}
