"""Position automata say what derivatives say."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernels_core.grammar.regular import dfa, positions
from kernels_core.grammar.regular.languages import (
    ALL,
    NOTHING,
    Language,
    character,
    complement,
    concat,
    intersection,
    loop,
    matches,
    union,
    words,
)
from kernels_core.grammar.regular.patterns import ecma_search as search
from tests.json_schema.strategies import MANY

LETTERS = "ab/"
TEXTS = ["".join(text) for size in range(5) for text in product(LETTERS, repeat=size)]

leaves = st.one_of(
    st.sampled_from([ALL, character(((97, 97),)), character(((97, 98),)), character(((98, 0x10FFFF),))]),
    st.lists(st.text(LETTERS, max_size=3), min_size=1, max_size=3).map(words),
)
regular = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: concat(*parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: union(*parts)),
        st.builds(
            lambda item, least, more: loop(item, least, None if more is None else least + more),
            inner,
            st.integers(0, 2),
            st.none() | st.integers(0, 2),
        ),
    ),
    max_leaves=6,
)
languages = st.recursive(
    regular,
    lambda inner: st.one_of(
        inner.map(complement),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: intersection(*parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: union(*parts)),
    ),
    max_leaves=4,
)


def accepts(automaton: dfa.Dfa, text: str) -> bool:
    state = 0
    for letter in text:
        number = next(i for i, ranges in enumerate(automaton.letters) if any(a <= ord(letter) <= b for a, b in ranges))
        state = automaton.table[state][number]
        if state < 0:
            return False
    return automaton.accepting[state]


@MANY
@given(languages)
def test_positions_accept_what_derivatives_accept(language: Language) -> None:
    letters = dfa._letters(language)
    found = positions.explore(language, letters, 5_000)
    assume(isinstance(found, tuple))
    automaton = dfa.Dfa(letters, *found)
    expected = {text for text in TEXTS if matches(language, text)}
    assert {text for text in TEXTS if accepts(automaton, text)} == expected
    assert {text for text in TEXTS if accepts(dfa.determinise(language), text)} == expected
    some = positions.inhabited(language, letters, 5_000)
    assert some == any(dfa.minimal(automaton).accepting)
    assert some or not expected


def test_what_is_decided_is_one_state() -> None:
    many = union(*(search(f"^{letter}") for letter in "abcdefgh"))
    assert len(dfa.determinise(intersection(complement(many), complement(search("^i")))).table) == 2
    table, accepting = positions.explore(search("ab"), dfa._letters(search("ab")), 100)
    assert accepting == [False, False, False, True]  # the start, nothing yet, an "a", all done
    assert table[3] == [3, 3, 3]


def test_budgets_and_what_is_not_for_positions() -> None:
    wide = concat(ALL, character(((97, 97),)), loop(character(((0, 0x10FFFF),)), 20, 20))
    assert positions.explore(wide, dfa._letters(wide), 500) == 500
    with pytest.raises(dfa.TooManyStates):
        dfa.determinise(wide, 500)
    long = loop(character(((97, 97),)), 0, 10_000)
    assert positions.explore(long, dfa._letters(long), 100) is None
    inner = concat(complement(search("^a")), character(((98, 98),)))
    assert positions.inhabited(inner, dfa._letters(inner), 100) is True
    assert not dfa.is_empty(inner)
    assert dfa.is_empty(intersection(search("^a"), search("^b")))
    assert dfa.is_empty(intersection(search("^a*$"), search("b$"), loop(character(((0, 0x10FFFF),)), 2, 5)))
    assert intersection(search("^a"), complement(search("^a"))) == NOTHING
