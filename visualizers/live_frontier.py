"""The Earley items of a step, one row each.

Read on: `visualizers/live_base.py` (what all views share), `frontend/src/frontier.js`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import traitlets as t

from kernels_core.inspect.snapshots import EarleyItem, Frontier
from visualizers.glyphs import clip, html_escape, many, split_dot, split_rules
from visualizers.live_base import LiveView, Traits, picked, synced
from visualizers.tables import badge, card, dotted_rules, more, table

MAX_ITEMS: Final = 500
STATIC_ITEMS: Final = 100
MAX_DOTS: Final = 12
DOT_WIDTH: Final = 240


class FrontierView(LiveView[Frontier]):
    """The Earley items of a step, one row each; `selected_item` is the row that was clicked, or None.

    `pointers` of `show` say by item where in the source its rule began (None: nowhere); a click on one sets
    `selection["rule"]` and `selection["pointer"]`.  `ways` say by item in how many ways it can be
    derived.  Of a frontier of more than 500 items the first 500 are shown, and the view says so.
    """

    _module = "frontier"
    _placed = ("about", "items")

    about = synced(t.Dict())
    items = synced(t.List())
    selected_item = synced(t.Int(None, allow_none=True))
    selection = synced(t.Dict())

    _pointers: Sequence[str | None] = ()
    _ways: Sequence[int] = ()

    def show(self, snapshot: Frontier, pointers: Sequence[str | None] = (), ways: Sequence[int] = ()) -> None:
        self._pointers, self._ways = pointers, ways
        super().show(snapshot)

    def traits_of(self, snapshot: Frontier) -> Traits:
        about = picked(snapshot, "position", "set_id", "completed") | {"total": len(snapshot.items)}
        items = [self._item(item) for item in snapshot.items[:MAX_ITEMS]]
        for item, pointer in zip(items, self._pointers, strict=False):
            item |= {} if pointer is None else {"pointer": pointer}
        for item, count in zip(items, self._ways, strict=False):
            item |= {"ways": count} if count > 1 else {}
        return {"about": about, "items": items, "selected_item": None}

    def _item(self, item: EarleyItem) -> Traits:
        rules = split_rules(self.written(item.dot))
        return picked(item, "origin", "members", "state", "rule", "scannable", "accepting") | {
            # [before, after] the dot; a rule without one is [text].
            "dots": [[clip(side, DOT_WIDTH) for side in split_dot(rule) or (rule,)] for rule in rules[:MAX_DOTS]],
            "more": max(0, len(rules) - MAX_DOTS),
            "counter": item.count,
        }

    @property
    def frontier(self) -> Frontier | None:
        """The frontier shown last."""
        return self._shown

    def tables_of(self, snapshot: Frontier) -> str:
        facts = [f"after {many(snapshot.position, 'byte')}", f"set {snapshot.set_id}", many(len(snapshot), "item")]
        end = badge("may end here", "accepted") if snapshot.completed else badge("may not end yet", "rejected")
        rows = []
        for item in snapshot.items[:STATIC_ITEMS]:
            flags = badge("scans", "active") * item.scannable + badge("completes", "accepted") * item.accepting
            rules = dotted_rules(self.written(item.dot)) + (f"<br>{html_escape(item.members)}" if item.members else "")
            count = f"{item.count:,}" if item.count else ""
            rows.append([rules, f"{item.origin:,}", count, str(item.state), flags])
        body = table(["dotted rule", "origin", "count", "state", ""], rows, align="lrrrl", mono=(0, 1, 2, 3))
        return card("Frontier", facts, body + more(len(snapshot.items) - STATIC_ITEMS, "items"), end)
