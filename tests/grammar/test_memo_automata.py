"""Automata that are remembered do not burden the garbage collector of the program that uses them."""

from __future__ import annotations

import gc
import weakref

from kernels_core.grammar.compact_body import Diagram
from kernels_core.grammar.regular.dfa import determinise
from kernels_core.grammar.regular.languages import Words, words
from kernels_core.grammar.regular.memo import Memo
from kernels_core.grammar.tree import Literal


def test_tables_are_no_business_of_the_collector() -> None:
    dfa = determinise(words(["first", "second", "third"]))
    gc.collect()
    gc.collect()
    assert len(dfa.table) > 10
    assert not any(gc.is_tracked(row) for row in dfa.table)
    assert not gc.is_tracked(dfa.table)
    assert not gc.is_tracked(dfa.accepting)


def test_words_are_no_business_of_the_collector() -> None:
    found = words(["first", "second", "third"])
    assert isinstance(found, Words)
    assert not gc.is_tracked(found)
    assert not gc.is_tracked(found.words)


def test_edges_are_no_business_of_the_collector() -> None:
    diagram = Diagram(3, [(0, Literal(b"a"), 1), (1, Literal(b"b"), 2)])
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
    answers.keep("first", answer, 1)
    del answer
    gc.collect()
    assert answers.known("first") is gone()
    assert not [held for held in gc.get_objects() if type(held) is dict and is_answer(held, gone())]
    for key in range(4):
        answers.keep(key, Answer(), 1)
    assert answers.known("first") is None
    assert gone() is None
