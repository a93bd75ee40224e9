"""Memory that was freed goes back to the operating system.

glibc keeps what each thread freed for the next request of that thread, and gives back only what is free at the very end
of an arena.  A server whose threads compile and forget grammars of all sizes so holds twice what it uses.

Read on: `compile_cache.py`, which drops grammars.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final

__all__ = ["AFTER_BYTES", "give_back"]

AFTER_BYTES: Final = 1 << 26
"""What is dropped until it is worth it to look through all arenas, which takes some milliseconds."""


def _find_trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return found


_TRIM: Final = _find_trim()


def give_back() -> bool:
    """Give free pages back, without the GIL; whether there were any.  Other C libraries than glibc do it alone."""
    return _TRIM is not None and bool(_TRIM(0))
