"""Automata that are remembered do not burden the garbage collector of the program that uses them."""

from __future__ import annotations

import gc

from kernels_core.grammar.regular.dfa import determinise
from kernels_core.grammar.regular.languages import words


def test_tables_are_no_business_of_the_collector() -> None:
    dfa = determinise(words(["first", "second", "third"]))
    gc.collect()
    gc.collect()
    assert len(dfa.table) > 10
    assert not any(gc.is_tracked(row) for row in dfa.table)
    assert not gc.is_tracked(dfa.table)
    assert not gc.is_tracked(dfa.accepting)
