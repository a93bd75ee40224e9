"""Locks that a child process finds open.

After `os.fork` a child has the thread that forked and no other: a lock that another thread held would never be given
back.  All locks made here are open again in the child.  What they guard is as the other thread left it, so each user
writes its results down in one step, as an exception anywhere asks of it as well.

Read on: `forking.py` (parser states and masks, which are not left half done).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakSet

__all__ = ["new_lock", "new_reentrant_lock"]

_LOCKS: WeakSet[Any] = WeakSet()


def _known(make: Callable[[], Any]) -> Any:
    lock = make()
    _LOCKS.add(lock)
    return lock


new_lock: Callable[[], threading.Lock] = partial(_known, threading.Lock)
"""A lock, as `threading.Lock()`."""

new_reentrant_lock: Callable[[], threading.RLock] = partial(_known, threading.RLock)
"""A lock that its holder may take again, as `threading.RLock()`."""


def _open_all() -> None:
    # What the standard library does to its own locks (`threading`, `logging`, `queue`).
    for lock in list(_LOCKS):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_open_all)
