"""The rules of a grammar under construction: fresh names, and rules that are shared by everything that needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

from .ir import DeferredRule, GrammarIR, Never, Node, Rule, RuleRef
from .names import RESERVED
from .shorthand import Shorthand

__all__ = ["RuleBook"]

_OUTSIDE = re.compile(r"[^A-Za-z0-9_.\-]+")
_LONGEST = 40


class RuleBook:
    """Rules by name, in order of definition."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self._counts: dict[str, int] = {}
        self._shared: dict[Hashable, RuleRef] = {}
        self._nodes: dict[Hashable, Node] = {}

    def free_name(self, hint: str) -> str:
        """A name like `hint` that no other rule has."""
        base = _OUTSIDE.sub("_", hint)[:_LONGEST].strip("_.-") or "rule"
        if base[0].isdigit() or base in RESERVED:
            base = "_" + base
        name = base
        while name in self.rules:
            count = self._counts[base] = self._counts.get(base, 0) + 1
            name = f"{base}_{count}"
        return name

    def reserve(self, hint: str) -> str:
        """A name like `hint` that no other rule has; its body follows by `define`."""
        name = self.free_name(hint)
        self.rules[name] = Rule(name, Never())
        return name

    def define(self, name: str, body: Node) -> RuleRef:
        """Give a reserved name its body."""
        self.rules[name] = Rule(name, body)
        return RuleRef(name)

    def defer(self, hint: str, key: bytes, make: Callable[[bool], Node | Shorthand]) -> RuleRef:
        """A new rule whose body is made when it is needed; `key` stands for it (`ir.DeferredRule`)."""
        name = self.reserve(hint)
        self.rules[name] = DeferredRule(name, key, make)
        return RuleRef(name)

    def add(self, hint: str, body: Node) -> RuleRef:
        """A new rule."""
        return self.define(self.reserve(hint), body)

    def share(self, key: Hashable, hint: str, build: Callable[[], Node]) -> RuleRef:
        """The rule filed under `key`; made by `build` when it is first asked for."""
        found = self._shared.get(key)
        if found is None:
            name = self.reserve(hint)
            found = self._shared[key] = RuleRef(name)
            self.define(name, build())
        return found

    def remember(self, key: Hashable, build: Callable[[], Node]) -> Node:
        """The node filed under `key`, spelt out where it is used; made by `build` when it is first asked for."""
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = build()
        return found

    def grammar(self, root: str, source: str) -> GrammarIR:
        """Everything defined so far, and what deferred rules will define: the rules are shared, not copied."""
        return GrammarIR(self.rules, root, source)
