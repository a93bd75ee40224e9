"""The parse tree of the text, growing with it.

Read on: `kernels_core/inspect/derivation.py`, `visualizers/tree.py`.
"""

from __future__ import annotations

from typing import Any

from kernels_core.inspect.derivation import derivation
from visualizers.tree import TreeView
from workbench.panels.base import Desk, Panel
from workbench.provenance import pointers
from workbench.session import Change


class TreePanel(Panel, name="tree", title="Derivation", rank=40):
    """The parse tree of the text, and other parses of it.

    Another tree, other readings and what is folded are the person's wish, kept while it fits the text.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: TreeView = TreeView()
        self.view.observe(self._wished, names="wish")
        self._wished_for = b""  # the text that the wish was made for
        self._read = b""  # the same with what was undone, between whose places one goes

    def update(self, change: Change | None) -> None:
        text, other = self.session.text, self._wished_for
        if self.view.wish and not (text.startswith(other) or other.startswith(text)):
            self.view.wish = {}  # of another text, and not of another place in this one: `_wished` shows the tree
            return
        if self.view.wish.get("readings") and self._whole() != self._read:
            self.view.wish = {**self.view.wish, "readings": {}}  # a node of a new text shows its first way
            return
        wish = self.view.wish
        readings = wish.get("readings")
        chosen: dict[str, Any] = {
            "readings": {str(key): int(value) for key, value in readings.items()} if isinstance(readings, dict) else {},
            "unfolded": [str(key) for key in wish.get("unfolded") or ()],
            "folded": [str(key) for key in wish.get("folded") or ()],
        }
        matcher, tree = self.session.inspect.matcher, wish.get("tree", 0)
        try:
            found = derivation(matcher, tree=int(tree), **chosen)
        except IndexError:  # of a text that was read before: there are fewer trees here
            found = derivation(matcher, **chosen)
        self.view.show(found, pointers(self.session.inspect, (node.begin for node in found.nodes)))

    def _whole(self) -> bytes:
        return b"".join(step.data for step in self.session.steps)

    def _wished(self, _change: object) -> None:
        with self.session.inspect.held():
            self._wished_for, self._read = self.session.text, self._whole()
            self.update(None)
