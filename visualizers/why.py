"""The view that explains one text or token: may it come here, and if not, which byte, what instead, and who forbids it.

The state is plain data that `workbench/next/why.py` makes (`Why.state()`).  What a person asks comes back as messages:
`{kind: "ask", text}`, `{kind: "type", what, number, position}` to type a suggestion, the forced text or the end.

Read on: `frontend/src/why.js`, `workbench/panels/why.py`.
"""

from __future__ import annotations

from typing import Final

import traitlets as t

from visualizers.glyphs import html_escape
from visualizers.live_base import LiveView, Traits, synced


class WhyView(LiveView[Traits]):
    """`show(why.state())` explains; an empty mapping shows how to ask.  `asked` is the text in the view's own box.

    `selection` is what all views share, of which this one sets `rule` and `pointer`.
    """

    _module = "why"
    _height = 320

    why = synced(t.Dict())
    asked = synced(t.Unicode(""))
    selection = synced(t.Dict())

    def traits_of(self, snapshot: Traits) -> Traits:
        return {"why": dict(snapshot)}

    def static_html(self) -> str:
        return _why(self.why) if self.why else ""

    def __repr__(self) -> str:
        return f"WhyView({self.why['message']!r})" if self.why else "WhyView(empty)"


_MONO: Final = "font-family:monospace"
_BAD: Final = "background-color:rgba(214,60,60,0.25);font-weight:bold"


def _why(state: Traits) -> str:
    """An explanation as HTML that survives every sanitiser."""
    said = verdict(token=state["subject"]["token"] is not None, ok=state["ok"])
    lines = [f"<div><b>{said}</b>: {html_escape(state['message'])}</div>"]
    if not state["ok"]:
        text = "…" * state["cut"] + html_escape(state["before"])
        lines.append(
            f'<pre style="margin:2px 0">{text}<span style="{_BAD}">{html_escape(state["fatal"])}</span>'
            f"{html_escape(state['rest'])}</pre>"
        )
        lines.append(_line("expected", state["expected"] or "the end of the text"))
        if state["place"]:
            lines.append(_line("in the source", state["place"]))
        for reason in state["reasons"] or ():
            where = reason["pointer"] or reason["rule"] or ""
            lines.append(_line("reason", f"{reason['label']} {where}"))
        if not state["reasons"] and state["rules"]:
            lines.append(_line("waiting rules", ", ".join(state["rules"])))
    if state["suggestions"]:
        lines.append(_line("or did you mean" if state["ok"] else "did you mean", "   ".join(state["suggestions"])))
    if state["forced"]:
        lines.append(_line("must follow", state["forced"]))
    if state["end"]:
        count = state["end_bytes"]
        lines.append(_line(f"shortest end, {count:,} byte{'s' * (count != 1)}", state["end"]))
    return "".join(lines)


def verdict(*, token: bool, ok: bool) -> str:
    """Tokens are allowed or refused, texts may or cannot come: the words of the glossary."""
    if token:
        return "allowed" if ok else "refused"
    return "may come" if ok else "cannot come"


def _line(name: str, text: str) -> str:
    return f'<div><i>{name}</i> <span style="{_MONO}">{html_escape(text)}</span></div>'
