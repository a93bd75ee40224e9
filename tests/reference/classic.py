"""Textbook Earley items, read off the reference recogniser: which rule, begun where, has got to this set.

The recogniser keeps an item for each node of the grammar.  A textbook item belongs to a rule; it is in a set when some
node of the rule's body, at whatever depth below it, is.  Repetitions whose iterations are counted
stand for themselves.

Read on: `recogniser` (the sets), `tests/engine/test_inspection.py` (who compares with this).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kernels_core.grammar.ir import ByteSet, CharSet, Literal, Repeat, TagDispatch
from tests.reference.recogniser import EarleySet, Recogniser

__all__ = ["ClassicItem", "classic_items"]

Bounds = tuple[int, int | None]
Counted = tuple[str, Bounds]


class ClassicItem(NamedTuple):
    """Some dotted rule of `rule`, predicted after `origin` bytes.

    `bounds` is None for a rule; for a counted repetition in the body of `rule` it is the repetition's, with the minimum
    0 where iterations may be empty, and `counter` is the number of whole iterations, clipped at the minimum if there is
    no maximum.
    """

    rule: str
    bounds: Bounds | None
    origin: int
    counter: int


def classic_items(
    recogniser: Recogniser, state: EarleySet, counted: Collection[Counted], *, reading: bool
) -> set[ClassicItem]:
    """The items of the set after some text, as `state` stands for it; the grammar has to be in normal form.

    With `reading`, items that can only match the empty text are left out: a parser may step over them.
    `counted` names the repetitions that stand for themselves, by rule and bounds; others belong to their rule.
    """
    reads = _reads(recogniser)
    bodies = {number: name for name, number in recogniser.bodies.items()}

    def standing(node: int) -> Counted | None:
        """The rule and bounds of `node` if it is a repetition that stands for itself."""
        repeat = recogniser.nodes[node]
        if not isinstance(repeat, Repeat):
            return None
        minimum = 0 if recogniser.nullable[recogniser.parts[node][0]] else repeat.minimum
        label = recogniser.rule_of[node], (minimum, repeat.maximum)
        return label if label in counted else None

    found: set[ClassicItem] = set()
    seen: set[tuple[int, EarleySet]] = set()
    # Between two iterations it is the repetition that is here, and not the rule around it, which waits where it began.
    agenda = [
        (item.node, item.origin)
        for item in state.items
        if item.origin is state or recogniser.is_whole(item) or standing(item.node) is None
    ]
    while agenda:
        node, origin = agenda.pop()
        if (node, origin) in seen:
            continue
        seen.add((node, origin))
        if reading and not reads[node]:
            continue
        if node in bodies:
            found.add(ClassicItem(bodies[node], None, origin.position, 0))
            continue
        for waiter in origin.waiting.get(node, ()):
            label = standing(waiter.node)
            if label is None:
                agenda.append((waiter.node, waiter.origin))
                continue
            rule, bounds = label
            assert isinstance(waiter.progress, int)
            iterations = min(waiter.progress, bounds[0]) if bounds[1] is None else waiter.progress
            found.add(ClassicItem(rule, bounds, waiter.origin.position, iterations))
    return found


def _reads(recogniser: Recogniser) -> list[bool]:
    """Whether each node has a text that is not empty (in a grammar whose nodes are all productive)."""
    reads = [isinstance(node, Literal | CharSet | ByteSet | TagDispatch) for node in recogniser.nodes]
    changed = True
    while changed:
        changed = False
        for index in range(len(reads)):
            if not reads[index] and any(reads[part] for part in recogniser.parts[index]):
                reads[index] = changed = True
    return reads
