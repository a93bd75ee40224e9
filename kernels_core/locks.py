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
from typing import Protocol
from weakref import WeakSet

from kernels_core.mutex import Mutex


class Lock(Mutex):
    """A lock for `with` that an interrupt never leaves locked, and that is open in a forked child.

    Since CPython 3.14 a signal's exception may come behind the `__enter__` of compiled code, where `with` does not yet
    give the lock back: Ctrl-C would leave the locks of `threading` locked.  No exception comes behind an `__enter__` in
    Python, nor before an `__exit__` in compiled code.
    """

    def __init__(self, *, again: bool = False) -> None:
        super().__init__(again=again)
        _LOCKS.add(self)

    def __enter__(self) -> None:
        before = self.depth
        try:
            self.acquire()
        except BaseException:
            if self.depth > before:
                self.release()
            raise


_LOCKS: WeakSet[Lock] = WeakSet()


def new_lock() -> Lock:
    """A lock that one thread at a time takes once."""
    return Lock()


def new_reentrant_lock() -> Lock:
    """A lock that its holder may take again."""
    return Lock(again=True)


def _open_all() -> None:
    # As the standard library does with its own locks (`threading`, `logging`, `queue`).
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
