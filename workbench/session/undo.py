"""Undo and redo of a session's text, and the continuations that edits dropped.

Moving through the history (`back`, `forward`, `goto`) changes no text and is no edit.  An edit is whatever replaces
what the history holds: a text that was typed, a token that was taken, a generation.  Each can be taken back.  Where an
edit drops steps that lay after the place, nobody sees them go: they are kept, and one can go back to them.

Read on: `history.py` (the tape), `edits.py` (what a person does).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from workbench.session.history import Place, Step

__all__ = ["Undo", "Version"]

MAX_EDITS: Final = 200
MAX_KEPT: Final = 8
PAUSE_SECONDS: Final = 0.8
"""Who goes on typing within this time makes one edit, not many."""

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


class Undo:
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
