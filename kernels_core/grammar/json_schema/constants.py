"""`enum` and `const`: JSON values as shapes, compared as JSON compares (1 and 1.0 are equal, 1 and true are not)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..regular.languages import Words, complement
from .numbers import points
from .shapes import VOID, Items, Members, Shape, replace
from .terms import FALSE
from .values import to_fraction

if TYPE_CHECKING:
    from .schema_algebra import SchemaAlgebra


def constants(algebra: SchemaAlgebra, values: list[Any]) -> Shape:
    """The union of some values."""
    null = any(value is None for value in values)
    booleans = frozenset(value for value in values if isinstance(value, bool))
    strings = Words(frozenset(value for value in values if isinstance(value, str)))
    numbers: list[Fraction] = []
    arrays: dict[Items, None] = {}
    objects: dict[Members, None] = {}
    for value in values:
        if isinstance(value, list):
            arrays[_array(algebra, value)] = None
        elif isinstance(value, dict):
            objects[_object(algebra, value)] = None
        elif (number := to_fraction(value)) is not None:
            numbers.append(number)
    return Shape(null, booleans, points(numbers), strings, tuple(arrays), tuple(objects))


def constant(algebra: SchemaAlgebra, value: Any) -> Shape:
    """One value."""
    match value:
        case None:
            return replace(VOID, null=True)
        case bool():
            return replace(VOID, booleans=frozenset((value,)))
        case str():
            return replace(VOID, strings=Words(frozenset((value,))))
        case list():
            return replace(VOID, arrays=(_array(algebra, value),))
        case dict():
            return replace(VOID, objects=(_object(algebra, value),))
    number = to_fraction(value)
    if number is None:
        raise ValueError(f"{value!r} is no JSON value")
    return replace(VOID, numbers=points((number,)))


def _array(algebra: SchemaAlgebra, value: list[Any]) -> Items:
    prefix = tuple(algebra.fixed(constant(algebra, item)) for item in value)
    return Items(prefix, FALSE, least=len(value), most=len(value))


def _object(algebra: SchemaAlgebra, value: dict[str, Any]) -> Members:
    rules = tuple((Words(frozenset((key,))), algebra.fixed(constant(algebra, item))) for key, item in value.items())
    closed = complement(Words(frozenset(value)))
    return Members((*rules, (closed, FALSE)), tuple(value))
