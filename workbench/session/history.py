"""The tape a session plays: the steps taken so far, the steps undone, and the places between them.

A `Tape` knows no grammar: it is the arithmetic of going back and forward by token or by byte, kept apart so that it can
be tested alone.  A `Place` is a number of whole steps and, inside the step after them, a number of bytes.  A step that
was taken *whole* (a stop token, a token that a grammar names by its id) has no places inside.

Read on: `workbench/session/session.py`, which moves a matcher along the tape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kernels_core.inspect.classic import in_common

Unit = Literal["token", "byte"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """After `index` whole steps, and `offset` bytes of the next one (less than all of it).

    A matcher gets there by as many moves: the steps as they were taken, then single bytes.
    """

    index: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One move of the person or the model: a token (`token_id` is its id) or a run of bytes (`token_id` is None).

    `data` are the bytes read, from byte offset `start`.  `whole`: taken by its id rather than byte by byte; only such a
    step may have no bytes.  `stop`: it ended the text.
    """

    start: int
    data: bytes
    token_id: int | None = None
    whole: bool = False
    stop: bool = False

    @property
    def end(self) -> int:
        """Byte offset just past the step."""
        return self.start + len(self.data)

    @property
    def units(self) -> int:
        """How many places end in the step: one for each byte, or one in all."""
        return 1 if self.whole else len(self.data)


class Tape:
    """Steps laid end to end: steps[0].start == 0, steps[i].end == steps[i + 1].start, and only the last may stop.

    Not thread-safe by itself.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps: list[Step] = []
        self._data = bytearray()
        for step in steps:
            self.append(step)

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps)

    @property
    def data(self) -> bytes:
        """All bytes on the tape, read or undone."""
        return bytes(self._data)

    @property
    def end(self) -> Place:
        """The place after the last step."""
        return Place(len(self._steps))

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        return f"<Tape: {len(self._steps)} steps, {len(self._data)} bytes>"

    def append(self, step: Step) -> None:
        """Add `step` at the end, wherever it was before.  A step without bytes must be whole."""
        if self._steps and self._steps[-1].stop:
            raise ValueError("nothing follows the end of the text")
        if not step.units:
            raise ValueError("a step either reads bytes or is taken whole")
        if step.whole and step.token_id is None:
            raise ValueError("only a token is taken whole")
        self._steps.append(replace(step, start=len(self._data)))
        self._data += step.data

    def cut(self, place: Place) -> None:
        """Forget all that lies after `place`.  A token cut in the middle stays as a run of bytes."""
        partial = self._steps[place.index].data[: place.offset] if place.offset else b""
        start = self.position(Place(place.index))
        del self._steps[place.index :], self._data[start:]
        if partial:
            self.append(Step(start, partial))

    def position(self, place: Place) -> int:
        """Bytes before `place`."""
        if place.index == len(self._steps):
            return len(self._data)
        return self._steps[place.index].start + place.offset

    def place(self, index: int) -> Place:
        """The place after `index` whole steps; IndexError outside `[0, len(tape)]`."""
        if not 0 <= index <= len(self._steps):
            raise IndexError(f"step {index} is outside the history, which has {len(self._steps)} steps")
        return Place(index)

    def place_at(self, position: int) -> Place:
        """The first place with `position` bytes before it; IndexError outside the tape, or inside a whole step."""
        if not 0 <= position <= len(self._data):
            raise IndexError(f"byte {position} is outside the history, which has {len(self._data)} bytes")
        for index, step in enumerate(self._steps):
            if position == step.start:
                return Place(index)
            if position < step.end:
                if step.whole:
                    raise IndexError(f"byte {position} is inside token {step.token_id}, which was taken whole")
                return Place(index, position - step.start)
        return self.end

    def before(self, place: Place, by: Unit) -> Place | None:
        """The place one unit back, None at the beginning.  From inside a token, "token" goes to its first byte."""
        if place.offset:
            return Place(place.index, place.offset - 1 if by == "byte" else 0)
        if place.index == 0:
            return None
        step = self._steps[place.index - 1]
        return Place(place.index - 1, step.units - 1 if by == "byte" else 0)

    def after(self, place: Place, by: Unit) -> Place | None:
        """The place one unit on, None at the end.  From inside a token, "token" goes to its last byte's end."""
        if place.index == len(self._steps):
            return None
        if by == "byte" and place.offset + 1 < self._steps[place.index].units:
            return Place(place.index, place.offset + 1)
        return Place(place.index + 1)

    def between(self, first: Place, last: Place) -> Iterator[Step]:
        """What leads from one place to a later one: whole steps, and parts of them as runs of bytes."""
        place = first
        while place < last:
            step = self._steps[place.index]
            stop = last.offset if last.index == place.index else len(step.data)
            part = Step(step.start + place.offset, step.data[place.offset : stop])
            yield part if place.offset or stop < len(step.data) else step
            place = Place(place.index + 1)

    def shared(self, other: Tape) -> Place:
        """The last place up to which both tapes hold the same whole steps."""
        return Place(in_common(self._steps, other._steps))
