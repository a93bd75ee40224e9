"""Terms: sets of JSON values that have not been looked into.

A term is a schema at its place, or a Boolean combination of terms, or a shape that is already known.  Terms are made
by `Space` (`space.py`), which keeps equal ones identical, so they compare and hash by identity.  A recursive schema
is a term that its own shape mentions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .resolve import Context
    from .shapes import Shape

__all__ = ["FALSE", "TRUE", "AllOf", "AnyOf", "Complement", "Constant", "Exactly", "Place", "Term", "origin"]


class Term:
    """A set of JSON values."""

    __slots__ = ()


class Constant(Term):
    """Everything or nothing."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "TRUE" if self.value else "FALSE"


TRUE = Constant(True)
FALSE = Constant(False)


class Place(Term):
    """What a schema (an object with at least one keyword that constrains) says.  `pointer` is where it was met,
    `text` the schema as JSON if that is known."""

    __slots__ = ("context", "name", "pointer", "schema", "text")

    def __init__(self, schema: Mapping[str, Any], context: Context, pointer: str, name: str, text: str = "") -> None:
        self.schema, self.context, self.pointer, self.name, self.text = schema, context, pointer, name, text

    def __repr__(self) -> str:
        return f"<{self.pointer}>"


class AllOf(Term):
    """In every part."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Term, ...]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"({' & '.join(map(repr, self.parts))})"


class AnyOf(Term):
    """In some part."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Term, ...]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"({' | '.join(map(repr, self.parts))})"


class Complement(Term):
    """Not in `part`, which is a `Place` or an `Exactly`."""

    __slots__ = ("part",)

    def __init__(self, part: Term) -> None:
        self.part = part

    def __repr__(self) -> str:
        return f"~{self.part!r}"


class Exactly(Term):
    """A shape that is already known."""

    __slots__ = ("shape",)

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def __repr__(self) -> str:
        return "{...}"


def origin(term: Term) -> Place | None:
    """The first schema that a term speaks of, for names and messages."""
    stack = [term]
    while stack:
        top = stack.pop()
        match top:
            case Place():
                return top
            case AllOf() | AnyOf():
                stack.extend(reversed(top.parts))
            case Complement():
                stack.append(top.part)
    return None
