"""The grammar IR: what every input language becomes before any automaton exists.

A `GrammarIR` is a set of named rules over a small algebra of frozen nodes.  Front-ends (EBNF, regex, ...) build it,
`automata.lower` reads it, `tests/reference` interprets it directly.  Nothing in here knows about tokens' bytes,
automata or masks.  Nodes compare and hash by content; source spans are not part of a node's identity.

Read on: `kernels_core/grammar/ebnf.py` (text to IR), `kernels_core/automata/lower.py` (IR to automata).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    children,
    walk,
)

if TYPE_CHECKING:
    from .shorthand import Shorthand

__all__ = [
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
    "children",
    "walk",
]

MAX_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rule.  `span` covers its definition (name and body) in the source.

    `notes` are marks for whoever drives a generation, as (name, value): `capture` and `temperature`, see
    `attributes.py`.  They say nothing about the language.
    """

    name: str
    body: Node
    notes: tuple[tuple[str, str | float | None], ...] = ()
    span: Span | None = field(default=None, compare=False, kw_only=True)


class DeferredRule(Rule):
    """A rule whose body is made when it is first needed: when the parser predicts it, or somebody looks.

    Whoever makes one promises that the rule matches some text, and not the empty one, so that nobody has to look.

    `key`: bytes that stand for the language; rules with equal keys have equal bodies up to the names of rules.
    `make(brief)` returns the body, or with `brief` perhaps a shorthand for it, and may add rules to the grammar, under
    names that are free there.
    """

    __slots__ = ("key", "make")

    key: bytes
    make: Callable[[bool], Node | Shorthand]

    def __init__(self, name: str, key: bytes, make: Callable[[bool], Node | Shorthand]) -> None:
        fields = {"name": name, "notes": (), "span": None, "key": key, "make": make}
        for field_name, value in fields.items():
            object.__setattr__(self, field_name, value)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens that the body names, or more."""
        return ()

    @property
    def body(self) -> Node:  # type: ignore[override]
        raise LookupError(f"the body of rule {self.name!r} is not made yet; ask for it with GrammarIR.expand")

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<DeferredRule {self.name}>"


@dataclass(frozen=True)
class GrammarIR:
    """Rules by name, the root's name, and the text they came from (`source`, for spans and error messages).

    Invariants, checked by the front-ends: `root` and every `RuleRef.name` is a key of `rules`;
    `rules[name].name == name`.  A deferred rule becomes a plain one in its place when it is expanded.
    """

    rules: dict[str, Rule]
    root: str
    source: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock, compare=False, repr=False)
    keys: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)  # of deferred rules that were made

    def was_deferred(self, name: str) -> bool:
        """Whether the rule called `name` is deferred, or was."""
        return isinstance(self.rules[name], DeferredRule) or name in self.keys

    def key(self, name: str) -> bytes | None:
        """The key of a rule that is deferred, or was; None for all others."""
        rule = self.rules[name]
        return rule.key if isinstance(rule, DeferredRule) else self.keys.get(name)

    def expand(self, name: str) -> Rule:
        """The rule called `name` with its body."""
        rule = self.rules[name]
        if not isinstance(rule, DeferredRule):
            return rule
        with self.lock:
            self._made(name, brief=False)
            return self.rules[name]

    def brief(self, name: str) -> Node | Shorthand:
        """The body of the rule called `name`, or a shorthand for it; the rule is not expanded by a shorthand."""
        with self.lock:
            return self._made(name, brief=True)

    def _made(self, name: str, *, brief: bool) -> Node | Shorthand:
        rule = self.rules[name]
        if not isinstance(rule, DeferredRule):
            return rule.body
        body = rule.make(brief)
        if isinstance(body, Node):
            self.keys[name] = rule.key
            self.rules[name] = Rule(name, body, span=rule.span)
        return body

    def complete(self) -> GrammarIR:
        """This IR, after every deferred rule was expanded."""
        with self.lock:
            while waiting := [name for name, rule in self.rules.items() if isinstance(rule, DeferredRule)]:
                for name in waiting:
                    self.expand(name)
        return self
