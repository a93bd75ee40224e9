"""A model's pass, and the masks that are found beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

from kernels_core import BatchGrammarMatcher, GrammarMatcher
from kernels_core.mask_rows import MaskRows


def pass_and_masks(
    batch: BatchGrammarMatcher,
    matchers: Sequence[GrammarMatcher | None],
    read: Callable[[], torch.Tensor],
    *,
    blocks: bool,
) -> tuple[torch.Tensor, MaskRows, int]:
    """What `read` gives, the masks, and for how many nanoseconds these were waited for.

    blocks: `read` returns when the pass is over, so masks are begun in threads before.  A pass on a GPU returns when it
    is started and runs by itself: masks are found behind that, or their threads would hold up the start (by 0.9 ms of
    an 11 ms step, at 16 rows that were not met before).
    """
    if not blocks:
        states = read()
        began = time.perf_counter_ns()
        masks = batch.read_masks(matchers)
    else:
        pending = batch.start_masks(matchers)
        try:
            states = read()
        finally:
            began = time.perf_counter_ns()
            masks = pending.result()
    return states, masks, time.perf_counter_ns() - began
