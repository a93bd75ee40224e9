"""What holds for every input: time, memory, errors of the documented classes with their place, and unharmed bystanders.

A broken rule is a `Finding`; any other exception that a target lets through is one, too.
"""

from __future__ import annotations

import pickle
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from kernels_core import (
    BudgetExceededError,
    GrammarCompiler,
    GrammarError,
    GrammarMatcher,
    InvalidStructuralTagError,
    MaskscopeError,
    OperationCancelledError,
    Options,
    TokenizerInfo,
    UnsupportedSchemaError,
    allocate_token_bitmask,
)

__all__ = [
    "LIMITS",
    "SLACK_MS",
    "Canary",
    "Finding",
    "attempt",
    "bounded",
    "check_error",
    "is_refused",
    "small_vocabulary",
]

T = TypeVar("T")

LIMITS: Final = Options(
    max_compile_ms=500, max_fill_ms=300, max_states=30_000, max_bytes=1 << 26, pool_bytes=1 << 24, warm_start=False
)
"""What one input may cost: little, so that a loop outside every limit shows soon."""
SLACK_MS = 700
"""Processor time between two looks at the clock, and for what is done before and after a request."""
MOST_MEMORY: Final = 512 << 20
"""Bytes that one input may add to the process."""


class Finding(AssertionError):
    """A rule is broken."""


@contextmanager
def bounded(what: str, limit_ms: int) -> Iterator[None]:
    """What is done inside takes `limit_ms` of processor time, with some slack, and adds little memory."""
    began, held = time.thread_time(), _most_memory()
    yield
    spent = 1000 * (time.thread_time() - began)
    if spent > limit_ms + SLACK_MS:
        raise Finding(f"{what} took {spent:,.0f} ms of processor time; its limit is {limit_ms:,} ms")
    if _most_memory() - held > MOST_MEMORY:
        raise Finding(f"{what} added {(_most_memory() - held) >> 20:,} MiB to the process")


def _most_memory() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def attempt(what: str, limit_ms: int, do: Callable[[], T], *, located: bool = True) -> T | None:
    """What `do` returns; None where it refused with an error that is as it should be."""
    try:
        with bounded(what, limit_ms):
            return do()
    except MaskscopeError as error:
        check_error(error, located=located)
        return None


def is_refused(do: Callable[[], Any]) -> bool:
    """Did `do` meet a budget or a cancel token?  Other errors go through."""
    try:
        do()
    except (BudgetExceededError, OperationCancelledError):
        return True
    return False


def check_error(error: MaskscopeError, *, located: bool = True) -> None:
    """An error on purpose says what and where, in a length that a log can hold, and pickles."""
    text = str(error)
    if not text.strip() or len(text) > 20_000:
        raise Finding(f"{type(error).__name__} with a message of {len(text):,} characters") from error
    copy = pickle.loads(pickle.dumps(error))
    if type(copy) is not type(error) or str(copy) != text:
        raise Finding(f"{type(error).__name__} does not pickle") from error
    if isinstance(error, BudgetExceededError) and not (error.what and error.where):
        raise Finding(f"a limit without a name: {text}") from error
    if isinstance(error, UnsupportedSchemaError) and not all(one.pointer.startswith("#") for one in error.problems):
        raise Finding(f"a schema's problem without a place: {text}") from error
    if isinstance(error, InvalidStructuralTagError):
        if not error.path.startswith("#"):
            raise Finding(f"a tag's problem without a place: {text}") from error
    elif isinstance(error, GrammarError) and located and error.offset is None:
        raise Finding(f"{type(error).__name__} without a place: {text}") from error


class Canary:
    """A grammar that everybody else's input must not change: compiled and read again now and then."""

    GRAMMAR: Final = 'root ::= "[" (item ("," item)*)? "]"\nitem ::= [a-c]+ | root | "\\"" [^"]* "\\""\n'
    TEXT: Final = b'[ab,["c"],a'

    def __init__(self, compiler: GrammarCompiler) -> None:
        self._compiler = compiler
        self._expected = self._masks()
        self._count = 0

    def look(self, every: int = 25) -> None:
        """Now and then: compile it anew, and see whether its masks are what they were."""
        self._count += 1
        if self._count % every == 0:
            self._compiler.clear_cache()
            if self._masks() != self._expected:
                raise Finding("another grammar's masks have changed")

    def _masks(self) -> list[bytes]:
        matcher = GrammarMatcher(self._compiler.compile_grammar(self.GRAMMAR))
        row = allocate_token_bitmask(1, self._compiler.tokenizer_info.vocab_size)
        masks = []
        for byte in self.TEXT:
            matcher.fill_next_token_bitmask(row)
            masks.append(row.tobytes())
            if not matcher.accept_string(bytes((byte,))):
                raise Finding("another grammar refuses its text")
        return masks


def small_vocabulary() -> TokenizerInfo:
    """Bytes and pieces that meet in every language; the last two ids are control tokens."""
    pieces = ['{"', '":', '",', "[[", "]]", "ab", "aab", "<a>", "</a>", "é", "日", "true", "12", "  ", "\\u", "<call>"]
    vocabulary = [bytes((value,)) for value in range(256)] + [piece.encode() for piece in pieces] + [b"\xf0\x9f"]
    stop = len(vocabulary) + 1
    return TokenizerInfo([*vocabulary, b"<|c|>", b"</s>"], stop_token_ids=[stop], special_token_ids=[stop - 1, stop])
