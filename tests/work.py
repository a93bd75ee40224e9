"""Counts of work, which are the same on every machine and under every load, for tests of what may not take long.

`calls` sees what Python does; a loop in the engine is counted by its looks at the clock: with
`TimeLimit(0, looks=1000)` the thousandth is the last, and ends in a `BudgetExceededError`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(do: Callable[[], object], *refusals: type[Exception]) -> int:
    """How many functions, of Python or of C, `do` calls in this thread; it may end in one of `refusals`.

    What counts the lines that run calls a function of its own at some lines: that is no work of theirs.
    """
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        if event == "call" or (event == "c_call" and "slipcover" not in str(getattr(argument, "__module__", ""))):
            count += 1

    outer = sys.getprofile()
    sys.setprofile(see)
    try:
        do()
    except refusals:
        pass
    finally:
        sys.setprofile(outer)
    return count
