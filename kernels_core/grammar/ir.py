"""The grammar IR: what every input language becomes before any automaton exists.

A `GrammarIR` is a set of named rules over a small algebra of frozen nodes.  Front-ends (EBNF, regex, ...) build it,
`automata.lower` reads it, `tests/reference` interprets it directly.  Nothing in here knows about tokens' bytes,
automata or masks.  Nodes compare and hash by content; source spans are not part of a node's identity.

Read on: `kernels_core/grammar/ebnf.py` (text to IR), `kernels_core/automata/lower.py` (IR to automata).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..locks import Lock, new_reentrant_lock
from .rules import DeferredRule, Rule, body_of
from .tree import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    Literal,
    Never,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Span,
    TagDispatch,
    TokenSet,
    Unordered,
    children,
    walk,
)

__all__ = [
    "RESTRICTIONS",
    "ByteSet",
    "CharSet",
    "Choice",
    "DeferredRule",
    "Empty",
    "GrammarIR",
    "Literal",
    "Never",
    "Node",
    "Repeat",
    "Rule",
    "RuleRef",
    "Seq",
    "Span",
    "TagDispatch",
    "TokenSet",
    "Unordered",
    "children",
    "walk",
]

MAX_CODE_POINT = 0x10FFFF
# Notes of a rule that restrict its texts beyond what an automaton can say, in words for errors.
RESTRICTIONS = {
    "max_tokens": "limits its tokens",
    "distinct": "has items that differ",
    "item": "is an item that differs from others",
    "scope": "begins the memory of a predicate anew",
    "judged": "is judged by a predicate",
}


@dataclass(frozen=True)
class GrammarIR:
    """Rules by name, the root's name, and the text they came from (`source`, for spans and error messages).

    Invariants, checked by the front-ends: `root` and every `RuleRef.name` is a key of `rules`;
    `rules[name].name == name`.  A deferred rule becomes a plain one in its place when it is expanded.
    """

    rules: dict[str, Rule]
    root: str
    source: str = ""
    lock: Lock = field(default_factory=new_reentrant_lock, compare=False, repr=False)
    made: dict[str, DeferredRule] = field(default_factory=dict, compare=False, repr=False)  # what was deferred at first

    def deferred(self, name: str) -> DeferredRule | None:
        """The rule called `name` if it is deferred, or what it was before it was made; None for all others."""
        rule = self.rules[name]
        return rule if isinstance(rule, DeferredRule) else self.made.get(name)

    def expand(self, name: str) -> Rule:
        """The rule called `name` with its body."""
        rule = self.rules[name]
        if not isinstance(rule, DeferredRule):
            return rule
        with self.lock:
            body_of(self.rules, self.made, name, False)
            return self.rules[name]

    def complete(self) -> GrammarIR:
        """This IR, after every deferred rule was expanded."""
        with self.lock:
            while waiting := [name for name, rule in self.rules.items() if isinstance(rule, DeferredRule)]:
                for name in waiting:
                    self.expand(name)
        return self
