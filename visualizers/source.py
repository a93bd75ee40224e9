"""The source as a live view: a text in its own language, with what is read lit in it and mistakes where they are.

The state is plain data made elsewhere (`workbench/panels/source.py`); what a person does comes back as messages, which
`frontend/src/source.js` lists.

Read on: `frontend/src/source.js`, `frontend/src/editor.js`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import traitlets as t

from visualizers.glyphs import html_escape
from visualizers.live_base import LiveView, Traits, synced
from visualizers.tables import card, dim

_STYLES: Final = {
    "next": "border-bottom:2px dotted rgba(60,110,230,0.8)",
    "here": "background:rgba(60,110,230,0.25);border-radius:3px",
    "forbids": "background:rgba(220,60,50,0.3);border-radius:3px",
    "warning": "text-decoration:underline;background:rgba(220,160,40,0.25)",
    "mistake": "background:rgba(220,60,50,0.3);text-decoration:underline",
}
_PRE: Final = (
    "font-family:monospace;font-size:12px;line-height:1.5;white-space:pre-wrap;padding:8px 10px;margin:0;"
    "border:1px solid rgba(128,128,128,0.35);border-radius:4px;max-height:420px;overflow:auto"
)


class SourceView(LiveView[Traits]):
    """`document`: the text and its language; `places`, `mistakes`, `forbids`: ranges of it (offsets in characters);
    a mistake that is a `warning` is in use as it is; `status`: what is in use instead of a text with mistakes, or what
    there is to know of it; `offer`: what a click makes of it, "" for nothing; `selected`: the range that is chosen, or
    None."""

    _module = "source"
    _placed = ("places", "forbids")
    _needs = ("editor",)

    document = synced(t.Dict())
    places = synced(t.List())
    mistakes = synced(t.List())
    forbids = synced(t.List())
    status = synced(t.Unicode())
    offer = synced(t.Unicode())
    selected = synced(t.Dict(None, allow_none=True))
    selection = synced(t.Dict())

    def traits_of(self, snapshot: Traits) -> Traits:
        return snapshot

    def static_html(self) -> str:
        text = str(self.document.get("text", ""))
        marks = [(place["role"], place) for place in self.places if place["role"] in _STYLES]
        marks += [("forbids", place) for place in self.forbids]
        marks += [("warning" if mistake.get("warning") else "mistake", mistake) for mistake in self.mistakes]
        title = html_escape(str(self.document.get("title", "")))
        said = "".join(
            f"<div>line {mistake['line']}, column {mistake['column']}: "
            f"{html_escape('; '.join(filter(None, (mistake['message'], mistake.get('cure')))))}</div>"
            for mistake in self.mistakes
        )
        said += dim(html_escape(self.status))
        return card(title, [], f'<pre style="{_PRE}">{_marked(text, marks)}</pre>{said}')

    def __repr__(self) -> str:
        return f"SourceView({self.document.get('title', 'empty')})"


def _marked(text: str, marks: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """`text` as HTML with each mark in a span; where marks overlap the later one counts."""
    kinds: dict[int, str] = {}
    for kind, place in marks:
        start, end = place.get("from", place.get("start")), place.get("to", place.get("end"))
        if start is not None and end is not None:
            for at in range(max(0, start), min(end, len(text))):
                kinds[at] = kind
    pieces: list[str] = []
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or kinds.get(at) != kinds.get(start):
            style = _STYLES.get(kinds.get(start, ""))
            piece = html_escape(text[start:at])
            pieces.append(f'<span style="{style}">{piece}</span>' if style else piece)
            start = at
    return "".join(pieces)
