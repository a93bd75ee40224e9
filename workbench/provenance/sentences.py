"""What a keyword of a schema asks of a value, in the names of the schema: `age` is at most 120 (`maximum`).

Read on: `reasons.py` (which keyword it is).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from visualizers.glyphs import clip
from workbench.languages.layout import lay_out
from workbench.languages.positions import parts_of

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


def sentence(pointer: str, keyword: str, value: object) -> str:
    """What `keyword` with this value asks of what the schema at `pointer` reads; the two of them where there is no
    sentence for the keyword."""
    try:
        text = " ".join(lay_out(value).split())
    except TypeError:
        text = repr(value)
    said = OTHER.get((keyword, value)) if isinstance(value, bool) else None
    if said is None and keyword in SAID:
        if isinstance(value, str) and value.isprintable() and keyword != "const":
            text = value
        elif isinstance(value, list) and value and keyword != "const":
            text = text[1:-1].strip()
        said = SAID[keyword].format(clip(text, MOST))
    if said is None:
        return f"`{keyword}`: {clip(text, MOST)}"
    return f"{_named(parts_of(pointer))} {said} (`{keyword}`)"


def _named(parts: tuple[str, ...]) -> str:
    """What a schema at a pointer is called: by the member it is of."""
    named, items = "", ""
    for before, part in zip(("", *parts), parts, strict=False):
        if before == "properties":
            named, items = f"`{part}`", ""
        elif before == "items" or part == "items":
            items = "an item of "
    return f"{items}{named or 'the value'}"
