"""What every request comes through, in any language: how long its text may be, and the clock that it is read under.

`request` is the only way in, so that no door has the one and forgets the other.  A text is read as a whole before a
clock can be looked at, hence the limit of its length.
"""

from __future__ import annotations

from ..clock import CancelToken, TimeLimit
from ..errors import BudgetExceededError

LONGEST_TEXT = 1 << 24
"""Characters."""


def request(limit_ms: int, where: str, *given: object, cancel: CancelToken | None = None) -> TimeLimit:
    """The time in which something is read, `limit_ms` at most (0: as much as a limit around it leaves).

    `given`: what it is read from; `BudgetExceededError` where that is a text, and too long.
    """
    check_length(*given)
    return TimeLimit(limit_ms, cancel=cancel, where=where)


def check_length(*given: object) -> None:
    """`BudgetExceededError` where one of `given` is a text, and too long."""
    for text in given:
        if isinstance(text, str | bytes) and len(text) > LONGEST_TEXT:
            raise BudgetExceededError("characters", LONGEST_TEXT, "the text of a grammar")
