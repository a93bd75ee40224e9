"""Many matchers in many threads under schemas of strangers, for as long as one likes; counted while it goes on.

Each thread has its share of the matchers.  A matcher without a grammar takes the next request of the stream, which all
threads share: it is compiled or refused.  A matcher with one makes a mask and takes a token of it, at random, until its
text is over or long enough.  What an engine may do is counted; what it must not do is an error of its own kind.

Times of masks and compiles are both processor time of the thread, which is what limits are about, and time that passed,
in which it waited for the GIL, for other threads and for whatever else the machine does.  Python's garbage collections
fall on whichever call allocates next, and look through all objects of the process, libraries' included: processor time
is without them, and they have a row of their own.
"""

from __future__ import annotations

import gc
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from experiments.held import are_full, held_by
from experiments.machine import resident_bytes
from experiments.strangers import Kind, Request, make_request
from kernels_core import (
    BudgetExceededError,
    DeadEndError,
    GrammarCompiler,
    GrammarMatcher,
    MaskscopeError,
    Options,
    TokenizerInfo,
    allocate_token_bitmask,
)

__all__ = ["NEVER", "Load", "Window", "soak"]

NEVER: Final = ("not documented", "mask too wide")
"""Kinds of errors that no request may bring about."""
_STEP: Final = 20  # buckets of times for each doubling
_BUCKETS: Final = 40 * _STEP
# Small enough that what is kept is full within a minute: then memory must not grow.
_POOL_BYTES: Final = 1 << 24
_CACHE_BYTES: Final = 1 << 25
_PATIENCE: Final = 300.0  # seconds: limits are of processor time, of which a loaded machine gives each thread little
_TRIES: Final = 30  # random ids that are looked up in a mask before all of it is read


@dataclass(frozen=True, slots=True)
class Load:
    """What is done: so many matchers over so many threads, for so long.  tokens: of one text at most.

    given: schemas as texts, which count as valid requests and take every second turn of those.
    """

    seconds: float
    matchers: int
    threads: int
    seed: int = 0
    tokens: int = 100
    window_s: float = 10.0
    given: Sequence[str] = ()


@dataclass(slots=True)
class _Counts:
    """What one thread did; nobody else writes to it."""

    requests: Counter[str] = field(default_factory=Counter)
    errors: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    samples: dict[tuple[str, str, str], str] = field(default_factory=dict)
    tokens: int = 0
    times: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)

    def note(self, what: str, nanoseconds: int) -> None:
        if what not in self.times:
            self.times[what] = np.zeros(_BUCKETS, np.int64)
        self.times[what][min(_BUCKETS - 1, int(_STEP * np.log2(max(1, nanoseconds))))] += 1
        self.most[what] = max(self.most.get(what, 0), nanoseconds)

    def fail(self, kind: str, where: str, what: str, text: str) -> None:
        self.errors[kind, where, what] += 1
        self.samples.setdefault((kind, where, what), text[:200])


@dataclass(frozen=True, slots=True)
class Window:
    """Some seconds of it.  times: by what was timed in it {n, p50, p99, p99.9, max}, in microseconds.

    held: who holds memory at its end (`held.held_by`).  full: whether what has a budget had been full by then.
    """

    seconds: float
    tokens: int
    requests: int
    never: int
    resident: int
    times: dict[str, dict[str, float]]
    held: dict[str, int] = field(default_factory=dict)
    full: bool = False


