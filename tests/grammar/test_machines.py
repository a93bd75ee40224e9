"""Machines accept what derivatives say, whatever they are put together from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import BudgetExceededError, TimeLimit
from kernels_core.grammar.charset import partition
from kernels_core.grammar.regular import dfa, machines, prefixes
from kernels_core.grammar.regular.languages import (
    ALL,
    NOTHING,
    Language,
    character,
    complement,
    concat,
    derivative,
    intersection,
    loop,
    matches,
    union,
    words,
)
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.regular.patterns import full_match
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
# Repetitions with assertions inside, which have derivatives and no places.
unfolding = st.sampled_from([search(r"^(?:a(?!b)|b)*$"), search(r"^(?:\bab?/?)*$"), search(r"^(?:(?=.b)a|b+)*$")])
languages = st.recursive(
    st.one_of(regular, unfolding),
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


def by_derivatives(language: Language) -> machines.Stepped:
    samples = [ranges[0][0] for ranges in dfa._letters(language)]

    def step(state: Language, letter: int) -> Language | None:
        found = derivative(state, samples[letter])
        return None if found == NOTHING else found

    return machines.Stepped(language, step, lambda state: state.nullable, len(samples))


@MANY
@given(languages)
def test_machines_accept_what_derivatives_accept(language: Language) -> None:
    letters = dfa._letters(language)
    automaton = dfa.Dfa(letters, *machines.explore(machines.reader(language, letters), 5_000))
    expected = {text for text in TEXTS if matches(language, text)}
    assert {text for text in TEXTS if accepts(automaton, text)} == expected
    assert {text for text in TEXTS if accepts(dfa.determinise(language), text)} == expected
    some = machines.inhabited(machines.reader(language, letters), 5_000)
    assert some == any(dfa.minimal(automaton).accepting)
    assert some or not expected
    stepped = dfa.minimal(dfa.Dfa(letters, *machines.explore(by_derivatives(language), 5_000)))
    assert stepped.table == dfa.determinise(language).table
    assert stepped.accepting == dfa.determinise(language).accepting


def test_what_is_decided_is_one_state() -> None:
    many = union(*(search(f"^{letter}") for letter in "abcdefgh"))
    assert len(dfa.determinise(intersection(complement(many), complement(search("^i")))).table) == 2
    table, accepting = machines.explore(machines.reader(search("ab"), dfa._letters(search("ab"))), 100)
    assert accepting == [False, False, False, True]  # the start, nothing yet, an "a", all done
    assert table[3] == [3, 3, 3]


def test_what_is_counted_is_a_machine_of_its_own() -> None:
    """Of two machines side by side only the pairs of states are there that a text leads to."""
    even = machines.Stepped(0, lambda state, _: 1 - state, lambda state: state == 0, 1)
    three = machines.Stepped(0, lambda state, _: state + 1 if state < 3 else None, lambda _: True, 1)
    assert machines.explore(machines.Both([even, three]), 4) == ([[1], [2], [3], [-1]], [True, False, True, False])
    with pytest.raises(dfa.TooManyStates):
        machines.explore(machines.Both([even, three]), 3)
    free = machines.Stepped(0, lambda state, _: True, lambda _: False, 1)
    assert machines.explore(machines.Both([even, free]), 4) == ([[1], [2], [1]], [False, False, True])
    assert machines.explore(machines.Both([free, free]), 4) == ([[1], [1]], [False, True])


def test_budgets_and_what_has_no_places() -> None:
    wide = concat(ALL, character(((97, 97),)), loop(character(((0, 0x10FFFF),)), 20, 20))
    with pytest.raises(dfa.TooManyStates):
        machines.explore(machines.reader(wide, dfa._letters(wide)), 500)
    with pytest.raises(dfa.TooManyStates):
        dfa.determinise(wide, 500)
    long = loop(character(((97, 97),)), 0, 10_000)
    assert len(machines.explore(machines.reader(long, dfa._letters(long)), 20_000)[0]) == 10_001
    inner = concat(complement(search("^a")), character(((98, 98),)))
    assert machines.inhabited(machines.reader(inner, dfa._letters(inner)), 100)
    assert not dfa.is_empty(inner)
    assert dfa.is_empty(intersection(search("^a"), search("^b")))
    assert dfa.is_empty(intersection(search("^a*$"), search("b$"), loop(character(((0, 0x10FFFF),)), 2, 5)))
    assert intersection(search("^a"), complement(search("^a"))) == NOTHING


def test_work_on_automata_looks_at_the_clock() -> None:
    letters = [chr(0x4E00 + 3 * number) for number in range(2000)]
    assert dfa.is_empty(intersection(search("^(?!ab)..?$"), loop(character(((0, 0x10FFFF),)), 10**9, None)))

    def limited(work: Callable[[], object]) -> None:
        with TimeLimit(0, looks=5, where="this test"):
            work()

    sets = [((ord(letter), ord(letter) + 2_000),) for letter in letters]
    optional = full_match("?".join(letters) + "?x")
    for work in (partial(partition, sets), partial(prefixes.ends_once, optional)):
        with pytest.raises(BudgetExceededError, match="this test"):
            limited(work)


def test_languages_are_spelled_alike_however_they_were_made() -> None:
    texts = [f"{number:x}" for number in range(100)]
    assert repr(words(texts)) == repr(words(set(texts) | {"x"} - {"x"})) == repr(words(reversed(texts)))
    parts = [search(f"^{text}") for text in texts]
    assert repr(intersection(*map(complement, parts))) == repr(intersection(*map(complement, reversed(parts))))
