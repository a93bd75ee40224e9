"""Token sets made ahead of time, time limits and calling off, and the trace of how masks were found."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    BudgetExceededError,
    CancelToken,
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    OperationCancelledError,
    Options,
    allocate_token_bitmask,
)
from kernels_core.grammar.ir import GrammarIR
from tests.engine.driver import compiled, mask, tokenizer
from tests.reference.masks import naive_mask
from tests.strategies import grammars, productive, vocabularies

SOURCE = 'root ::= "[" (root | word) ("," (root | word))* "]"\nword ::= "\\"" [a-z]+ "\\"" | [0-9]{3,9}'
WORDS = [bytes(letters) for size in (1, 2, 3) for letters in itertools.product(b'ab["],1', repeat=size)]
# Enough tokens that one scan of them takes far more than a millisecond.
MANY = [bytes(letters) for letters in itertools.product(b"abcdefghijklmnop", repeat=4)]


def make(options: Options | None = None) -> CompiledGrammar:
    return compiled(Grammar.from_ebnf(SOURCE), WORDS, options)


def computed(grammar: CompiledGrammar) -> int:
    return grammar.cache_stats().token_set_misses


def test_nothing_is_made_up_front_by_default() -> None:
    grammar = make()
    assert computed(grammar) == 0
    assert all(state.measured_ns is None for state in grammar.cost_estimates().states)


def test_the_costliest_states_are_made_first() -> None:
    table = make().cost_estimates()
    estimates = [state.estimated for state in table.states]
    assert estimates == sorted(estimates, reverse=True)
    assert len(set(estimates)) > 2, "estimates tell nothing apart"
    options = Options.laboratory(jit=3, differential_masks=False, cross_grammar_cache=False)
    made = [state for state in make(options).cost_estimates().states if state.measured_ns is not None]
    assert [state.state for state in made] == [state.state for state in table.states[:3]]
    assert all(state.measured_ns for state in made)


def test_ahead_of_time_leaves_nothing_for_the_first_visit() -> None:
    source = 'root ::= "[" (root | "a") ("," (root | "ab"))* "]"'
    grammar = compiled(Grammar.from_ebnf(source), WORDS, Options(jit="all"))
    before = computed(grammar)
    assert before > 0
    matcher = GrammarMatcher(grammar)
    for byte in b"[[a,ab],ab]":
        mask(matcher)
        assert matcher.accept_string(bytes([byte]))
    assert computed(grammar) == before


@given(grammars().map(productive), vocabularies(), st.sampled_from([1, 3, "all"]))
def test_masks_do_not_depend_on_what_was_made_before(ir: GrammarIR, vocab: list[bytes], jit: int) -> None:
    matcher = GrammarMatcher(compiled(ir, vocab, Options(jit=jit)))
    assert mask(matcher) - {len(vocab)} == naive_mask(ir, vocab, b"")


def test_warming_by_hand_and_in_the_background() -> None:
    grammar = make()
    assert grammar.warm(2) == 2
    with pytest.deprecated_call():
        rest = grammar.warm_in_background()
    assert rest.wait(60)
    assert (rest.done, rest.progress, rest.running) == (rest.total, 1.0, False)
    assert grammar.warm() == 0
    assert all(state.measured_ns is not None for state in grammar.cost_estimates().states) or computed(grammar) > 2


def test_matchers_go_on_while_warming() -> None:
    grammar, plain = make(), make()
    with pytest.deprecated_call():
        warming = grammar.warm_in_background()
    answers = []
    for each in (grammar, plain):
        matcher = GrammarMatcher(each)
        masks = []
        for byte in b'["ab",[12':
            masks.append(mask(matcher))
            assert matcher.accept_string(bytes([byte]))
        answers.append(masks)
    assert answers[0] == answers[1]
    assert warming.wait(60)


def test_warming_can_be_called_off() -> None:
    from kernels_core.clock import look
    from kernels_core.warming import Warming

    begun, go_on = threading.Event(), threading.Event()

    def compute(state: int) -> None:
        begun.set()
        assert go_on.wait(60)
        look(1_000_000)

    warming = Warming(compute, [1, 2, 3])
    assert begun.wait(60)
    warming.cancel()
    go_on.set()
    assert warming.wait(60)
    assert (warming.done, warming.total) == (0, 3)


def test_an_error_of_warming_is_raised_by_wait() -> None:
    from kernels_core.warming import Warming

    def compute(state: int) -> None:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        Warming(compute, [1]).wait(60)


def test_a_mask_that_takes_too_long_names_its_place_and_changes_nothing() -> None:
    source = "root ::= pair*\npair ::= [a-p]{4}"
    grammar = compiled(
        Grammar.from_ebnf(source),
        MANY,
        Options.laboratory(parser="naive", memoize_sets=False, inline_limit=0, max_fill_ms=1),
    )
    matcher = GrammarMatcher(grammar)
    assert matcher.accept_string("ab")
    row = allocate_token_bitmask(1, grammar.tokenizer_info.vocab_size)
    before = row.copy()
    with pytest.raises(BudgetExceededError, match="more than 1 milliseconds") as caught:
        matcher.fill_next_token_bitmask(row)
    assert "after 2 bytes, inside 'pair" in str(caught.value) or "after 2 bytes, inside 'root" in str(caught.value)
    assert (row == before).all()
    assert matcher.text == b"ab"
    assert matcher.accept_string("cd")


def test_a_compile_that_takes_too_long() -> None:
    options = Options.laboratory(parser="fsm", memoize_sets=False, max_compile_ms=1)
    with pytest.raises(BudgetExceededError, match="milliseconds"):
        compiled(Grammar.from_ebnf("root ::= [a-p]{400}"), MANY, options)


def test_a_scan_under_way_is_called_off_from_another_thread() -> None:
    grammar = compiled(
        Grammar.from_ebnf("root ::= [a-p]*"), MANY * 8, Options.laboratory(parser="naive", memoize_sets=False)
    )
    matcher = GrammarMatcher(grammar)
    matcher.cancel_token = token = CancelToken()
    timer = threading.Timer(0.02, token.cancel)
    timer.start()

    def scan() -> None:
        for _ in range(10_000):
            mask(matcher)

    with pytest.raises(OperationCancelledError):
        scan()
    timer.join()


def test_a_compile_can_be_called_off() -> None:
    token = CancelToken()
    compiler = GrammarCompiler(tokenizer(WORDS))
    token.cancel()
    with pytest.raises(OperationCancelledError):
        compiler.compile_grammar(SOURCE, cancel=token)
    assert compiler.compile_grammar(SOURCE) is compiler.compile_grammar(SOURCE)


def test_a_walk_is_called_one() -> None:
    matcher = GrammarMatcher(make())
    with matcher.trace() as events:
        mask(matcher)
        mask(matcher)
    assert [event.kind for event in events.fills()] == ["walk", "mask hit"]
    assert matcher.compiled.cache_stats().walks == 1
