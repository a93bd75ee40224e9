"""Tables of automata: the smallest one has the same texts, and states that some text tells apart."""

from __future__ import annotations

from collections import deque
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.regular.dfa_tables import fans, smallest
from tests.strategies import examples

Table = tuple[list[list[int]], list[bool]]


@st.composite
def automata(draw: st.DrawFn) -> Table:
    """Up to twelve states, all of which the start reaches."""
    size, width = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    target = st.integers(-1, size - 1)
    table = draw(st.lists(st.lists(target, min_size=width, max_size=width), min_size=size, max_size=size))
    accepting = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    seen, queue = {0: 0}, deque([0])
    while queue:
        for found in table[queue.popleft()]:
            if found >= 0 and found not in seen:
                seen[found] = len(seen)
                queue.append(found)
    return [[seen.get(found, -1) for found in table[state]] for state in seen], [accepting[state] for state in seen]


def differ(left: Table, right: Table, start: tuple[int, int]) -> bool:
    """Whether some text is accepted from one state and not from the other."""
    seen, queue = {start}, deque([start])
    while queue:
        one, other = queue.popleft()
        if (one >= 0 and left[1][one]) != (other >= 0 and right[1][other]):
            return True
        for letter in range(len(left[0][0])):
            pair = (left[0][one][letter] if one >= 0 else -1, right[0][other][letter] if other >= 0 else -1)
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
    return False


# Quick, and a random automaton seldom has states to merge.
@examples(5)
@given(automata())
def test_it_accepts_the_same_texts_with_the_fewest_states(automaton: Table) -> None:
    before = [list(row) for row in automaton[0]]
    found = smallest(*automaton)
    assert automaton[0] == before
    assert not differ(automaton, found, (0, 0))
    states = range(len(found[0]))
    assert all(differ(found, found, pair) for pair in combinations(states, 2))
    # Nothing dead but perhaps the start, nowhere an edge to nowhere.
    assert all(differ(found, ([[-1] * len(found[0][0])], [False]), (state, 0)) for state in states if state)
    # States keep the order in which the start reaches them, so equal automata have equal tables.
    firsts = [
        min((k for k in range(len(before)) if not differ(automaton, found, (k, state))), default=0) for state in states
    ]
    assert firsts == sorted(firsts)


def test_the_start_of_an_empty_language_stays() -> None:
    assert smallest([[1], [0]], [False, False]) == ([[-1]], [False])


def test_a_large_automaton() -> None:
    """Ten thousand states in a ring, of which every third accepts: three are left."""
    size = 9_999
    table = [[(state + 1) % size, -1] for state in range(size)]
    assert smallest(table, [state % 3 == 0 for state in range(size)]) == (
        [[1, -1], [2, -1], [0, -1]],
        [True, False, False],
    )


@given(automata())
def test_fans_say_what_the_table_says(automaton: Table) -> None:
    found = fans(automaton[0])
    pairs = [sorted((letter, target) for target, letters in fan.items() for letter in letters) for fan in found]
    assert pairs == [[(i, target) for i, target in enumerate(row) if target >= 0] for row in automaton[0]]
    assert all(list(letters) == sorted(letters) for fan in found for letters in fan.values())
