"""Undo and redo of a session's text, and the continuations that edits dropped.

Moving through the history (`back`, `forward`, `goto`) changes no text and is no edit.  An edit is whatever replaces
what the history holds: a text that was typed, a token that was taken, a generation.  Each can be taken back.  Where an
edit drops steps that lay after the place, nobody sees them go: they are kept, and one can go back to them.

Read on: `workbench/session/history.py` (the tape), `workbench/session/session.py`, whose part `Editing` is.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from workbench.session.history import Place, Step, Tape
from workbench.session.matching import bytes_of, lay, report, tokenise
from workbench.session.result import Reading, StepError

if TYPE_CHECKING:
    from workbench.session import Change
    from workbench.session.shadow import Twin
    from workbench.tokenizers import Tokenizer

__all__ = ["Editing", "Edits", "Version"]

MAX_EDITS: Final = 200
MAX_KEPT: Final = 8
PAUSE_SECONDS: Final = 0.8
"""Who goes on typing within this time makes one edit, not many."""
TYPED_AT_ONCE: Final = 8
"""So many bytes may come by typing between two looks at the text; more were pasted."""


START: Final = Place()


@dataclass(frozen=True)
class Version:
    """What a session held: its history, the place in it, and what was typed at its end and refused."""

    steps: tuple[Step, ...] = ()
    place: Place = START
    rest: bytes = b""

    @cached_property
    def text(self) -> bytes:
        """All of it: read, undone and refused."""
        return b"".join(step.data for step in self.steps) + self.rest


class Edits:
    """The edits of one text: those that can be taken back, those taken back, and the continuations dropped.

    Not thread-safe by itself.  `clock` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        # A number of steps stands for the version of which so many were left when more were added.
        self._past: deque[Version | int] = deque(maxlen=MAX_EDITS)
        self._future: list[Version] = []
        self._kept: list[Version] = []
        self._clock = clock
        self._group: object = None
        self._last = 0.0
        self._seen = False

    def see(self) -> None:
        """Somebody sees the text from now on: what was made unseen cannot be taken back.  Later calls do nothing."""
        if not self._seen:
            self._seen = True
            self._past.clear()
            self._future.clear()

    def note(self, before: Version | int, group: object = None) -> None:
        """An edit: `before` is what there was, or the number of steps to which others were added.

        Edits of the same `group` are one, those of a group that is a text only while they follow each other quickly.
        """
        now = self._clock()
        quick = not isinstance(group, str) or now - self._last < PAUSE_SECONDS
        joined = group is not None and group == self._group and quick and self._past
        self._group, self._last = group, now
        self._future.clear()
        if not joined:
            self._past.append(before)

    def keep(self, version: Version) -> None:
        """Keep a version with a continuation that would be lost; the newest comes first."""
        text = version.text
        self._kept = [version, *(one for one in self._kept if one.text != text)][:MAX_KEPT]

    def kept(self, now: bytes) -> tuple[Version, ...]:
        """The versions kept, but those that the text `now` contains or begins with anyway."""
        return tuple(version for version in self._kept if not now.startswith(version.text))

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def undo(self, now: Version) -> Version | None:
        """The version before the last edit; None where there is none."""
        if not self._past:
            return None
        before = self._past.pop()
        self._future.append(now)
        self._group = None
        if isinstance(before, int):
            steps = now.steps[:before]
            return Version(steps, Place(len(steps)))
        return before

    def redo(self, now: Version) -> Version | None:
        """The version that was taken back last; None where there is none."""
        if not self._future:
            return None
        self._past.append(now)
        self._group = None
        return self._future.pop()


