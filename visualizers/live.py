"""Live views of the snapshots: anywidget views that show one step and then the next.

Every view takes its snapshot by `show(...)` and keeps all state in traits, so a view that is displayed later, twice
or again after the notebook was closed shows the same.  What a person clicks is a trait too (`selected`,
`selected_item`, `selected_token`) and can be read in the next cell.  `play(...)` loads a whole run, which the browser
then steps through by `index` without a kernel; `to_html()` and `save()` write a page that needs nothing else.

Read on: `visualizers/live_base.py` (what they share), `visualizers/live_tokens.py` (`TokenTable`, `MaskMap`),
`frontend/src/*.js` (the browser's side), `visualizers/html.py` (the static twins).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import traitlets as t

from kernels_core.inspect.snapshots import EarleyItem, Frontier
from visualizers import html
from visualizers.glyphs import clip, split_dot, split_rules
from visualizers.live_automaton import AutomatonView
from visualizers.live_base import LiveView, StepBar, Traits, synced, to_page
from visualizers.live_tokens import MaskMap, TokenTable
from visualizers.operations import OperationView

__all__ = [
    "AutomatonView",
    "FrontierView",
    "LiveView",
    "MaskMap",
    "OperationView",
    "StepBar",
    "TokenTable",
    "to_page",
]

MAX_ITEMS: Final = 500
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
        about = {
            "position": snapshot.position,
            "set_id": snapshot.set_id,
            "completed": snapshot.completed,
            "total": len(snapshot.items),
        }
        items = [_item(item, self.written) for item in snapshot.items[:MAX_ITEMS]]
        for item, pointer in zip(items, self._pointers, strict=False):
            item |= {} if pointer is None else {"pointer": pointer}
        for item, count in zip(items, self._ways, strict=False):
            item |= {"ways": count} if count > 1 else {}
        return {"about": about, "items": items, "selected_item": None}

    @property
    def frontier(self) -> Frontier | None:
        """The frontier shown last."""
        return self._shown

    def tables_of(self, snapshot: Frontier) -> str:
        return html.frontier(snapshot)


def _item(item: EarleyItem, written: Callable[[str], str]) -> Traits:
    rules = split_rules(written(item.dot))
    dots = [split_dot(rule) or (rule,) for rule in rules[:MAX_DOTS]]
    return {
        # [before, after] the dot; a rule without one is [text].
        "dots": [[clip(side, DOT_WIDTH) for side in sides] for sides in dots],
        "more": max(0, len(rules) - MAX_DOTS),
        "origin": item.origin,
        "counter": item.count,
        "members": item.members,
        "state": item.state,
        "rule": item.rule,
        "scannable": item.scannable,
        "accepting": item.accepting,
    }
