"""Locks and `os.fork`: a child process finds every lock open, and nothing half done.

A child has the thread that forked and no other.  A lock that another thread held would never be given back, and what it
guards would stay half done.

- Locks made here are open again in the child.  What they guard is as the other thread left it, so each user writes its
  results down in one step, as an exception anywhere asks of it as well.
- Parser states, masks and pools take longer to write.  So whoever forks first waits for the locks of all compiled
  grammars and pools (for a mask at most, `Options.max_fill_ms`), and parent and child both go on with nothing under
  way.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from weakref import WeakSet

__all__ = ["new_lock", "new_reentrant_lock", "watch"]

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


class _Lockable(Protocol):
    def hold(self) -> None: ...
    def let_go(self) -> None: ...


class _Machine(Protocol):
    @property
    def tables(self) -> _Lockable: ...


class _Compiled(Protocol):
    @property
    def machine(self) -> _Machine: ...
    @property
    def pool(self) -> _Lockable | None: ...


_WATCHED: WeakSet[_Compiled] = WeakSet()
_HELD: dict[int, _Lockable] = {}  # by identity, in the order in which they were locked


def watch(compiled: _Compiled) -> None:
    """Take this grammar's locks before a fork."""
    _WATCHED.add(compiled)


def _hold_all() -> None:
    """Lock all tables, then all pools.  Who fills a mask locks a pool inside its tables: where another thread has made
    new tables meanwhile, pools are given back first."""
    while True:
        grammars = list(_WATCHED)
        for compiled in grammars:
            _hold(compiled.machine.tables)
        pools = {id(one.pool): one.pool for one in grammars if one.pool is not None}
        for pool in pools.values():
            _hold(pool)
        if all(id(compiled.machine.tables) in _HELD for compiled in list(_WATCHED)):
            return
        for number in pools:
            _HELD.pop(number).let_go()


def _hold(one: _Lockable) -> None:
    if id(one) not in _HELD:
        one.hold()
        _HELD[id(one)] = one


def _let_go_all() -> None:
    while _HELD:
        _, one = _HELD.popitem()
        one.let_go()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_hold_all, after_in_parent=_let_go_all, after_in_child=_let_go_all)
    os.register_at_fork(after_in_child=_open_all)
