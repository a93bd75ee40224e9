"""Is an instance in the language of a schema's grammar?  Used by tests and benchmarks.

The grammar has an order for the members of an object.  The judge asks whether *some* order of the instance's keys is
accepted: text as `json.dumps` writes it, end of text checked.  So a valid instance is judged right however its author
ordered it, and an invalid one must be refused in every order.

How an order is found: first the instance's own, then names in the order in which the schema lists them, then a search
that takes one member after the other and gives it back where that leads nowhere.  It goes three times: likely orders;
only members after which all others that could have come here can still come (a name that is passed over is lost);
every order.  Parser states are interned, so what has failed once behind a state is not tried again there; `steps`
bounds each time.

Read on: `json_suite.py` (the official test suite), `judge_schemas.py` (schemas with instances), `kernels_core.matcher`.
"""

from __future__ import annotations

import json
import sys
from itertools import islice, permutations
from typing import Any

from kernels_core import CompiledGrammar, GrammarMatcher, TokenizerInfo

__all__ = ["Judge", "byte_vocabulary"]

# Orders of blocks of names that are tried before every order is.
_MAX_ORDERS = 6
# Which orders are searched.
_LIKELY, _CAREFUL, _ALL = range(3)

# What is still to come behind a value: (id of the list or object around it, what is left of it, what follows that).
# Of a list the position is left; of an object (number of the order, position), or the names and those among them that
# must be possible.
_Rest = tuple[int, Any, Any] | None


def byte_vocabulary() -> TokenizerInfo:
    """256 tokens of one byte each."""
    return TokenizerInfo([bytes([value]) for value in range(256)])


