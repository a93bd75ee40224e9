"""Speculative decoding: masks for a whole tree of draft tokens, in one go (`GrammarMatcher.traverse_draft_tree`).

A fork is a pointer, so a tree costs what its tokens cost, each read once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsInt

from kernels_core.errors import DeadEndError

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

__all__ = ["fill_tree", "forced_tokens"]


def fill_tree(
    matcher: GrammarMatcher,
    first_children: Sequence[SupportsInt],
    siblings: Sequence[SupportsInt],
    draft_tokens: Sequence[SupportsInt],
    bitmask: Any,
    seconds: float,
) -> bool:
    """`matcher.traverse_draft_tree`, where the arguments are explained; `ValueError` for what is no tree."""
    from kernels_core.masks.rows import clear_row

    first = [int(value) for value in first_children]
    sibling = [int(value) for value in siblings]
    tokens = [int(value) for value in draft_tokens]
    count = len(tokens)
    if len(first) != count or len(sibling) != count or count == 0:
        raise ValueError("the tree's three arrays must have one length, at least 1")
    if sibling[0] != -1:
        raise ValueError("the root of a draft tree has no sibling")
    vocab_size = matcher.compiled.tokenizer_info.vocab_size
    started = time.monotonic()
    # Pairs of (node, matcher before its token or None if an ancestor was refused); the root's token is taken.
    seen = {0}
    pending: list[tuple[int, GrammarMatcher | None]] = [(0, matcher.fork())]
    while pending:
        if seconds >= 0 and time.monotonic() - started > seconds:
            return False
        node, before = pending.pop()
        here = before
        if node != 0 and before is not None:
            here = before.fork()
            if not 0 <= tokens[node] < vocab_size or not here.accept_token(tokens[node]):
                here = None
        if here is None or here.is_terminated():
            clear_row(bitmask, node)
        else:
            try:
                here.fill_next_token_bitmask(bitmask, node)
            except DeadEndError:  # this branch of the draft leads nowhere
                clear_row(bitmask, node)
        for other, at in ((sibling[node], before), (first[node], here)):
            if other == -1:
                continue
            if not 0 <= other < count or other in seen:
                raise ValueError(f"node {other} of the draft tree is out of range or reached twice")
            seen.add(other)
            pending.append((other, at))
    return True


def forced_tokens(probe: GrammarMatcher, most: int) -> list[int]:
    """At most `most` tokens that have to come next, one after the other; `probe`, a fork, takes them."""
    forced: list[int] = []
    while len(forced) < most and not probe.is_terminated():
        allowed = probe.allowed_token_ids()
        if len(allowed) != 1:
            break
        forced.append(allowed[0])
        probe.accept_token(allowed[0])
    return forced
