"""Textbook Earley items, read off the reference recogniser: which rule, begun where, has got to this set.

The recogniser keeps an item for each node of the grammar.  A textbook item belongs to a rule; it is in a set when some
node of the rule's body, at whatever depth below it, is.  Counted repetitions stand for themselves, with their laps.

Read on: `recogniser` (the sets), `tests/engine/test_inspection.py` (who compares with this).
"""

from __future__ import annotations

from typing import NamedTuple

from kernels_core.grammar.ir import Repeat
from tests.reference.recogniser import EarleySet, Recogniser

__all__ = ["ClassicItem", "classic_items", "is_counted"]


class ClassicItem(NamedTuple):
    """Some dotted rule of `rule`, predicted after `origin` bytes.

    `bounds` is None for a rule; for a counted repetition in the body of `rule` it is the repetition's, with the minimum
    0 where laps may be empty, and `counter` is the number of whole laps, clipped at the minimum if there is no maximum.
    """

    rule: str
    bounds: tuple[int, int | None] | None
    origin: int
    counter: int


def is_counted(repeat: Repeat) -> bool:
    """Whether the laps have to be counted at all; a star, a plus and nothing at all need no counter."""
    return repeat.maximum != 0 and not (repeat.maximum is None and repeat.minimum <= 1)


def classic_items(recogniser: Recogniser, state: EarleySet) -> set[ClassicItem]:
    """The items of the set after some text, as `state` stands for it."""
    bodies = {number: name for name, number in recogniser.bodies.items()}
    found: set[ClassicItem] = set()
    seen: set[tuple[int, EarleySet]] = set()
    agenda = [(item.node, item.origin) for item in state.items]
    while agenda:
        node, origin = agenda.pop()
        if (node, origin) in seen:
            continue
        seen.add((node, origin))
        if node in bodies:
            found.add(ClassicItem(bodies[node], None, origin.position, 0))
            continue
        for waiter in origin.waiting.get(node, ()):
            above = recogniser.nodes[waiter.node]
            if isinstance(above, Repeat) and is_counted(above):
                assert isinstance(waiter.progress, int)
                minimum = 0 if recogniser.nullable[node] else above.minimum
                laps = min(waiter.progress, minimum) if above.maximum is None else waiter.progress
                bounds = (minimum, above.maximum)
                found.add(ClassicItem(recogniser.rule_of[waiter.node], bounds, waiter.origin.position, laps))
            else:
                agenda.append((waiter.node, waiter.origin))
    return found
