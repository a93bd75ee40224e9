"""Whatever goes wrong for one request changes nothing for others: errors, limits, interrupts and forks.

What could hang runs in a process of its own, with a limit on its time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from kernels_core import (
    BudgetExceededError,
    CancelToken,
    CompiledGrammar,
    DeadEndError,
    Grammar,
    GrammarMatcher,
    OperationCancelledError,
    Options,
    TimeLimit,
    allocate_token_bitmask,
)
from kernels_core.masks.questions import rules_of
from tests.engine.driver import compiled, mask

ROOT = Path(__file__).resolve().parents[2]
BYTES = 3 << 30  # of address space
VOCAB = [b"a", b"b", b"ab", b"ba", b"{", b'{"', b'"', b":", b'":', b"1", b"12", b",", b"}", b"[", b"]", b"x"]
# Its automaton would have millions of states if somebody asked for all of them.
LARGE = 'root ::= [ab]* "a" ' + "[ab] " * 22 + '"c"'
SCHEMA: dict[str, Any] = {
    "properties": {
        "a": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 12000}, "minItems": 1},
        "b": {"type": "string", "pattern": "^(ab|ba){1,9}$"},
        "x": {"not": {"const": "ab"}},
    },
    "required": ["a", "x"],
    "additionalProperties": False,
}
TEXT = b'{"a":[12,1],"b":"abba","x":{"ab":1}}'


def test_a_called_off_fill_makes_nothing_and_harms_nobody() -> None:
    grammar = compiled(Grammar.from_ebnf(LARGE), VOCAB)
    matcher, other = GrammarMatcher(grammar), GrammarMatcher(grammar)
    row = allocate_token_bitmask(1, grammar.tokenizer_info.vocab_size)
    matcher.accept_string("ab" * 10)
    matcher.cancel_token = CancelToken()
    matcher.cancel_token.cancel()
    before, untouched = grammar.machine.tables.state_count, row.copy()
    with pytest.raises(OperationCancelledError, match="after 20 bytes, inside 'root'"):
        matcher.fill_next_token_bitmask(row)
    assert grammar.machine.tables.state_count == before
    assert (row == untouched).all()
    assert mask(other) == {0, 1, 2, 3}
    matcher.cancel_token = None
    assert other.accept_string("ab" * 10)
    assert mask(matcher) == mask(other)


def test_a_dead_end_makes_nothing_and_harms_nobody() -> None:
    grammar = compiled(Grammar.from_ebnf('root ::= "ab" "c" | [ab]* "x" | "b" d\nd ::= "c" root'), VOCAB)
    matcher, other = GrammarMatcher(grammar), GrammarMatcher(grammar)
    row = allocate_token_bitmask(1, grammar.tokenizer_info.vocab_size)
    matcher.accept_string("bc")
    matcher.rollback()
    grammar = compiled(Grammar.from_ebnf('root ::= "b" d | "a"\nd ::= "c" ' + LARGE.removeprefix("root ::= ")), VOCAB)
    matcher, other = GrammarMatcher(grammar), GrammarMatcher(grammar)
    matcher.accept_string("b")
    before = grammar.machine.tables.state_count
    with pytest.raises(DeadEndError, match="after 1 bytes, inside"):
        matcher.fill_next_token_bitmask(row)
    assert grammar.machine.tables.state_count <= before + 8
    assert mask(other) == {0, 1}


@pytest.mark.parametrize("looks", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987])
def test_work_that_was_broken_off_anywhere_can_be_done_again(looks: int) -> None:
    """A limit that ends at some look at the clock, while a rule is lowered or a mask made, leaves what was there."""
    whole = GrammarMatcher(compiled(Grammar.from_json_schema(SCHEMA), VOCAB))
    expected = []
    for byte in TEXT:
        expected.append(mask(whole))
        assert whole.accept_string(bytes((byte,)))
    grammar = compiled(Grammar.from_json_schema(SCHEMA), VOCAB)
    matcher, broken = GrammarMatcher(grammar), 0
    for byte, allowed in zip(TEXT, expected, strict=True):
        try:
            with TimeLimit(0, looks=looks):
                mask(matcher)
        except BudgetExceededError:
            broken += 1
        assert mask(matcher) == allowed
        try:
            with TimeLimit(0, looks=looks):
                assert matcher.accept_string(bytes((byte,)))
                matcher.rollback()
        except BudgetExceededError:
            broken += 1
        assert matcher.accept_string(bytes((byte,)))
    assert broken or looks > 20


def test_a_grammar_whose_reading_was_broken_off_can_be_read_again() -> None:
    expected = str(Grammar.from_json_schema(SCHEMA))
    for looks in (0, 1, 4, 16, 64, 256, 1024):
        with suppress(BudgetExceededError), TimeLimit(0, looks=looks):
            str(Grammar.from_json_schema(SCHEMA))
        assert str(Grammar.from_json_schema(SCHEMA)) == expected


@pytest.mark.parametrize(
    "size",
    [
        lambda grammar: grammar.machine.set_count,
        lambda grammar: grammar.machine.frame_count,
        lambda grammar: rules_of(grammar.masks, [0]),
    ],
)
def test_sizes_are_asked_for_while_nobody_makes_lists_longer(size: Callable[[CompiledGrammar], object]) -> None:
    grammar = compiled(Grammar.from_ebnf(LARGE), VOCAB)
    asking = Thread(target=size, args=(grammar,))
    grammar.machine.tables.hold()
    try:
        asking.start()
        asking.join(0.2)
        waits = asking.is_alive()
    finally:
        grammar.machine.tables.let_go()
    asking.join()
    assert waits


@pytest.mark.parametrize("limit_ms", [2**42 + 1, 2**62, sys.maxsize])
def test_a_limit_of_any_size_is_one(limit_ms: int) -> None:
    with TimeLimit(limit_ms):
        assert Grammar.from_regex("(ab|c){2,9}" * 500)


@pytest.mark.parametrize("looks", [6, 12, 25])
def test_a_mask_that_was_broken_off_takes_no_longer_the_next_time(looks: int) -> None:
    """What was found out of a state's texts by then is not taken for all that there is."""
    letters, random = bytes(range(0x20, 0x7F)), Random(5)
    words = {bytes(random.choices(letters, k=random.randint(1, 6))) for _ in range(5_000)}
    source = Grammar.from_ebnf('root ::= "(" [^)q]* ")"')

    def walked(looks: int) -> int:
        matcher = GrammarMatcher(compiled(source, sorted(words), Options(warm_start=False)))
        assert matcher.accept_string("(")
        if looks >= 0:
            with pytest.raises(BudgetExceededError), TimeLimit(0, looks=looks):
                mask(matcher)
        before = matcher.masks.counters()["nodes_walked"]
        mask(matcher)
        return matcher.masks.counters()["nodes_walked"] - before

    assert walked(looks) <= walked(-1)


