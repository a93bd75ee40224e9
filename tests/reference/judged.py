"""What predicates mean, as plainly as it can be said: a parser state is the set of all its stacks.

Where a memory began anew (the whole text, a rule with `scope` or `distinct`), a mark with it lies on the stack; where
a text that is judged began, one with that text.  When the text ends, its predicate judges it by the innermost memory of
its own, and if it refuses, this stack goes.  A stack with the beginning of a text that its predicate gives up goes as
well.  Nothing else is ever dropped, and nothing is merged.

`distinct` and `item` are the predicate `Different`.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from kernels_core import Predicate
from kernels_core.grammar.analysis import reachable_rules, recursive_rules
from kernels_core.grammar.ir import GrammarIR, Node, RuleRef
from tests.reference.token_limits import END, Stack, Stacks

__all__ = ["JudgedStacks", "comparable"]


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


class _Different(Predicate):
    """No item equals one before it."""

    def start(self) -> frozenset[Any]:
        return frozenset()

    def judge(self, memory: frozenset[Any], rule: str, text: bytes) -> frozenset[Any] | None:
        value = comparable(text)
        if value is None:
            return memory
        return None if value in memory else memory | {value}


_DIFFERENT = _Different()


class JudgedStacks(Stacks):
    """All readings of one text."""

    def __init__(self, ir: GrammarIR) -> None:
        notes = {name: rule.notes for name, rule in ir.rules.items()}
        self.judges: dict[str, Predicate] = {}
        self.scopes: dict[str, list[Predicate]] = {}
        for name, found in notes.items():
            for note, value in found:
                if note in ("item", "judged"):
                    self.judges[name] = value or _DIFFERENT
                elif note in ("distinct", "scope"):
                    self.scopes.setdefault(name, []).append(value or _DIFFERENT)
        # Where others are judged inside of a text, what is remembered may change before it ends.
        self.giving_up = {
            name
            for name, judge in self.judges.items()
            if judge not in self.scopes.get(name, ())
            and type(judge).begins is not Predicate.begins
            and not any(
                self.judges.get(inner) is judge and (inner != name or name in recursive_rules(ir))
                for inner in reachable_rules(GrammarIR(ir.rules, name))
            )
        }
        super().__init__(ir)

    def _started(self) -> Stack:
        return "memory", tuple((judge, judge.start()) for judge in {*self.judges.values()} - {_DIFFERENT}), END

    def _next(self, state: frozenset[Stack], byte: int) -> frozenset[Stack]:
        longer = [_longer(found, byte) for stack in state for found in self._read(stack, byte)]
        return frozenset(stack for stack in self._waiting(longer) if not self._is_given_up(stack))

    def _begun(self, node: Node, below: Stack) -> list[Stack]:
        if isinstance(node, RuleRef):
            if node.name in self.judges:
                below = ("judged", (node.name, b""), below)
            if node.name in self.scopes:
                below = ("memory", tuple((judge, judge.start()) for judge in self.scopes[node.name]), below)
        return super()._begun(node, below)

    def _passed(self, kind: str, what: Any, below: Stack) -> list[Stack] | None:
        if kind == "judged":
            left = _judged(below, self.judges[what[0]], *what)
            return [] if left is None else [left]
        return [below] if kind == "memory" else super()._passed(kind, what, below)

    def _is_given_up(self, stack: Stack) -> bool:
        while stack != END:
            kind, what, stack = stack
            if kind == "judged" and what[0] in self.giving_up and what[1]:
                judge, memory = self.judges[what[0]], _memory(stack, self.judges[what[0]])
                if memory is not None and not judge.begins(memory, *what):
                    return True
        return False


def _longer(stack: Stack, byte: int) -> Stack:
    """`stack` with a byte more in all texts that are judged."""
    if stack == END:
        return stack
    kind, what, below = stack
    return kind, (what[0], what[1] + bytes((byte,))) if kind == "judged" else what, _longer(below, byte)


def _memory(stack: Stack, judge: Predicate) -> Any:
    while stack != END:
        kind, what, stack = stack
        if kind == "memory" and judge in dict(what):
            return dict(what)[judge]
    return None


def _judged(stack: Stack, judge: Predicate, rule: str, text: bytes) -> Stack | None:
    """`stack` behind a text; None if it is refused.  Outside of all `distinct` rules nothing is."""
    if stack == END:
        return stack
    kind, what, below = stack
    if kind == "memory" and judge in dict(what):
        memory = judge.judge(dict(what)[judge], rule, text)
        return None if memory is None else (kind, tuple({**dict(what), judge: memory}.items()), below)
    left = _judged(below, judge, rule, text)
    return None if left is None else (kind, what, left)
