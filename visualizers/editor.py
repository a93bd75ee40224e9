"""The grammar editor as a live view: a text area whose gutter lights the rules at work and marks the line of an error.

Read on: `visualizers/esm/editor.js`, which says what `state` holds and what it sends.
"""

from __future__ import annotations

import traitlets as t

from visualizers.live_base import LiveView, Traits, synced

__all__ = ["EditorView"]


class EditorView(LiveView[Traits]):
    """`state` is plain data made elsewhere; edits come back as `{kind: "source", text, client, seq}`."""

    _module = "editor"
    _styles = ("desk",)

    state = synced(t.Dict())

    def traits_of(self, snapshot: Traits) -> Traits:
        return {"state": snapshot}

    def static_html(self) -> str:
        return ""

    def __repr__(self) -> str:
        return "EditorView()"
