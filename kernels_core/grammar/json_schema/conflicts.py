"""Why a schema has no instance: the place and the keyword where nothing is left.

Only used for the message, so it is thorough rather than quick: keywords are added one at a time until none of the
values is left, then what is required inside is looked at in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import NO_INSTANCE
from ..regular.languages import NOTHING
from ..regular.patterns import ecma_search
from ..regular.reader import read
from .exact_text import exact_text
from .keywords import KEYWORDS
from .members import value_of
from .problems import Problems
from .reading import Reader
from .schema_algebra import Circular, TooLarge
from .terms import FALSE, Place, Term, origin

_MAX_DEPTH = 50
_NO_TEXT = "holds a lone surrogate, which UTF-8 cannot write"
_CLOSED = (
    "; where one has `additionalProperties: false`, which forbids the members of the others, leave that out, and write "
    "`unevaluatedProperties: false` beside `allOf`"
)


def report_conflict(reader: Reader, term: Term, problems: Problems) -> None:
    """Add the problem that says why `term` has no value."""
    found = _search(reader, term, 0, set())
    if found is None:
        place = origin(term)
        pointer = place.pointer if place is not None else "#"
        found = pointer, "$ref", "every value would have to contain another one, for ever"
    elif reader.options.strict_mode:
        free = Reader(reader.documents, Problems(), replace(reader.options, strict_mode=False))
        blame = f"{found[2]}, since strict mode forbids what the schema does not mention"
        found = _search(free, term, 0, set()) or (*found[:2], blame)
    problems.add(*found, NO_INSTANCE)


def _search(reader: Reader, term: Term, depth: int, seen: set[Term]) -> tuple[str, str, str] | None:
    """(pointer, keyword, reason), or None if `term` has values as far as one can see."""
    if term is FALSE:
        return "#", "false", "the schema is false"
    if depth > _MAX_DEPTH or term in seen:
        return None
    seen.add(term)
    place = origin(term)
    try:
        shape = reader.algebra.shape(term)
    except (TooLarge, Circular):
        return None
    if reader.algebra.is_void_shape(shape):
        if isinstance(term, Place):
            return _keyword(reader, term)
        return (place.pointer if place else "#", "allOf", "the schemas that apply here have no value in common")
    for keyword in ("const", "enum"):
        if isinstance(term, Place) and keyword in term.schema and keyword in term.context.dialect.keywords:
            values = term.schema[keyword] if keyword == "enum" else [term.schema[keyword]]
            if isinstance(values, list) and not any(map(_is_text, values)):
                return term.pointer, keyword, _NO_TEXT
    if not reader.algebra.is_void_shape(replace(shape, objects=())):
        return None
    for members in shape.objects:
        for name in members.required:
            value = value_of(reader.algebra, members, name)
            pointer = place.pointer if place else "#"
            if not _is_text(name):
                return pointer, "required", f"the property {name!r} {_NO_TEXT}"
            if value is FALSE:
                return pointer, "required", f"the property {name!r} is required, but none of its values is allowed"
            inner = _search(reader, value, depth + 1, seen)
            if inner is not None:
                return inner[0], inner[1], f"{inner[2]}; the property {name!r} of {pointer} is required"
    return None


def _is_text(value: Any) -> bool:
    try:
        exact_text(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _keyword(reader: Reader, place: Place) -> tuple[str, str, str]:
    """The first keyword after which nothing is left, and those in front of it that it takes for that."""
    keys = [key for key in place.schema if key in place.context.dialect.keywords]
    for count in range(1, len(keys) + 1):
        if not _is_void(reader, place, keys[:count]):
            continue
        against, last = keys[: count - 1], keys[count - 1]
        for key in keys[: count - 1]:
            fewer = [other for other in against if other != key]
            if _is_void(reader, place, [*fewer, last]):
                against = fewer
        if last == "pattern" and isinstance(place.schema[last], str):
            why = read(place.schema[last], ecma=True).why_empty()
            if why and ecma_search(place.schema[last]) == NOTHING:
                return place.pointer, last, f"no string matches: {why}"
        if not against:
            return place.pointer, last, "it allows no value at all" + (_CLOSED if _may_close(last, place) else "")
        named = " and ".join(repr(key) for key in against)
        return place.pointer, last, f"it contradicts {named}: no value is left"
    return place.pointer, keys[-1] if keys else "false", "no value is left"


def _may_close(keyword: str, place: Place) -> bool:
    """Whether one of several schemas that all apply may forbid the members of the others, as in an inheritance."""
    options = place.schema[keyword] if keyword == "allOf" else []
    return any(isinstance(one, dict) and (one.get("additionalProperties") is False or "$ref" in one) for one in options)


def _is_void(reader: Reader, place: Place, keys: list[str]) -> bool:
    part = {key: value for key, value in place.schema.items() if key in keys or _is_helper(key)}
    try:
        shape = reader.algebra.shape(Place(part, place.context, place.pointer, place.name))
    except (TooLarge, Circular):
        return False
    return reader.algebra.is_void_shape(shape)


def _is_helper(key: str) -> bool:
    """Whether a keyword says nothing without another one."""
    entry = KEYWORDS.get(key)
    return entry is not None and bool(entry.beside)
