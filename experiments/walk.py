"""Timing one text under one constraint: a mask, then a token, and so on to the end.

Mask and accept are timed apart, each around nothing but the engine's own call, with the garbage collector off.  A text
counts as accepted when every token was taken *and* the last mask allows a stop token.  Verdicts follow `accept`;
where it disagrees with the mask, that is counted:

- `hidden`: a token that the mask forbids but `accept` takes.  llguidance does so on purpose in forced text.
- `false_hope`: a token that the mask allows and `accept` refuses: a mistake of the engine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypedDict

from workbench.peers.base import Constraint

MESSAGE_CHARACTERS = 300


class Walk(TypedDict):
    """What came of one text, as JSON values.  Times are in nanoseconds, in the order of the text.

    tokens: in the text.  taken: by the engine.  cut: the walk was stopped by `limit` and there is no verdict.
    mask_ns: one entry a mask asked for; the one after the last token is the mask that may end the text.
    accept_ns: one entry a token tried.
    fresh: "1" where the mask was the first in its parser state, "0" elsewhere; "" when the engine names no states.
    """

    tokens: int
    taken: int
    accepted: bool
    cut: bool
    hidden: int
    false_hope: int
    failure: str | None
    fresh: str
    mask_ns: list[int]
    accept_ns: list[int]


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
    mask_ns: list[int] = []
    accept_ns: list[int] = []
    fresh: list[str] = []
    read = hidden = false_hope = 0
    clock = time.perf_counter_ns
    accepted, cut = False, limit is not None and limit < len(tokens)
    try:
        for token in (*tokens[:limit], None):  # behind the last one comes the mask that may end the text
            at = state()
            start = clock()
            fill()
            mask_ns.append(clock() - start)
            if at is not None:
                fresh.append("0" if at in seen else "1")
                seen.add(at)
            if token is None:
                accepted = not cut and any(allowed(stop) for stop in stop_token_ids)
                break
            may = allowed(token)
            start = clock()
            taken = accept(token)
            accept_ns.append(clock() - start)
            hidden += bool(taken) and not may
            false_hope += may and not taken
            if not taken:
                cut = False
                break
            read += 1
        failure = constraint.failure()
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS]
        accepted = cut = False
    return Walk(
        tokens=len(tokens),
        taken=read,
        accepted=accepted,
        cut=cut,
        hidden=hidden,
        false_hope=false_hope,
        failure=failure,
        fresh="".join(fresh),
        mask_ns=mask_ns,
        accept_ns=accept_ns,
    )
