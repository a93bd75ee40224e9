"""What a keyword of a schema asks of a value, in the names of the schema: `age` is at most 120 (`maximum`).

Read on: `places.py`, `reasons.py` (which keyword it is).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from visualizers.glyphs import clip
from workbench.languages import Source
from workbench.languages.positions import JsonSyntaxError, parts_of, value_at
from workbench.provenance.places import SourcePlace

MOST: Final = 60
SAID: Final[Mapping[str, str]] = {
    "maximum": "is at most {}",
    "minimum": "is at least {}",
    "exclusiveMaximum": "is less than {}",
    "exclusiveMinimum": "is more than {}",
    "multipleOf": "is a multiple of {}",
    "maxLength": "has at most {} characters",
    "minLength": "has at least {} characters",
    "pattern": "matches {}",
    "format": "has the format {}",
    "enum": "is one of {}",
    "const": "is {}",
    "type": "is of the type {}",
    "maxItems": "has at most {} items",
    "minItems": "has at least {} items",
    "maxProperties": "has at most {} members",
    "minProperties": "has at least {} members",
    "required": "needs the members {}",
}
OTHER: Final = {
    ("additionalProperties", False): "takes no member that is not named",
    ("unevaluatedProperties", False): "takes no member that is not named",
    ("uniqueItems", True): "has no item twice",
}


def sentence(source: Source, place: SourcePlace) -> str:
    """What forbids something at `place`, in a sentence; its label where there is none for the keyword.

    What is left out together with the keyword (`place.label` says so) stays behind it.
    """
    if not place.keyword or place.pointer is None or not source.is_json:
        return place.label
    parts = parts_of(place.pointer)
    try:
        value = value_at(source.value, place.pointer)
    except (JsonSyntaxError, KeyError, IndexError, ValueError, TypeError):
        return place.label
    if not parts or parts[-1] != place.keyword:
        return place.label
    said = OTHER.get((place.keyword, value)) if isinstance(value, bool) else None
    if said is None and place.keyword in SAID:
        said = SAID[place.keyword].format(_shown(value))
    if said is None:
        return place.label
    together = place.label.partition(" (together with")
    return f"{_named(parts[:-1])} {said} (`{place.keyword}`){together[1] + together[2]}"


def _named(parts: tuple[str, ...]) -> str:
    """What a schema at a pointer is called: by the member it is of."""
    named, items = "", ""
    for before, part in zip(("", *parts), parts, strict=False):
        if before == "properties":
            named, items = f"`{part}`", ""
        elif before == "items" or part == "items":
            items = "an item of "
    return f"{items}{named or 'the value'}"


def _shown(value: object) -> str:
    if isinstance(value, list) and value:
        text = ", ".join(json.dumps(one, ensure_ascii=False, default=str) for one in value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clip(text, MOST)
