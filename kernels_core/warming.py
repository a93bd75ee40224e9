"""Doing work before it is asked for: warming in the background.

Token sets are made when a parser state is first met (`Options.jit` makes some of them at compile time).  A `Warming`
makes the rest in a thread while something else is going on, such as a model's forward pass: the engine computes
without the GIL.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from kernels_core.clock import CancelToken, TimeLimit
from kernels_core.errors import OperationCancelledError


class Warming:
    """`compute(state)` for each of `states` in a daemon thread, in order; an error stops it.

    `done` of `total` states are made.  Safe to ask from any thread.
    """

    def __init__(self, compute: Callable[[int], None], states: Sequence[int]) -> None:
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
            with TimeLimit(0, cancel=self._cancel, where="warming"):
                for state in self._states:
                    self._compute(state)
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