def test_limits_nest_and_the_first_to_run_out_is_named() -> None:
    token = CancelToken()
    with TimeLimit(60_000, cancel=token, where="outside"), TimeLimit(0, where="inside"):
        token.cancel()
        with pytest.raises(OperationCancelledError, match="outside: called off"):
            Grammar.from_regex("(ab|c){2,9}" * 50)
    assert Grammar.from_regex("(ab|c){2,9}" * 50)


PRELUDE = """
import os, random, signal, sys, threading, time
from kernels_core import *

words = [bytes((byte,)) for byte in range(256)] + [b"ab", b"12"]
info = TokenizerInfo([*words, b"<stop>"], stop_token_ids=[len(words)])
schemas = [{"type": "array", "items": {"enum": [f"x{i * j}" for i in range(40)]}} for j in range(200)]
"""

FORK = (
    PRELUDE
    + """
compiler = GrammarCompiler(info)
kept = [compiler.compile_json_schema(schema) for schema in schemas[:8]]
done = False


def fill(numbers):
    row = allocate_token_bitmask(1, info.vocab_size)
    matchers = [GrammarMatcher(compiler.compile_json_schema(schemas[n])) for n in numbers]
    for matcher in matchers:
        for byte in b'["x':
            matcher.fill_next_token_bitmask(row)
            assert matcher.accept_string(bytes((byte,)))
    rows = allocate_token_bitmask(len(matchers), info.vocab_size)
    BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, rows)


def work():
    rounds = 0
    while not done:
        compiler.clear_cache()
        fill(random.sample(range(len(schemas)), 4))
        rounds += 1


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(25):
    child = os.fork()
    if child == 0:
        row = allocate_token_bitmask(1, info.vocab_size)
        for grammar in kept:
            GrammarMatcher(grammar).fill_next_token_bitmask(row)
        fill([1, 2, 3, 9])
        os._exit(0)
    for _ in range(12_000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        print("a child hangs")
        os._exit(1)
    assert status == 0, status
done = True
for thread in threads:
    thread.join()
print("done")
"""
)

