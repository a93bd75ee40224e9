"""A text as a strip of tokens, in HTML that survives an untrusted notebook.

Two strips: where a session stands in its history, and what a model drew, coloured by how hard the grammar pushed.
Inline styles with half-transparent colours only, so that they read on white and on black.

Read on: `workbench/explorer/explorer.py`, `workbench/session/trace.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from visualizers.glyphs import STOP_TOKEN, clip, glyph, html_escape
from workbench.session.result import Reading

if TYPE_CHECKING:
    from workbench.generation.step import Step
    from workbench.session import Session
    from workbench.session.trace import Trace

__all__ = ["session_strip", "trace_strip"]

MAX_CHIPS = 400
MAX_GLYPH = 40
CHIP = "font-family:monospace;font-size:12px;border-radius:3px;padding:1px 4px;white-space:pre;"
GREEN, AMBER, RED, BLUE, GREY = "31,157,99", "214,148,20", "210,70,60", "66,116,236", "128,136,146"


def session_strip(session: Session, reading: Reading | None = None) -> str:
    """The session's history: steps read, steps undone, and what of a typed text `reading` says was refused."""
    index, position = session.index, session.inspect.position
    chips = []
    for number, step in enumerate(session.steps[:MAX_CHIPS], start=1):
        colour = BLUE if number <= index or step.start < position else GREY
        title = f"step {number}: " + ("bytes" if step.token_id is None else f"token {step.token_id}")
        chips.append(_chip(STOP_TOKEN if step.stop else glyph(step.data), colour, title))
    hidden = len(session.steps) - MAX_CHIPS
    if hidden > 0:
        chips.append(f"and {hidden:,} more")
    message = ""
    if reading is not None and not reading.ok:
        chips.append(_chip(glyph(reading.text[reading.read :]), RED, "refused", struck=True))
        message = _pre(str(reading))
    state = "stopped" if session.inspect.is_terminated else "may end here" if session.is_completed else "must go on"
    allowed = (
        f"{len(session.inspect.allowed_ids()):,} tokens allowed · vocabulary {html_escape(session.inspect.vocabulary)}"
    )
    facts = f"byte {position:,} · after step {index:,} of {len(session.steps):,} · {allowed}"
    head = f'<b>Text</b><span style="opacity:0.7"> · {facts} · {state}</span>'
    return _block(head, " ".join(chips) or '<span style="opacity:0.7">nothing read yet</span>', message)


def trace_strip(trace: Trace) -> str:
    """What the model drew: green where it wanted what the grammar allows, amber to red where the grammar pushed."""
    chips = []
    for step in trace.steps[:MAX_CHIPS]:
        refused = bool(trace.reason) and step.index >= trace.followed
        colour = GREY if step.forced else _push_colour(step.feasible_mass)
        if not trace.generation.constrained:
            colour = GREY
        text = STOP_TOKEN if step.is_stop else glyph(step.token)
        chips.append(_chip(text, RED if refused else colour, _story(step), struck=refused))
    hidden = len(trace.steps) - MAX_CHIPS
    if hidden > 0:
        chips.append(f"and {hidden:,} more")
    kind = "constrained" if trace.generation.constrained else "unconstrained"
    facts = f"{kind} · {len(trace):,} tokens · {trace.generation.finish_reason}"
    verdict = _badge("conforms", GREEN) if trace.valid else _badge("refused" if trace.reason else "incomplete", RED)
    message = ""
    if trace.reason:
        said = str(trace.died) if trace.died is not None else trace.reason
        message = _pre(said)
    head = f'<b>Trace</b><span style="opacity:0.7"> · {facts}</span> {verdict}'
    return _block(head, " ".join(chips), message)


def _story(step: Step) -> str:
    """One token's tooltip."""
    before = f"probability {step.probability:.3g} before the mask, allowed tokens had {step.feasible_mass:.3g}"
    told = f"token {step.token_id}: {before}"
    if step.forced:
        told += "; the grammar left no choice"
    elif step.rejected_favourite:
        told += f"; the model wanted {glyph(step.alternatives[0].token)}"
    return told


def _push_colour(mass: float) -> str:
    """Feasible mass 1 is green, a half amber, a thousandth and less red."""
    nats = -math.log(max(mass, 1e-9))
    return GREEN if nats < 0.1 else AMBER if nats < 3 else RED


def _chip(text: str, colour: str, title: str, *, struck: bool = False) -> str:
    line = "text-decoration:underline wavy;" if struck else ""
    style = f"{CHIP}{line}background-color:rgba({colour},0.15);border:1px solid rgba({colour},0.5)"
    return f'<span title="{html_escape(title)}" style="{style}">{html_escape(clip(text, MAX_GLYPH))}</span>'


def _badge(text: str, colour: str) -> str:
    style = f"background-color:rgba({colour},0.2);border-radius:9px;padding:1px 7px;font-size:11px"
    return f'<span style="{style}">{text}</span>'


def _pre(text: str) -> str:
    style = "font-family:monospace;font-size:12px;line-height:1.45;white-space:pre-wrap;margin:4px 0"
    return f'<pre style="{style}">{html_escape(text)}</pre>'


def _block(head: str, chips: str, message: str) -> str:
    return (
        f'<div style="font-size:13px;line-height:1.45;max-width:1100px;text-align:left">'
        f'<div style="padding:2px 0 4px">{head}</div><div style="line-height:23px">{chips}</div>{message}</div>'
    )
