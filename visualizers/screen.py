"""The first screen as a live view: one text, its parts and costs, what may come next and what the model wanted.

The state is plain data made elsewhere (`workbench/screen/state.py`); what a person does comes back as messages, which
`frontend/src/screen.ts` lists.

Read on: `frontend/src/screen.ts`, `workbench/panels/screen.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets as t

from visualizers.glyphs import html_escape
from visualizers.live_base import LiveView, Traits, synced

__all__ = ["ScreenView"]


class ScreenView(LiveView[Mapping[str, Any]]):
    """`text`: the tokens and parts of the whole text; `here`: the place; `bar`: what can be chosen, and what was.

    `face` is what is in sight: the "screen", or the panels under the "hood".
    """

    _module = "screen"
    _height = 720
    _placed = ("here",)

    text = synced(t.Dict())
    here = synced(t.Dict())
    bar = synced(t.Dict())
    face = synced(t.Unicode("screen"))

    def traits_of(self, snapshot: Mapping[str, Any]) -> Traits:
        return {name: dict(snapshot[name]) for name in ("text", "here", "bar") if name in snapshot}

    def static_html(self) -> str:
        """The text, coloured; an untrusted notebook shows it."""
        colours = {"pushed": "230,159,0", "overruled": "213,94,0", "agreed": "0,158,115", "refused": "213,94,0"}
        spans = []
        for text, how, *_ in self.text.get("tokens", ()):
            line = ";text-decoration:line-through" if how == "refused" else ""
            tint = f"background-color:rgba({colours[how]},0.2){line}" if how in colours else ""
            spans.append(f'<span style="{tint}">{html_escape(text)}</span>')
        if not spans:
            return ""
        style = "font-family:monospace;font-size:15px;line-height:1.6;white-space:pre-wrap;margin:4px 0"
        return f'<pre style="{style}">{"".join(spans)}</pre>'

    def __repr__(self) -> str:
        return f"ScreenView({len(self.text.get('tokens', ()))} tokens)"
