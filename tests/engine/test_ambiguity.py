"""Ambiguous grammars: a byte costs the same behind many operands.

Masks are compared in `test_against_reference.py`.  Read on: `kernels_core/earley/left_recursion.pyx`.
"""

from __future__ import annotations

import pytest

from kernels_core import BudgetExceededError, Grammar, GrammarMatcher, Options, TimeLimit
from tests.engine.driver import compiled, mask

VOCAB = [b"x", b"+", b"x+", b"+x", b"(", b")", b"a", b"aa"]
SUMS = {
    "a sum": ('root ::= e\ne ::= "x" | e "+" e', "x", "+x"),
    "side by side": ('root ::= s\ns ::= s s | "a"', "a", "a"),
    "side by side, or nothing": ('root ::= s\ns ::= s s | "a" | ""', "a", "a"),
    "through another rule": ('root ::= e\ne ::= "x" | sum | "(" e ")"\nsum ::= e "+" e', "x", "+x"),
    "operators of a rule": ('root ::= e\ne ::= "x" | e op e | "(" e ")"\nop ::= "+" | "-"', "x", "+x"),
    "before and behind": ('root ::= e\ne ::= "x" | "-" e | e "!" | e "+" e', "x", "+-x!"),
    "three operands": ('root ::= e\ne ::= "x" | e "?" e ":" e | e "+" e', "x", "?x:x"),
    "in brackets": ('root ::= e\ne ::= "x" | e "+" e | "(" e ")"', "(x", "+(x+x)"),
    "operands of two rules": ('root ::= e\ne ::= t | e "+" e\nt ::= "x" | t "*" t', "x", "+x*x"),
}


# Behind these no text is where a shorter one was, or the parser cannot know: what a byte costs stays the same.
NESTED = {
    "three side by side": ('root ::= s\ns ::= s s s | "a"', "a", "aa", ""),
    "two or three": ('root ::= s\ns ::= s s s | s s | "a"', "a", "a", ""),
    "something optional last": ('root ::= e\ne ::= "x" | e "+" e "."?', "x", "+x", "."),
    "a list last": ('root ::= e\ne ::= "x" | e "+" e "."*', "x", "+x", "."),
    "blanks last": ('root ::= e\ne ::= "x" | e b "+" b e b\nb ::= " "*', "x", " + x", ""),
    "blanks of a recursive rule": ('root ::= e\ne ::= "x" | e b "+" b e b\nb ::= [ \\n]? | " " b', "x", " + x", ""),
    "an else of any if": ('root ::= s\ns ::= "x" | "i" s | "i" s "e" s', "", "i", "x"),
    "two words of any if": ('root ::= s\ns ::= "x" | ("i" | "j" s "f") s ("e" s)?', "", "ijxf", "x"),
    "open brackets": ('root ::= e\ne ::= "x" | e e | "(" e ")"', "x", "(x", 4000 * ")"),
}


@pytest.mark.report(
    "ggml-org/llama.cpp#3801",
    'The rule `e ::= "x" | e "+" e` reads thousands of operands, and none behind the third adds a state.',
)
@pytest.mark.parametrize("options", [Options(), Options.laboratory(inline_limit=0)], ids=["default", "nothing inlined"])
@pytest.mark.parametrize(("grammar", "first", "more"), SUMS.values(), ids=list(SUMS))
def test_operands_add_no_states(grammar: str, first: str, more: str, options: Options) -> None:
    """Parser states are counted, not seconds: behind the third operand there is nothing new."""
    engine = compiled(Grammar.from_ebnf(grammar), VOCAB, options)
    matcher = GrammarMatcher(engine)
    assert matcher.accept_string(first + 3 * more)
    place, states = mask(matcher), engine.cache_stats().sets
    assert matcher.accept_string(10_000 * more)
    assert (mask(matcher), engine.cache_stats().sets) == (place, states)


@pytest.mark.parametrize("options", [Options(), Options.laboratory(inline_limit=0)], ids=["default", "nothing inlined"])
@pytest.mark.parametrize(("grammar", "first", "more", "last"), NESTED.values(), ids=list(NESTED))
def test_a_byte_costs_the_same_behind_many(grammar: str, first: str, more: str, last: str, options: Options) -> None:
    """What is kept of parser states is counted, not seconds: the fourth thousand takes as much as the second."""
    engine = compiled(Grammar.from_ebnf(grammar), VOCAB, options)
    matcher = GrammarMatcher(engine)
    assert matcher.accept_string(first)
    kept = []
    for _ in range(4):
        assert matcher.accept_string(1000 * more)
        kept.append(engine.cache_stats().arena_bytes)
    assert kept[3] - kept[2] < 1.5 * (kept[1] - kept[0]) + 100_000
    assert matcher.accept_string(last)
    assert matcher.is_completed()


def test_a_byte_costs_the_same_behind_a_step_that_was_broken_off() -> None:
    """A limit that ends while the ends of open rules are found leaves no mark on them: later steps take few looks."""
    grammar = compiled(Grammar.from_ebnf('root ::= s "y"\ns ::= "i" s ("e" s)? | "x"'), [b"e", b"i", b"x", b"y"])
    matcher = GrammarMatcher(grammar)
    assert matcher.accept_string(2000 * "i")
    with pytest.raises(BudgetExceededError), TimeLimit(0, looks=500):
        matcher.accept_string("x")
    assert matcher.accept_string("x")
    with TimeLimit(0, looks=500):
        assert matcher.accept_string(20 * "ex")


def test_every_open_if_may_have_its_else() -> None:
    """What is dropped is covered by what stays: as many as there are may still come, and no more."""
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= s\ns ::= "x" | "i" s ("e" s)?'), [b"e", b"x", b"ex"]))
    assert matcher.accept_string(50 * "i" + "x")
    for _ in range(50):
        assert mask(matcher) == {0, 2, 3}
        assert matcher.accept_token(2)
    assert mask(matcher) == {3}
