"""What the values of keywords have to be: each check returns the value as it is read, or raises `Malformed`.

An entry of the keyword table names its check, so that a value is looked at once and its error has one wording.

Read on: `keywords/entry.py` (who names a check), `reading.py` (who runs it and reports the place).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ..nodes import MAX_REPEAT
from .exact_text import shown

Check = Callable[[Any, str], Any]
"""Takes the value and the keyword, which its error names."""

# Digits of the largest and the smallest number a schema may hold.
_MAX_DIGITS = 2_000
# Items or members: the position in a text is a 32-bit number, and one more is what "not at most" needs.
_MOST_THINGS = MAX_REPEAT - 1


class Malformed(Exception):
    """A keyword has a value that it cannot have.  `keyword`: which one, if it is not the one that is being read."""

    keyword = ""


def kind_of(value: Any) -> str:
    """What a JSON value is called in an error."""
    kinds: Mapping[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a Boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")


def to_fraction(value: object) -> Fraction | None:
    """A JSON number as an exact value; None if it is no number.

    A float stands for its shortest decimal spelling: 0.1 is one tenth.  `ValueError` for NaN, infinities, and numbers
    of more than 2,000 digits.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        if value.bit_length() > 4 * _MAX_DIGITS:
            raise ValueError(f"a number has more than {_MAX_DIGITS:,} digits")
        return Fraction(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no JSON number")
        if len(value.as_tuple().digits) > _MAX_DIGITS or (value and abs(value.adjusted()) > _MAX_DIGITS):
            raise ValueError(f"a number has more than {_MAX_DIGITS:,} digits")
        return Fraction(value)
    return None


# -- checks -----------------------------------------------------------------------------------------------------------


def anything(value: Any, keyword: str) -> Any:
    """Any value; what the keyword means says more."""
    return value


def a_boolean(value: Any, keyword: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise Malformed(f"{keyword} must be true or false, not {kind_of(value)}")
    return value


def a_string(value: Any, keyword: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise Malformed(f"{keyword} must be a string, not {kind_of(value)}")
    return value


def a_list(value: Any, keyword: str) -> list[Any]:
    """A list, which may be empty."""
    if not isinstance(value, list):
        raise Malformed(f"{keyword} must be a list, not {kind_of(value)}")
    return value


def some_schemas(value: Any, keyword: str) -> list[Any]:
    """A list that is not empty; whether these are schemas, their reader says."""
    if not isinstance(value, list) or not value:
        raise Malformed(f"{keyword} must be a list of one or more schemas")
    return value


def with_names(value: Any, keyword: str) -> dict[str, Any]:
    """An object: something for each name, or pattern of names."""
    if not isinstance(value, dict):
        raise Malformed(f"{keyword} must be an object, not {kind_of(value)}")
    return value


def names(value: Any, keyword: str) -> list[str]:
    """A list of property names."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Malformed(f"{keyword} must be a list of strings")
    return value


def required_names(value: Any, keyword: str) -> list[str]:
    """The same; a Boolean, as draft 3 had it inside a property, names nothing in the drafts since then."""
    return [] if isinstance(value, bool) else names(value, keyword)


def a_number(value: Any, keyword: str) -> Fraction:
    """A number, exactly."""
    number = to_fraction(value)
    if number is None:
        raise Malformed(f"{keyword} must be a number, not {kind_of(value)}")
    return number


def positive(value: Any, keyword: str) -> Fraction:
    """A number above 0."""
    number = a_number(value, keyword)
    if number <= 0:
        raise Malformed(f"{keyword} must be greater than 0")
    return number


def a_size(value: Any, keyword: str) -> int:
    """A bound on a length or a number of things: an integer, perhaps written 2.0."""
    number = to_fraction(value)
    if number is None or number.denominator != 1 or number < 0:
        raise Malformed(f"{keyword} must be an integer of at least 0, not {shown(value)}")
    return int(number)


def at_least(value: Any, keyword: str) -> int:
    """A least number of things, which some text has to be able to hold."""
    found = a_size(value, keyword)
    if found > _MOST_THINGS:
        raise Malformed(f"{keyword} must be at most {_MOST_THINGS:,}: no text holds as many")
    return found


def at_most(value: Any, keyword: str) -> int | None:
    """A greatest number of things; None where no text holds as many, so that nothing is forbidden."""
    found = a_size(value, keyword)
    return found if found <= _MOST_THINGS else None
