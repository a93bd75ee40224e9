"""Operations of the parser: those of one step, or those behind one item of the frontier, from the start of the text on.

Read on: `kernels_core/inspect/derivation.py` (`chain`), `frontend/src/operations.js`, `workbench/panels/chart.py`.
"""

from __future__ import annotations

from typing import Any, Final

import traitlets as t

from kernels_core.inspect.derivation import Chain, ChainStep
from kernels_core.inspect.snapshots import EarleyItem
from kernels_core.inspect.trace import Operations
from visualizers.glyphs import clip, html_escape, many, split_rules
from visualizers.live_base import LiveView, Traits, picked, synced
from visualizers.stack import dots, tail
from visualizers.tables import badge, card, dotted_rules, more, table

TEXT: Final = 36
MAX_ROWS: Final = 500
STATIC_ROWS: Final = 100
STATIC_STEPS: Final = 60
CAUSE: Final = 240
_TINTS: Final = {
    "scan": "active",
    "token": "active",
    "predict": "rejected",
    "dispatch": "uncertain",
    "complete": "accepted",
    "iteration": "uncertain",
    "start": "active",
    "omitted": "rejected",
}
"""The colour of each operation: what is read, what begins, what ends."""


class OperationView(LiveView[Operations | Chain]):
    """What the parser did in the last step, byte by byte; or how it got to an item (`show(chain(matcher, item))`).

    Closing the latter sets `selection["item"]` to None.
    """

    _module = "operations"
    _placed = ("about", "rows")
    _given = ("selection",)
    _height = 260

    about = synced(t.Dict())
    rows = synced(t.List())
    selection = synced(t.Dict())

    def traits_of(self, snapshot: Operations | Chain) -> Traits:
        if isinstance(snapshot, Chain):
            rows = [self._step(step, snapshot.text) for step in snapshot.steps]
            return {"about": {"item": dots(self.written(snapshot.item.dot), 1)[0]}, "rows": rows}
        rows = [
            self._row(event.kind, event.position, event.cause, event.item.dot) | _of_item(event.item)
            for event in snapshot.events[:MAX_ROWS]
        ]
        return {"about": picked(snapshot, "begin", "position") | {"total": len(snapshot)}, "rows": rows}

    def _row(self, kind: str, position: int, cause: str, dot: str) -> dict[str, Any]:
        return {
            "kind": kind,
            "tint": _TINTS[kind],
            "position": position,
            "cause": clip(self.written(cause), CAUSE),
            "dots": dots(self.written(dot), 1),
        }

    def _step(self, step: ChainStep, text: bytes) -> dict[str, Any]:
        read = tail(text[step.begin : step.end], TEXT) if step.end > step.begin else ""
        return self._row(step.kind, step.end, step.cause, step.dot) | {"text": read, "others": step.others}

    def tables_of(self, snapshot: Operations | Chain) -> str:
        if isinstance(snapshot, Chain):
            rows = [
                [
                    f"{step.end:,}",
                    badge(step.kind, _TINTS[step.kind]),
                    html_escape(self.written(step.cause) or tail(snapshot.text[step.begin : step.end], TEXT)),
                    html_escape(self.written(step.dot).split("   ")[0]),
                ]
                for step in snapshot.steps[-STATIC_STEPS:]
            ]
            body = table(["byte", "operation", "by", "brings"], rows, align="rlll", mono=(0, 2, 3))
            return card("Chain", [f"{len(snapshot)} operations"], body)
        span = f"bytes {snapshot.begin:,} to {snapshot.position:,}" if snapshot.position else "before the first byte"
        rows = [
            [
                f"{event.position:,}",
                badge(event.kind, _TINTS[event.kind]),
                html_escape(clip(self.written(event.cause), 40)),
                dotted_rules(self.written(event.item.dot)),
                f"{event.item.origin:,}",
            ]
            for event in snapshot.events[:STATIC_ROWS]
        ]
        body = table(["byte", "operation", "by", "brings", "origin"], rows, align="rlllr", mono=(0, 2, 3, 4))
        facts = [span, many(len(snapshot), "operation")]
        return card("Operations", facts, body + more(len(snapshot) - STATIC_ROWS, "operations"))


def _of_item(item: EarleyItem) -> dict[str, Any]:
    return {"more": len(split_rules(item.dot)) - 1, "origin": item.origin}
