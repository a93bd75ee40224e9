"""The text read so far, its tokens on a ribbon, the buttons that step, and what comes next, as a live view.

The state is plain data made elsewhere (`workbench/panels/text.py`); the browser sends back commands: `{kind: "prefix",
text, client, seq}`, `{kind: "move", to, by}`, `{kind: "goto", index}`, `{kind: "token", id}`, `{kind: "undo"}`,
`{kind: "redo"}`, `{kind: "restore", number}`, `{kind: "stop"}`; and asks `{type: "hint"}` of a refused text (see
`frontend/src/hints.js`).

Read on: `frontend/src/text.js`, which says what `state` and `ribbon` hold.
"""

from __future__ import annotations

import traitlets as t

from visualizers.live_base import LiveView, Traits, synced

__all__ = ["TextView"]


class TextView(LiveView[Traits]):
    """`state`: what is to be seen at one place; `ribbon`: the steps around it; `answer`: whose edit of the box it
    answers, `{client, seq}`; `chosen`: the token chosen elsewhere and its fate; `running`: whether a generation steps
    the text."""

    _module = "text"
    _placed = ("state", "ribbon")

    state = synced(t.Dict())
    ribbon = synced(t.Dict())
    answer = synced(t.Dict())
    chosen = synced(t.Dict(None, allow_none=True))
    running = synced(t.Bool(False))

    def traits_of(self, snapshot: Traits) -> Traits:
        return {"state": snapshot}

    def static_html(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"TextView({self.state.get('place', 'empty')})"
