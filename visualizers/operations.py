"""Operations of the parser: those of one step, or those behind one item of the frontier, from the start of the text on.

Read on: `kernels_core/inspect/derivation.py` (`chain`), `frontend/src/operations.js`, `workbench/panels/chart.py`.
"""

from __future__ import annotations

from typing import Any, Final

import traitlets as t

from kernels_core.inspect.derivation import Chain, ChainStep
from kernels_core.inspect.snapshots import EarleyItem
from kernels_core.inspect.trace import Operations
from visualizers import html
from visualizers.glyphs import clip, html_escape, split_rules
from visualizers.live_base import LiveView, Traits, synced
from visualizers.stack import dots, tail
from visualizers.tables import badge, card, table

__all__ = ["OperationView", "chain_html"]

TEXT: Final = 36
MAX_ROWS: Final = 500
CAUSE: Final = 240
_TINTS: Final = {**html.OPERATION_KINDS, "start": "active", "omitted": "rejected"}


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
        about = {"begin": snapshot.begin, "position": snapshot.position, "total": len(snapshot)}
        return {"about": about, "rows": rows}

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
        return chain_html(snapshot) if isinstance(snapshot, Chain) else html.operations(snapshot)


def _of_item(item: EarleyItem) -> dict[str, Any]:
    return {"more": len(split_rules(item.dot)) - 1, "origin": item.origin}


def chain_html(snapshot: Chain, *, limit: int = 60) -> str:
    """The operations behind an item as a table."""
    rows = [
        [
            f"{step.end:,}",
            badge(step.kind, _TINTS[step.kind]),
            html_escape(step.cause or tail(snapshot.text[step.begin : step.end], TEXT)),
            html_escape(step.dot.split("   ")[0]),
        ]
        for step in snapshot.steps[-limit:]
    ]
    body = table(["byte", "operation", "by", "brings"], rows, align="rlll", mono=(0, 2, 3))
    return card("Chain", [f"{len(snapshot)} operations"], body)
