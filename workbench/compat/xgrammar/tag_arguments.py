"""What callers pass as a structural tag, as the engine takes it, with XGrammar's defaults filled in.

A tag comes as a `StructuralTag`, a dict or JSON text, or in the older form as a list of items with their triggers.
Inside tags XGrammar reads schemas strictly, what a schema does not mention is forbidden, and writes integers as digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels_core import errors
from kernels_core.grammar.json_schema.exact_text import shown
from kernels_core.grammar.structural_tag import load_structural_tag
from kernels_core.grammar.structural_tag.fields import pointer

from .config import get_max_recursion_depth
from .exception import InvalidStructuralTagError
from .tag_phrases import tag_errors

_SCHEMA_DEFAULTS = {"strict_mode": True, "plain_integers": True, "order": "declared"}
_DEEPEST = 200  # containers inside each other that are looked into; the engine refuses formats long before


def engine_tag(args: Sequence[object], kwargs: Mapping[str, object], caller: str) -> dict[str, object]:
    """The one tag that `caller(*args, **kwargs)` is about.

    `(structural_tag)` or `(tags, triggers)`, by position or by name.  Raises `TypeError` for other arguments, and the
    engine's errors.
    """
    values = list(args)
    names = (
        ("tags", "triggers") if len(values) == 2 or "tags" in kwargs or "triggers" in kwargs else ("structural_tag",)
    )
    for name in names[len(values) :]:
        if name in kwargs:
            values.append(kwargs[name])
    if len(values) != len(names) or len(args) + len(kwargs) != len(names):
        raise TypeError(f"{caller} takes a structural tag, or a list of tags and a list of triggers")
    tag = _plain(values[0])
    if isinstance(tag, list | tuple):
        tag = [_plain(item) for item in tag]
    triggers = list(values[1]) if len(values) == 2 else None  # type: ignore[call-overload]
    if not isinstance(tag, str | Mapping | list):
        raise TypeError(f"{caller} takes a StructuralTag, a dict or JSON text, not a {type(tag).__name__}")
    with tag_errors(tag):
        loaded = load_structural_tag(tag, triggers)
    _check_depth(loaded)
    with tag_errors(loaded):
        return {**loaded, "format": _with_defaults(loaded["format"], "#/format", 0, {})}


def _plain(value: object) -> object:
    """A pydantic model as a dict, its schema too; anything else as it is."""
    if hasattr(value, "model_dump"):
        fields = value.model_dump(by_alias=True)
        schema = fields.get("schema")
        return {**fields, "schema": schema.model_json_schema()} if hasattr(schema, "model_json_schema") else fields
    return value


def _check_depth(tag: Mapping[str, object]) -> None:
    """Refuse what is nested deeper than the setting.  What stands at a depth many times is looked into once."""
    limit = get_max_recursion_depth()
    level: dict[int, Mapping[str, object] | Sequence[object]] = {id(tag): tag}
    for _ in range(limit):
        level = {
            id(item): item
            for container in level.values()
            for item in (container.values() if isinstance(container, Mapping) else container)
            if isinstance(item, Mapping | list | tuple)
        }
        if not level:
            return
    raise InvalidStructuralTagError(f"nested deeper than {limit}, or holding itself; see set_max_recursion_depth", "#")


def _with_defaults(value: object, path: str, depth: int, made: dict[int, object]) -> object:
    """A format with its schemas marked as strict, and so for all formats in it; `path` is its location.

    `made` has, by the identity of a part, what became of it: one that stands there many times is one behind, too.
    """
    if depth > _DEEPEST or not isinstance(value, list | tuple | Mapping):
        return value
    if id(value) not in made:
        made[id(value)] = _marked(value, path, depth, made)
    return made[id(value)]


def _marked(value: Mapping[str, object] | Sequence[object], path: str, depth: int, made: dict[int, object]) -> object:
    if not isinstance(value, Mapping):
        return [_with_defaults(item, pointer(path, at), depth + 1, made) for at, item in enumerate(value)]
    match value.get("type"):
        case "json_schema":
            return _schema(value, path)
        case "qwen_xml_parameter":
            return {**_schema(value, path), "type": "json_schema", "style": "qwen_xml"}
    below = ("content", "elements", "tags", "rules")
    return {
        key: _with_defaults(item, pointer(path, key), depth + 1, made) if key in below else item
        for key, item in value.items()
    }


def _schema(value: Mapping[str, object], path: str) -> dict[str, object]:
    """The format of a schema, with the engine's key for the order of members."""
    found = {**_SCHEMA_DEFAULTS, **value}
    any_order = found.pop("any_order", False)
    if not isinstance(any_order, bool):
        reason = f"true or false is expected here, not {shown(any_order)}"
        raise errors.InvalidStructuralTagError(reason, pointer(path, "any_order"))
    return {**found, "order": "loose"} if any_order else found
