"""Requests made to hurt, under the limits that everybody has: each is answered, or refused by name.

Each has a process of its own, with a limit on processor time and little memory, so that a loop that is not under a
limit, or one that eats memory, is a failure and no stuck run.  A short run asks a sample.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernels_core import BudgetExceededError, Grammar, GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import TokenizerError
from tests.hostile.cases import CASES, SLOW

ROOT = Path(__file__).resolve().parents[2]
MIB = 1200
QUICK = [name for name in CASES if name not in SLOW]
ENGINE_SAMPLE = QUICK[::4]
# What the other doors are asked, in a short run and in a long one; `python -m tests.hostile` asks them everything.
DOOR_SAMPLES = QUICK[3::27], QUICK[::6]


@cache
def outcomes(door: str, named: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What came of requests at a door, by their names."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.doors", door, *named],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in ENGINE_SAMPLE else [pytest.mark.long]) for name in CASES]
)
def test_the_engine_answers_or_refuses_by_name(name: str, is_long: bool) -> None:
    found = outcomes("engine", tuple(CASES if is_long else ENGINE_SAMPLE))[name]
    assert re.match(CASES[name].answer, found["said"]), found
    assert found["mib"] < MIB


@pytest.mark.parametrize("door", ["explorer", "check", "drop-in", "server"])
def test_every_door_answers_or_refuses_by_name(door: str, is_long: bool) -> None:
    pytest.importorskip("torch")
    found = outcomes(door, tuple(DOOR_SAMPLES[is_long]))
    assert len(found) > 2
    for name, outcome in found.items():
        assert re.match(r"done|4\d\d |exit code 1: |\w+(Error|Exception) ", outcome["said"]), (name, outcome)
        assert outcome["mib"] < MIB, (name, outcome)


def test_a_vocabulary_of_a_hundred_million_ids() -> None:
    with pytest.raises(TokenizerError, match="vocab_size is 100,000,000"):
        TokenizerInfo([b"a"], vocab_size=100_000_000)


def test_the_limits_that_everybody_has_and_a_millisecond() -> None:
    assert (Options().max_compile_ms, Options().max_fill_ms) == (5_000, 1_000)
    info = TokenizerInfo([bytes((byte,)) for byte in range(256)], stop_token_ids=[0])
    slow = {"patternProperties": {f"a{{{i},{i + 9}}}.*b": {"minimum": i} for i in range(40)}}
    compiler = GrammarCompiler(info, options=Options(max_compile_ms=1))
    with pytest.raises(BudgetExceededError, match="more than 1 milliseconds"):
        compiler.compile_json_schema(slow)
    compiler = GrammarCompiler(info, options=Options(max_fill_ms=1))
    matcher = GrammarMatcher(compiler.compile_grammar(Grammar.from_ebnf('root ::= root root | "a"')))
    with pytest.raises(BudgetExceededError, match="more than 1 milliseconds"):
        matcher.accept_string("a" * 1_000_000)
    assert matcher.text == b""
    assert matcher.accept_string("aaa")
