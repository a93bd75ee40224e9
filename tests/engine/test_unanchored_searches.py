"""Searches, from which any text goes on: masks are those of a parser without shortcuts, and few states are made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from tests.engine.driver import follow, mask
from tests.engine.test_first_visits import INFO
from tests.engine.test_string_bodies import COMPILERS, NAIVE, compare, compiled
from tests.strategies import examples

ANY = r'any ::= [^"\\\x00-\x1f] | "\\" ["\\a]'
GRAMMARS = {
    "a search": r'root ::= "\"" any* ("ab" | "7" | "é") any* "\"" "7"',
    "several words": r'root ::= "\"" any* ("aab" | "ab7a" | "b€" | "7\\") any* "\"" "b"?',
    "a beginning, then any": r'root ::= "\"" "a" any* "\"" "a"',
    "what is found reads more": r'root ::= "\"" any* ("ab" [\x00] | "7") any* "\""',
    "what is found reads more, much later": r'root ::= "\"" any* ("7a" any* "ab" [\x01]+)? any* "\""',
    "a narrower loop at first": r'root ::= "\"" [^"\\\x00-\x1f7]* ("7" any*)? "\""',
    "a wider loop behind": r'root ::= "\"" [^"\\é]* ("a" [^"\\]*)? "\""',
    "two bytes that end it": r'root ::= any* ("ab" "\"" | "7" "\x00")',
    "it goes on behind the quote": r'root ::= "\"" any* ("a\"b" any*)? "\""',
    "an escape that only the search has": r'root ::= "\"" any* ("\\b" any*)? "\"" "7"',
    "half of a character": r'root ::= "\"" any* ("\xc3" | "a") any* "\""',
    "a call": r"""root ::= "\"" any* ("a" deep)? "\""
        deep ::= "b" deep "7" | "a" """,
    "nothing ends it": r'root ::= "\"" any* "ab" any*',
}
WHOLE = {"pattern": "a" + 12 * "[ab7]" + "b"}  # as many states as there are sets of thirteen places


@pytest.mark.parametrize("name", GRAMMARS)
# For each of the grammars.
@examples(0.25)
@given(draw=st.data())
def test_masks_are_those_of_a_plain_parser(name: str, draw: st.DataObject) -> None:
    grammar = Grammar.from_ebnf(GRAMMARS[name] + "\n" + ANY)
    plain = GrammarMatcher(NAIVE.compile_grammar(grammar))
    others = {key: GrammarMatcher(compiler.compile_grammar(grammar)) for key, compiler in COMPILERS.items()}
    follow(plain, others, draw, steps=6)


# The naive parser takes long for so many states.
@examples(0.2)
@given(draw=st.data())
def test_searches_with_many_states(draw: st.DataObject) -> None:
    compare(WHOLE, draw)


def fresh() -> GrammarCompiler:
    return GrammarCompiler(INFO, options=Options.laboratory(differential_from=0, cross_grammar_cache=False))


def test_states_are_made_where_the_text_may_end() -> None:
    cold = compiled(fresh(), {"pattern": "[a7b]{40}"})
    matcher = GrammarMatcher(cold)
    for byte in b'{"b": "ab':
        mask(matcher)
        assert matcher.accept_string(bytes([byte]))
    made = cold.machine.tables.state_count
    cold.machine.tables.complete()
    assert cold.machine.tables.state_count > made + 100


def test_too_many_states_to_be_drawn_need_no_walk() -> None:
    walked = []
    for string in ({"pattern": "7"}, WHOLE):
        cold = compiled(fresh(), string)
        matcher = GrammarMatcher(cold)
        assert matcher.accept_string('{"b": "aba7aab')
        mask(matcher)  # finds what both have in common
        before = cold.masks.counters()["nodes_walked"]
        assert matcher.accept_string("b")
        mask(matcher)
        walked.append(cold.masks.counters()["nodes_walked"] - before)
        cold.machine.tables.complete()
    assert cold.machine.tables.state_count > 4096
    assert walked[1] <= 2 * walked[0] + 500
