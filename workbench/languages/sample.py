"""An example that was given as a schema: a JSON object of which no key is a keyword, and the schema of its shape.

By the standard such an object is a schema that allows every value, which nobody who pastes an example means.

Read on: `warnings.py`, `draft.py` (who offers the schema).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kernels_core.grammar.json_schema.keywords import KEYWORDS, NOTES
from kernels_core.grammar.json_schema.misspelt import is_stray, meant_by
from workbench.languages.draft import Draft, DraftError
from workbench.languages.mistakes import Mistake, mistake_at
from workbench.languages.positions import child
from workbench.languages.source import Source

SHOWN = 3
_HOLDERS = ("schema", "json", "config", "format", "structured_outputs")


def example_given(source: Source) -> Mistake | None:
    """The mistake that `source` is an example and no schema; None where it is a schema, or something else."""
    if source.language != "json_schema":
        return None
    try:
        value = json.loads(source.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    known = [name for name in value if name in KEYWORDS and name not in NOTES and name != "id"]
    own = [name for name in value if name not in KEYWORDS and not name.startswith("x-")]
    if known or not own or any(map(meant_by, own)):
        return None
    names = ", ".join(f"`{name}`" for name in own[:SHOWN]) + (" ..." if len(own) > SHOWN else "")
    cure = "if it is an example, take the schema of its shape"
    if {"openapi", "swagger"} & value.keys():
        cure = "take one of the schemas of this OpenAPI document, in components.schemas"
    elif (held := _schema_in(value, "#", 3)) is not None:
        cure = f"a schema stands at {held}: take that one"
    elif any(is_stray(name, value[name]) for name in own):
        return None  # members without `properties`, which is told of schemas everywhere
    return mistake_at(
        source.text, source.text.index("{"), 0, f"this object is no schema: none of its keys ({names}) is a keyword, "
        "so it allows every JSON value", cure, "#",
    )  # fmt: skip


def _schema_in(value: dict[str, Any], pointer: str, depth: int) -> str | None:
    """Where an object holds a schema under a name that requests have for one."""
    for name, inner in value.items():
        if isinstance(inner, dict) and name.lower().endswith(_HOLDERS) and depth:
            if not name.lower().endswith("format") and {"type", "properties", "$ref", "anyOf"} & inner.keys():
                return child(pointer, name)
            found = _schema_in(inner, child(pointer, name), depth - 1)
            if found is not None:
                return found
    return None


def draft_of_example(source: Source, in_use: Source) -> Draft | None:
    """An example as a draft that offers the schema of its shape; None where `source` is none."""
    found = example_given(source)
    if found is None:
        return None
    text = json.dumps(schema_of(json.loads(source.text)), indent=2, ensure_ascii=False)
    offer = Source("json_schema", text, source.options)
    return Draft(source, (found,), DraftError(found.message), in_use, offer)


def schema_of(value: object) -> dict[str, Any]:
    """The schema of values of the shape of `value`: these members and no others, all required, of the same types."""
    if isinstance(value, Mapping):
        return {
            "type": "object",
            "properties": {name: schema_of(one) for name, one in value.items()},
            "required": list(value),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        kinds: list[dict[str, object]] = []
        for one in map(schema_of, value):
            if one not in kinds:
                kinds.append(one)
        items = {} if not kinds else {"items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}
        return {"type": "array", **items}
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": names[type(value)]}
