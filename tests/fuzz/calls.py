"""Targets: matchers' calls in any order, over several grammars, in one thread or in four, against the reference."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Final

from kernels_core import (
    BatchGrammarMatcher,
    BudgetExceededError,
    CancelToken,
    CompiledGrammar,
    DeadEndError,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    MatcherTerminatedError,
    OperationCancelledError,
    Options,
    TimeLimit,
    TokenizerInfo,
    allocate_token_bitmask,
)
from tests.fuzz.following import allowed
from tests.fuzz.rules import Finding
from tests.reference import EarleySet, Recogniser
from tests.reference.masks import mask_at

__all__ = ["CALLS"]

_GRAMMARS: Final = (
    'root ::= "a" root "b" | "" | "ab" root',
    'root ::= item ("," item)*\nitem ::= [a-c]{1,3} | "[" root "]" | "\\"" [^"]{0,4} "\\""',
    'root ::= root root | "a" | "é"',
    'root ::= ([ab] ","){2,5} "]" | "[" [^\\]]* "]"',
    'root ::= TagDispatch(("<a>", t))\nt ::= [0-9]+ "]"',
    'root ::= x x x\nx ::= "a"* | y\ny ::= "b" x | ""',
)
_PIECES: Final = [
    "a",
    "b",
    "ab",
    "ba",
    "aab",
    ",",
    "a,",
    "[",
    "]",
    "[a",
    '"',
    '"a"',
    "<a>",
    "<",
    "1",
    "12",
    "1]",
    "é",
    "日",
]
_OPTIONS: Final = {
    "large": Options(max_compile_ms=2_000, max_fill_ms=1_000, warm_start=False),
    # Parser states and masks are dropped and made anew all the time.
    "small": Options(max_compile_ms=2_000, max_fill_ms=1_000, warm_start=False, max_bytes=1 << 17, pool_bytes=1 << 12),
}
_MATCHERS: Final = 4
_MOST_TEXT: Final = 24
_THREADS: Final = 4


class _Oracle:
    """The plain recogniser over one grammar, with what it said."""

    def __init__(self, grammar: Grammar, info: TokenizerInfo) -> None:
        control = {*info.special_token_ids, *info.stop_token_ids}
        self._vocabulary = [b"" if token in control else text for token, text in enumerate(info.decoded_vocab)]
        self._stops = set(info.stop_token_ids)
        self._recogniser = Recogniser(grammar.ir)
        self._masks: dict[bytes, set[int]] = {}

    def mask(self, text: bytes) -> set[int]:
        found = self._masks.get(text)
        if found is None:
            state: EarleySet = self._recogniser.run(text)
            found = mask_at(self._recogniser, state, self._vocabulary) | (self._stops if state.completed else set())
            self._masks[text] = found
        return found


@cache
def _world() -> tuple[TokenizerInfo, dict[str, GrammarCompiler], list[Grammar], list[_Oracle]]:
    vocabulary = [piece.encode() for piece in _PIECES] + [b"\xc3", b"\xa9", b"</s>"]
    info = TokenizerInfo(vocabulary, stop_token_ids=[len(vocabulary) - 1])
    grammars = [Grammar.from_ebnf(text) for text in _GRAMMARS]
    compilers = {name: GrammarCompiler(info, options=options) for name, options in _OPTIONS.items()}
    return info, compilers, grammars, [_Oracle(grammar, info) for grammar in grammars]


class _Player:
    """Some matchers and what the reference says of each; one byte is a call, the next ones its arguments."""

    def __init__(self, data: bytes) -> None:
        self._info, self._compilers, self._grammars, self._oracles = _world()
        self._data = iter(data)
        self._matchers: list[GrammarMatcher] = []
        self._of: list[int] = []
        for _ in range(_MATCHERS):
            self._begin()

    def _next(self, below: int) -> int:
        return next(self._data) % below

    def _begin(self) -> None:
        number = self._next(len(self._grammars))
        name = ("large", "small")[self._next(2)]
        compiled: CompiledGrammar = self._compilers[name].compile_grammar(self._grammars[number])
        self._matchers.append(GrammarMatcher(compiled))
        self._of.append(number)

    def play(self) -> None:
        while True:
            number = self._next(len(self._matchers))
            self._call(self._next(12), number, self._matchers[number], self._oracles[self._of[number]])

    def _call(self, call: int, number: int, matcher: GrammarMatcher, oracle: _Oracle) -> None:
        match call:
            case 0 | 1:
                self._check(matcher, oracle)
            case 2 | 3 | 4:
                self._take(matcher, oracle)
            case 5:
                matcher.rollback(min(self._next(4), matcher.num_steps))
                self._check(matcher, oracle)
            case 6:
                other = self._next(len(self._matchers))
                self._matchers[other], self._of[other] = matcher.fork(), self._of[number]
            case 7:
                matcher.reset()
                self._check(matcher, oracle)
            case 8:
                self._forced(matcher, oracle)
            case 9:
                self._broken_off(matcher, oracle)
            case 10:
                self._batch()
            case 11:
                self._compilers[("large", "small")[self._next(2)]].clear_cache()

    def _check(self, matcher: GrammarMatcher, oracle: _Oracle) -> None:
        if matcher.is_terminated():
            return
        found, expected = allowed(matcher), oracle.mask(matcher.text)
        if found != expected:
            raise Finding(f"after {matcher.text!r} of {_GRAMMARS[self._oracles.index(oracle)]!r}: {found ^ expected}")

    def _take(self, matcher: GrammarMatcher, oracle: _Oracle) -> None:
        token = self._next(self._info.vocab_size)
        if matcher.is_terminated() or len(matcher.text) > _MOST_TEXT:
            matcher.reset()
        expected = token in oracle.mask(matcher.text)
        if matcher.accept_token(token) is not expected:
            raise Finding(f"token {token} after {matcher.text!r}: the reference says {expected}")

    def _forced(self, matcher: GrammarMatcher, oracle: _Oracle) -> None:
        if matcher.is_terminated() or not oracle.mask(matcher.text):
            return
        text = matcher.find_jump_forward_string(64).encode()
        if text and not matcher.accept_string(text):
            raise Finding(f"the forced text {text!r} is refused after {matcher.text!r}")

    def _broken_off(self, matcher: GrammarMatcher, oracle: _Oracle) -> None:
        """A fill that is called off, or whose time is over, changes nothing."""
        if matcher.is_terminated():
            return
        row = allocate_token_bitmask(1, self._info.vocab_size)
        cancel = self._next(2) == 1
        if cancel:
            matcher.cancel_token = CancelToken()
            matcher.cancel_token.cancel()
        try:
            with TimeLimit(0, looks=self._next(40)):
                matcher.fill_next_token_bitmask(row)
        except (BudgetExceededError, OperationCancelledError, DeadEndError):
            pass
        finally:
            matcher.cancel_token = None
        self._check(matcher, oracle)

    def _batch(self) -> None:
        living = [
            (matcher, self._oracles[of].mask(matcher.text))
            for matcher, of in zip(self._matchers, self._of, strict=True)
            if not matcher.is_terminated()
        ]
        living = [(matcher, expected) for matcher, expected in living if expected]
        if not living:
            return
        rows = allocate_token_bitmask(len(living), self._info.vocab_size)
        try:
            BatchGrammarMatcher(2).batch_fill_next_token_bitmask([matcher for matcher, _ in living], rows)
        except MatcherTerminatedError as error:
            raise Finding("a batch of living matchers has one that is over") from error
        for row, (matcher, expected) in zip(rows, living, strict=True):
            found = {token for token in range(self._info.vocab_size) if int(row[token >> 5]) >> (token & 31) & 1}
            if found != expected:
                raise Finding(f"row of a batch after {matcher.text!r}: {found ^ expected}")


def calls(data: bytes) -> None:
    """Calls in one thread."""
    try:
        _Player(data).play()
    except StopIteration:
        pass


def threads(data: bytes) -> None:
    """Calls in four threads over the same compiled grammars; each has a part of `data`."""
    found: list[BaseException] = []

    def work(part: bytes) -> None:
        try:
            calls(part)
        except BaseException as error:
            found.append(error)

    size = len(data) // _THREADS + 1
    running = [
        threading.Thread(target=work, args=(data[start : start + size],), daemon=True)
        for start in range(0, len(data), size)
    ]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(30)
            if thread.is_alive():
                raise Finding("a thread has not come back after 30 s")
    finally:
        sys.setswitchinterval(before)
    if found:
        raise found[0]


CALLS: Final[dict[str, Callable[[bytes], None]]] = {"calls": calls, "threads": threads}
