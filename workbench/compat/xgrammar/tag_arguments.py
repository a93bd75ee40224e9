"""What callers pass as a structural tag, as the engine takes it, with XGrammar's defaults filled in.

A tag comes as a `StructuralTag`, a dict or JSON text, or in the older form as a list of items with their triggers.
Inside tags XGrammar reads schemas strictly, what a schema does not mention is forbidden, and writes integers as digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels_core.grammar.structural_tag import load_structural_tag
from workbench.compat.tag_formats import with_schemas

from .config import get_max_recursion_depth
from .exception import InvalidStructuralTagError
from .tag_phrases import tag_errors

_SCHEMA_DEFAULTS = {"strict_mode": True, "plain_integers": True, "order": "declared"}


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
        return with_schemas(loaded, lambda form: _SCHEMA_DEFAULTS | form)


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
