"""Compiled grammars by what they were compiled from, least recently used dropped first when they pass a size.

Requests that are equal and come at the same time share one compilation.  A failure is not kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernels_core.compiler import CompiledGrammar

__all__ = ["CompileCache"]

# Grammars grow while they are used: all are measured again when one in this many is new, so that keeping one costs a
# few looks however many there are.
_LOOK_SHARE = 4


class CompileCache:
    """At most `limit_bytes` of compiled grammars (-1: any number).  Safe to use from several threads.

    Sizes are `CompiledGrammar.memory_size_bytes`.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._entries: OrderedDict[Hashable, Future[CompiledGrammar]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}  # of entries that are made, as last measured
        self._held = 0  # their sum
        self._new = 0  # grammars since all were measured
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], CompiledGrammar]) -> CompiledGrammar:
        """What is kept under `key`, or what `make` makes, which is then kept.

        Who waited for another's `make` that failed makes it for itself: the other may have been called off.
        """
        while True:
            with self._lock:
                found = self._entries.get(key)
                if found is None:
                    mine = self._entries[key] = Future()
                    break
                self._entries.move_to_end(key)
            if found.exception() is None:
                return found.result()
        try:
            made = make()
            mine.set_result(made)
        except BaseException as error:
            with self._lock:
                if self._entries.get(key) is mine:
                    del self._entries[key]
            if not mine.done():
                mine.set_exception(error)
            raise
        with self._lock:
            if self._entries.get(key) is mine:
                self._weigh(key, made.memory_size_bytes)
        return made

    def _weigh(self, key: Hashable, size: int) -> None:
        """Count what was added, and drop the least recently used where it is too much."""
        self._sizes[key] = size
        self._held += size
        self._new += 1
        if _LOOK_SHARE * self._new >= len(self._sizes):
            self._measure()
        while self._held > self.limit_bytes >= 0:
            oldest = next(key for key in self._entries if key in self._sizes)  # others are being made
            del self._entries[oldest]
            self._held -= self._sizes.pop(oldest)

    def _measure(self) -> None:
        for key in self._sizes:
            self._sizes[key] = self._entries[key].result().memory_size_bytes
        self._held = sum(self._sizes.values())
        self._new = 0

    def clear(self) -> None:
        """Forget all; grammars in use live on."""
        with self._lock:
            self._entries.clear()
            self._sizes.clear()
            self._held = self._new = 0

    @property
    def nbytes(self) -> int:
        """Bytes held by the grammars that are kept."""
        with self._lock:
            self._measure()
            return self._held

    def __len__(self) -> int:
        return len(self._entries)
