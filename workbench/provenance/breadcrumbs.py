"""A place in a source as a person says it: tools, tags, members and items by their names, without the keywords between.

    breadcrumbs(value, "#/0/function/parameters/properties/city")     # ("get_weather", "arguments", "city"), "string"

Read on: `workbench/panels/stack.py` (who shows it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from workbench.languages.positions import parts_of
from workbench.languages.tools import SCHEMA_KEYS

_MEMBERS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_ONE: Final = {
    "items": "item",
    "contains": "item",
    "additionalItems": "further item",
    "unevaluatedItems": "further item",
    "additionalProperties": "other member",
    "unevaluatedProperties": "other member",
    "propertyNames": "name",
    **dict.fromkeys(SCHEMA_KEYS, "arguments"),
}


_SCHEMAS: Final = (*SCHEMA_KEYS, "json_schema", "schema")


class Breadcrumbs(NamedTuple):
    """The names on the way from the source's top to a place, and what type of value its schema asks for ("" where it
    does not say)."""

    names: tuple[str, ...]
    kind: str


def breadcrumbs(value: object, pointer: str) -> Breadcrumbs:
    """The names of `pointer` in the source that was loaded as `value`."""
    names: list[str] = []
    at, keyword = value, ""
    schema = isinstance(value, Mapping) and not {"tools", "format", "begin"} & value.keys()
    for part in parts_of(pointer):
        if keyword in _MEMBERS:
            names.append(part)
            keyword = ""
        elif keyword == "prefixItems":
            names.append(f"item {part}")
            keyword = ""
        else:
            keyword = part
            schema = schema or part in _SCHEMAS
            if part in _ONE:
                names.append(_ONE[part])
        at = _inside(at, part)
        if not schema and (name := _named(at)) and names[-1:] != [name]:
            names.append(name)
    return Breadcrumbs(tuple(names), _kind(at) if schema and keyword not in _MEMBERS else "")


def _inside(value: object, part: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list | tuple) and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    return None


def _named(value: object) -> str:
    """What a tool, or a tag, is called."""
    if not isinstance(value, Mapping):
        return ""
    if "begin" in value:
        begin = value["begin"]
        return begin if isinstance(begin, str) else str(begin.get("token", "")) if isinstance(begin, Mapping) else ""
    function = value.get("function", value.get("toolSpec"))
    if isinstance(function, Mapping):
        name = function.get("name")
    else:
        name = value.get("name") if value.keys() & set(SCHEMA_KEYS) else None
    return name if isinstance(name, str) else ""


def _kind(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    kind = value.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    return next((word for word in ("enum", "const", "anyOf", "oneOf", "allOf", "$ref") if word in value), "")
