"""Judging grammars of JSON schemas by instances: is there an order of keys in which the text is accepted?

A grammar in declared order accepts one order of the keys of each object; a schema does not speak of order.  So an
instance counts as accepted when *some* order of its keys is.  The search begins with the order of the instance, then
of those `properties` of the schema that know most of an object's keys, then tries others.

Texts are those of `json.dumps` with its default separators, and the end of the text is checked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from kernels_core import CompiledGrammar, GrammarMatcher, TokenizerInfo

__all__ = ["Judge", "byte_vocabulary"]


def byte_vocabulary() -> TokenizerInfo:
    """One token a byte, and one that ends the text."""
    return TokenizerInfo([*(bytes([byte]) for byte in range(256)), b""], stop_token_ids=[256])


class Judge:
    """Accepts or rejects instances of one schema; `steps` bounds the search for an order of keys."""

    def __init__(self, schema: Any, compiled: CompiledGrammar, *, steps: int = 3_000) -> None:
        self._matcher = GrammarMatcher(compiled)
        self._steps = steps
        self._rank: dict[str, int] = {}
        self._declared: list[dict[str, int]] = []
        self._mention(schema)

    def _mention(self, schema: Any) -> None:
        stack = [schema]
        while stack:
            top = stack.pop()
            if isinstance(top, dict):
                for word in ("properties", "required"):
                    for name in top.get(word) or () if isinstance(top.get(word), dict | list) else ():
                        if isinstance(name, str):
                            self._rank.setdefault(name, len(self._rank))
                if isinstance(top.get("properties"), dict):
                    self._declared.append({name: i for i, name in enumerate(top["properties"])})
                stack.extend(reversed(list(top.values())))
            elif isinstance(top, list):
                stack.extend(reversed(top))

    def accepts(self, instance: Any) -> bool:
        """Is the instance accepted, with its keys in some order?"""
        matcher = self._matcher
        for value in (instance, self._ordered(instance)):
            matcher.reset()
            if matcher.accept_string(json.dumps(value)) and matcher.is_completed():
                return True
        matcher.reset()
        self._left = self._steps
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(200_000)
        try:
            return self._value(instance, matcher.is_completed)
        finally:
            sys.setrecursionlimit(limit)

    def _ordered(self, value: Any) -> Any:
        if isinstance(value, dict):
            best: dict[str, int] = max(self._declared, key=lambda known: len(known.keys() & value.keys()), default={})
            last = len(self._rank)
            names = sorted(value, key=lambda name: (best.get(name, last), self._rank.get(name, last)))
            return {name: self._ordered(value[name]) for name in names}
        return [self._ordered(item) for item in value] if isinstance(value, list) else value

    def _text(self, text: str, after: Callable[[], bool]) -> bool:
        """Take `text`, then go on; give it back where that leads nowhere."""
        self._left -= 1
        if self._left < 0 or not self._matcher.accept_string(text):
            return False
        if after():
            return True
        self._matcher.rollback(1)
        return False

    def _value(self, value: Any, after: Callable[[], bool]) -> bool:
        if isinstance(value, dict) and value:
            return self._members(self._ordered(value), "{", after)
        if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            return self._items(value, 0, after)
        return self._text(json.dumps(value), after)

    def _items(self, items: list[Any], at: int, after: Callable[[], bool]) -> bool:
        if at == len(items):
            return self._text("]", after)
        return self._text(
            ", " if at else "[", lambda: self._value(items[at], lambda: self._items(items, at + 1, after))
        )

    def _members(self, left: dict[str, Any], lead: str, after: Callable[[], bool]) -> bool:
        if not left:
            return self._text("}", after)
        for name, value in left.items():
            rest = {other: left[other] for other in left if other != name}
            if self._text(
                f"{lead}{json.dumps(name)}: ",
                lambda value=value, rest=rest: self._value(value, lambda: self._members(rest, ", ", after)),  # type: ignore[misc]
            ):
                return True
        return False
