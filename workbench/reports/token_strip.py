"""Where a session stands in its history, as a strip of tokens in HTML that survives an untrusted notebook.

Inline styles with half-transparent colours only, so that they read on white and on black.

Read on: `workbench/explorer/explorer.py`, `visualizers/cockpit.py` (what a model drew).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visualizers.glyphs import STOP_TOKEN, clip, glyph, html_escape

if TYPE_CHECKING:
    from workbench.session import Session

MAX_CHIPS = 400
MAX_GLYPH = 40
CHIP = "font-family:monospace;font-size:12px;border-radius:3px;padding:1px 4px;white-space:pre;"
BLUE, GREY = "66,116,236", "128,136,146"


def session_strip(session: Session) -> str:
    """The session's history: steps read, and steps undone."""
    index, position = session.index, session.inspect.position
    chips = []
    for number, step in enumerate(session.steps[:MAX_CHIPS], start=1):
        colour = BLUE if number <= index or step.start < position else GREY
        title = f"step {number}: " + ("bytes" if step.token_id is None else f"token {step.token_id}")
        chips.append(_chip(STOP_TOKEN if step.stop else glyph(step.data), colour, title))
    hidden = len(session.steps) - MAX_CHIPS
    if hidden > 0:
        chips.append(f"and {hidden:,} more")
    state = "stopped" if session.inspect.is_terminated else "may end here" if session.is_completed else "must go on"
    allowed = (
        f"{len(session.inspect.allowed_ids()):,} tokens allowed · vocabulary {html_escape(session.inspect.vocabulary)}"
    )
    facts = f"byte {position:,} · after step {index:,} of {len(session.steps):,} · {allowed}"
    head = f'<b>Text</b><span style="opacity:0.7"> · {facts} · {state}</span>'
    shown = " ".join(chips) or '<span style="opacity:0.7">nothing read yet</span>'
    return (
        f'<div style="font-size:13px;line-height:1.45;max-width:1100px;text-align:left">'
        f'<div style="padding:2px 0 4px">{head}</div><div style="line-height:23px">{shown}</div></div>'
    )


def _chip(text: str, colour: str, title: str) -> str:
    style = f"{CHIP}background-color:rgba({colour},0.15);border:1px solid rgba({colour},0.5)"
    return f'<span title="{html_escape(title)}" style="{style}">{html_escape(clip(text, MAX_GLYPH))}</span>'
