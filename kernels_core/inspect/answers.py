"""The answers to what a matcher or a compiled grammar is asked, by the names of the questions (`looking.ask`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernels_core.inspect.layout import StateTable
from kernels_core.inspect.look import cache_stats, cost_estimates, explain, frontier, token_sets
from kernels_core.inspect.trace import Tracing, operations, parser_events

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.inspect.snapshots import Automaton

__all__ = [
    "automaton",
    "cache_stats",
    "cost_estimates",
    "explain",
    "frontier",
    "operations",
    "parser_events",
    "state_table",
    "token_sets",
    "trace",
]

trace = Tracing


def state_table(compiled: CompiledGrammar) -> StateTable:
    """Automata by state id."""
    return StateTable(compiled.machine.tables)


def automaton(compiled: CompiledGrammar) -> Automaton:
    """The rule automata, drawn once for each number of states."""
    return compiled.state_table.automaton
