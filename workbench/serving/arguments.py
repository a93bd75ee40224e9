"""Arguments that a model wrote as elements, `<parameter=city>Oslo</parameter>`, back to a JSON object.

Where the markers of a style do not tell a text from a number, the schema of the argument decides: of the readings
that it allows, a value of JSON comes first, then the text without the line feeds that may be layout, then the text as
it is.
Read on: `kernels_core/grammar/structural_tag/styles.py` (the markers), `calls.py`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kernels_core.grammar.structural_tag.styles import STYLES, Style
from workbench.languages.positions import parts_of

__all__ = ["read_arguments"]

_BLANKS: Final = " \t\n\r"
_PYTHON: Final[Mapping[str, Any]] = {
    "string": str,
    "number": (int, float),
    "null": type(None),
    "array": list,
    "object": dict,
}
DEPTH: Final = 8  # references and alternatives inside each other


def read_arguments(text: str, style: str, schema: Any, ends: tuple[str, ...], last: bool) -> tuple[str, int] | None:
    """The arguments as JSON text, and the offset of the end behind them; None where the end is not there yet.

    `last`: no more text comes; elements that are whole count then.
    """
    layout = STYLES[style]
    found: dict[str, str] = {}
    at = 0
    while True:
        at = _skip(text, at)
        if text.startswith(layout.front, at):
            element = _element(text, at + len(layout.front), layout)
            if element is not None:
                name, kinds, value, at = element
                found[name] = _value(value, kinds, name, schema, layout)
                continue
        elif any(text.startswith(end.lstrip(_BLANKS), at) for end in ends):
            return _object(found), at
        return (_object(found), len(text)) if last and found else None


def _object(found: Mapping[str, str]) -> str:
    """Of names and JSON texts, which stay as they were written: a number may have more digits than Python's."""
    return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {text}" for name, text in found.items()) + "}"


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _element(text: str, at: int, layout: Style) -> tuple[str, frozenset[str], str, int] | None:
    """Name, JSON types that its markers allow, text of the value, and the offset behind; None if it is not whole."""
    middles: dict[tuple[str, ...], set[str]] = {}
    for kind, middle in layout.middles.items():
        middles.setdefault(middle, set()).add(kind)
    if layout.integer:
        middles.setdefault((layout.integer,), set()).add("number")
    best: tuple[int, int, tuple[str, ...]] | None = None
    for middle in middles:
        place = text.find(middle[0], at)
        if place >= 0 and (best is None or (place, -len(middle[0])) < best[:2]):
            best = (place, -len(middle[0]), middle)
    if best is None:
        return None
    place, _, middle = best
    name = html.unescape(text[at:place]) if layout.entities else text[at:place]
    at = place + len(middle[0])
    for part in middle[1:]:
        at = _skip(text, at)
        if not text.startswith(part, at):
            return None
        at += len(part)
    end = text.find(layout.back[0], at)
    if end < 0:
        return None
    return name, frozenset(middles[middle]), text[at:end], end + len(layout.back[0])


def _value(text: str, kinds: frozenset[str], name: str, schema: Any, layout: Style) -> str:
    """The reading that the schema allows, or the likeliest where it allows none, as JSON text."""
    readings = list(_readings(text, kinds, layout))
    allowed = _resolved(_property(schema, name), schema)
    return next((written for value, written in readings if _fits(value, allowed, schema, DEPTH)), readings[0][1])


def _readings(text: str, kinds: frozenset[str], layout: Style) -> Iterator[tuple[Any, str]]:
    """Values, and how they are written in JSON."""
    if kinds != {"string"}:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = ""
        # A text that has quotes is a text with quotes, unless the markers say that it is JSON.
        if not isinstance(value, str) or "string" not in kinds:
            yield value, text.strip(_BLANKS)
    for string in dict.fromkeys([text.removeprefix("\n").removesuffix("\n"), text] if layout.lines else [text]):
        yield string, json.dumps(string, ensure_ascii=False)


def _property(schema: Any, name: str) -> Any:
    """The schema of a declared argument, or of others; True where nothing is said."""
    schema = _resolved(schema, schema)
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and name in properties:
        return properties[name]
    return schema.get("additionalProperties", True)


def _resolved(schema: Any, root: Any) -> Any:
    """What a reference inside the document names; as it is where that is not there."""
    for _ in range(DEPTH):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            break
        found = root
        for part in parts_of(schema["$ref"]):
            found = found.get(part) if isinstance(found, Mapping) else None
        schema = found if found is not None else True
    return schema


def _fits(value: Any, schema: Any, root: Any, depth: int) -> bool:
    """Whether types, enumerations and alternatives of `schema` allow `value`; the rest is the grammar's affair."""
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping) or depth == 0:
        return schema is not False
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        return False
    if "const" in schema and not _same(value, schema["const"]):
        return False
    types = schema.get("type")
    if types is not None and not any(_is(value, kind) for kind in ([types] if isinstance(types, str) else types)):
        return False
    for key in ("anyOf", "oneOf"):
        if key in schema and not any(_fits(value, one, root, depth - 1) for one in schema[key]):
            return False
    return all(_fits(value, one, root, depth - 1) for one in schema.get("allOf", ()))


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _PYTHON.get(kind, ()))


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
