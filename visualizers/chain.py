"""The chain of operations behind one item of the frontier: predict, scan and complete, from the start of the text on.

Read on: `kernels_core/inspect/derivation.py` (`chain`), `frontend/src/chain.js`, `workbench/panels/chart.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import traitlets as t

from kernels_core.inspect.derivation import Chain, ChainStep
from visualizers.glyphs import html_escape
from visualizers.html import OPERATION_KINDS
from visualizers.live_base import LiveView, Traits, synced
from visualizers.stack import dots, tail
from visualizers.tables import badge, card, table

__all__ = ["ChainView", "chain_html"]

TEXT: Final = 36
_TINTS: Final = {**OPERATION_KINDS, "start": "active", "omitted": "rejected"}


class ChainView(LiveView[Chain | None]):
    """`show(chain(matcher, item))`; `show(None)` where no item is chosen.

    Closing it sets `selection["item"]` to None.
    """

    _module = "chain"
    _height = 260
    _placed = ("rows", "chosen")
    _given = ("selection",)

    rows = synced(t.List())
    chosen = synced(t.List())
    selection = synced(t.Dict())

    def traits_of(self, snapshot: Chain | None) -> Traits:
        if snapshot is None:
            return {"rows": [], "chosen": []}
        rows = [_step(step, snapshot.text, self.written) for step in snapshot.steps]
        return {"rows": rows, "chosen": dots(self.written(snapshot.item.dot), 1)}

    def tables_of(self, snapshot: Chain | None) -> str:
        return chain_html(snapshot) if snapshot is not None else ""


def _step(step: ChainStep, text: bytes, written: Callable[[str], str]) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "tint": _TINTS[step.kind],
        "end": step.end,
        "cause": written(step.cause),
        "text": tail(text[step.begin : step.end], TEXT) if step.end > step.begin else "",
        "rule": step.rule,
        "dots": dots(written(step.dot), 1),
        "others": step.others,
    }


def chain_html(snapshot: Chain, *, limit: int = 60) -> str:
    """The operations as a table."""
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