def soak(info: TokenizerInfo, load: Load, tell: Callable[[Window], None] | None = None) -> dict[str, Any]:
    """Run a load; JSON values: `windows`, `requests` by kind, `errors` as [kind, where, what, count, sample], `times`
    of all of it, `resident` bytes at the end.  tell: called after each window."""
    options = Options(pool_bytes=_POOL_BYTES, max_bytes=1 << 26)
    compiler = GrammarCompiler(info, options=options, cache_bytes=_CACHE_BYTES)
    stream, over = itertools.count(), threading.Event()
    counts = [_Counts() for _ in range(load.threads)]
    shares = [len(range(number, load.matchers, load.threads)) for number in range(load.threads)]
    threads = [
        threading.Thread(target=_Worker(compiler, load, one, stream, over, number).run, args=(share,), daemon=True)
        for number, (one, share) in enumerate(zip(counts, shares, strict=True))
    ]
    windows: list[Window] = []
    full = False
    gc.callbacks.append(_COLLECTIONS.watch)
    before, began = _sum(counts), time.monotonic()
    for thread in threads:
        thread.start()
    try:
        at = began
        while time.monotonic() - began < load.seconds:
            over.wait(max(0.0, min(at + load.window_s, began + load.seconds) - time.monotonic()))
            now, after = time.monotonic(), _sum(counts)
            held = held_by(compiler)
            full = full or are_full(held, cache_bytes=_CACHE_BYTES, pool_bytes=_POOL_BYTES)
            windows.append(replace(_window(before, after, now - at), held=held, full=full))
            before, at = after, now
            if tell is not None:
                tell(windows[-1])
    finally:
        over.set()
        for thread in threads:
            thread.join(_PATIENCE)
        gc.callbacks.remove(_COLLECTIONS.watch)
    if any(thread.is_alive() for thread in threads):
        raise RuntimeError(f"a thread has not come back {_PATIENCE:.0f} seconds after the end")
    whole = _sum(counts)
    return {
        "windows": [_plain(window) for window in windows],
        "requests": dict(whole.requests),
        "errors": [[*key, count, whole.samples[key]] for key, count in sorted(whole.errors.items())],
        "times": {what: _described(found, whole.most[what]) for what, found in whole.times.items()},
        "tokens": whole.tokens,
        "resident": resident_bytes(),
    }


class _Collections(threading.local):
    """Processor time that garbage collections have taken in this thread, in nanoseconds."""

    def __init__(self) -> None:
        self.spent = 0
        self._began = 0

    def watch(self, phase: str, info: dict[str, int]) -> None:
        """For `gc.callbacks`: called in the thread that collects."""
        if phase == "start":
            self._began = time.thread_time_ns()
        else:
            self.spent += time.thread_time_ns() - self._began


_COLLECTIONS: Final = _Collections()


