"""The tape a session plays: the bytes read so far, the bytes undone, and where each step begins and ends.

A `Tape` knows no grammar: it is the arithmetic of going back and forward by token or by byte, kept apart so that it
can be tested alone.  A place on the tape is a `Place(position, stopped)`: how many bytes have been read, and whether
the stop token, which spells no bytes, was taken after them.

Read on: `workbench/session.py`, which moves a matcher along the tape.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["Place", "Step", "Tape", "Unit"]

Unit = Literal["token", "byte"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A point between two bytes of the tape; `stopped` is only ever true at its end."""

    position: int
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One move of the person or the model: a token (`token_id` is its id) or a run of bytes (`token_id` is None).

    `data` are the bytes read, from byte offset `start`; a stop token has none and `stop` is true.
    """

    start: int
    data: bytes
    token_id: int | None = None
    stop: bool = False

    @property
    def end(self) -> int:
        """Byte offset just past the step."""
        return self.start + len(self.data)


class Tape:
    """Steps laid end to end: steps[0].start == 0, steps[i].end == steps[i + 1].start, and only the last may stop.

    Positions are byte offsets in `[0, len(data)]`; an index counts whole steps.  Not thread-safe by itself.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps: list[Step] = []
        self._ends: list[int] = []
        self._data = bytearray()
        for step in steps:
            self.append(step.data, token_id=step.token_id, stop=step.stop)

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
        return Place(len(self._data), bool(self._steps) and self._steps[-1].stop)

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        return f"<Tape: {len(self._steps)} steps, {len(self._data)} bytes>"

    def append(self, data: bytes, *, token_id: int | None = None, stop: bool = False) -> Step:
        """Add a step at the end; returns it with its place filled in.  An empty step that does not stop is refused."""
        if self.end.stopped:
            raise ValueError("nothing follows the stop token")
        if stop == bool(data):
            raise ValueError("a step either reads bytes or stops")
        step = Step(len(self._data), data, token_id, stop)
        self._steps.append(step)
        self._ends.append(step.end)
        self._data += data
        return step

    def cut(self, place: Place) -> None:
        """Forget all that lies after `place`.  A token cut in the middle stays as a run of bytes."""
        index = self.index(place)
        partial = self._steps[index] if index < len(self._steps) else None
        del self._steps[index:], self._ends[index:], self._data[place.position :]
        if partial is not None and place.position > partial.start:
            data = partial.data[: place.position - partial.start]
            self._steps.append(replace(partial, data=data, token_id=None))
            self._ends.append(place.position)

    def index(self, place: Place) -> int:
        """How many whole steps lie before `place`."""
        if place.stopped:
            return len(self._steps)
        count = bisect_right(self._ends, place.position)
        if count and self._steps[count - 1].stop:
            count -= 1
        return count

    def place(self, index: int) -> Place:
        """The place after `index` whole steps; IndexError outside `[0, len(tape)]`."""
        if not 0 <= index <= len(self._steps):
            raise IndexError(f"step {index} is outside the history, which has {len(self._steps)} steps")
        if index == 0:
            return Place(0)
        step = self._steps[index - 1]
        return Place(step.end, step.stop)

    def before(self, place: Place, by: Unit) -> Place | None:
        """The place one unit back, None at the beginning.  From inside a token, "token" goes to its first byte."""
        if place.stopped:
            return Place(place.position)
        if place.position == 0:
            return None
        if by == "byte":
            return Place(place.position - 1)
        # The step that holds the byte just before the place.
        return Place(self._steps[bisect_left(self._ends, place.position)].start)

    def after(self, place: Place, by: Unit) -> Place | None:
        """The place one unit on, None at the end.  From inside a token, "token" goes to its last byte's end."""
        if place.stopped or place == self.end:
            return None
        if place.position == len(self._data):
            return Place(place.position, True)
        if by == "byte":
            return Place(place.position + 1)
        return Place(self._ends[bisect_right(self._ends, place.position)])
