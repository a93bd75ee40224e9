"""`os.fork` while other threads fill masks: the child gets parser states, masks and pools that nobody is changing.

A child has the thread that forked and no other.  A lock that another thread held would never be given back, and what it
guards would stay half done.  So whoever forks first waits for the locks of all compiled grammars and pools (for a mask
at most, `Options.max_fill_ms`), and parent and child both go on with nothing under way.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

from kernels_core.earley.machine import Machine
from kernels_core.masks.pool import TokenSetPool

__all__ = ["watch"]


class _Lockable(Protocol):
    def hold(self) -> None: ...
    def let_go(self) -> None: ...


class _Compiled(Protocol):
    @property
    def machine(self) -> Machine: ...
    @property
    def pool(self) -> TokenSetPool | None: ...


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
        pools: dict[int, _Lockable] = {id(one.pool): one.pool for one in grammars if one.pool is not None}
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
