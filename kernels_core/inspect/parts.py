"""Dots in compact bodies: where a state stands in a string that was never spelt out in nodes.

A rule of a schema may be lowered from a compact body (`grammar/compact_body.pyx`), which says in few words what its
body would say in many; its states are then in no body.

Read on: `dots.py` (prints), `layout.py` (asks).
"""

from __future__ import annotations

from collections.abc import Iterator

from kernels_core.automata.compact_bodies import FIRST_STATE, prefix_at
from kernels_core.automata.inlining import LoweredRule
from kernels_core.grammar.compact_body import CompactBody, ExcludedWords
from kernels_core.grammar.ir import Choice, Literal, RuleRef
from kernels_core.inspect.dots import between

__all__ = ["dots_inside"]

_REST = RuleRef("…")
_SHOWN = 12  # words that are listed
_FINAL = 1  # of any NFA


def dots_inside(rule: LoweredRule, compact: CompactBody, member: int) -> Iterator[str]:
    """The dotted rules of an NFA state of `rule`, which was lowered from `compact`."""
    name = rule.source
    if isinstance(compact, ExcludedWords):
        assert rule.nfa is not None  # it was spelt out: it has states
        prefix = prefix_at(rule.nfa, member)
        if prefix is not None:
            known = [Literal(prefix)] if prefix else []
            words = [word for word in sorted(compact.words) if word.startswith(prefix)]
            shown = ", ".join(repr(word.decode(errors="replace")) for word in words[:_SHOWN])
            yield between(name, known, [_REST]) + (f" (none of {shown})" if words else "")
        return
    if member == _FINAL:
        yield between(name, [_REST], [])
    labels = list(dict.fromkeys(label for source, label, _ in compact.edges if source == member - FIRST_STATE))
    if labels:
        yield between(name, [_REST], [labels[0] if len(labels) == 1 else Choice(tuple(labels)), _REST])
