"""Tell by their keywords that schemas have no value in common: types, constants, tags (required constant members).

That is how most `oneOf` are meant; `deferrable_schemas.pyx` asks, so this only looks and never works anything out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import combinations
from typing import Any

_TYPES = frozenset(("array", "boolean", "null", "number", "object", "string"))
_OBJECT = frozenset(("object",))
# More options are only compared by one tag that all of them have.
_FEW = 24

Constants = frozenset[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Signature:
    """`types` that values may have (an integer is a number), all the `constants` there are (None: others, too), and
    for names of members that every object has the constants that these may be."""

    types: frozenset[str]
    constants: Constants | None
    tags: dict[str, Constants]


def signature(schema: Any, through: Callable[[Any], Any], keywords: Collection[str]) -> Signature | None:
    """What is written in a schema; None if that says nothing about types.

    `through` follows references; only `keywords` say something.  What is not looked at may narrow a schema; `nullable`
    alone widens it.
    """
    schema = through(schema)
    if not isinstance(schema, dict) or ("nullable" in keywords and schema.get("nullable")):
        return None
    constants = _constants(schema, keywords)
    types = schema.get("type") if "type" in keywords else None
    if isinstance(types, str):
        found = frozenset((_basic(types),))
    elif isinstance(types, list):
        found = frozenset(_basic(one) for one in types if isinstance(one, str))
    elif constants is not None:
        found = frozenset(kind for kind, _ in constants)
    else:
        return None
    if not found <= _TYPES:
        return None
    tags: dict[str, Constants] = {}
    required, properties = schema.get("required") if "required" in keywords else None, schema.get("properties")
    if isinstance(required, list) and isinstance(properties, dict):
        for name in required:
            tag = through(properties.get(name)) if isinstance(name, str) else None
            values = _constants(tag, keywords) if isinstance(tag, dict) else None
            if values is not None:
                tags[name] = values
    return Signature(found, constants, tags)


def _basic(name: str) -> str:
    return "number" if name == "integer" else name


def _constants(schema: dict[str, Any], keywords: Collection[str]) -> Constants | None:
    """Scalars that a schema allows, as (type, value)."""
    values = schema.get("enum") if "enum" in keywords else None
    if values is None and "const" in schema and "const" in keywords:
        values = [schema["const"]]
    if not isinstance(values, list):
        return None
    found: list[tuple[str, Any]] = []
    for value in values:
        if value is None or isinstance(value, bool):
            found.append(("null" if value is None else "boolean", value))
        elif isinstance(value, str):
            found.append(("string", value))
        elif isinstance(value, int | float):
            found.append(("number", value))
        else:
            return None
    return frozenset(found)


def all_disjoint(signatures: list[Signature]) -> bool:
    """Whether no two of them have a value in common, for sure."""
    objects = [one for one in signatures if one.types == _OBJECT]
    others = [one for one in signatures if one.types != _OBJECT]
    if len(others) > _FEW or not all(_disjoint(one, other) for one, other in combinations(others, 2)):
        return False
    if len(objects) > 1 and _one_tag(objects):
        return all("object" not in one.types for one in others)
    return len(signatures) <= _FEW and all(_disjoint(one, other) for one, other in combinations(signatures, 2))


def _one_tag(signatures: list[Signature]) -> bool:
    """Whether all have one name of a member in common, with different constants."""
    shared = set(signatures[0].tags).intersection(*(one.tags for one in signatures))
    for name in shared:
        values = [one.tags[name] for one in signatures]
        if len(frozenset().union(*values)) == sum(map(len, values)):
            return True
    return False


def _disjoint(one: Signature, other: Signature) -> bool:
    both = one.types & other.types
    if not both:
        return True
    if one.constants is not None and other.constants is not None:
        return one.constants.isdisjoint(other.constants)
    return both == _OBJECT and any(
        one.tags[name].isdisjoint(other.tags[name]) for name in one.tags.keys() & other.tags.keys()
    )
