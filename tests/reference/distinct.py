"""What it means that items differ, as plainly as it can be said: a parser state is the set of all its stacks.

Where a `distinct` rule was begun, a mark with the values of its items lies on the stack; where an item was, one with
its text.  When an item ends, its value goes to the innermost mark of the first kind below, and if it is there already,
this stack goes.  Nothing else is ever dropped, and nothing is merged.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from kernels_core.grammar.ir import GrammarIR, Node, RuleRef
from tests.reference.token_limits import END, Stack, Stacks

__all__ = ["DistinctStacks", "comparable"]


def comparable(text: str | bytes) -> Any:
    """A JSON text as a value that is equal to others where JSON says so; None if it is no JSON."""
    try:
        return _tagged(json.loads(text, parse_int=Decimal, parse_float=Decimal, strict=False))
    except ValueError:
        return None


def _tagged(value: Any) -> Any:
    if isinstance(value, dict):
        return "object", frozenset((name, _tagged(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_tagged, value))
    return type(value).__name__, value


class DistinctStacks(Stacks):
    """All readings of one text."""

    def __init__(self, ir: GrammarIR) -> None:
        self.notes = {name: {note for note, _ in rule.notes} for name, rule in ir.rules.items()}
        super().__init__(ir)

    def _read(self, stack: Stack, byte: int) -> list[Stack]:
        return [_longer(found, byte) for found in super()._read(stack, byte)]

    def _begun(self, node: Node, below: Stack) -> list[Stack]:
        if isinstance(node, RuleRef):
            if "item" in self.notes[node.name]:
                below = ("item", b"", below)
            if "distinct" in self.notes[node.name]:
                below = ("distinct", frozenset(), below)
        return super()._begun(node, below)

    def _passed(self, kind: str, what: Any, below: Stack) -> list[Stack] | None:
        if kind == "item":
            value = comparable(what)
            left = below if value is None else _with(below, value)
            return [] if left is None else [left]
        return [below] if kind == "distinct" else super()._passed(kind, what, below)


def _longer(stack: Stack, byte: int) -> Stack:
    """`stack` with a byte more in all items."""
    if stack == END:
        return stack
    kind, what, below = stack
    return kind, what + bytes((byte,)) if kind == "item" else what, _longer(below, byte)


def _with(stack: Stack, value: Any) -> Stack | None:
    """`stack` with another value of the innermost `distinct` rule; None if it is there."""
    if stack == END:
        return stack
    kind, what, below = stack
    if kind == "distinct":
        return None if value in what else (kind, what | {value}, below)
    left = _with(below, value)
    return None if left is None else (kind, what, left)
