"""How many characters may follow in each state of an automaton.

For most automata these are all numbers from a least one to a greatest one, or without end; then a length can be counted
beside the automaton, and a count says at once whether a text can still be finished in time.

Read on: `dfa.py`, `../compact_body.pyx` (`Diagram`), `../json_schema/spelling.py`.
"""

from __future__ import annotations

from .dfa import Dfa

Span = tuple[int, int | None]

# Steps back from the accepting states, of so many states each.
_MOST_WORK = 20_000


def spans(dfa: Dfa) -> tuple[Span, ...] | None:
    """(least, most or None) for each state of a minimal automaton: the lengths of the texts that are accepted from it.

    None where some state has gaps between its lengths, or where finding out takes too long.
    """
    count = len(dfa.table)
    before = [0] * count  # by state, as bits: the states with an edge to it
    for state, row in enumerate(dfa.table):
        for target in set(row):
            if target >= 0:
                before[target] |= 1 << state
    # As bits, the states from which some text of exactly `length` characters is accepted.
    here = sum(1 << state for state, accepting in enumerate(dfa.accepting) if accepting)
    seen = earlier = length = 0
    least: dict[int, int] = {}
    most: dict[int, int] = {}
    while here != earlier:
        new = here & ~earlier
        if new & seen or length * count > _MOST_WORK:
            return None
        seen |= new
        least.update((state, length) for state in _bits(new))
        most.update((state, length - 1) for state in _bits(earlier & ~here))
        earlier, here = here, 0
        for state in _bits(earlier):
            here |= before[state]
        length += 1
    # From here on nothing changes: what has a text of this length has longer ones of all lengths.
    if len(least) < count:
        return None
    return tuple((least[state], most.get(state)) for state in range(count))


def _bits(number: int) -> list[int]:
    """The places of the ones."""
    found = []
    while number:
        found.append((number & -number).bit_length() - 1)
        number &= number - 1
    return found
