"""The tree of a Lark grammar, as it is written.  Spans are offsets into the source.

Read on: `parser.py` (who builds it), `lower.py` (who reads it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..ir import Span


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
class Common:
    """What `%import common.name` defines; the span is that of the import."""

    name: str
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
class Use:
    """`name{a, b}`: a template with its arguments, which `templates.py` writes out."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Argument:
    """What stands behind `::`: "const", "bit_and" and "bit_or" with `value`, "incr" and "decr" of bits `first` to
    `last`, which is left out."""

    name: str
    value: int
    first: int = 0
    last: int = 64


@dataclass(frozen=True, slots=True)
class Condition:
    """What stands behind `%if`: "and", "or" and "not" of `items`; else a comparison of bits `first` to `last` with
    `value`, or of how many of these are set, as "bit_count_eq"."""

    name: str
    items: tuple[Condition, ...] = ()
    value: int = 0
    first: int = 0
    last: int = 64


@dataclass(frozen=True, slots=True)
class With:
    """`name::argument`: a parametric rule, which `parametric.py` writes out."""

    name: str
    argument: Argument
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


@dataclass(frozen=True, slots=True)
class Given:
    """`item %if condition`, an alternative of a parametric rule"""

    item: Expression
    condition: Condition
    span: Span


Expression = (
    Text
    | Pattern
    | Common
    | Range
    | Name
    | Use
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
    | With
    | Given
)


def is_terminal_name(name: str) -> bool:
    """Terminals have names in upper case."""
    return name.lstrip("_")[:1].isupper()


@dataclass(frozen=True, slots=True)
class Definition:
    """`name[attributes]: body`, or a template, `name{parameters}: body`.  Attributes' values are numbers, expressions,
    or None; `priority` is written `name.2`, `is_parametric` is `name::_`.  `name` is the one that was written, which
    said whether it `is_terminal`: what is written out of a template or a parametric rule is filed under another."""

    name: str
    body: Expression
    attributes: dict[str, tuple[float | Expression | None, int]]
    span: Span
    is_terminal: bool
    parameters: tuple[str, ...] = ()
    priority: int = 0
    is_parametric: bool = False

    def expressions(self) -> Iterator[Expression]:
        """The body, and what its attributes hold."""
        yield self.body
        for value, _ in self.attributes.values():
            if value is not None and not isinstance(value, float):
                yield value

    def rebuilt(self, leaf: Callable[[Expression], Expression]) -> Definition:
        """A copy in which `leaf` was done to all expressions, as `rebuilt` does it."""
        attributes = {
            name: (value if value is None or isinstance(value, float) else rebuilt(value, leaf), offset)
            for name, (value, offset) in self.attributes.items()
        }
        return replace(self, body=rebuilt(self.body, leaf), attributes=attributes)

    @property
    def is_empty(self) -> bool:
        """Whether no token may begin in its texts, which leaves the empty one."""
        return self.attributes.get("max_tokens", (None, 0))[0] == 0


@dataclass(frozen=True, slots=True)
class Import:
    """`%import .path.name -> alias`, or `%import .path (name, ...)`, from another text than `common`."""

    path: str
    names: tuple[tuple[str, str | None], ...]
    span: Span


@dataclass(slots=True)
class Scope:
    """A grammar's statements: definitions (with what is imported from `common`) and templates by name, what is ignored,
    what is declared (and where); other imports, and changes (`%extend`, `%override`), as written."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    templates: dict[str, Definition] = field(default_factory=dict)
    declared: dict[str, Span] = field(default_factory=dict)
    modules: list[Import] = field(default_factory=list)
    changes: list[tuple[str, Definition]] = field(default_factory=list)
    ignored: list[Expression] = field(default_factory=list)
    initial_skip: bool = False

    def expressions(self) -> Iterator[Expression]:
        """All that is written: in definitions and templates, and what is ignored."""
        for definition in (*self.definitions.values(), *self.templates.values()):
            yield from definition.expressions()
        yield from self.ignored


def parts(expression: Expression) -> Iterator[Expression]:
    """`expression` and all expressions in it, but not those of nested scopes."""
    stack = [expression]
    while stack:
        top = stack.pop()
        yield top
        match top:
            case Sequence(items) | Alternatives(items) | Both(items):
                stack.extend(reversed(items))
            case Others(item) | Times(item) | Given(item):
                stack.append(item)
            case Use(arguments=arguments):
                stack.extend(reversed(arguments))


def rebuilt(expression: Expression, leaf: Callable[[Expression], Expression]) -> Expression:
    """A copy in which `leaf` was done to what holds no other expressions, to uses of templates, behind their arguments,
    and to alternatives with a condition, in front of what they hold."""
    match expression:
        case Sequence(items) | Alternatives(items) | Both(items):
            return replace(expression, items=tuple(rebuilt(item, leaf) for item in items))
        case Others(item) | Times(item):
            return replace(expression, item=rebuilt(item, leaf))
        case Given():
            made = leaf(expression)
            return replace(made, item=rebuilt(made.item, leaf)) if isinstance(made, Given) else rebuilt(made, leaf)
        case Use(arguments=arguments):
            return leaf(replace(expression, arguments=tuple(rebuilt(item, leaf) for item in arguments)))
    return leaf(expression)