class Editing:
    """`Session`'s undo and redo of the text."""

    _lock: threading.RLock
    _tape: Tape
    _place: Place
    _edits: Edits
    _rest: bytes
    _tokenizer: Tokenizer

    if TYPE_CHECKING:

        @property
        def text(self) -> bytes: ...

        def explain(self, what: str | bytes | int) -> Reading: ...

        def _refuse_after_stop(self) -> None: ...

        def _twin(self) -> Twin: ...

        def _arrive(self, tape: Tape) -> None: ...

        def _go(self, place: Place) -> None: ...

        def _tell(self, change: Change) -> None: ...

        def _told(self, reading: Reading, tried: bytes, read: int = 0, *, afresh: bool = False) -> Reading: ...

    def type(self, text: str | bytes) -> None:
        """Read `text` on from the place in the tokenizer's tokens, as one edit; the steps before it stay as they are.

        Raises `StepError`, and changes nothing, where the text dies.
        """
        data = bytes_of(text)
        with self._lock:
            self._refuse_after_stop()
            if not self._twin().fork().accept_string(data):
                reading = self.explain(data)
                raise StepError(reading.message, reading)
            before = [(step.data, step.token_id) for step in self._tape.between(START, self._place)]
            tape, _ = lay(self._twin(), before + tokenise(data, self._tokenizer)[0])
            self._replace(tape)
        self._tell("place")

    @property
    def can_undo_edit(self) -> bool:
        return self._edits.can_undo

    @property
    def can_redo_edit(self) -> bool:
        return self._edits.can_redo

    @property
    def kept(self) -> tuple[Version, ...]:
        """Continuations that an edit dropped, the newest first: texts that went on otherwise after the place of it."""
        with self._lock:
            return self._edits.kept(self._tape.data + self._rest)

    def undo_edit(self) -> Reading | None:
        """Make the text what it was before the last edit, with what was refused then; None where there was none.

        `undo` only moves through the history.
        """
        return self._restore(self._edits.undo)

    def redo_edit(self) -> Reading | None:
        """Do the edit again that was taken back last; None where there is none."""
        return self._restore(self._edits.redo)

    def restore(self, number: int = 0) -> Reading:
        """Go to the end of a continuation, `kept[number]`; the present one is kept.  IndexError where there is none."""

        def take(now: Version) -> Version:
            kept = self._edits.kept(now.text)
            if not 0 <= number < len(kept):
                raise IndexError(f"there is no continuation {number}: {len(kept)} are kept")
            version = kept[number]
            self._edits.note(now)
            if not version.text.startswith(now.text):
                self._edits.keep(now)
            return replace(version, place=Place(len(version.steps)))

        reading = self._restore(take)
        assert reading is not None
        return reading

    def see_edits(self) -> None:
        """A panel shows the text: what was made before its first opening stays, later edits can be taken back."""
        with self._lock:
            self._edits.see()

    # -- within ------------------------------------------------------------------------------------------------------

    def _version(self) -> Version:
        return Version(self._tape.steps, self._place, self._rest)

    def _replace(self, tape: Tape, rest: bytes = b"") -> None:
        """`_arrive`, as an edit; `rest` was typed after `tape` and is refused."""
        before = self._version()
        old, new = self.text + self._rest, tape.data + rest
        if old != new:
            group = None
            if abs(len(new) - len(old)) <= TYPED_AT_ONCE:
                group = "typed" if new.startswith(old) else "deleted" if old.startswith(new) else None
            self._edits.note(before, group)
        if self._place < self._tape.end and not new.startswith(before.text):
            self._edits.keep(before)
        self._arrive(tape)
        self._rest = rest

    def _note_step(self, step: Step, run: object) -> None:
        """A step is about to be taken; all steps of a `run` are one edit."""
        if self._place == self._tape.end and not self._rest:
            self._edits.note(len(self._tape), run)
        else:
            self._drop(self.text + step.data, run)

    def _drop(self, text: bytes = b"", run: object = None) -> None:
        """What is undone or refused is about to be lost to `text`: keep it."""
        before = self._version()
        self._edits.note(before, run)
        if not text.startswith(before.text):
            self._edits.keep(before)
        self._rest = b""

    def _restore(self, take: Callable[[Version], Version | None]) -> Reading | None:
        with self._lock:
            version = take(self._version())
            if version is None:
                return None
            tape, _ = lay(self._twin(), [(step.data, step.token_id) for step in version.steps])
            whole = tape.steps == version.steps  # under another grammar the text may die earlier
            self._arrive(tape)
            if whole:
                self._go(version.place)
            self._rest = version.rest if whole else version.text[len(tape.data) :]
            text, twin = self.text, self._twin()
            reading = self._told(report(text + self._rest, 0, len(text), twin, twin.fork()), self._rest)
        self._tell("place")
        return reading
