"""Undo and redo of a session's text, and the continuations that edits dropped.

Moving through the history (`back`, `forward`, `goto`) changes no text and is no edit.  An edit is whatever replaces
what the history holds: a text that was typed, a token that was taken, a generation.  Each can be taken back.  Where an
edit drops steps that lay after the place, nobody sees them go: they are kept, and one can go back to them.

What changes more than the text (another source is opened, a model brings its vocabulary) is one edit too: its version
has the `Scene` of before.  A source that a person edits is not: the editor takes that back.

Read on: `history.py` (the tape), `edits.py` (what a person does).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from workbench.session.history import Place, Step

if TYPE_CHECKING:
    from workbench.languages import Draft, Source
    from workbench.session.examples import Example
    from workbench.tokenizers import Tokenizer

MAX_EDITS: Final = 200
MAX_KEPT: Final = 8
MAX_TRACES: Final = 8
PAUSE_SECONDS: Final = 0.8
"""Who goes on typing within this time makes one edit, not many."""

START: Final = Place()


@dataclass(frozen=True, eq=False)
class Scene:
    """What a text stands in: source, vocabulary, examples, the trace of the generation that wrote it, what panels keep
    with it (`memo`), and the continuations of it that were `dropped`."""

    document: Source
    draft: Draft | None
    tokenizer: Tokenizer
    model_replaced: str
    examples: tuple[Example, ...]
    trace: object
    memo: object = None
    dropped: tuple[Version, ...] = ()

    def same(self, other: Scene | None) -> bool:
        """Whether `other` is of the same things, whatever panels keep."""
        names = ("document", "draft", "tokenizer", "model_replaced", "examples", "trace")
        return other is not None and all(getattr(self, name) is getattr(other, name) for name in names)


@dataclass(frozen=True)
class Version:
    """What a session held: its history, the place in it, and what was typed at its end and refused.

    `vocabulary` is the fingerprint of that which the tokens are of.  `scene`: what else the edit changed.
    """

    steps: tuple[Step, ...] = ()
    place: Place = START
    rest: bytes = b""
    vocabulary: str = ""
    scene: Scene | None = None

    def same(self, other: Version) -> bool:
        """Whether nothing has changed from one to the other."""
        scenes = self.scene is not None and self.scene.same(other.scene)
        return scenes and (self.steps, self.place, self.rest) == (other.steps, other.place, other.rest)

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
        self._held = 0

    def see(self, *, afresh: bool = False) -> None:
        """Somebody sees the text from now on: what was made unseen cannot be taken back.  Later calls do nothing, but
        those `afresh`."""
        if afresh or not self._seen:
            self._seen = True
            self._past.clear()
            self._future.clear()

    def note(self, before: Version | int, group: object = None) -> None:
        """An edit: `before` is what there was, or the number of steps to which others were added.

        Edits of the same `group` are one, those of a group that is a text only while they follow each other quickly.
        """
        if self._held:
            return
        now = self._clock()
        quick = not isinstance(group, str) or now - self._last < PAUSE_SECONDS
        joined = group is not None and group == self._group and quick and self._past
        self._group, self._last = group, now
        self._future.clear()
        if not joined:
            self._past.append(before)

    def begin(self, before: Version) -> None:
        """Until `end`, all edits are one; they may change the scene, which `before` has.

        One that was begun where nothing has changed since is the same edit.
        """
        last = self._past[-1] if self._past else None
        if not self._held and not (isinstance(last, Version) and last.same(before)):
            self.note(before)
            self._let_go_of_traces()
        self._held += 1

    def _let_go_of_traces(self) -> None:
        """A trace may be megabytes: those of the last edits stay."""
        scenes = [n for n, one in enumerate(self._past) if isinstance(one, Version) and one.scene is not None]
        for number in scenes[:-MAX_TRACES]:
            one = self._past[number]
            if isinstance(one, Version) and one.scene is not None and one.scene.trace is not None:
                self._past[number] = replace(one, scene=replace(one.scene, trace=None))

    def end(self) -> None:
        """The edit that was begun is over."""
        self._held -= 1
        self._group = None

    def join(self, group: object) -> None:
        """Edits of `group` that follow belong to the last edit."""
        self._group = group

    def keep(self, version: Version) -> None:
        """Keep a version with a continuation that would be lost; the newest comes first."""
        text = version.text
        self._kept = [version, *(one for one in self._kept if one.text != text)][:MAX_KEPT]

    def edits(self) -> Mapping[str, Any]:
        """All that there is now, for `reset`."""
        return vars(self) | {"_past": self._past.copy(), "_future": self._future.copy()}

    def reset(self, edits: Mapping[str, Any]) -> None:
        """What was done since `edits` were asked for could not be: all is as it was then."""
        vars(self).update(edits)

    @property
    def dropped(self) -> tuple[Version, ...]:
        """All continuations that are kept."""
        return tuple(self._kept)

    @dropped.setter
    def dropped(self, versions: Iterable[Version]) -> None:
        self._kept = list(versions)

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
        self._group = None
        if isinstance(before, int):
            steps = now.steps[:before]
            before = replace(now, steps=steps, place=Place(len(steps)), rest=b"", scene=None)
        self._future.append(_beside(now, before))
        return before

    def redo(self, now: Version) -> Version | None:
        """The version that was taken back last; None where there is none."""
        if not self._future:
            return None
        after = self._future.pop()
        self._past.append(_beside(now, after))
        self._group = None
        return after


def _beside(now: Version, other: Version) -> Version:
    """What to come back to from `other`: the scene only where that changes it."""
    return now if other.scene is not None else replace(now, scene=None)
