"""The laboratory's switches: each changes what is computed and when, and never what is allowed.

`VARIANTS` in `driver.py` takes every two switches of the engine proper through `test_against_reference.py`; here
are the parsers that refuse some grammars, and what each switch is for, seen in the counters.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import BudgetExceededError, Grammar, GrammarMatcher, Options, UnsupportedFeatureError
from kernels_core.automata.lower import Lowering
from kernels_core.grammar.analysis import recursive_rules
from kernels_core.grammar.ir import GrammarIR
from tests.engine.driver import compiled, mask, minimal
from tests.reference import Recogniser
from tests.reference.masks import naive_mask
from tests.strategies import grammars, productive, texts, vocabularies

WORDS = [b"a", b"b", b"ab", b"aa", b"ba", b"c", b'"', b'",', b'"a"', b"ca", b"[", b"]", b"[[", b"]]", b"a]"]
PARSERS = {
    "earley": Options(),
    "pushdown": Options(parser="pushdown"),
    "pushdown, nothing inlined": Options.laboratory(parser="pushdown", inline_limit=0, unroll_limit=0),
    "fsm": Options(parser="fsm", max_states=2000),
    "fsm, raw": Options.laboratory(parser="fsm", fsm_minimise=False, max_states=2000),
    "copies": Options.laboratory(repetition="expand", unroll_limit=0, max_states=2000),
    "naive": Options(parser="naive"),
    "naive, without memory": Options.laboratory(parser="naive", memoize_sets=False),
}
NESTED = 'root ::= "[" (root | "a")* "]"'


def walk(ir: GrammarIR, vocab: list[bytes], options: Options, text: bytes) -> list[set[int]]:
    """The masks along `text`, as far as it is viable."""
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    masks = [mask(matcher)]
    for at in range(len(text)):
        if not matcher.accept_string(text[at : at + 1]):
            break
        masks.append(mask(matcher))
    return masks


@given(grammars().map(productive), vocabularies(), st.data())
def test_all_parsers_give_the_same_masks(ir: GrammarIR, vocab: list[bytes], data: st.DataObject) -> None:
    text = data.draw(texts(Recogniser(ir)))
    expected = walk(ir, vocab, Options(), text)
    for name, options in PARSERS.items():
        try:
            found = walk(ir, vocab, options, text)
        except UnsupportedFeatureError:
            assert options.parser in ("fsm", "pushdown"), name
            assert recursive_rules(Grammar(ir).ir), f"{name} refused a grammar without recursion"
        except BudgetExceededError:
            assert options.max_states == 2000 or options.parser == "pushdown", name
        else:
            assert found == expected, name
    assert expected[0] - {len(vocab)} == naive_mask(ir, vocab, b"")


def test_a_finite_automaton_refuses_recursion_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="'value' calls itself") as caught:
        compiled(Grammar.from_ebnf('root ::= value\nvalue ::= "[" value? "]"'), WORDS, Options(parser="fsm"))
    assert caught.value.line == 2


def test_a_pushdown_parser_refuses_left_recursion_by_name() -> None:
    source = 'root ::= sum\nsum ::= term "b" | "a"\nterm ::= sum "a" | "c"'
    with pytest.raises(UnsupportedFeatureError, match=r"left-recursive .*sum -> term -> sum") as caught:
        compiled(Grammar.from_ebnf(source), WORDS, Options(parser="pushdown"))
    assert caught.value.line == 2
    assert walk(Grammar.from_ebnf(NESTED).ir, WORDS, Options(parser="pushdown"), b"[[a")


def test_too_many_stacks_are_a_budget() -> None:
    source = 'root ::= x x x x x x\nx ::= y | z\ny ::= x1*\nz ::= x1*\nx1 ::= w\nw ::= "a" v\nv ::= w? "b" | "b"'
    options = Options.laboratory(parser="pushdown", inline_limit=0, max_stacks=4)
    grammar = compiled(Grammar.from_ebnf(source), WORDS, replace(options, max_stacks=4096))
    assert GrammarMatcher(grammar).accept_string("ab")
    with pytest.raises(BudgetExceededError, match="parser stacks"):
        GrammarMatcher(compiled(Grammar.from_ebnf(source), WORDS, options)).accept_string("ab")


def test_a_huge_finite_automaton_is_a_budget() -> None:
    rules = "\n".join(f"r{i} ::= r{i + 1} r{i + 1}" for i in range(60))
    source = f'root ::= r0\n{rules}\nr60 ::= "a"'
    for parser in (Options(parser="fsm"), Options.laboratory(repetition="expand", unroll_limit=0)):
        text = source if parser.parser == "fsm" else 'root ::= ("a"{1000} "b"){1000000}'
        with pytest.raises(BudgetExceededError, match="automaton states"):
            compiled(Grammar.from_ebnf(text), WORDS, parser)


def test_masks_of_a_finite_automaton_exist_before_the_first_step() -> None:
    grammar = compiled(Grammar.from_ebnf('root ::= ("a" | "ba"){2,5} "c"'), WORDS, Options(parser="fsm"))
    before = grammar.cache_stats()
    assert before.masks == before.states - 2  # all but the two pseudo-states
    matcher = GrammarMatcher(grammar)
    for byte in b"abaac":
        mask(matcher)
        assert matcher.accept_string(bytes([byte]))
    assert grammar.cache_stats().mask_misses == before.mask_misses


def test_a_raw_automaton_has_more_states() -> None:
    grammar = Grammar.from_ebnf('root ::= ("aab" | "bab" | "cab" | "ab") "c"')
    raw, minimal = (
        compiled(grammar, WORDS, Options.laboratory(parser="fsm", fsm_minimise=minimise)).cache_stats().states
        for minimise in (False, True)
    )
    assert raw > minimal


def test_what_is_kept_beside_states_has_no_minimal_automaton() -> None:
    grammar = Grammar.from_ebnf('root ::= "{" Unordered(("a", "b"), ("c", "d"))')
    with pytest.raises(ValueError, match="no minimal one"):
        minimal(Lowering(grammar.ir, Options()))


def test_without_memory_every_mask_and_step_is_computed_again() -> None:
    grammar = compiled(Grammar.from_ebnf(NESTED), WORDS, Options.laboratory(memoize_sets=False))
    stats = []
    for _ in range(2):
        matcher = GrammarMatcher(grammar)
        for byte in b"[[a]":
            mask(matcher)
            assert matcher.accept_string(bytes([byte]))
        stats.append(grammar.cache_stats())
    assert (stats[1].mask_hits, stats[1].step_hits, stats[1].masks) == (0, 0, 0)
    assert stats[1].mask_misses == 2 * stats[0].mask_misses == 8
    assert stats[1].step_misses > stats[0].step_misses
    assert stats[1].token_sets == stats[0].token_sets  # these are kept


@pytest.mark.parametrize("repetition", ["counters", "compress", "expand"])
def test_repetitions_count_the_same(repetition: str) -> None:
    options = Options.laboratory(repetition=repetition, repetition_threshold=3, unroll_limit=0)  # type: ignore[arg-type]
    for low, high in ((0, 5), (2, 9), (7, 7), (4, None), (0, 1), (20, 30)):
        bounds = f"{low},{'' if high is None else high}"
        grammar = compiled(Grammar.from_ebnf(f'root ::= ("a" | "ba"){{{bounds}}} "c"'), WORDS, options)
        for iterations in range(40):
            matcher = GrammarMatcher(grammar)
            taken = matcher.accept_string("a" * iterations + "c")
            assert taken == (low <= iterations and (high is None or iterations <= high)), (
                repetition,
                bounds,
                iterations,
            )


def test_compressed_repetition_does_not_grow_with_its_bound() -> None:
    def states(high: int, repetition: str) -> int:
        options = Options.laboratory(repetition=repetition, unroll_limit=0, lazy_lowering=False)  # type: ignore[arg-type]
        grammar = compiled(Grammar.from_ebnf(f'root ::= ("a" | "ba"){{0,{high}}} "c"'), WORDS, options)
        return grammar.cache_stats().states

    assert states(100, "compress") == states(1_000_000, "compress") > states(100, "counters")
    assert states(1000, "expand") > 900


def test_bad_switches_are_named() -> None:
    for wrong in ({"parser": "lr"}, {"repetition": "none"}, {"jit": "some"}, {"jit": -1}, {"max_stacks": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Options.laboratory(**wrong)


def test_a_rule_that_calls_itself_in_a_repetition_is_not_spelt_out() -> None:
    source = 'root ::= r | "z"\nr ::= ("b" root r){0,2} | "a"'
    for repetition in ("counters", "compress"):
        options = Options.laboratory(repetition=repetition, repetition_threshold=2)  # type: ignore[arg-type]
        matcher = GrammarMatcher(compiled(Grammar.from_ebnf(source), WORDS, options))
        assert matcher.accept_string("bzabba")
