"""The strip on top: the text read so far, its tokens, the buttons that step, and the tokens allowed next.

The functions that build what the view shows from a `Session` are pure, so that they can be tested without a browser.

Read on: `frontend/src/text.js` (what the browser does with it), `workbench/explorer/dashboard.py` (the commands).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kernels_core import TokenizerInfo
from kernels_core.errors import BudgetExceededError
from visualizers.glyphs import OPEN, SPACE, STOP_TOKEN, clip, glyph, parse
from visualizers.text import TextView
from workbench.explorer.tooltip import tooltip
from workbench.languages import NOTHING
from workbench.panels.base import Desk, Panel
from workbench.panels.triggers import StepMode, step_modes
from workbench.reports.token_strip import session_strip
from workbench.session import Change, Session
from workbench.session.history import Place
from workbench.session.result import Candidate, Reading, content

__all__ = ["TextPanel", "box_bytes", "box_text", "ribbon_state", "stepper_state"]

STEPS_BEFORE, STEPS_AFTER = 60, 30
# The part of the history on the ribbon moves on by so many steps: in between it stays in the browser as it is.
STEPS_MOVED = 20
CANDIDATES, SINGLE, SCANNED = 28, 10, 1000
KEPT_WIDTH = 24
State = dict[str, Any]


class TextPanel(Panel, name="text", title="Text", dock="strip", rank=10):
    """The text box, the ribbon, the buttons, the status."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: TextView = TextView()
        self.view.answers("hint", lambda _content: {"hint": self._hint()})

    def update(self, change: Change | None) -> None:
        desk, view = self.desk, self.view
        modes = step_modes(self.session)
        unknown = f"free text and tags are not told apart: {modes}" if isinstance(modes, BudgetExceededError) else ""
        view.ribbon = ribbon_state(self.session)
        view.state = stepper_state(
            self.session,
            typed=desk.typed,
            reading=desk.reading,
            trouble=desk.trouble,
            modes=() if isinstance(modes, BudgetExceededError) else modes,
            note=unknown,
        )
        view.running = self.session.model.is_running
        view.chosen = self._chosen()

    def chosen(self) -> None:
        self.view.chosen = self._chosen()

    def received(self, content: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "prefix":
            self.view.answer = {"client": content.pop("client", None), "seq": content.pop("seq", None)}
        super().received(content)

    def _hint(self) -> State | None:
        """Why what is refused of the text in the box cannot come."""
        reading = self.desk.reading
        return None if reading is None or reading.ok else tooltip(self.session.inspect, reading.text[reading.read :])

    def _chosen(self) -> State | None:
        """The selected token and whether it can come here."""
        token = self.desk.selection.get("token")
        info = self.session.tokenizer.info
        if not isinstance(token, int) or not 0 <= token < info.vocab_size:
            return None
        reading = self.session.inspect.explain(token)
        text = glyph(bytes(info.decoded_vocab[token])) or "(no bytes)"
        why = (reading.note or "allowed here") if reading.ok else reading.note or reading.message
        return {"id": token, "text": text, "ok": reading.ok, "why": why}

    def static_html(self) -> str:
        return session_strip(self.session, self.desk.reading)


def box_text(data: bytes) -> str:
    """`data` as text for a text box: newlines, tabs and spaces as they are, bytes that are no text as `⟨0xHH⟩`."""
    shown = glyph(data).replace(SPACE, " ")
    return shown.replace("⟨0x0A⟩", "\n").replace("⟨0x09⟩", "\t")


def box_bytes(text: str) -> bytes:
    """What a text box means: the inverse of `box_text`; token glyphs may be pasted in.

    Raises `ValueError` for an escape that is no code point.
    """
    return parse(text)


def stepper_state(
    session: Session,
    *,
    typed: str | None = None,
    reading: Reading | None = None,
    trouble: str = "",
    modes: Sequence[StepMode] = (),
    note: str = "",
) -> State:
    """The stepper's state at the session's place.

    `typed` is the text in the box where that is not simply the text read, and `reading` its fate; `trouble` is an
    error to show.  `modes[i]` is the mode in which step `i` was read, with its colour; the state has them as runs
    `[name, hue, length]` from the first step on.  `note`: what is said where nothing is wrong.

    A place whose mask takes more than the budget has no tokens to offer, and says so.
    """
    position, steps, index = session.inspect.position, session.steps, session.index
    allowed, candidates = -1, []
    try:
        candidates = _candidates(session)
        allowed = session.inspect.allowed_array().size
        status = _status(session, reading, trouble, note)
    except BudgetExceededError as error:
        status = _status(session, reading, trouble or str(error), note)
    rest = "" if reading is None or reading.ok else clip(glyph(reading.text[reading.read :]), 60)
    return {
        "box": box_text(session.text) if typed is None else typed,
        "rest": rest,
        "read": index,
        "half": session.place.offset > 0,
        "modes": [[*mode, len(list(run))] for mode, run in groupby(modes)],
        "status": status,
        "place": f"byte {position:,} · after step {index:,} of {len(steps):,} · {_allowed(allowed)}",
        "vocabulary": session.inspect.vocabulary,
        "next": content(session.inspect.next_bytes()) or "nothing",
        "candidates": [{"id": c.token_id, "text": clip(str(c), 24), "stop": c.stop} for c in candidates],
        "more": f"{allowed - len(candidates):,}" if allowed > len(candidates) else "",
        "can_back": session.place > Place(),
        "can_forward": index < len(steps),
        "can_undo": session.edits.can_undo,
        "can_redo": session.edits.can_redo,
        "kept": _kept(session),
    }


def ribbon_state(session: Session) -> State:
    """The steps around the session's place for the ribbon: the same ones for `STEPS_MOVED` places."""
    steps, index = session.steps, session.index
    first = max(0, index - STEPS_BEFORE) // STEPS_MOVED * STEPS_MOVED
    last = min(len(steps), first + STEPS_BEFORE + STEPS_MOVED + STEPS_AFTER)
    shown = [
        {"text": STOP_TOKEN if step.stop else clip(glyph(step.data), 24), "id": step.token_id}
        for step in steps[first:last]
    ]
    return {"before": first, "steps": shown, "after": len(steps) - last}


def _kept(session: Session) -> list[State]:
    """The continuations that edits dropped, from where they leave the present text."""
    now = np.frombuffer(session.text, dtype=np.uint8)
    shown = []
    for version in session.edits.kept:
        then = np.frombuffer(version.text, dtype=np.uint8)[: now.size]
        parted = np.flatnonzero(then != now[: then.size])
        rest = glyph(version.text[parted[0] if parted.size else then.size :])
        shown.append({"text": clip(rest, KEPT_WIDTH), "title": clip(rest, 20 * KEPT_WIDTH)})
    return shown


UNKNOWN, SHORT, LONG, BLANK, UNREADABLE = range(5)
_looks: Final[WeakKeyDictionary[object, NDArray[np.uint8]]] = WeakKeyDictionary()


def _candidates(session: Session) -> list[Candidate]:
    """Allowed tokens worth offering: readable ones before blanks and control bytes, and not single characters alone."""
    allowed = session.inspect.allowed_array()
    if allowed.size <= CANDIDATES:
        return session.inspect.allowed_tokens(CANDIDATES)
    info = session.tokenizer.info
    stops = [candidate for candidate in session.inspect.allowed_tokens(CANDIDATES) if candidate.stop]
    scanned = allowed[:SCANNED]
    scanned = scanned[~np.isin(scanned, [candidate.token_id for candidate in stops])]
    looks = _looks_of(info, scanned)
    single, longer = scanned[looks == SHORT].tolist(), scanned[looks == LONG].tolist()
    first = max(SINGLE - len(stops), CANDIDATES - len(longer) - len(stops))
    chosen = single[:first] + longer[:CANDIDATES] + single[first:]
    chosen += scanned[looks == BLANK][:3].tolist() + scanned[looks == UNREADABLE][:CANDIDATES].tolist()
    vocab = info.decoded_vocab
    room = CANDIDATES - len(stops)
    return [*stops, *(Candidate(token_id, bytes(vocab[token_id])) for token_id in chosen[:room])]


def _looks_of(info: TokenizerInfo, ids: NDArray[np.int32]) -> NDArray[np.uint8]:
    """How each of these tokens looks on a button; found once for each token of a vocabulary."""
    known = _looks.setdefault(info, np.zeros(info.vocab_size, dtype=np.uint8))
    vocab = info.decoded_vocab
    for token_id in ids[known[ids] == UNKNOWN].tolist():
        token = vocab[token_id]
        if not token.strip():
            known[token_id] = BLANK
        elif OPEN in glyph(token):
            known[token_id] = UNREADABLE
        else:
            known[token_id] = SHORT if len(token) == 1 else LONG
    return known[ids]


def _allowed(count: int) -> str:
    if count < 0:
        return "no mask within the budget"
    return f"{count:,} token{'' if count == 1 else 's'} allowed"


def _status(session: Session, reading: Reading | None, trouble: str, note: str) -> State:
    if trouble:
        return {"kind": "dead", "text": trouble}
    draft = session.edits.draft
    if draft is not None and draft.in_use == NOTHING:  # else one would look for the mistake in the text
        return {"kind": "dead", "text": "the source has a mistake: only the empty text is allowed"}
    if reading is not None and not reading.ok:
        return {"kind": "dead", "text": str(reading)}
    if session.inspect.is_terminated:
        return {"kind": "stopped", "text": "complete: the stop token was taken"}
    if session.is_completed:
        return {"kind": "end", "text": " · ".join(filter(None, ("the text may end here", note)))}
    if not session.inspect.allowed_array().size:
        return {"kind": "dead", "text": "dead end: no token of the vocabulary can go on, and the text may not end here"}
    return {"kind": "ok", "text": (reading.note if reading is not None else "") or note}
