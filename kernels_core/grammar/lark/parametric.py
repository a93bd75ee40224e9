"""Parametric rules of llguidance's dialect, `name::_: ... %if condition`: read, and written out.

A parametric rule is a family of rules, one for each number of 64 bits: `perm::set_bit(0)` calls the one whose number is
that of the caller with bit 0 set, and an alternative `%if bit_clear(0)` is there in those whose bit 0 is clear.  What
the start rule reaches is written out, each member as the rule `perm.0x1`, under a name that nobody can write; where
there are too many the grammar is refused.  A condition is decided then and there, so nothing is left of it.

Read on: `syntax.py` (the tree), `parser.py` (who reads), `modules.py` (who has rules written out).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from ...clock import look
from ..ir import Span
from ..names import undefined
from .lexer import Cursor, refuse, reject
from .syntax import (
    Alternatives,
    Argument,
    Both,
    Condition,
    Definition,
    Expression,
    Given,
    Name,
    Scope,
    Sequence,
    Times,
    With,
    parts,
    rebuilt,
)

T = TypeVar("T")

BITS: Final = 64
_MOST: Final = 10_000  # members of all families together
_MOST_NESTED: Final = 60
_COMPARISONS: Final = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_ONE_BIT: Final = {"bit_clear": 0, "bit_set": 1}


class ParameterReader:
    """Reads what stands behind `::` and `%if`, and moves the cursor behind it."""

    def __init__(self, at: Cursor) -> None:
        self._at = at

    def argument(self) -> Argument:
        """A number, `_` for the caller's own, or one made of it."""
        if self._at.kind in ("number", "hex"):
            return Argument("const", self._number())
        name, start = self._word("a number, _ or a function, as in name::set_bit(0)")
        match name:
            case "_":
                return Argument("bit_or", 0)
            case "set_bit" | "clear_bit":
                bit = 1 << self._within(self._bit)
                return Argument("bit_or", bit) if name == "set_bit" else Argument("bit_and", ~bit % (1 << BITS))
            case "bit_and" | "bit_or":
                return Argument(name, self._within(self._number))
            case "incr" | "decr":
                return Argument(name, 0, *self._within(self._range))
        self._at.tokens.fail(
            f"Unexpected expression {name!r}; there are _, set_bit, clear_bit, bit_and, bit_or, incr, decr", start
        )

    def condition(self, depth: int = 0) -> Condition:
        """A condition on the rule's number."""
        name, start = self._word("a condition, as in %if bit_clear(0)")
        if depth == _MOST_NESTED:
            self._at.tokens.refuse(f"conditions are nested deeper than {_MOST_NESTED}", start)
        match name:
            case "true":
                if self._at.kind == "(":
                    self._take("(")
                    self._take(")")
                return Condition("and")
            case "and" | "or" | "not":
                self._take("(")
                items = [self.condition(depth + 1)]
                if name != "not":
                    self._take(",")
                    items.append(self.condition(depth + 1))
                self._take(")")
                return Condition(name, tuple(items))
            case "bit_clear" | "bit_set":
                bit = self._within(self._bit)
                return Condition("eq", (), _ONE_BIT[name], bit, bit + 1)
            case "is_zeros" | "is_ones":
                first, last = self._within(self._range)
                return Condition("eq", (), (1 << last - first) - 1 if name == "is_ones" else 0, first, last)
        if name.removeprefix("bit_count_") not in _COMPARISONS:
            known = (
                "true, eq, ne, lt, le, gt, ge, bit_count_eq ..., bit_clear, bit_set, is_zeros, is_ones, and, or, not"
            )
            self._at.tokens.fail(f"Unexpected condition {name!r}; there are {known}", start)
        self._take("(")
        first, last = self._range()
        self._take(",")
        value = self._bit() if name.startswith("bit_count_") else self._number()
        self._take(")")
        return Condition(name, (), value, first, last)

    # -- small steps ------------------------------------------------------------------------------------------------

    def _take(self, kind: str) -> None:
        self._at.expect(kind, repr(kind))

    def _word(self, what: str) -> tuple[str, int]:
        start = self._at.start
        return self._at.expect("name", what), start

    def _within(self, read: Callable[[], T]) -> T:
        self._take("(")
        value = read()
        self._take(")")
        return value

    def _number(self, most: int = (1 << BITS) - 1) -> int:
        kind, start = self._at.kind, self._at.start
        if kind not in ("number", "hex"):
            self._at.unexpected("expected a number")
        written = self._at.take()
        value = int(written, 16 if kind == "hex" else 10) if len(written) <= 20 else most + 1
        if value > most:
            self._at.tokens.fail(f"number {written[:24]} is too large; must be <= {most}", start)
        return value

    def _bit(self) -> int:
        return self._number(BITS - 1)

    def _range(self) -> tuple[int, int]:
        at, start = self._at, self._at.start
        if at.kind == "name" and at.tokens.text(at.i) == "_":
            at.step()
            return 0, BITS
        at.expect("[", "'_' or '[start_bit:stop_bit]'")
        first = self._bit()
        self._take(":")
        last = self._number(BITS)
        self._take("]")
        if last <= first:
            self._at.tokens.fail(f"end bit index {last} must be > start bit index {first}", start)
        return first, last


