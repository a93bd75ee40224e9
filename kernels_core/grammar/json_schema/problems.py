"""What could not be compiled exactly: one `SchemaProblem` for each place, collected and not raised at the first.

Read on: `reading.py` and `emit.py` (who reports), `compile.py` (who raises or warns).
"""

from __future__ import annotations

from ...errors import SchemaProblem
from ..regular.languages import TooManyStates

__all__ = ["Problems", "SchemaProblem", "child", "too_much"]

# Nobody reads more.
_MOST = 1_000


def child(pointer: str, *keys: str | int) -> str:
    """The JSON pointer (as a URI fragment, "#/a/b") of something inside `pointer`."""
    for key in keys:
        pointer += "/" + str(key).replace("~", "~0").replace("/", "~1")
    return pointer


def too_much(what: str, error: TooManyStates, advice: str) -> str:
    """The reason where an automaton would be too large: what would take it, and what to do."""
    much = "too many states" if type(error) is TooManyStates else str(error)
    return f"{what} take {much}; {advice}"


class Problems:
    """Problems in the order they were met, each once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], SchemaProblem] = {}

    def add(
        self, pointer: str, keyword: str, reason: str, lenient: str, *, once: bool = False, malformed: bool = False
    ) -> None:
        """`lenient`: what lenient=True does instead.  `once`: not where the same reason was given for another place."""
        known = once and any(problem.reason == reason for problem in self._found.values())
        if len(self._found) < _MOST and not known:
            self._found.setdefault((pointer, keyword), SchemaProblem(pointer, keyword, reason, lenient, malformed))

    def __len__(self) -> int:
        return len(self._found)

    @property
    def all(self) -> tuple[SchemaProblem, ...]:
        return tuple(self._found.values())
