"""Terms: sets of JSON values that have not been looked into.

A term is a schema at its place, or a Boolean combination of terms, or a shape that is already known.  Terms are made
by `SchemaAlgebra` (`schema_algebra.py`), which keeps equal ones identical, so they compare and hash by identity.  A
recursive schema is a term that its own shape mentions; the term itself holds only what was there before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
    `text` the schema as JSON if that is known.  `context` (`resolve.Context`) is what it means besides its text."""

    __slots__ = ("context", "name", "pointer", "schema", "text")

    def __init__(self, schema: Mapping[str, Any], context: Any, pointer: str, name: str, text: str = "") -> None:
        self.schema, self.context, self.pointer, self.name, self.text = schema, context, pointer, name, text

    def __repr__(self) -> str:
        return f"<{self.pointer}>"


class AllOf(Term):
    """In every part, in an order that decides that of names.  `first`: the one of the same parts that was made first,
    None if that is this one."""

    __slots__ = ("first", "parts")

    def __init__(self, parts: tuple[Term, ...], first: AllOf | None = None) -> None:
        self.parts, self.first = parts, first

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
    """A shape that is already known; the algebra remembers which."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "{...}"


def in_any_order(term: Term) -> Term:
    """What stands for all terms that say the same as `term` but for the order of their parts."""
    return term.first if isinstance(term, AllOf) and term.first is not None else term


def narrows(small: Term, large: Term) -> bool:
    """Certainly a subset, as far as can be told without looking into them."""
    if large is TRUE or small is FALSE or in_any_order(small) is in_any_order(large):
        return True
    return isinstance(small, AllOf) and large in small.parts


def origin(term: Term) -> Place | None:
    """The first schema that a term speaks of, for names and messages; None if there is none."""
    stack = [term]
    while stack:
        match stack.pop():
            case Place() as place:
                return place
            case AllOf(parts=parts) | AnyOf(parts=parts):
                stack.extend(reversed(parts))
            case Complement(part=part):
                stack.append(part)
    return None
