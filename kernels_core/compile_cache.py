"""Compiled grammars by what they were compiled from, least recently used dropped first when they pass a size.

Requests that are equal and come at the same time share one compilation.  A failure is not kept.

An interrupt (a signal's exception may come between any two instructions) loses at most the entry: what says that
somebody is making a grammar is a lock that is held by `with`, and nothing waits for anything else.

glibc keeps what each thread freed for the next request of that thread, and gives back only what is free at the very end
of an arena: a server whose threads compile and forget grammars of all sizes would hold twice what it uses.  So what
grammars held that were dropped is given back to the operating system (`give_back`).
"""

from __future__ import annotations

import ctypes
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING
from weakref import WeakSet

from kernels_core.clock import look
from kernels_core.locks import Lock, new_lock

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar

# Grammars grow while they are used: all are measured again when one in this many is new, so that keeping one costs a
# few looks however many there are.
_LOOK_SHARE = 4
_PATIENCE = 0.05  # seconds between two looks at a clock while another thread makes the grammar
_AT_ONCE = 1 << 20  # units of work after which the clock is looked at
_ALIASES = 4  # other keys of one grammar: of more the oldest is forgotten

_GIVE_BACK_AFTER = 1 << 26  # bytes that were dropped: to look through all arenas takes some milliseconds

_ALIVE: WeakSet[CompileCache] = WeakSet()


class _Making(Lock):
    """Held by who makes a grammar.  Who waits for it looks at the clock meanwhile."""

    def acquire(self, timeout: float = -1) -> bool:
        while not super().acquire(_PATIENCE):
            look(_AT_ONCE)
        return True


def _find_trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return found


_TRIM = _find_trim()


def give_back() -> bool:
    """Give free pages back, without the GIL; whether there were any.  Other C libraries than glibc do it alone."""
    return _TRIM is not None and bool(_TRIM(0))


class _Entry:
    """One grammar: `made` once it is there, before that perhaps being made by whoever holds `lock`."""

    __slots__ = ("aliases", "lock", "made", "over")

    def __init__(self) -> None:
        self.aliases: list[Hashable] = []
        self.lock = _Making()
        self.made: CompiledGrammar | None = None
        self.over = False  # somebody made it, or failed


class CompileCache:
    """At most `limit_bytes` of compiled grammars (-1: any number).  Safe to use from several threads.

    Sizes are `CompiledGrammar.held_bytes`, of a grammar at work as they were when it was last measured.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._aliases: dict[Hashable, Hashable] = {}  # other keys, of entries that are there
        self._sizes: dict[Hashable, int] = {}  # of entries that are made, as last measured
        self._held = 0  # their sum
        self._new = 0  # grammars since all were measured
        self._dropped = 0  # bytes since memory was given back
        self._lock = new_lock()
        _ALIVE.add(self)

    def get(self, key: Hashable, make: Callable[[], CompiledGrammar]) -> CompiledGrammar:
        """What is kept under `key`, or what `make` makes, which is then kept.

        Who waited for another's `make` that failed makes it for itself: the other may have been called off.  Waiting
        raises what `clock.look` raises.
        """
        while True:
            with self._lock:
                entry = self._entries.get(key)
                if entry is None:
                    entry = self._entries[key] = _Entry()
                else:
                    self._entries.move_to_end(key)
            if entry.made is not None:
                return entry.made
            with entry.lock:
                if entry.made is None and not entry.over:
                    try:
                        entry.made = make()
                    finally:
                        if entry.made is None:
                            self._forget(key, entry)
                        entry.over = True
                    self._keep(key, entry)
            if entry.made is not None:
                return entry.made

    def find(self, alias: Hashable) -> CompiledGrammar | None:
        """What is kept under the key that `alias` stands for, which counts as asking for it."""
        with self._lock:
            key = self._aliases.get(alias)
            entry = self._entries.get(key)
            if entry is None:  # of what was dropped when an interrupt came
                self._aliases.pop(alias, None)
                return None
            self._entries.move_to_end(key)
            return entry.made

    def alias(self, alias: Hashable, key: Hashable) -> None:
        """Let `alias` stand for `key`, for as long as something is kept there."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.made is None or alias in self._aliases:
                return
            self._aliases[alias] = key
            entry.aliases.append(alias)
            if len(entry.aliases) > _ALIASES:
                del self._aliases[entry.aliases.pop(0)]

    def _forget(self, key: Hashable, entry: _Entry) -> None:
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]

    def _keep(self, key: Hashable, entry: _Entry) -> None:
        assert entry.made is not None
        size = entry.made.held_bytes
        with self._lock:
            if self._entries.get(key) is entry:
                self._weigh(key, size)
            much = self._dropped >= _GIVE_BACK_AFTER
            if much:
                self._dropped = 0
        if much:
            give_back()

    def _weigh(self, key: Hashable, size: int) -> None:
        """Count what was added, and drop the least recently used where it is too much."""
        self._sizes[key] = size
        self._held += size
        self._new += 1
        if _LOOK_SHARE * self._new >= len(self._sizes):
            self._measure()
        while self._held > self.limit_bytes >= 0:
            oldest = next(key for key in self._entries if key in self._sizes)  # others are being made
            self._held -= self._sizes[oldest]  # first, so that it is never more than what is there
            self._dropped += self._sizes.pop(oldest)
            for alias in self._entries.pop(oldest).aliases:
                del self._aliases[alias]

    def _measure(self) -> None:
        made = {key: entry.made for key, entry in self._entries.items()}
        # Nobody waits here for a mask that another thread makes.
        sizes = {key: grammar.held_bytes_now() for key, grammar in made.items() if grammar is not None}
        self._sizes = {key: self._sizes.get(key, 0) if size is None else size for key, size in sizes.items()}
        self._held = sum(self._sizes.values())
        self._new = 0

    def clear(self) -> None:
        """Forget all; grammars in use live on."""
        with self._lock:
            self._entries.clear()
            self._aliases.clear()
            self._sizes.clear()
            self._held = self._new = self._dropped = 0
        give_back()

    @property
    def nbytes(self) -> int:
        """About what the grammars hold that are kept, in bytes."""
        with self._lock:
            self._measure()
            return self._held

    def __len__(self) -> int:
        return len(self._entries)

    def after_fork(self) -> None:
        """In a child process: nobody else is at work, so what others were making is not being made."""
        for key in [key for key, entry in self._entries.items() if entry.made is None]:
            del self._entries[key]


def _all_after_fork() -> None:
    for cache in list(_ALIVE):
        cache.after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_all_after_fork)
