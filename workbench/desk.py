"""The explorer's two hand-written controls: the grammar editor and the stepper.

Each is an anywidget with one ES module (`workbench/esm/`) and one `state` trait of plain data; what the person does
comes back as a message, a dict with a `kind`.  The functions here that build those states from a `Session` are pure,
so that they can be tested without a browser.

Read on: `workbench/explorer.py`, which wires them to a session.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from visualizers.assets import stylesheet
from visualizers.glyphs import SPACE, clip, glyph, parse
from workbench.history import Place, Step
from workbench.reading import Candidate, Reading, describe_bytes
from workbench.session import Session

__all__ = ["GrammarEditor", "Stepper", "box_bytes", "box_text", "editor_state", "lit_lines", "stepper_state"]

ESM = Path(__file__).parent / "esm"
STYLE = stylesheet("theme", "base") + (ESM / "desk.css").read_text(encoding="utf-8")
STEPS_BEFORE, STEPS_AFTER = 60, 30
CANDIDATES, SINGLE, SCANNED = 40, 14, 1000
State = dict[str, Any]
Command = Callable[[dict[str, Any]], None]


class _Control(anywidget.AnyWidget):
    """A widget with a `state` trait and messages back."""

    state = traitlets.Dict({}).tag(sync=True)

    def on_command(self, handle: Command) -> None:
        """Call `handle(message)` for every well-formed message of the browser."""

        def received(_widget: Any, content: Any, _buffers: Any) -> None:
            if isinstance(content, dict) and isinstance(content.get("kind"), str):
                handle(content)

        self.on_msg(received)


class GrammarEditor(_Control):
    """EBNF with a gutter: lit lines are the rules at work, a red one holds the error."""

    _esm = ESM / "editor.js"
    _css = STYLE


class Stepper(_Control):
    """The text read so far, its tokens, the buttons that step, and the tokens allowed next."""

    _esm = ESM / "stepper.js"
    _css = STYLE


def box_text(data: bytes) -> str:
    """`data` as text for a text box: newlines, tabs and spaces as they are, bytes that are no text as `⟨0xHH⟩`."""
    shown = glyph(data).replace(SPACE, " ")
    return shown.replace("⟨0x0A⟩", "\n").replace("⟨0x09⟩", "\t")


def box_bytes(text: str) -> bytes:
    """What a text box means: the inverse of `box_text`; token glyphs may be pasted in.

    Raises `ValueError` for an escape that is no code point.
    """
    return parse(text)


def lit_lines(source: str, spans: list[tuple[int, int]]) -> list[int]:
    """The 1-based lines of `source` touched by the character ranges `spans`, ascending."""
    lines: set[int] = set()
    for start, end in spans:
        start, end = max(0, start), min(end, len(source))
        while end > start and source[end - 1].isspace():
            end -= 1
        if start < end:
            first = source.count("\n", 0, start) + 1
            lines.update(range(first, first + source.count("\n", start, end) + 1))
    return sorted(lines)


def editor_state(session: Session) -> State:
    """The grammar editor's state: the text it holds, the mistake in it (if any), the rules at work."""
    automaton, draft = session.automaton(), session.draft
    state: State = {
        "text": session.source if draft is None else draft.source.text,
        "ok": draft is None,
        "message": "",
        "line": None,
        "summary": f"{len(automaton.rules)} rules, {automaton.state_count()} states · {session.tokenizer.name}",
        "lit": [],
        "select": None,
    }
    if draft is not None:
        state["message"] = f"{draft.source.title}, {draft}"
        state["line"] = draft.mistakes[0].line
    else:
        spans = {item.span for item in session.frontier().items if item.span is not None}
        state["lit"] = lit_lines(session.source, sorted(spans))
    return state


def stepper_state(
    session: Session,
    *,
    typed: str | None = None,
    reading: Reading | None = None,
    trouble: str = "",
    running: bool = False,
) -> State:
    """The stepper's state at the session's place.

    `typed` is the text in the box where that is not simply the text read, and `reading` its fate; `trouble` is an
    error to show.
    """
    position, steps, index = session.position, session.steps, session.index
    allowed = len(session.allowed_ids())
    candidates = _candidates(session)
    first = max(0, index - STEPS_BEFORE)
    last = min(len(steps), index + STEPS_AFTER)
    rest = "" if reading is None or reading.ok else clip(glyph(reading.text[reading.read :]), 60)
    return {
        "box": box_text(session.text) if typed is None else typed,
        "rest": rest,
        "ribbon": [_ribbon_step(number + 1, steps[number], position, index) for number in range(first, last)],
        "before": first,
        "after": len(steps) - last,
        "status": _status(session, reading, trouble),
        "place": f"byte {position:,} · step {index:,} of {len(steps):,} · {allowed:,} tokens allowed",
        "next": describe_bytes(session.next_bytes()),
        "candidates": [{"id": c.token_id, "text": clip(str(c), 24), "stop": c.stop} for c in candidates],
        "more": f"{allowed - len(candidates):,}" if allowed > len(candidates) else "",
        "selected": None,
        "can_back": session.place > Place(),
        "can_forward": index < len(steps),
        "running": running,
    }


def _candidates(session: Session) -> list[Candidate]:
    """Allowed tokens worth offering: readable ones before control bytes, and not single characters alone."""
    found = session.allowed_tokens(SCANNED)
    if len(found) <= CANDIDATES:
        return found
    single, longer, unreadable = [], [], []
    for candidate in found:
        if not candidate.stop and "⟨" in glyph(candidate.token):
            unreadable.append(candidate)
        elif candidate.stop or len(candidate.token) == 1:
            single.append(candidate)
        else:
            longer.append(candidate)
    first = max(SINGLE, CANDIDATES - len(longer))
    return (single[:first] + longer + single[first:] + unreadable)[:CANDIDATES]


def _ribbon_step(number: int, step: Step, position: int, index: int) -> State:
    part = "read" if number <= index else "half" if step.start < position else "undone"
    text = "end of text" if step.stop else clip(glyph(step.data), 24)
    return {"index": number, "text": text, "id": step.token_id, "part": part}


def _status(session: Session, reading: Reading | None, trouble: str) -> State:
    if trouble:
        return {"kind": "dead", "text": trouble}
    if reading is not None and not reading.ok:
        return {"kind": "dead", "text": str(reading)}
    if session.is_terminated:
        return {"kind": "stopped", "text": "complete: the stop token was taken"}
    if session.is_completed:
        return {"kind": "end", "text": "the text may end here"}
    if not session.allowed_ids():
        return {"kind": "dead", "text": "dead end: no token of the vocabulary can go on, and the text may not end here"}
    return {"kind": "ok", "text": reading.note if reading is not None else ""}
