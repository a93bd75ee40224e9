"""Counts of work, which are the same on every machine and under every load, for tests of what may not take long.

`calls` and `files` see what Python does; a loop in the engine is counted by its looks at the clock: with
`TimeLimit(0, looks=1000)` the thousandth is the last, and ends in a `BudgetExceededError`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ROOMS: Final = ("kernels_core", "visualizers", "workbench")


def calls(do: Callable[[], object], *refusals: type[Exception]) -> int:
    """How many functions, of Python or of C, `do` calls in this thread; it may end in one of `refusals`.

    What counts the lines that run calls functions of its own at some lines: these are no work of theirs.
    """
    count = 0
    counting: Any = None  # the frame of its function, while that runs

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count, counting
        if counting is not None:
            counting = None if frame is counting and event == "return" else counting
        elif event == "call" and "slipcover" in frame.f_code.co_filename:
            counting = frame
        elif event == "call" or (event == "c_call" and "slipcover" not in str(getattr(argument, "__module__", ""))):
            count += 1

    _profiled(do, see, *refusals)
    return count


def files(do: Callable[[], object]) -> set[str]:
    """The project's own files, below its root, of which `do` runs a function in this thread."""
    found: set[str] = set()

    def see(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    _profiled(do, see)
    root = Path(__file__).resolve().parents[1]
    below = [Path(name).relative_to(root) for name in found if name.startswith(f"{root}/")]
    return {str(file) for file in below if file.parts[0] in ROOMS}


def _profiled(do: Callable[[], object], see: Callable[[Any, str, Any], None], *refusals: type[Exception]) -> None:
    outer = sys.getprofile()
    sys.setprofile(see)
    try:
        do()
    except refusals:
        pass
    finally:
        sys.setprofile(outer)
