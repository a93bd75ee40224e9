"""`enum` and `const`: JSON values as shapes, compared as JSON compares (1 and 1.0 are equal, 1 and true are not)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..regular.languages import Words, complement
from .numbers import points
from .shapes import Items, Members, Shape
from .terms import FALSE, Term
from .values import to_fraction

if TYPE_CHECKING:
    from .schema_algebra import SchemaAlgebra


def constants(algebra: SchemaAlgebra, values: list[Any]) -> Shape:
    """The union of some values."""
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
    return Shape(
        any(value is None for value in values),
        frozenset(value for value in values if isinstance(value, bool)),
        points(numbers),
        Words(frozenset(value for value in values if isinstance(value, str))),
        tuple(arrays),
        tuple(objects),
    )


def _constant(algebra: SchemaAlgebra, value: Any) -> Term:
    return algebra.fixed(constants(algebra, [value]))


def _array(algebra: SchemaAlgebra, value: list[Any]) -> Items:
    prefix = tuple(_constant(algebra, item) for item in value)
    return Items(prefix, FALSE, least=len(value), most=len(value))


def _object(algebra: SchemaAlgebra, value: dict[str, Any]) -> Members:
    rules = tuple((Words(frozenset((key,))), _constant(algebra, item)) for key, item in value.items())
    closed = complement(Words(frozenset(value)))
    return Members((*rules, (closed, FALSE)), tuple(value))
