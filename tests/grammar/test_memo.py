"""What a process remembers for all grammars is bounded by number and weight, and bounds cost no more than time."""

from __future__ import annotations

import pytest

from kernels_core.grammar.regular.memo import Memo, memo


def test_the_last_answers_are_there() -> None:
    answers: Memo[int, str] = Memo(10, 1_000)
    for key in range(100):
        answers.keep(key, str(key), 1)
        assert all(answers.known(last) == str(last) for last in range(max(0, key - 9), key + 1))
    assert answers.known(0) is None
    assert len(answers) <= 20


def test_heavy_answers_push_others_out() -> None:
    answers: Memo[str, str] = Memo(100, 10)
    answers.keep("light", "a", 1)
    answers.keep("heavy", "b", 1_000)
    assert answers.known("heavy") == "b"
    answers.keep("next", "c", 5)
    answers.keep("last", "d", 6)
    assert answers.known("heavy") is None
    assert answers.known("last") == "d"
    assert answers.weight <= 11


def test_what_is_asked_for_stays() -> None:
    answers: Memo[int, int] = Memo(10, 1_000)
    answers.keep(-1, 1, 1)
    for key in range(200):
        answers.keep(key, key, 1)
        assert answers.known(-1) == 1


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
        ways.answers.keep((other,), 1, 1)
    ways(90)
    assert calls < 300