class _Worker:
    """One thread: some matchers, each with a text under way."""

    def __init__(
        self,
        compiler: GrammarCompiler,
        load: Load,
        counts: _Counts,
        stream: itertools.count[int],
        over: threading.Event,
        number: int,
    ) -> None:
        self._compiler, self._load, self._counts = compiler, load, counts
        self._stream, self._over = stream, over
        self._random = Random(f"soak {load.seed} {number}")
        self._row = allocate_token_bitmask(1, compiler.tokenizer_info.vocab_size)

    def run(self, count: int) -> None:
        """Until it is over, one step of each matcher after the other."""
        places: list[tuple[GrammarMatcher, Kind] | None] = [None] * count
        while not self._over.is_set():
            for number, place in enumerate(places):
                if self._over.is_set():
                    return
                places[number] = self._begin() if place is None else self._step(*place)

    def _begin(self) -> tuple[GrammarMatcher, Kind] | None:
        request = self._request(next(self._stream))
        self._counts.requests[request.kind] += 1
        compiled = self._do("compile", request.kind, lambda: self._compiler.compile_json_schema(request.text))
        return None if compiled is None else (GrammarMatcher(compiled), request.kind)

    def _request(self, index: int) -> Request:
        given = self._load.given
        made = make_request(self._load.seed, index)
        if given and made.kind == "valid" and index % 2:
            return Request("valid", given[index // 2 % len(given)])
        return made

    def _step(self, matcher: GrammarMatcher, kind: Kind) -> tuple[GrammarMatcher, Kind] | None:
        if self._do("mask", kind, lambda: [matcher.fill_next_token_bitmask(self._row)]) is None:
            return None
        token = self._choose()
        taken = self._do("accept", kind, lambda: [matcher.accept_token(token)])
        if taken is None:
            return None
        if not taken[0]:
            self._counts.fail("mask too wide", "accept", kind, f"token {token} after {matcher.text!r}")
            return None
        self._counts.tokens += 1
        is_over = matcher.is_terminated() or matcher.num_steps >= self._load.tokens
        return None if is_over else (matcher, kind)

    def _choose(self) -> int:
        """An id of the mask at random; where the mask is wide, without reading all of it."""
        row, size = self._row[0], self._compiler.tokenizer_info.vocab_size
        for _ in range(_TRIES):
            token = self._random.randrange(size)
            if int(row[token >> 5]) >> (token & 31) & 1:
                return token
        bits = np.flatnonzero(np.unpackbits(self._row.view(np.uint8), bitorder="little")[:size])
        return int(bits[self._random.randrange(len(bits))])

    def _do(self, what: str, kind: Kind, call: Callable[[], Any]) -> Any:
        """What `call` gives, timed; None after an error, which is counted."""
        collected, passed, spent = _COLLECTIONS.spent, time.perf_counter_ns(), time.thread_time_ns()
        try:
            return call()
        except BudgetExceededError as error:
            self._counts.fail("limit", what, f"{error.what} ({kind})", str(error))
        except DeadEndError as error:
            self._counts.fail("dead end", what, kind, str(error))
        except MaskscopeError as error:
            self._counts.fail("refused", what, f"{type(error).__name__} ({kind})", str(error))
        except Exception as error:  # the soak goes on, and the table says so
            self._counts.fail("not documented", what, f"{type(error).__name__} ({kind})", repr(error))
        finally:
            spent = time.thread_time_ns() - spent
            passed = time.perf_counter_ns() - passed
            collected = _COLLECTIONS.spent - collected
            self._counts.note(what, passed)
            self._counts.note(f"{what}, processor", spent - collected)
            if collected:
                self._counts.note("garbage collection, processor", collected)
        return None


def _sum(counts: Sequence[_Counts]) -> _Counts:
    """All threads together, as far as they are."""
    whole = _Counts()
    for one in counts:
        whole.requests.update(one.requests.copy())
        whole.errors.update(one.errors.copy())
        whole.samples.update(one.samples.copy())
        whole.tokens += one.tokens
        for what, found in list(one.times.items()):
            whole.times[what] = whole.times.get(what, 0) + found
            whole.most[what] = max(whole.most.get(what, 0), one.most.get(what, 0))
    return whole


def _window(before: _Counts, after: _Counts, seconds: float) -> Window:
    never = sum(count for (kind, _, _), count in (after.errors - before.errors).items() if kind in NEVER)
    zero = np.zeros(_BUCKETS, np.int64)
    fresh = {what: found - before.times.get(what, zero) for what, found in after.times.items()}
    times = {what: _described(found) for what, found in fresh.items() if found.any()}
    requests = sum(after.requests.values()) - sum(before.requests.values())
    return Window(seconds, after.tokens - before.tokens, requests, never, resident_bytes(), times)


def _described(buckets: npt.NDArray[np.int64], most: int | None = None) -> dict[str, float]:
    """Quantiles in microseconds, from above by at most the width of a bucket (3.5 %); something was timed."""
    count = int(buckets.sum())
    past = np.cumsum(buckets)
    ends = 2 ** ((np.arange(_BUCKETS) + 1) / _STEP) / 1000
    found = {"n": float(count)}
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)):
        found[name] = float(ends[np.searchsorted(past, share * count)])
    if most is not None:
        found["max"] = most / 1000
    return found


def _plain(window: Window) -> dict[str, Any]:
    return {
        "seconds": window.seconds,
        "tokens": window.tokens,
        "requests": window.requests,
        "never": window.never,
        "resident": window.resident,
        "times": window.times,
        "held": window.held,
        "full": window.full,
    }
