"""The masks along a session's history, as the engine that runs made them, and what is known of its parser states.

At each place where a session arrives it asks for the mask once, as a generation does, and keeps how that went
(`Fills`).  What views ask of a parser state is kept by the state (`Known`), so coming back to one costs a look-up.

Read on: `workbench/session/session.py`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numpy as np

from kernels_core import GrammarMatcher, allocate_token_bitmask
from kernels_core.errors import BudgetExceededError, DeadEndError
from kernels_core.inspect.trace import Fill, FillEvent

MAX_ASKED = 512
"""Places of a text read at once whose masks are asked for: the last ones."""
MAX_KNOWN = 256
MAX_CONTINUATIONS = 64
"""Parser states that something is kept for."""

T = TypeVar("T")
Bitmask = np.ndarray[Any, np.dtype[np.int32]]
Ids = np.ndarray[Any, np.dtype[np.int32]]


class Fills:
    """How the mask came about at each place after a whole step; None where it was not asked for, or there is none."""

    def __init__(self) -> None:
        self._events: list[FillEvent | None] = [None]
        self._over: dict[int, BudgetExceededError] = {}

    def __len__(self) -> int:
        return len(self._events)

    @property
    def events(self) -> tuple[FillEvent | None, ...]:
        return tuple(self._events)

    def cut(self, index: int) -> None:
        """Forget the places after `index` steps."""
        del self._events[index + 1 :]
        self._over = {place: error for place, error in self._over.items() if place <= index}

    def until(self, index: int) -> Fills:
        """Those of the places up to `index` steps."""
        other = Fills()
        other._events, other._over = self._events.copy(), self._over
        other.cut(index)
        return other

    def over(self, index: int) -> BudgetExceededError | None:
        """What was said where the mask after `index` steps took more than the engine's budgets."""
        return self._over.get(index)

    def ask(self, matcher: GrammarMatcher, index: int) -> None:
        """Ask the engine for the mask after `index` steps, where its `matcher` stands, unless that was done before.

        A mask that takes more than the engine's budgets is none: who wants it gets the error (`over`).
        """
        self._reach(index)
        if self._events[index] is not None or index in self._over or matcher.is_terminated():
            return
        bitmask = allocate_token_bitmask(1, matcher.compiled.tokenizer_info.vocab_size)
        with Fill(matcher) as fill, suppress(DeadEndError):
            try:
                matcher.fill_next_token_bitmask(bitmask)
            except BudgetExceededError as error:
                self._over[index] = error
        self._events[index] = fill.event

    def note(self, index: int, event: FillEvent | None) -> None:
        """The mask after `index` steps was asked for by somebody else, a generation."""
        self._reach(index)
        if self._events[index] is None:
            self._events[index] = event

    def _reach(self, index: int) -> None:
        self._events += [None] * (index + 1 - len(self._events))


class Known:
    """What is known of parser states (or of places of a text), those that were asked for last."""

    def __init__(self, most: int = MAX_KNOWN) -> None:
        self._most = most
        self._of: OrderedDict[Hashable, dict[str, object]] = OrderedDict()

    def clear(self) -> None:
        self._of.clear()

    def once(self, state: Hashable, what: str, make: Callable[[], T]) -> T:
        """`what` is known of `state`: made by `make` where it is not."""
        known = self._of.setdefault(state, {})
        self._of.move_to_end(state)
        if len(self._of) > self._most:
            self._of.popitem(last=False)
        if what not in known:
            known[what] = make()
        return cast(T, known[what])


def ids_of(bitmask: Bitmask, size: int) -> Ids:
    """The ids, ascending, of the bits that are set among the first `size`; not to be written to."""
    bits = np.unpackbits(bitmask.view(np.uint8), count=size, bitorder="little")
    found: Ids = np.flatnonzero(bits.view(np.bool_)).astype(np.int32)
    found.flags.writeable = False
    return found