class Judge:
    """Accepts or rejects instances of one schema.

    steps: members and values that one search may try.  `cut_short` counts the searches that it ended, each of which
    says "not accepted".
    """

    def __init__(self, schema: object, compiled: CompiledGrammar, *, steps: int = 6_000) -> None:
        self.cut_short = 0
        self._matcher = GrammarMatcher(compiled)
        self._steps = steps
        self._left = 0
        self._mode = _LIKELY
        self._inside: dict[int, Any] = {}
        self._failed: set[tuple[int, _Rest]] = set()
        self._rank: dict[str, int] = {}
        self._declared: list[dict[str, int]] = []
        self._orders: dict[frozenset[str], list[list[str]]] = {}
        self._mention(schema)

    def _mention(self, schema: object) -> None:
        """Note the names that a schema lists, and its `properties`, in the order of the text."""
        if isinstance(schema, list):
            for part in schema:
                self._mention(part)
        if not isinstance(schema, dict):
            return
        for word, value in schema.items():
            if word == "properties" and isinstance(value, dict):
                self._declared.append({name: i for i, name in enumerate(value)})
            if word in ("properties", "required") and isinstance(value, dict | list):
                for name in value:
                    if isinstance(name, str):
                        self._rank.setdefault(name, len(self._rank))
            self._mention(value)

    def accepts(self, instance: object) -> bool:
        """Is the instance accepted, with its keys in some order?"""
        matcher = self._matcher
        for value in (instance, self._ordered(instance)):
            matcher.reset()
            if matcher.accept_string(json.dumps(value)) and matcher.is_completed():
                return True
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(200_000)
        try:
            return any(self._search(instance, mode) for mode in (_LIKELY, _CAREFUL, _ALL))
        finally:
            sys.setrecursionlimit(limit)

    def _search(self, instance: object, mode: int) -> bool:
        self._matcher.reset()
        self._left, self._mode = self._steps, mode
        self._inside, self._failed = {}, set()
        found = self._value(instance, None)
        self.cut_short += mode == _ALL and not found and self._left < 0
        return found

    # -- likely orders --------------------------------------------------------------------------------------------

    def _ordered(self, value: object) -> Any:
        if isinstance(value, dict):
            return {name: self._ordered(value[name]) for name in self._likely_orders(frozenset(value))[0]}
        return [self._ordered(item) for item in value] if isinstance(value, list) else value

    def _likely_orders(self, names: frozenset[str]) -> list[list[str]]:
        """By the few `properties` that know them all between them: in the order in which those stand in the schema,
        and in other orders of these blocks."""
        found = self._orders.get(names)
        if found is not None:
            return found
        left, chosen = set(names), []
        while left:
            best = max(range(len(self._declared)), key=lambda i: len(self._declared[i].keys() & left), default=-1)
            if best < 0 or not self._declared[best].keys() & left:
                break
            chosen.append(best)
            left -= self._declared[best].keys()
        rest = sorted(left, key=lambda name: (self._rank.get(name, len(self._rank)), name))
        found = []
        for blocks in islice(permutations(sorted(chosen)), _MAX_ORDERS):
            order = dict.fromkeys(name for i in blocks for name in self._declared[i] if name in names)
            if [*order, *rest] not in found:
                found.append([*order, *rest])
        self._orders[names] = found
        return found

    # -- the search -----------------------------------------------------------------------------------------------

    def _take(self, text: str, rest: _Rest) -> bool:
        """Take `text`, then all that is left; give it back where that leads nowhere."""
        self._left -= 1
        if self._left < 0 or not self._matcher.accept_string(text):
            return False
        if self._resume(rest):
            return True
        self._matcher.rollback(1)
        return False

    def _take_value(self, lead: str, value: object, rest: _Rest) -> bool:
        """The same with a value behind `lead`."""
        self._left -= 1
        if self._left < 0 or not self._matcher.accept_string(lead):
            return False
        if self._value(value, rest):
            return True
        self._matcher.rollback(1)
        return False

    def _value(self, value: object, rest: _Rest) -> bool:
        if isinstance(value, dict) and value:
            self._inside[id(value)] = value
            if self._mode != _LIKELY:
                return self._take("{", (id(value), (frozenset(value), frozenset()), rest))
            for order in range(len(self._likely_orders(frozenset(value)))):
                if self._take("{", (id(value), (order, 0), rest)):
                    return True
            return False
        if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            self._inside[id(value)] = value
            return self._take("[", (id(value), 0, rest))
        return self._take(json.dumps(value), rest)

    def _resume(self, rest: _Rest) -> bool:
        if rest is None:
            return bool(self._matcher.is_completed())
        key = (self._matcher.set_number, rest)
        if key in self._failed:
            return False
        if self._next(*rest):
            return True
        self._failed.add(key)
        return False

    def _next(self, number: int, left: Any, outer: _Rest) -> bool:
        """Go on inside the list or object with that number."""
        inside = self._inside[number]
        if isinstance(inside, list):
            if left == len(inside):
                return self._take("]", outer)
            return self._take_value(", " if left else "", inside[left], (number, left + 1, outer))
        likely = self._likely_orders(frozenset(inside))
        if self._mode == _LIKELY:
            order, at = left
            if at == len(likely[order]):
                return self._take("}", outer)
            return self._member(inside, likely[order][at], at > 0, (number, (order, at + 1), outer))
        names, wanted = left
        if not names:
            return self._take("}", outer)
        comma = len(names) < len(inside)
        possible = [name for name in likely[0] if name in names and self._is_possible(name, comma)]
        if not wanted.issubset(possible):
            return False
        for name in possible:
            wanted = frozenset(possible) - {name} if self._mode == _CAREFUL else wanted
            if self._member(inside, name, comma, (number, (names - {name}, wanted), outer)):
                return True
        return False

    def _is_possible(self, name: str, comma: bool) -> bool:
        if not self._matcher.accept_string(_key(name, comma)):
            return False
        self._matcher.rollback(1)
        return True

    def _member(self, inside: dict[str, Any], name: str, comma: bool, rest: _Rest) -> bool:
        return self._take_value(_key(name, comma), inside[name], rest)


def _key(name: str, comma: bool) -> str:
    return f"{', ' if comma else ''}{json.dumps(name)}: "
