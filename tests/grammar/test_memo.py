"""What a process remembers for all grammars is bounded by number and weight, and bounds cost no more than time.

Automata that are remembered do not burden the garbage collector of the program that uses them.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from operator import attrgetter

import pytest

from kernels_core.grammar.charset import Ranges
from kernels_core.grammar.compact_body import Diagram
from kernels_core.grammar.regular import dfa
from kernels_core.grammar.regular.dfa import determinise
from kernels_core.grammar.regular.languages import (
    Language,
    TooLarge,
    TooManyStates,
    Words,
    complement,
    derivative,
    intersection,
    words,
)
from kernels_core.grammar.regular.machines import Machine, Stepped
from kernels_core.grammar.regular.memo import Memo, memo
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.tree import Literal


def test_the_last_answers_are_there() -> None:
    answers: Memo[int, str] = Memo(10, 1_000)
    for key in range(100):
        answers.put(key, str(key), 1)
        assert all(answers.get(last) == str(last) for last in range(max(0, key - 9), key + 1))
    assert answers.get(0) is None
    assert len(answers) <= 20


def test_heavy_answers_push_others_out() -> None:
    answers: Memo[str, str] = Memo(100, 10)
    answers.put("light", "a", 1)
    answers.put("heavy", "b", 1_000)
    assert answers.get("heavy") == "b"
    answers.put("next", "c", 5)
    answers.put("last", "d", 6)
    assert answers.get("heavy") is None
    assert answers.get("last") == "d"
    assert answers.weight <= 11


def test_what_is_asked_for_stays() -> None:
    answers: Memo[int, int] = Memo(10, 1_000)
    answers.put(-1, 1, 1)
    for key in range(200):
        answers.put(key, key, 1)
        assert answers.get(-1) == 1


def test_functions_remember_answers_and_not_errors() -> None:
    calls: list[int] = []

    @memo(10, 1_000, lambda found, number: 1)
    def half(number: int) -> bool:
        calls.append(number)
        if number < 0:
            raise ValueError(number)
        return number % 2 == 0

    assert [half(3), half(3), half(4)] == [False, False, True]
    assert calls == [3, 4]
    for _ in range(2):
        with pytest.raises(ValueError, match="-1"):
            half(-1)
    assert calls == [3, 4, -1, -1]


def test_answers_made_of_answers_take_linear_time() -> None:
    calls = 0

    @memo(64, 64, lambda found, number: 1)
    def ways(number: int) -> int:
        nonlocal calls
        calls += 1
        return 1 if number < 2 else ways(number - 1) + ways(number - 2)

    assert ways(50) == 20_365_011_074
    for other in range(1_000, 1_040):  # so that the limit is met while the next one is made
        ways.answers.put((other,), 1, 1)
    ways(90)
    assert calls < 300


def test_tables_are_no_business_of_the_collector() -> None:
    found = determinise(words(["first", "second", "third"]))
    gc.collect()
    gc.collect()
    assert len(found.table) > 10
    assert not any(gc.is_tracked(row) for row in found.table)
    assert not gc.is_tracked(found.table)
    assert not gc.is_tracked(found.accepting)


def test_words_are_no_business_of_the_collector() -> None:
    found = words(["first", "second", "third"])
    assert isinstance(found, Words)
    assert not gc.is_tracked(found)
    assert not gc.is_tracked(found.words)


def test_edges_are_no_business_of_the_collector() -> None:
    quote = Literal(b'"')
    diagram = Diagram(3, [(0, Literal(b"a"), 1), (1, Literal(b"b"), 2)], (2,), quote, quote)
    gc.collect()
    gc.collect()
    assert not gc.is_tracked(diagram)
    assert not gc.is_tracked(diagram.edges)


def is_answer(held: dict[object, object], answer: object) -> bool:
    found = dict.get(held, "first")
    return type(found) is tuple and found[0] is answer


def test_answers_are_no_business_of_the_collector_and_live_as_long_as_they_are_remembered() -> None:
    class Answer:
        pass

    answers = Memo(2, 100)
    gone = weakref.ref(answer := Answer())
    answers.put("first", answer, 1)
    del answer
    gc.collect()
    assert answers.get("first") is gone()
    assert not [held for held in gc.get_objects() if type(held) is dict and is_answer(held, gone())]
    for key in range(4):
        answers.put(key, Answer(), 1)
    assert answers.get("first") is None
    assert gone() is None


def test_what_took_too_much_work_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Language] = []

    def by_derivatives(item: Language, letters: tuple[Ranges, ...]) -> Machine:
        made.append(item)
        samples = [ranges[0][0] for ranges in letters]
        return Stepped(item, lambda language, letter: derivative(language, samples[letter]), is_nullable, len(letters))

    is_nullable: Callable[[Language], bool] = attrgetter("nullable")
    monkeypatch.setattr(dfa, "reader", by_derivatives)  # not the quick way, which is for small ones
    monkeypatch.setattr(dfa, "_MOST_WORK", 10)
    item = intersection(search("once"), complement(search("never")))
    for limit in (1_000, 10_000, 1_000):
        with pytest.raises(TooLarge, match="too much work"):
            dfa.explored(item, limit)
    assert made == [item]
    monkeypatch.undo()
    assert any(dfa.explored(intersection(search("again"), complement(search("never"))), 1_000).accepting)


def test_what_few_states_were_not_enough_for_is_made_with_more_and_then_remembered() -> None:
    item = intersection(search("few"), complement(search("more")))
    for _ in range(2):
        with pytest.raises(TooManyStates, match="more than 3 states"):
            dfa.explored(item, 3)
    found = dfa.explored(item, 1_000)
    assert len(found.table) > 3
    assert dfa.explored(item, 2_000) is found
    with pytest.raises(TooManyStates, match="more than 3 states"):
        dfa.explored(item, 3)


def test_what_another_thread_found_with_more_states_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that may have few states is told that they are not enough when the other one is done."""
    item = intersection(search("small"), complement(search("large")))
    explore, found = dfa._explore, []

    def overtaken(item: Language, limit: int) -> dfa.Dfa:
        monkeypatch.setattr(dfa, "_explore", explore)
        found.append(dfa.explored(item, 1_000))
        return explore(item, limit)

    monkeypatch.setattr(dfa, "_explore", overtaken)
    with pytest.raises(TooManyStates, match="more than 3 states"):
        dfa.explored(item, 3)
    assert found == [dfa.explored(item, 1_000)]
    assert dfa.explored(item, 1_000) is found[0]
