"""Structural tags as XGrammar's classes write them, by the engine's keys: a walk over the formats that hold schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernels_core.errors import InvalidStructuralTagError
from kernels_core.grammar.json_schema.exact_text import shown
from kernels_core.grammar.json_schema.problems import child

Change = Callable[[dict[str, Any]], dict[str, Any]]
_BELOW = ("content", "elements", "tags", "rules")  # the keys of a format under which other formats stand
_DEEPEST = 200  # containers inside each other that are looked into; the engine refuses formats long before


def with_schemas(tag: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """The tag with `change(form)` in the place of each format of a schema, which has the engine's keys by then.

    A part that stands in a tag many times is changed once, and is one in what is returned, too.
    Raises `InvalidStructuralTagError` where `any_order` is no flag.
    """
    made: dict[int, Any] = {}

    def walk(value: Any, path: str, depth: int) -> Any:
        if depth > _DEEPEST or not isinstance(value, list | tuple | Mapping):
            return value
        if id(value) not in made:
            made[id(value)] = read(value, path, depth + 1)
        return made[id(value)]

    def read(value: Mapping[str, Any] | Sequence[Any], path: str, depth: int) -> Any:
        if not isinstance(value, Mapping):
            return [walk(item, child(path, at), depth) for at, item in enumerate(value)]
        if value.get("type") in ("json_schema", "qwen_xml_parameter"):
            return change(_by_our_keys(value, path))
        return {key: walk(item, child(path, key), depth) if key in _BELOW else item for key, item in value.items()}

    return {**tag, "format": walk(tag["format"], "#/format", 0)}


def _by_our_keys(value: Mapping[str, Any], path: str) -> dict[str, Any]:
    form = dict(value)
    if form["type"] == "qwen_xml_parameter":
        form |= {"type": "json_schema", "style": "qwen_xml"}
    if "any_order" in form:
        any_order = form.pop("any_order")
        if not isinstance(any_order, bool):
            reason = f"true or false is expected here, not {shown(any_order)}"
            raise InvalidStructuralTagError(reason, child(path, "any_order"))
        form["order"] = "loose" if any_order else "declared"
    return form
