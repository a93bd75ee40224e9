"""Numbers for the places of a session's history, so that a browser can recognise a place it has seen before.

Two places have the same number exactly when the same steps of the same grammar lead there.  A place's number never
changes and is never used for another.

Read on: `workbench/session/history.py` (places), `workbench/explorer/dashboard.py` (who sends them),
`frontend/src/host.js` (who keeps what was shown there).
"""

from __future__ import annotations

from typing import Final

from kernels_core.inspect.classic import in_common
from workbench.session.history import Place, Step, Tape, Unit

WINDOW: Final = 200
"""So many steps on either side of the place are numbered in `around`."""
MAX_NUMBERS: Final = 1_000_000


class Places:
    """Numbers places.  `renew` after a change of grammar or tokenizer: all numbers so far are then of the past."""

    def __init__(self) -> None:
        self._next = 0
        self._numbers: dict[tuple[object, ...], int] = {}
        self._steps: tuple[Step, ...] = ()
        self._nodes: list[int] = []
        self._runs: list[list[int]] = []
        self._tape = Tape()
        self.renew()

    def renew(self) -> None:
        self._numbers.clear()
        self._steps, self._tape = (), Tape()
        self._nodes = [self._new()]
        self._runs = _runs(self._nodes)

    def number(self, place: Place, steps: tuple[Step, ...]) -> int:
        """The number of `place` in the history `steps`."""
        self._follow(steps)
        return self._number(place)

    def around(self, place: Place, steps: tuple[Step, ...]) -> dict[str, object]:
        """The numbers of the places that one command leads to from `place`: where it goes, by its name.

        "back token", "back byte", "forward token", "forward byte", "first", "last"; under "steps" those after so many
        whole steps, as runs `[step, number, length]`: after `step + k` steps it is `number + k`, for `k < length`.
        """
        self._follow(steps)
        found: dict[str, object] = {"first": self._nodes[0], "last": self._nodes[len(steps)]}
        units: tuple[Unit, ...] = ("token", "byte")
        for by in units:
            for name, there in (("back", self._tape.before(place, by)), ("forward", self._tape.after(place, by))):
                if there is not None:
                    found[f"{name} {by}"] = self._number(there)
        first, last = place.index - WINDOW, place.index + WINDOW
        found["steps"] = [run for run in self._runs if run[0] <= last and first < run[0] + run[2]]
        return found

    def _follow(self, steps: tuple[Step, ...]) -> None:
        """Number the places between `steps`, as far as they are not those of the last time."""
        if steps == self._steps:
            return
        same = in_common(steps, self._steps)
        del self._nodes[same + 1 :]
        for step in steps[same:]:
            self._nodes.append(self._child(self._nodes[-1], step.data, step.token_id, step.whole, step.stop))
        self._steps = steps
        self._runs = _runs(self._nodes)
        self._tape = Tape(steps)

    def _number(self, place: Place) -> int:
        node = self._nodes[place.index]
        if place.offset:
            node = self._child(node, self._steps[place.index].data[: place.offset], None, False, False)
        return node

    def _child(self, node: int, *step: object) -> int:
        key = (node, *step)
        if key not in self._numbers:
            if len(self._numbers) >= MAX_NUMBERS:
                self._numbers.clear()  # what was numbered is then new again, which costs a question and nothing else
            self._numbers[key] = self._new()
        return self._numbers[key]

    def _new(self) -> int:
        self._next += 1
        return self._next


def _runs(numbers: list[int]) -> list[list[int]]:
    """`numbers` as `[index, number, length]` of runs that count up by one."""
    runs: list[list[int]] = []
    for index, number in enumerate(numbers):
        if runs and number == runs[-1][1] + runs[-1][2]:
            runs[-1][2] += 1
        else:
            runs.append([index, number, 1])
    return runs
