"""Doing work before it is asked for, and not for too long: compile budgets, and warming in the background.

Token sets are made when a parser state is first met (`Options.jit` makes some of them at compile time).  A `Warming`
makes the rest in a thread while something else is going on, such as a model's forward pass: the engine computes
without the GIL.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from kernels_core.earley.machine import CancelToken
from kernels_core.errors import BudgetExceededError, OperationCancelledError

__all__ = ["CompileBudget", "Warming"]


class CompileBudget:
    """`limit_ms` for a whole compile (0: any time), and the token that may call it off."""

    def __init__(self, limit_ms: int, cancel: CancelToken | None, where: str) -> None:
        self._limit_ms = limit_ms
        self._end = time.monotonic() + limit_ms / 1000
        self._cancel = cancel
        self._where = where

    def check(self) -> None:
        """Raise if the time has passed or the compile was called off."""
        if self._cancel is not None:
            self._cancel.check()
        if self._limit_ms and time.monotonic() > self._end:
            raise BudgetExceededError("milliseconds", self._limit_ms, self._where)

    def __enter__(self) -> None:
        """What is called inside with `left_ms` knows only what was left; the error it raises is put in our terms."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        if isinstance(error, BudgetExceededError) and error.what == "milliseconds":
            raise BudgetExceededError(error.what, self._limit_ms, self._where) from error

    def left_ms(self) -> int:
        """Milliseconds left, at least 1; 0 if there is no limit."""
        self.check()
        return max(1, round(1000 * (self._end - time.monotonic()))) if self._limit_ms else 0


class Warming:
    """`compute(state, cancel=...)` for each of `states` in a daemon thread, in order; an error stops it.

    `done` of `total` states are made.  Safe to ask from any thread.
    """

    def __init__(self, compute: Callable[..., None], states: Sequence[int]) -> None:
        self.total = len(states)
        self.done = 0
        self._states = states
        self._compute = compute
        self._cancel = CancelToken()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="maskscope-warming", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for state in self._states:
                self._compute(state, cancel=self._cancel)
                self.done += 1
        except OperationCancelledError:
            pass
        except Exception as error:  # kept for `wait`, which raises it where somebody sees it
            self._error = error

    @property
    def progress(self) -> float:
        """Between 0 and 1."""
        return self.done / self.total if self.total else 1.0

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def cancel(self) -> None:
        """Stop as soon as can be; what was made stays."""
        self._cancel.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds; whether it has ended.  Raises the error that ended it, if one did."""
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def __repr__(self) -> str:
        state = "running" if self.running else "called off" if self.done < self.total else "done"
        return f"<Warming: {self.done} of {self.total} states, {state}>"
