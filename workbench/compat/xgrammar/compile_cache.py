"""Compiled grammars by what they were compiled from, least recently used dropped first when they pass a size.

Requests that are equal and come at the same time share one compilation.  A failure is not kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future

from kernels_core import CompiledGrammar

__all__ = ["CompileCache"]


class CompileCache:
    """At most `limit_bytes` of compiled grammars (-1: any number).  Safe to use from several threads.

    Grammars grow while they are used; sizes are looked at whenever one is asked for.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._entries: OrderedDict[Hashable, Future[CompiledGrammar]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], CompiledGrammar]) -> CompiledGrammar:
        """What is kept under `key`, or what `make` makes, which is then kept."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            else:
                mine = self._entries[key] = Future()
        if found is not None:
            return found.result()
        try:
            mine.set_result(make())
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                if self._entries.get(key) is mine:
                    del self._entries[key]
            raise
        self._trim()
        return mine.result()

    def _trim(self) -> None:
        if self.limit_bytes < 0:
            return
        with self._lock:
            sizes = {key: future.result().memory_size_bytes for key, future in self._entries.items() if future.done()}
            held = sum(sizes.values())
            for key, size in sizes.items():
                if held <= self.limit_bytes:
                    break
                del self._entries[key]
                held -= size

    def clear(self) -> None:
        """Forget all; grammars in use live on."""
        with self._lock:
            self._entries.clear()

    @property
    def nbytes(self) -> int:
        """Bytes held by the grammars that are kept."""
        with self._lock:
            return sum(future.result().memory_size_bytes for future in self._entries.values() if future.done())

    def __len__(self) -> int:
        return len(self._entries)
