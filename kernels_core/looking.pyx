"""Looking at the engine: its classes name the questions, and `kernels_core.inspect` answers them.

Inspection imports the engine, and the engine none of it.  `inspect/answers.py` has a function for each question, and
`kernels_core/__init__`, the one place that knows both, registers them.
"""

from functools import cached_property
from typing import NamedTuple

__all__ = ["Inspected", "Step", "ask", "register"]

cdef dict _answers = {}


def register(**functions):
    """Let these functions answer the questions of their names."""
    _answers.update(functions)


def ask(str question, about, *more):
    """What `about`, a matcher or a compiled grammar, looks like."""
    return _answers[question](about, *more)


class Step(NamedTuple):
    """One step of a text: its bytes, and the token's id if it was one.

    `spelt`: the bytes may match as text (control and stop tokens do not); `has_text`: negated token sets may take it.
    """

    text: bytes
    token: int | None = None
    spelt: bool = True
    has_text: bool = True


class Inspected:
    """What a compiled grammar can be asked."""

    @cached_property
    def state_table(self):
        """Automata by state id (`inspect.layout.StateTable`), as far as they are made; looking makes nothing."""
        return ask("state_table", self)

    def automaton(self):
        """The rule automata as far as they are made, to draw or to read; all of them after `complete()`."""
        return ask("automaton", self)

    def cost_estimates(self):
        """What each scannable state's token set is estimated to cost, and did cost where it was computed here."""
        return ask("cost_estimates", self)

    def cache_stats(self):
        """What is interned and cached, and how often it was found."""
        return ask("cache_stats", self)
