"""The parse tree of the text read so far: open rules at its end, ambiguous nodes to flip, long lists folded.

Read on: `kernels_core/inspect/derivation.py` (`derivation`), `frontend/src/tree.js`, `workbench/panels/tree.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import traitlets as t

from kernels_core.inspect.derivation import Derivation, TreeNode
from kernels_core.inspect.forest import ENDLESS, MAX_WAYS
from visualizers.glyphs import html_escape
from visualizers.live_base import LiveView, Traits, picked, synced
from visualizers.stack import dots, pointed, tail
from visualizers.tables import card, table

TEXT: Final = 56
STATIC_NODES: Final = 120
NOT_APART: Final = "some parses that differ only in empty rules count as one"


class TreeView(LiveView[Derivation]):
    """`show(derivation(matcher, ...))` shows a tree.

    `wish` is what a person asked for: `tree` (which of the trees), `readings` (of a node, by its key), and `unfolded`
    and `folded` (keys); whoever ties the view to a matcher passes it to `derivation`.  `pointers` of `show` say by node
    where in the source it was read (None: nowhere).  A click on a rule sets `selection["rule"]` and
    `selection["pointer"]`.
    """

    _module = "tree"
    _height = 380
    _placed = ("about", "nodes")
    _given = ("wish",)

    about = synced(t.Dict())
    nodes = synced(t.List())
    wish = synced(t.Dict())
    selection = synced(t.Dict())

    _pointers: Sequence[str | None] = ()

    def show(self, snapshot: Derivation, pointers: Sequence[str | None] = ()) -> None:
        self._pointers = pointers
        super().show(snapshot)

    def traits_of(self, snapshot: Derivation) -> Traits:
        about = picked(snapshot, "position", "tree", "trees", "exact", "complete", "apart") | {
            "ambiguous": len(snapshot.ambiguous),
            "readings": said_readings(snapshot.whole, apart=snapshot.apart),
        }
        nodes = pointed([self._node(node, snapshot.text) for node in snapshot.nodes], self._pointers)
        return {"about": about, "nodes": nodes}

    def _node(self, node: TreeNode, text: bytes) -> dict[str, object]:
        """What differs from the usual only: a tree has hundreds of nodes."""
        found: dict[str, object] = picked(node, "parent", "depth", "kind", "label", "begin", "end", "key") | {
            "name": self._name(node),
            "text": tail(text[node.begin : node.end], TEXT),
        }
        if node.open:
            written = dots(self.written(node.dot), 1)
            found["open"] = [[*sides[:1], *map(_balanced, sides[1:])] for sides in written]
        if node.readings > 1:
            found |= picked(node, "readings", "reading")
        if node.levels > 1:
            found["levels"] = node.levels
        return found | {name: value for name, value in picked(node, "count", "folded", "leaf").items() if value}

    def _name(self, node: TreeNode) -> str:
        return node.label if node.kind == "text" else self.written(node.label)

    def tables_of(self, snapshot: Derivation) -> str:
        """The tree as an indented table."""
        rows = []
        for node in snapshot.nodes[:STATIC_NODES]:
            sign = {"fold": "… ", "again": "↻ "}.get(node.kind, "◦ " if node.open else "")
            facts = []
            if node.readings > 1:
                least = "" if snapshot.apart else "at least "
                facts.append(f"ambiguous: parse {node.reading + 1:,} of {least}{node.readings:,}")
            if node.levels > 1:
                facts.append(f"{node.levels:,} levels drawn flat")
            if node.open:
                facts.append("open")
            shown = html_escape(tail(snapshot.text[node.begin : node.end], TEXT))
            label = html_escape(sign + self._name(node))
            rows.append(["&nbsp;" * (2 * node.depth) + label, shown, f"{node.begin:,}–{node.end:,}", ", ".join(facts)])
        state = "complete" if snapshot.complete and snapshot.tree == 0 else "unfinished"
        facts = [f"after {snapshot.position:,} bytes", state]
        readings = said_readings(snapshot.whole, apart=snapshot.apart)
        if readings:
            facts.append(readings)
        if not snapshot.apart and (readings or snapshot.ambiguous):
            facts.append(NOT_APART)
        first = int(snapshot.complete)
        count = f"{'' if snapshot.exact else 'more than '}{snapshot.trees - first:,}"
        if state == "unfinished":
            facts.append(f"partial tree {snapshot.tree - first + 1} of {count}")
            if not snapshot.complete:
                facts.append("no complete parse yet")
        elif snapshot.trees > first:
            facts.append(f"if it goes on: {count} partial tree{'' if snapshot.trees - first == 1 else 's'}")
        if len(snapshot.nodes) > STATIC_NODES:
            facts.append(f"the first {STATIC_NODES} of {len(snapshot.nodes)} nodes")
        return card("Derivation", facts, table(["rule", "text", "bytes", ""], rows, align="llrl", mono=(0, 1, 2)))


def said_readings(count: int | None, *, apart: bool = True) -> str:
    """How many parses the whole text has, for people; "" for one or none.  `apart`: whether all are told apart."""
    if count is None:
        return "many parses"
    if count == ENDLESS:
        return "no end of parses"
    more = " or more" if count >= MAX_WAYS or not apart else ""
    return f"{count:,}{more} parses" if count > 1 else ""


_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]')


def _balanced(after: str) -> str:
    """What stands behind a dot, with a beginning for each group that the dot is in: `(… [0-9])+`."""
    bare = _QUOTED.sub("", after)
    depth = least = 0
    for sign in bare:
        depth += (sign == "(") - (sign == ")")
        least = min(least, depth)
    return "(" * -least + "… " * (least < 0) + after
