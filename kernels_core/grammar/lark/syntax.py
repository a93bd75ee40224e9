"""The tree of a Lark grammar, as it is written.  Spans are offsets into the source.

Read on: `parser.py` (who builds it), `lower.py` (who reads it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..ir import Span

__all__ = [
    "Alternatives",
    "Both",
    "Definition",
    "Expression",
    "External",
    "Name",
    "Nested",
    "Others",
    "Pattern",
    "Range",
    "Schema",
    "Scope",
    "Sequence",
    "Special",
    "Substring",
    "Text",
    "Times",
    "TokenIds",
    "parts",
]


@dataclass(frozen=True, slots=True)
class Text:
    """`"text"` or `"text"i`."""

    value: str
    ignore_case: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Pattern:
    """`/source/flags`; the pattern begins one character behind the span's start."""

    source: str
    flags: str
    span: Span


@dataclass(frozen=True, slots=True)
class Range:
    """`"a".."z"`"""

    first: int
    last: int
    span: Span


@dataclass(frozen=True, slots=True)
class Name:
    """A rule or a terminal."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class External:
    """`@name`: a grammar that is given beside the text."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Special:
    """`<name>`: the token that is spelt so."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class TokenIds:
    """`<[1-5,9]>`, `<[^...]>`, `<[*]>`"""

    ids: tuple[int, ...]
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Schema:
    """`%json {...}`"""

    schema: Any
    span: Span


@dataclass(frozen=True, slots=True)
class Substring:
    """`%regex {"substring_...": ...}`: any run of neighbouring chunks."""

    chunks: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Nested:
    """`%lark {...}`"""

    scope: Scope
    span: Span


@dataclass(frozen=True, slots=True)
class Sequence:
    """`a b c`; of nothing, the empty text."""

    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Alternatives:
    """`a | b`"""

    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Both:
    """`a & b`: in all of `items`."""

    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Others:
    """`~a`: not in `item`."""

    item: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Times:
    """`a?`, `a*`, `a+`, `a{m,n}`, `a~m..n`, `[a]`"""

    item: Expression
    least: int
    most: int | None
    span: Span


Expression = (
    Text
    | Pattern
    | Range
    | Name
    | External
    | Special
    | TokenIds
    | Schema
    | Substring
    | Nested
    | Sequence
    | Alternatives
    | Both
    | Others
    | Times
)


@dataclass(frozen=True, slots=True)
class Definition:
    """`name[attributes]: body`.  Attributes' values are numbers, expressions, or None."""

    name: str
    body: Expression
    attributes: dict[str, tuple[float | Expression | None, int]]
    span: Span

    @property
    def is_terminal(self) -> bool:
        """By its name."""
        return self.name.lstrip("_")[:1].isupper()

    @property
    def is_empty(self) -> bool:
        """Whether no token may begin in its texts, which leaves the empty one."""
        return self.attributes.get("max_tokens", (None, 0))[0] == 0


@dataclass(slots=True)
class Scope:
    """A grammar's statements: definitions by name, names imported from `common` (under which, and where), what is
    ignored."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, tuple[str, Span]] = field(default_factory=dict)
    ignored: list[Expression] = field(default_factory=list)
    initial_skip: bool = False


def parts(expression: Expression) -> Iterator[Expression]:
    """`expression` and all expressions in it, but not those of nested scopes."""
    stack = [expression]
    while stack:
        top = stack.pop()
        yield top
        match top:
            case Sequence(items) | Alternatives(items) | Both(items):
                stack.extend(reversed(items))
            case Others(item) | Times(item):
                stack.append(item)
