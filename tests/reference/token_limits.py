"""What limits in tokens mean, as plainly as it can be said: a parser state is the set of all its stacks.

A stack is a chain of things still to read, the next one first.  Where a rule that limits its tokens was begun, a mark
with the tokens that it has left lies on the stack, below all that is read inside of the rule.  So:

- a token begins: every mark on every stack loses one;
- a step (a token or a string) ends: stacks on which a mark has nothing left go, unless no other stack is there.

More than `MOST_STACKS` are given up; nothing is merged, and nothing is known from one step to the next.  Within a step
all that begin alike are read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Node,
    Repeat,
    RuleRef,
    Seq,
    TagDispatch,
)
from tests.reference.terminals import begins, matches

__all__ = ["Stacks", "TooManyStacks", "limits_of"]

# A stack is (kind, what, below), or END.  Kinds: "node", "mark" (tokens left), "times" (item, least, most), and those
# that wait for a byte: "terminal" (node, bytes read) and "free" (excluded strings, the text so far).
Stack = tuple[str, Any, Any]
END: Final[Stack] = ("end", None, None)
MOST_STACKS: Final = 1500


class TooManyStacks(Exception):
    """There are endless ones with left recursion, and very many where a rule calls itself twice."""


def limits_of(ir: GrammarIR) -> dict[str, int]:
    """The rules that limit their tokens."""
    return {
        name: int(value or 0) for name, rule in ir.rules.items() for note, value in rule.notes if note == "max_tokens"
    }


class Stacks:
    """All readings of one text.  `state` is a frozen set of stacks; the methods change it."""

    def __init__(self, ir: GrammarIR) -> None:
        self.ir = ir
        self.limits = limits_of(ir)
        self._stand(self._waiting([("node", RuleRef(ir.root), self._started())]))

    def _stand(self, state: frozenset[Stack]) -> None:
        self.state = state
        self._after = {b"": state}  # by the text behind it

    def _started(self) -> Stack:
        """What lies below everything."""
        return END

    @property
    def completed(self) -> bool:
        """Whether the text may end here."""
        return END in self.state

    def mask(self, vocab: Sequence[bytes]) -> set[int]:
        """The tokens that may come: each is tried alone."""
        return {number for number, token in enumerate(vocab) if token and self.after(token)}

    def after(self, text: bytes) -> frozenset[Stack]:
        """The stacks behind `text`, before the step ends."""
        found = self._after.get(text)
        if found is None:
            found = self._after[text] = self._next(self.after(text[:-1]), text[-1])
        return found

    def take_token(self, text: bytes) -> None:
        """One token, which must be allowed."""
        self._stand(frozenset(map(_counted, self.state)))
        self.take_string(text)

    def take_string(self, text: bytes) -> None:
        """Text that is no token, which must be viable."""
        state = self.after(text)
        assert state, "a step that is not allowed"
        left = frozenset(stack for stack in state if not _is_spent(stack))
        self._stand(left or state)

    # -- one byte -------------------------------------------------------------------------------------------------

    def _next(self, state: frozenset[Stack], byte: int) -> frozenset[Stack]:
        return self._waiting(found for stack in state for found in self._read(stack, byte))

    def _read(self, stack: Stack, byte: int) -> list[Stack]:
        kind, what, below = stack
        if kind == "terminal":
            node, text = what[0], what[1] + bytes((byte,))
            if not begins(node, text):
                return []
            return [below] if matches(node, text) else [("terminal", (node, text), below)]
        if kind == "free":
            excludes, text = what[0], what[1] + bytes((byte,))
            longest = max(map(len, excludes), default=0)
            kept = text[-longest:] if longest else b""
            return [] if any(text.endswith(word) for word in excludes) else [("free", (excludes, kept), below)]
        return []

    def _waiting(self, stacks: Iterable[Stack]) -> frozenset[Stack]:
        """The stacks that wait for a byte or have ended, after all that comes before is done."""
        found: set[Stack] = set()
        seen: set[Stack] = set()
        work = list(stacks)
        while work:
            stack = work.pop()
            if stack in seen:
                continue
            seen.add(stack)
            if len(seen) > MOST_STACKS:
                raise TooManyStacks
            instead = self._passed(*stack)
            if instead is not None:
                work += instead
                continue
            found.add(stack)
            if stack[0] == "free":
                work.append(stack[2])
        return frozenset(found)

    def _passed(self, kind: str, what: Any, below: Stack) -> list[Stack] | None:
        """What a stack is one step nearer to a byte; None if it waits for one, or has ended."""
        if kind == "mark":
            return [below]
        if kind == "times":
            item, least, most = what
            found = [below] if least == 0 else []
            if most is None or most > 0:
                more = (item, max(0, least - 1), None if most is None else most - 1)
                found.append(("node", item, ("times", more, below)))
            return found
        return self._begun(what, below) if kind == "node" else None

    def _begun(self, node: Node, below: Stack) -> list[Stack]:
        match node:
            case Empty():
                return [below]
            case Literal() | CharSet() | ByteSet():
                return [("terminal", (node, b""), below)]
            case Seq(items):
                for item in reversed(items):
                    below = ("node", item, below)
                return [below]
            case Choice(items):
                return [("node", item, below) for item in items]
            case Repeat(item, least, most):
                return [("times", (item, least, most), below)]
            case RuleRef(name):
                if name in self.limits:
                    below = ("mark", self.limits[name], below)
                return [("node", self.ir.rules[name].body, below)]
            case TagDispatch(tags=()) as free:
                return [("free", (free.excludes, b""), below)]
            case _:
                raise NotImplementedError(f"{type(node).__name__} has no stacks")


def _counted(stack: Stack) -> Stack:
    """`stack` when a token begins: every mark has one token less."""
    kinds: list[tuple[str, Any]] = []
    while stack != END:
        kind, what, stack = stack
        kinds.append((kind, max(0, what - 1) if kind == "mark" else what))
    for kind, what in reversed(kinds):
        stack = (kind, what, stack)
    return stack


def _is_spent(stack: Stack) -> bool:
    while stack != END:
        kind, what, stack = stack
        if kind == "mark" and what <= 0:
            return True
    return False
