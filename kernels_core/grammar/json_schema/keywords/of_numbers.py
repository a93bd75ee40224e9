"""Keywords that say something of numbers."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from ..numbers import ALL_NUMBERS, Numbers, interval, multiples
from ..schema_options import SchemaOptions
from ..schema_reader import SchemaReader
from ..terms import Place
from ..values import a_number, positive
from .entry import NumberKeyword, Status
from .quick import Quick

_BOUND = "of spellings with an exponent there are those like 1.5e1, none like 15e0; of integers none"
_MULTIPLE = "multiples are written without an exponent"


def _explain_bound(value: Any, options: SchemaOptions) -> tuple[Status, str] | None:
    return None if options.canonical_numbers or isinstance(value, bool) else ("approximated", _BOUND)


def _explain_multiple(value: Any, options: SchemaOptions) -> tuple[Status, str] | None:
    return None if options.canonical_numbers else ("approximated", _MULTIPLE)


def _exclusive_bound(value: Any, keyword: str) -> Fraction | bool:
    """A number; in draft 4 whether the bound beside it is out, which schemas that declare no draft may say, too."""
    return value if isinstance(value, bool) else a_number(value, keyword)


def _exclusive(reader: SchemaReader, place: Place, bound: Fraction | bool, *, upper: bool) -> Numbers:
    if isinstance(bound, bool):
        if place.context.dialect.boolean_bounds:
            return ALL_NUMBERS  # read with the bound it belongs to
        a_number(bound, "exclusiveMaximum" if upper else "exclusiveMinimum")
    return _within(Fraction(bound), upper=upper, is_out=True)


def _inclusive(reader: SchemaReader, place: Place, bound: Fraction, *, upper: bool) -> Numbers:
    is_out = place.schema.get("exclusiveMaximum" if upper else "exclusiveMinimum") is True
    return _within(bound, upper=upper, is_out=is_out and place.context.dialect.boolean_bounds)


def _within(bound: Fraction, *, upper: bool, is_out: bool) -> Numbers:
    if upper:
        return interval(None, bound, low_open=False, high_open=is_out)
    return interval(bound, None, low_open=is_out, high_open=False)


def _multiple_of(reader: SchemaReader, place: Place, step: Fraction) -> Numbers:
    return multiples(step)


ENTRIES: tuple[NumberKeyword, ...] = (
    NumberKeyword(
        name="exclusiveMaximum",
        meaning="below this",
        check=_exclusive_bound,
        quick=Quick.BOUND,
        explain=_explain_bound,
        read=partial(_exclusive, upper=True),
    ),
    NumberKeyword(
        name="exclusiveMinimum",
        meaning="above this",
        check=_exclusive_bound,
        quick=Quick.BOUND,
        explain=_explain_bound,
        read=partial(_exclusive, upper=False),
    ),
    NumberKeyword(
        name="maximum",
        meaning="not above this",
        check=a_number,
        quick=Quick.BOUND,
        explain=_explain_bound,
        read=partial(_inclusive, upper=True),
    ),
    NumberKeyword(
        name="minimum",
        meaning="not below this",
        check=a_number,
        quick=Quick.BOUND,
        explain=_explain_bound,
        read=partial(_inclusive, upper=False),
    ),
    NumberKeyword(
        name="multipleOf",
        meaning="a whole multiple of this",
        check=positive,
        why="whether its remainders take few states depends on the other conditions on numbers",
        blame=0,
        explain=_explain_multiple,
        read=_multiple_of,
    ),
)