# Ten thousand interrupts, each at some moment of a compile, before, within and behind what its cache keeps. Whoever
# asks for the same schema next does not wait for what the interrupted one began.
INTERRUPT = (
    PRELUDE
    + """
import faulthandler


def interrupt(*_):
    if armed:
        raise KeyboardInterrupt


armed = False
signal.signal(signal.SIGALRM, interrupt)
compiler = GrammarCompiler(info)
took = []
for schema in schemas[5:25]:
    began = time.perf_counter()
    compiler.compile_json_schema(schema)
    took.append(time.perf_counter() - began)
whole = sorted(took)[10]  # so that most interrupts come within a compile, on a machine of any speed
faulthandler.dump_traceback_later(300, exit=True)
interrupted = hung = number = 0
while interrupted < 10_000 and number < 400_000:
    number += 1
    schema = schemas[number % 5]
    compiler.clear_cache()
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, random.random() * whole + 1e-6)
        compiler.compile_json_schema(schema)
        armed = False
    except KeyboardInterrupt:
        interrupted += 1
    armed = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    compiler.compile_json_schema(schema)
    if number % 500 == 0:
        faulthandler.dump_traceback_later(300, exit=True)  # who hangs from here on says where
        asking = threading.Thread(target=compiler.compile_json_schema, args=(schema,))
        asking.start()
        asking.join(100)
        hung += asking.is_alive()
row = allocate_token_bitmask(1, info.vocab_size)
for schema in schemas[:5]:
    matcher = GrammarMatcher(compiler.compile_json_schema(schema))
    assert matcher.accept_string('["x')
    matcher.fill_next_token_bitmask(row)
print("done" if interrupted == 10_000 and not hung else (interrupted, hung))
"""
)

# Since CPython 3.14 `with` of a lock of `threading` loses the lock in most of these interrupts.
LOST = """
import random, signal
from kernels_core.locks import new_lock, new_reentrant_lock


def interrupt(*_):
    raise KeyboardInterrupt


signal.signal(signal.SIGALRM, interrupt)
lost = 0
for lock in (new_lock(), new_reentrant_lock()):
    for _ in range(2_000):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.random() * 2e-4 + 1e-6)
            while True:
                with lock:
                    pass
        except KeyboardInterrupt:
            pass
        lost += lock.locked()
print("done" if not lost else lost)
"""

# Another thread is inside everything that a lock guards when this one forks.
LOCKED = (
    PRELUDE
    + """
compiler = GrammarCompiler(info)
grammar = Grammar.from_json_schema({"properties": {"a": {"type": "array", "items": {"enum": ["x", "y"]}}}})
held, over = threading.Event(), threading.Event()


def hold():
    with grammar.lazy_ir.lock:
        held.set()
        over.wait()


thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    str(grammar)
    matcher = GrammarMatcher(compiler.compile_grammar(grammar))
    os._exit(0 if matcher.accept_string('{"a":["x"') else 3)
over.set()
thread.join()
print("done" if os.waitpid(child, 0)[1] == 0 else "the child failed")
"""
)

# Ctrl-C while a mask is made without the GIL and without any limit: it comes, and harms nothing.
CONTROL_C = (
    PRELUDE
    + """
letters = random.Random(1)
words = [bytes(letters.choices(b"ab", k=26)) for _ in range(60_000)]
info = TokenizerInfo([b"a", b"b", b"c", *words, b"<stop>"], stop_token_ids=[len(words) + 3])
options = Options.laboratory(max_fill_ms=0, max_states=1 << 28, max_bytes=1 << 32, direct_limit=0)
large = 'root ::= "c" | "a" [ab]* "a" ' + "[ab] " * 22 + '"c"'
grammar = GrammarCompiler(info, options=options).compile_grammar(large)
matcher, other = GrammarMatcher(grammar), GrammarMatcher(grammar)
row = allocate_token_bitmask(1, info.vocab_size)
assert matcher.accept_string("a")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores Ctrl-C for what runs in its background
timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
try:
    timer.start()
    matcher.fill_next_token_bitmask(row)
    print("too fast to be interrupted")
except KeyboardInterrupt:
    assert matcher.text == b"a" and other.accept_string("c") and other.is_completed()
    print("done")
"""
)


def run(script: str, seconds: int) -> str:
    """What a process prints that has `seconds` of processor time and `BYTES` of memory."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=ROOT,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.parametrize(
    "script",
    [FORK, INTERRUPT, LOST, LOCKED, CONTROL_C],
    ids=[
        "forks while others fill",
        "interrupts anywhere in compiles",
        "interrupts anywhere in a lock",
        "forks while locks are held",
        "Ctrl-C in a fill",
    ],
)
def test_nobody_waits_for_what_nobody_does(script: str) -> None:
    assert run(script, 120) == "done"