def write_out_parametric(scope: Scope, source: str, start: str) -> None:
    """Replace the parametric rules of `scope` by those of their members that its other rules reach."""
    _Writer(scope, source).write(start)


def _live(item: Expression) -> Expression:
    """`item` without what stands beside a part that has no texts, which would count as what may come there."""
    match item:
        case Alternatives(items):
            return replace(item, items=tuple(one for one in map(_live, items) if not _is_dead(one)))
        case Sequence(items) | Both(items):
            made = tuple(map(_live, items))
            return Alternatives((), item.span) if any(map(_is_dead, made)) else replace(item, items=made)
        case Times(inner, least):
            one = _live(inner)
            nothing = Alternatives((), item.span) if least else Sequence((), item.span)
            return nothing if _is_dead(one) else replace(item, item=one)
    return item


def _is_dead(item: Expression) -> bool:
    return isinstance(item, Alternatives) and not item.items


class _Writer:
    def __init__(self, scope: Scope, source: str) -> None:
        self._scope = scope
        self._source = source
        self._families = {name: one for name, one in scope.definitions.items() if one.is_parametric}
        self._names: dict[tuple[str, int], str] = {}
        self._waiting: list[tuple[Definition, int]] = []

    def write(self, start: str) -> None:
        scope = self._scope
        if start in self._families:
            reason = f"rule {start!r} is parametric, but no parameter provided: the rule of a whole text has none"
            reject(reason, self._source, self._families[start].span)
        self._check_terminal(*scope.ignored)
        for name, definition in list(scope.definitions.items()):
            if name in self._families:
                del scope.definitions[name]
            elif definition.is_terminal:
                self._check_terminal(*definition.expressions())
            else:
                body = _live(rebuilt(definition.body, partial(self._leaf, name, None)))
                scope.definitions[name] = replace(definition, body=body)
        while self._waiting:
            look(10)
            family, number = self._waiting.pop()
            name = self._names[family.name, number]
            body = _live(rebuilt(family.body, partial(self._leaf, family.name, number)))
            scope.definitions[name] = replace(family, body=body, is_parametric=False)

    def _check_terminal(self, *expressions: Expression) -> None:
        for expression in expressions:
            for part in parts(expression):
                if isinstance(part, With | Given):
                    what = "name::param cannot be used" if isinstance(part, With) else "'%if' is not supported"
                    reject(f"{what} in terminals; use a rule (in lower case)", self._source, part.span)

    def _leaf(self, rule: str, number: int | None, expression: Expression) -> Expression:
        """What `expression` is in the member `number` of the family `rule`."""
        match expression:
            case Given(item, condition, span):
                holds = _holds(condition, self._own(number, rule, "'%if'", span))
                return item if holds else Alternatives((), span)  # no texts
            case With(name, argument, span):
                return Name(self._called(name, argument, rule, number, span), span)
            case Name(name, span) if name in self._families:
                reject(f"rule {name!r} is parametric, but no parameter provided: write {name}::0", self._source, span)
        return replace(expression)  # always a copy: terminals are told apart by identity (`places.py`)

    def _called(self, name: str, argument: Argument, rule: str, number: int | None, span: Span) -> str:
        family = self._families.get(name)
        if family is None:
            known = name in self._scope.definitions
            reject(f"rule {name!r} is not parametric" if known else undefined(name, self._families), self._source, span)
        own = 0 if argument.name == "const" else self._own(number, rule, "the parameter of a call", span)
        key = name, _changed(argument, own)
        if key not in self._names:
            if len(self._names) == _MOST:
                reason = (
                    f"parametric rules are written out for at most {_MOST:,} numbers, and these have more: let "
                    f"conditions bound what is counted, or count less in one rule"
                )
                refuse(reason, self._source, span)
            self._names[key] = f"{name}.{key[1]:#x}"
            self._waiting.append((family, key[1]))
        return self._names[key]

    def _own(self, number: int | None, rule: str, what: str, span: Span) -> int:
        if number is None:
            reason = f"rule {rule!r} is not parametric, but its body requires parameters: {what} asks for its number"
            reject(reason, self._source, span)
        return number


def _changed(argument: Argument, number: int) -> int:
    """The number that `argument` makes of the caller's."""
    ones = (1 << argument.last) - (1 << argument.first)
    match argument.name:
        case "const":
            return argument.value
        case "bit_and":
            return number & argument.value
        case "bit_or":
            return number | argument.value
        case "incr":
            return number if number & ones == ones else number + (1 << argument.first)
    return number if number & ones == 0 else number - (1 << argument.first)


def _holds(condition: Condition, number: int) -> bool:
    match condition.name:
        case "and":
            return all(_holds(one, number) for one in condition.items)
        case "or":
            return any(_holds(one, number) for one in condition.items)
        case "not":
            return not _holds(condition.items[0], number)
    bits = (number >> condition.first) & ((1 << condition.last - condition.first) - 1)
    if condition.name.startswith("bit_count_"):
        bits = bits.bit_count()
    return bool(_COMPARISONS[condition.name.removeprefix("bit_count_")](bits, condition.value))
