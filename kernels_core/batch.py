"""`BatchGrammarMatcher`: many matchers at once, over any mix of grammars.

Masks that are known are copied right away; those that are not are computed side by side, without the GIL, on one
thread pool that lives as long as the process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from kernels_core.matcher import GrammarMatcher

__all__ = ["BatchGrammarMatcher"]

_POOL: ThreadPoolExecutor | None = None
_POOL_LOCK = threading.Lock()


def _pool() -> ThreadPoolExecutor:
    """The one pool, made when first needed, with a thread for each processor."""
    global _POOL
    with _POOL_LOCK:
        if _POOL is None:
            _POOL = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="maskscope")
        return _POOL


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
            self._prepare(matchers)
        return [matcher.fill_next_token_bitmask(bitmask, row) for matcher, row in zip(matchers, rows, strict=True)]

    def _prepare(self, matchers: Sequence[GrammarMatcher]) -> None:
        """Compute masks that are not known, in at most `max_threads` threads, grammar by grammar.

        Matchers of one grammar share a lock, so they go to one thread; the lists are short and the first of equal
        places computes for all.
        """
        todo: dict[int, list[GrammarMatcher]] = {}
        for matcher in matchers:
            if not matcher.is_prepared():
                todo.setdefault(id(matcher.compiled), []).append(matcher)
        if len(todo) < 2:
            return  # filling computes what is missing
        groups = list(todo.values())
        shares = [groups[i :: self.max_threads] for i in range(min(self.max_threads, len(groups)))]
        for future in [_pool().submit(_prepare_all, share) for share in shares]:
            future.result()

    @staticmethod
    def batch_accept_token(matchers: Sequence[GrammarMatcher], tokens: Sequence[int]) -> list[bool]:
        """`accept_token` of each matcher with its token."""
        if len(matchers) != len(tokens):
            raise ValueError(f"{len(tokens)} tokens for {len(matchers)} matchers")
        return [matcher.accept_token(int(token)) for matcher, token in zip(matchers, tokens, strict=True)]

    @staticmethod
    def batch_accept_string(matchers: Sequence[GrammarMatcher], strings: Sequence[str | bytes]) -> list[bool]:
        """`accept_string` of each matcher with its text."""
        if len(matchers) != len(strings):
            raise ValueError(f"{len(strings)} strings for {len(matchers)} matchers")
        return [matcher.accept_string(text) for matcher, text in zip(matchers, strings, strict=True)]

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: int | Sequence[int] = 1) -> None:
        """Roll each matcher back; if one cannot, none is."""
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else list(num_tokens)
        if len(counts) != len(matchers):
            raise ValueError(f"{len(counts)} counts for {len(matchers)} matchers")
        for matcher, count in zip(matchers, counts, strict=True):
            if count > matcher.num_steps:
                raise ValueError(f"cannot roll back {count} steps: only {matcher.num_steps} were taken")
        for matcher, count in zip(matchers, counts, strict=True):
            matcher.rollback(count)

    def __repr__(self) -> str:
        return f"<BatchGrammarMatcher of at most {self.max_threads} threads>"


def _prepare_all(groups: list[list[GrammarMatcher]]) -> None:
    for group in groups:
        for matcher in group:
            matcher.prepare()
