"""An answer to each question of `kernels_core.looking`: what public methods of matchers and compiled grammars show."""

from __future__ import annotations

from kernels_core import looking
from kernels_core.inspect import look, trace
from kernels_core.inspect.explain import explain
from kernels_core.inspect.layout import StateTable

__all__ = ["register"]


def register() -> None:
    """Answer what the engine's classes are asked."""
    looking.register(
        state_table=lambda compiled: StateTable(compiled.machine.tables),
        automaton=lambda compiled: compiled.state_table.automaton,
        cost_estimates=look.cost_estimates,
        cache_stats=look.cache_stats,
        frontier=look.frontier,
        token_sets=look.token_sets,
        explain=explain,
        trace=trace.Tracing,
        operations=trace.operations,
        parser_events=trace.parser_events,
    )
