"""Timing one text under one constraint: a mask, then a token, and so on to the end.

Mask and accept are timed apart, each around nothing but the engine's own call, with the garbage collector off.  A text
counts as accepted when every token was taken *and* the last mask allows a stop token.  Verdicts follow `accept`;
where it disagrees with the mask, that is counted:

- `hidden`: a token that the mask forbids but `accept` takes.  llguidance does so on purpose in forced text.
- `false_hope`: a token that the mask allows and `accept` refuses: a mistake of the engine.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.peers.base import Constraint

__all__ = ["Walk", "clock_floor", "copy_floor", "quiet", "walk"]

MESSAGE_CHARACTERS = 300


@dataclass
class Walk:
    """What came of one text.  Times are in nanoseconds, in the order of the text.

    tokens: in the text.  taken: by the engine.  cut: the walk was stopped by `limit` and there is no verdict.
    mask_ns: one entry a mask asked for; the one after the last token is the mask that may end the text.
    accept_ns: one entry a token tried.
    fresh: "1" where the mask was the first in its parser state, "0" elsewhere; "" when the engine names no states.
    """

    tokens: int
    taken: int = 0
    accepted: bool = False
    cut: bool = False
    hidden: int = 0
    false_hope: int = 0
    failure: str | None = None
    fresh: str = ""
    mask_ns: list[int] = field(default_factory=list)
    accept_ns: list[int] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return dict(vars(self))


def walk(
    constraint: Constraint,
    tokens: Sequence[int],
    stop_token_ids: Sequence[int],
    *,
    seen: set[int] | None = None,
    limit: int | None = None,
) -> Walk:
    """Follow `tokens` from the empty text.

    seen: parser states whose masks were asked for before; those met are added.  limit: stop after as many tokens.
    An exception of the engine ends the walk and becomes its `failure`.
    """
    constraint.reset()
    fill, accept, allowed, state = constraint.fill, constraint.accept, constraint.allowed, constraint.state
    seen = set() if seen is None else seen
    result = Walk(len(tokens))
    mask_ns, accept_ns, fresh = result.mask_ns, result.accept_ns, []
    clock = time.perf_counter_ns
    result.cut = limit is not None and limit < len(tokens)
    try:
        for token in tokens[:limit]:
            at = state()
            start = clock()
            fill()
            mask_ns.append(clock() - start)
            if at is not None:
                fresh.append("0" if at in seen else "1")
                seen.add(at)
            may = allowed(token)
            start = clock()
            taken = accept(token)
            accept_ns.append(clock() - start)
            result.hidden += bool(taken) and not may
            result.false_hope += may and not taken
            if not taken:
                result.cut = False
                break
            result.taken += 1
        else:
            at = state()
            start = clock()
            fill()
            mask_ns.append(clock() - start)
            if at is not None:
                fresh.append("0" if at in seen else "1")
                seen.add(at)
            result.accepted = not result.cut and any(allowed(token) for token in stop_token_ids)
        result.failure = constraint.failure()
    except Exception as error:
        result.failure = f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS]
        result.accepted, result.cut = False, False
    result.fresh = "".join(fresh)
    return result


@contextmanager
def quiet() -> Iterator[None]:
    """The garbage collector off: one collection in mid-walk would cost more than a thousand masks."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def clock_floor(repeat: int = 10_000) -> list[int]:
    """Nanoseconds between two readings of the clock with nothing in between: what every time above includes."""
    clock = time.perf_counter_ns
    found = []
    for _ in range(repeat):
        start = clock()
        found.append(clock() - start)
    return found


def copy_floor(vocab_size: int, repeat: int = 10_000) -> list[int]:
    """Nanoseconds to copy one mask row, from Python: what a mask that is known already must cost at least."""
    source = np.full((vocab_size + 31) // 32, -1, dtype=np.int32)
    target = np.zeros_like(source)
    clock, copy = time.perf_counter_ns, np.copyto
    found = []
    for _ in range(repeat):
        start = clock()
        copy(target, source)
        found.append(clock() - start)
    return found
