"""Whether strict mode only takes members away that a schema does not name.

It closes each schema that names members.  Where that schema is a condition on a value, or stands beside another one of
the same value, a closed one asks for something else: `not` takes more, `if` never holds, two of `allOf` allow nothing.

Read on: `reading.py` (`strict_mode`), `templates/pieces.py` and the server (who close what is called strict).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .keywords import KEYWORDS, NOTES
from .misspelt import MAX_SCHEMAS, schemas_of

# What a schema may say for a value that is closed alone: what the strict mode of OpenAI's servers reads, and bounds.
_ALONE: Final = NOTES | {
    *("type", "enum", "const", "properties", "required", "additionalProperties", "items", "format", "pattern"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_INSTEAD: Final = NOTES | {"$ref", "anyOf", "type"}
_HOLDERS: Final = ("$defs", "definitions")


def can_close(schema: Any) -> bool:
    """Whether closing the objects of `schema` does nothing else, and leaves it values where it has some.

    `False` is always safe: a schema that says more than the strict mode of OpenAI's servers reads is not looked at.
    """
    waiting: list[tuple[str, Any]] = [("#", schema)]
    refers = counts = False
    for pointer, one in schemas_of(waiting):
        if not _is_alone(pointer, one):
            return False
        refers |= "$ref" in one
        if isinstance(one.get("properties"), Mapping):
            counts |= one.get("minProperties", 0) > len({*one.get("required", ())})
    # A member that goes round for ever has no value, and may be what is missing then.
    return len(waiting) <= MAX_SCHEMAS and not (refers and counts)


def _is_alone(pointer: str, schema: Mapping[str, Any]) -> bool:
    words = {word for word in schema if word in KEYWORDS} - {*_HOLDERS}
    if pointer != "#" and not words.isdisjoint(("$id", "id")):  # references are relative to it
        return False
    if "$ref" in words or "anyOf" in words:
        return words <= _INSTEAD and not {"$ref", "anyOf"} <= words and _is_near(schema.get("$ref"))
    if not words <= _ALONE or isinstance(schema.get("items"), list):
        return False
    members, required, least = schema.get("properties"), schema.get("required", []), schema.get("minProperties", 0)
    if not isinstance(members, Mapping):
        return True
    if words & {"enum", "const"} or not isinstance(required, list) or not isinstance(least, int | float):
        return False
    return least <= len(members) and all(isinstance(one, str) and one in members for one in required)


def _is_near(reference: object) -> bool:
    """Whether it leads to a schema that was looked at, too."""
    if not isinstance(reference, str) or reference == "#":
        return True
    return reference.count("/") == 2 and reference.startswith(tuple(f"#/{holder}/" for holder in _HOLDERS))
