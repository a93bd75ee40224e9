"""`BatchGrammarMatcher`: many matchers at once, over any mix of grammars.

Masks that are known are copied right away; those that are not are computed side by side, without the GIL, on one
thread pool that lives as long as the process.  `read_masks` stops before the copy: what it returns knows how many ids
each row allows, lists them where they are few, and goes on logits without a bitmask in between (`apply_masks_inplace`),
or into the draw from them (`draw_tokens`).

Read on: `mask_rows.pyx`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from operator import index
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernels_core.locks import new_lock
from kernels_core.mask_rows import MaskRows
from kernels_core.masks.bitmask import logits_layout
from kernels_core.matcher import GrammarMatcher

ROWS_A_THREAD = 4  # of logits: fewer are written before another thread has begun
LOGITS_A_THREAD = 1 << 19  # that are drawn from: likewise
_POOL: ThreadPoolExecutor | None = None
_POOL_LOCK = new_lock()


def _pool() -> ThreadPoolExecutor:
    """The one pool, made when first needed, with a thread for each processor."""
    global _POOL
    with _POOL_LOCK:
        if _POOL is None:
            _POOL = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="maskscope")
        return _POOL


def _without_threads() -> None:
    """In a child process there are no threads of the pool."""
    global _POOL
    _POOL = None


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_without_threads)


class BatchGrammarMatcher:
    """Operations on lists of matchers.  `max_threads`: how many masks may be computed at once ("auto": one a core)."""

    def __init__(self, max_threads: int | Literal["auto"] = "auto") -> None:
        if max_threads != "auto" and max_threads < 1:
            raise ValueError(f'max_threads must be "auto" or at least 1, got {max_threads}')
        self.max_threads = (os.cpu_count() or 1) if max_threads == "auto" else max_threads

    def batch_fill_next_token_bitmask(
        self, matchers: Sequence[GrammarMatcher], bitmask: Any, indices: Sequence[int] | None = None
    ) -> list[bool]:
        """Fill row `indices[i]` (default i) of `bitmask` with the mask of `matchers[i]`; as for a single matcher.

        Returns for each whether its row needs applying.  An error of one matcher is raised after all masks were
        computed and before any row of a later matcher is written.
        """
        rows = range(len(matchers)) if indices is None else indices
        if len(rows) != len(matchers):
            raise ValueError(f"{len(rows)} indices for {len(matchers)} matchers")
        if self.max_threads > 1 and len(matchers) > 1:
            masks = MaskRows(matchers)
            if len(missing := masks.missing()) > 1:
                _finish(self._started(masks, missing))
        return [matcher.fill_next_token_bitmask(bitmask, row) for matcher, row in zip(matchers, rows, strict=True)]

    def start_masks(self, matchers: Sequence[GrammarMatcher | None]) -> PendingMasks:
        """Begin computing the masks of all matchers that are not known, in threads; the caller does something else
        before it asks for the `result`.  Meanwhile the matchers belong to those threads."""
        masks = MaskRows(matchers)
        return PendingMasks(masks, self._started(masks, masks.missing()))

    def read_masks(self, matchers: Sequence[GrammarMatcher | None]) -> MaskRows:
        """The masks of all matchers (None: a row without a grammar), those not known computed in threads.

        An error of one matcher is in the result's `errors` and concerns no other.
        """
        masks = MaskRows(matchers)
        missing = masks.missing()
        if self.max_threads > 1 and len(missing) > 1:
            return PendingMasks(masks, self._started(masks, missing)).result()
        masks.read()
        return masks

    def _started(self, masks: MaskRows, missing: list[list[int]]) -> list[Future[None]]:
        """At most `max_threads` threads compute; matchers of one grammar share a lock, so they go to one of them, and
        the first of equal places computes for all."""
        shares = [missing[i :: self.max_threads] for i in range(min(self.max_threads, len(missing)))]
        return [_pool().submit(masks.prepare, [row for group in share for row in group]) for share in shares]

    @staticmethod
    def batch_accept_token(matchers: Sequence[GrammarMatcher], tokens: Sequence[int]) -> list[bool]:
        """`accept_token` of each matcher with its token."""
        if len(matchers) != len(tokens):
            raise ValueError(f"{len(tokens)} tokens for {len(matchers)} matchers")
        ids = list(map(index, tokens))  # all of them, before the first is taken
        return [matcher.accept_token(token) for matcher, token in zip(matchers, ids, strict=True)]

    @staticmethod
    def batch_accept_string(matchers: Sequence[GrammarMatcher], strings: Sequence[str | bytes]) -> list[bool]:
        """`accept_string` of each matcher with its text."""
        if len(matchers) != len(strings):
            raise ValueError(f"{len(strings)} strings for {len(matchers)} matchers")
        return [matcher.accept_string(text) for matcher, text in zip(matchers, strings, strict=True)]

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: int | Sequence[int] = 1) -> None:
        """Roll each matcher back; if one cannot, none is."""
        given = [num_tokens] * len(matchers) if isinstance(num_tokens, int | np.integer) else num_tokens
        counts = list(map(index, given))
        if len(counts) != len(matchers):
            raise ValueError(f"{len(counts)} counts for {len(matchers)} matchers")
        for matcher, count in zip(matchers, counts, strict=True):
            if count > matcher.num_steps:
                raise ValueError(f"cannot roll back {count} steps: only {matcher.num_steps} were taken")
        for matcher, count in zip(matchers, counts, strict=True):
            matcher.rollback(count)

    def __repr__(self) -> str:
        return f"<BatchGrammarMatcher of at most {self.max_threads} threads>"


class PendingMasks:
    """Masks that are being computed in threads (`BatchGrammarMatcher.start_masks`)."""

    def __init__(self, masks: MaskRows, futures: list[Future[None]]) -> None:
        self._masks = masks
        self._futures = futures

    def result(self) -> MaskRows:
        """Wait for the threads; all masks, read."""
        futures, self._futures = self._futures, []
        _finish(futures)
        self._masks.read()
        return self._masks


def apply_masks_inplace(
    logits: Any,
    masks: MaskRows,
    *,
    rows: Sequence[int] | npt.NDArray[np.int64] | None = None,
    indices: Sequence[int] | npt.NDArray[np.int64] | None = None,
    max_threads: int | None = None,
) -> None:
    """Set the logits that `masks` do not allow to minus infinity, natively, in place: nothing else is written.

    `logits`: floating numpy array or torch tensor in CPU memory, shape (rows, width).  `rows`: which of the masks
    (None: all).  `indices`: the i-th of those goes on row `indices[i]` of the logits (None: on row i).  Rows of `masks`
    without a mask leave their logits alone.  Logits beyond the vocabulary become minus infinity.  `max_threads`: at
    most so many (None: one a core).  `ValueError` for what does not fit.
    """
    layout = logits_layout(logits)
    count = len(masks) if rows is None else len(rows)
    if count != (layout.rows if indices is None else len(indices)):
        raise ValueError(f"{count} masks for {layout.rows if indices is None else len(indices)} rows")
    sources = targets = masks.present()
    if rows is not None or indices is not None:
        chosen = np.arange(count) if rows is None else np.asarray(rows, dtype=np.int64)
        onto = np.arange(count) if indices is None else np.asarray(indices, dtype=np.int64)
        if count and not (onto.min() >= 0 and onto.max() < layout.rows):
            raise ValueError(f"indices must be within 0..{layout.rows - 1}, got {onto.tolist()}")
        if count and not (chosen.min() >= 0 and chosen.max() < len(masks)):
            raise ValueError(f"rows must be within 0..{len(masks) - 1}, got {chosen.tolist()}")
        there = masks.populations()[chosen] >= 0
        sources, targets = chosen[there], onto[there]
    place = (layout.address, layout.row_step, layout.item_step, layout.item_bytes, layout.pattern, layout.width)
    threads = -(-len(sources) // ROWS_A_THREAD)
    if threads > 1:  # to ask for the number of cores takes as long as a row
        threads = min(os.cpu_count() or 1 if max_threads is None else max_threads, threads)
    _in_threads(len(sources), threads, lambda part: masks.apply(*place, sources[part], targets[part]))


def draw_tokens(
    logits: Any,
    uniforms: npt.NDArray[np.float64],
    temperatures: Sequence[float] | npt.NDArray[np.float64],
    min_ps: Sequence[float] | npt.NDArray[np.float64],
    *,
    masks: MaskRows | None = None,
    rows: Sequence[int] | npt.NDArray[np.int64] | None = None,
    indices: Sequence[int] | npt.NDArray[np.int64] | None = None,
    max_threads: int | None = None,
) -> npt.NDArray[np.int64]:
    """Draw an id from each row of `logits` under its mask, natively, in one pass: nothing is written to the logits.

    `logits`: float32 numpy array or torch tensor in CPU memory, shape (rows, width), items side by side.  `uniforms`:
    from 0 up to and without 1, one for each draw: the share of the distribution, over ascending ids, at which it falls.
    `temperatures`: 0 takes the largest logit.  `min_ps`: what is less likely than so many times the likeliest is left
    out.  `masks`, `rows`, `indices`: the i-th draw is from row `indices[i]` of the logits (None: i) under the mask
    `rows[i]` of `masks` (None: i); -1, and a row without a mask, allow everything.  `max_threads`: at most so many
    (None: one a core).

    Returns int64 (draws,): an id, -1 where no logit is allowed above minus infinity, or -2 where an allowed one is NaN
    or infinite.  `ValueError` for what does not fit.
    """
    layout = logits_layout(logits)
    if layout.item_bytes != 4 or (layout.item_step != 1 and layout.rows and layout.width > 1):
        raise ValueError("logits must be float32, those of a row side by side")
    count = len(uniforms)
    onto = np.arange(count) if indices is None else np.asarray(indices, dtype=np.int64)
    if indices is None and count != layout.rows:
        raise ValueError(f"{count} numbers for {layout.rows} rows of logits")
    if count and not (onto.min() >= 0 and onto.max() < layout.rows):
        raise ValueError(f"indices must be within 0..{layout.rows - 1}, got {onto.tolist()}")
    if masks is None:
        masks, chosen = MaskRows([]), np.full(count, -1)
    else:
        chosen = np.arange(count) if rows is None else np.asarray(rows, dtype=np.int64)
    heats, least, lucks = (np.asarray(values, dtype=np.float64) for values in (temperatures, min_ps, uniforms))
    sizes = len(chosen), len(onto), len(heats), len(least)
    if any(size != count for size in sizes):
        raise ValueError(f"{count} numbers for {sizes[0]} masks, {sizes[1]} rows, {sizes[2]} and {sizes[3]} settings")
    drawn = np.empty(count, dtype=np.int64)
    threads = count * layout.width // LOGITS_A_THREAD
    if threads > 1:
        threads = min(os.cpu_count() or 1 if max_threads is None else max_threads, threads, count)
    place = (layout.address, layout.row_step, layout.width)

    def work(part: slice) -> None:
        masks.draw(*place, chosen[part], onto[part], heats[part], least[part], lucks[part], drawn[part])

    _in_threads(count, threads, work)
    return drawn


def _in_threads(count: int, threads: int, work: Callable[[slice], None]) -> None:
    """`work` on slices of `count` things, side by side; the first in this thread."""
    if threads < 2:
        work(slice(0, count))
        return
    firsts = [count * part // threads for part in range(threads + 1)]
    parts = [slice(first, past) for first, past in itertools.pairwise(firsts)]
    running: list[Future[None]] = []
    try:
        running += (_pool().submit(work, part) for part in parts[1:])
        work(parts[0])
    finally:
        _finish(running)


def _finish(running: list[Future[None]]) -> None:
    """Wait until all is done.  Behind an error or Ctrl-C no thread is at work on what the caller has again: what has
    not begun never does."""
    try:
        for future in running:
            future.result()
    except BaseException:
        wait([future for future in running if not future.cancel()])
        raise
