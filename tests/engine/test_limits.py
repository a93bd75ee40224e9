"""Grammars made to hurt: each is either followed, mask by mask, or refused by name; none may take for ever.

Every case of the list runs in a process of its own, because a loop inside the engine could not be stopped from here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernels_core import BudgetExceededError, Grammar, GrammarMatcher, Options, TimeLimit
from kernels_core.masks.lookahead import Lookahead
from tests.engine.driver import compiled, mask
from tests.reference import naive_mask

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60  # many times what any of these takes on a slow machine

FOLLOW = """
import sys
from kernels_core import GrammarCompiler, GrammarMatcher, MaskscopeError, TokenizerInfo, allocate_token_bitmask
words = [b"a", b"b", b"ab", b"aab", b"(", b")", b"((", b",", b"1", b"a" * 30]
info = TokenizerInfo([*words, b"<stop>"], stop_token_ids=[len(words)])
source, text = sys.stdin.read().split("\\0")
try:
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(source))
    rows = allocate_token_bitmask(1, info.vocab_size)
    for byte in text.encode():
        matcher.fill_next_token_bitmask(rows)
        assert matcher.accept_string(bytes((byte,))), matcher.position
    print("followed", matcher.position)
except MaskscopeError as error:
    print(type(error).__name__, error)
"""


def rules(count: int, body: str, *, then: str = "") -> str:
    """Rules r0, r1, ...: `@` in the body is the rule's number, `#` the next one's; `then` follows."""
    numbered = (
        f"r{number} ::= {body}".replace("@", str(number)).replace("#", str(number + 1)) for number in range(count)
    )
    return "\n" + "\n".join(numbered) + "\n" + then


def any_of(count: int) -> str:
    return "root ::= " + " | ".join(f"r{number}" for number in range(count))


# A name, a grammar, a text, and what is to come of it: "followed", or the name of the error.  An automaton that would
# have 2^26 states is followed too, since only the states that are met are made.
CASES = [
    ("nested brackets, deep", 'root ::= "(" root ")" | "a"', "(" * 20_000, "followed"),
    ("as many trees as there are", 'root ::= root root | "a"', "a" * 120, "followed"),
    ("palindromes", 'root ::= "a" root "a" | "b" root "b" | ""', "ab" * 150, "followed"),
    ("iterations of three lengths", 'root ::= ("a" | "aa" | "aaa"){100000,200000}', "a" * 500, "followed"),
    ("counts in counts in counts", "root ::= ((([ab]{1,50}){1,50}){1,50}){1,50}", "ab" * 200, "followed"),
    ("a chain", "root ::= r0" + rules(2000, '"a" r# "b" | "c"', then='r2000 ::= "c"'), "a" * 900, "followed"),
    ("a chain to the left", "root ::= r0" + rules(300, 'r# | r@ "a"', then='r300 ::= "b"'), "baaaa", "followed"),
    ("many alternatives", any_of(2000) + rules(2000, '"a@" root?'), "a1a22", "followed"),
    ("many alternatives to the left", any_of(300) + rules(300, 'root "," | "a"'), "a,,", "followed"),
    ("a long literal", f'root ::= "{"a" * 100_000}"', "a" * 300, "followed"),
    ("the largest bound", 'root ::= ("a"{2147483647}){2147483647}', "a" * 300, "followed"),
    ("the twelfth letter from the end decides", 'root ::= [ab]* "a" ' + "[ab] " * 12, "ab" * 100, "followed"),
    ("a letter far from the end decides", 'root ::= [ab]* "a" ' + "[ab] " * 25, "ab" * 100, "followed"),
]


@pytest.mark.parametrize(("grammar", "text", "outcome"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_no_grammar_takes_for_ever(grammar: str, text: str, outcome: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW],
        input=f"{grammar}\0{text}",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = f"followed {len(text)}" if outcome == "followed" else outcome
    assert done.stdout.startswith(expected), done.stdout


def test_a_budget_leaves_the_matcher_as_it_was() -> None:
    """What does not fit any more is an error with a name, and everything that was reached before can still be used."""
    vocab = [b"a", b"b", b"ab"]
    grammar = Grammar.from_ebnf('root ::= "a" root "a" | "b" root "b" | ""')
    matcher = GrammarMatcher(compiled(grammar, vocab, Options(max_bytes=200_000)))
    first = mask(matcher)

    def follow() -> None:
        for _ in range(10_000):
            assert matcher.accept_string(b"ab")
            mask(matcher)

    with pytest.raises(BudgetExceededError, match="200,000 bytes"):
        follow()
    assert matcher.text == b"ab" * matcher.num_steps
    steps = matcher.num_steps
    assert matcher.position == 2 * steps > 20
    with pytest.raises(BudgetExceededError):
        matcher.accept_string(b"ab" * 10_000)
    assert (matcher.num_steps, matcher.position) == (steps, 2 * steps)
    matcher.rollback(steps - 3)
    assert matcher.text == b"ababab"
    assert mask(matcher) - {len(vocab)} == naive_mask(grammar.ir, vocab, b"ababab")
    matcher.reset()
    assert mask(matcher) == first == {0, 1, 2, len(vocab)}


def test_the_lookahead_looks_at_the_clock() -> None:
    """Where rules may end behind those that they call, what may follow one is what may follow all of its callers."""
    source = "root ::= r0" + rules(200, '"a" r# [bc]* | "x" r#', then='r200 ::= "z"')
    options = Options.laboratory(lazy_lowering=False, inline_limit=0)
    grammar = compiled(Grammar.from_ebnf(source), [b"a"], options)
    grammar.machine.tables.complete()
    with pytest.raises(BudgetExceededError), TimeLimit(0, looks=10_000):
        Lookahead(grammar.machine)


def test_a_very_long_text_is_let_go_without_recursion() -> None:
    """Steps form a chain; freeing it one inside the other would run out of stack.  In a process of its own."""
    script = """
from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
info = TokenizerInfo([b"a", b"</s>"], stop_token_ids=[1])
matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar('root ::= "a"*'))
for _ in range(1_500_000):
    matcher.accept_token(0)
fork = matcher.fork()
matcher.reset()
print(fork.num_steps)
del fork
print("freed")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["1500000", "freed"]), done.stderr
