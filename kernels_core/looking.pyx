"""Looking at the engine: its classes name the questions, and `kernels_core.inspect` answers them.

Inspection imports the engine, and the engine none of it: what answers is found by its name when it is first asked.
"""

from functools import cached_property
from importlib import import_module
from typing import NamedTuple


def ask(str answer, about, *more):
    """What `about`, a matcher or its automata, looks like; `answer` is a module of `kernels_core.inspect` and a name."""
    module, name = answer.split(".")
    return getattr(import_module(f"kernels_core.inspect.{module}"), name)(about, *more)


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
        return ask("layout.StateTable", self.machine.tables)

    def automaton(self):
        """The rule automata as far as they are made, to draw or to read; all of them after `complete()`."""
        return self.state_table.automaton

    def cost_estimates(self):
        """What each scannable state's token set is estimated to cost, and did cost where it was computed here."""
        return ask("look.cost_estimates", self)

    def cache_stats(self):
        """What is interned and cached, and how often it was found."""
        return ask("look.cache_stats", self)
