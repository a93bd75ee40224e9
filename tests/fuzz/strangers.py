"""Schemas as strangers send them, out of a random generator: valid ones, broken ones, and some that are made to hurt.

The same seed and number give the same request on every machine.  Valid schemas are those of `synthetic_schemas.py`;
a broken one is a valid one with one thing changed; a hostile one asks for much with few bytes.

Read on: `seeds.py`, which makes inputs of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal

from experiments.synthetic_schemas import make_case

__all__ = ["HOSTILE", "Kind", "Request", "broken", "make_request"]

Kind = Literal["valid", "broken", "hostile"]
_SHARES: Final = (("valid", 0.7), ("broken", 0.15), ("hostile", 0.15))
_KEYWORDS: Final = (
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "minimum",
    "maxLength",
    "pattern",
    "$ref",
    "anyOf",
)
_WRONG: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0.5,
    1e300,
    "",
    "objekt",
    [],
    {},
    [[]],
    {"type": "no"},
    "#/$defs/none",
    "((",
)


@dataclass(frozen=True, slots=True)
class Request:
    """A schema as JSON text, and what it is meant to be."""

    kind: Kind
    text: str


def make_request(seed: int, index: int) -> Request:
    """Request `index` of the stream `seed`."""
    random = Random(f"stranger {seed} {index}")
    kind = random.choices([name for name, _ in _SHARES], [share for _, share in _SHARES])[0]
    if kind == "hostile":
        schema = random.choice(HOSTILE)(random)
    else:
        schema = make_case(seed, index)["schema"]
    if kind == "broken":
        return Request("broken", broken(random, schema))
    return Request("valid" if kind == "valid" else "hostile", json.dumps(schema))


def broken(random: Random, schema: object) -> str:
    """The text of `schema` with one thing wrong: a keyword's value, its name, or the JSON itself."""
    text = json.dumps(schema)
    if random.random() < 0.25:
        at = random.randrange(len(text))
        return random.choice((text[:at], text[:at] + text[at + 1 :], text + "}", text[:at] + "\u0000" + text[at:]))
    places = list(_objects(json.loads(text)))
    whole, place = places[0], random.choice(places)
    keyword = random.choice([*place, *_KEYWORDS])
    if keyword in place and random.random() < 0.3:
        place[keyword.swapcase()] = place.pop(keyword)
    else:
        place[keyword] = random.choice(_WRONG)
    return json.dumps(whole)


def _objects(value: object) -> list[dict[str, Any]]:
    """`value` and all objects in it, outermost first."""
    found, pending = [], [value]
    while pending:
        top = pending.pop(0)
        if isinstance(top, dict):
            found.append(top)
            pending += top.values()
        elif isinstance(top, list):
            pending += top
    return found


def _nested(random: Random) -> Any:
    schema: Any = {"const": random.randrange(9)}
    for _ in range(random.randrange(5, 300)):
        schema = random.choice(
            ({"items": schema}, {"properties": {"a": schema}, "required": ["a"]}, {"anyOf": [schema]})
        )
    return schema


def _doubling(random: Random) -> Any:
    schema: Any = {"const": random.randrange(9)}
    for _ in range(random.randrange(5, 13)):
        schema = {random.choice(("anyOf", "oneOf", "allOf")): [schema, {"items": schema}]}
    return schema


def _pattern(random: Random) -> Any:
    inner = random.choice(("(c|ab|\\bd)", "[a-f]", "(a|b|ab)*", ".", "(x+x+)+", "\\p{L}"))
    bounds = [f"{{{low},{low + random.randrange(40)}}}" for low in (random.randrange(9), random.randrange(30))]
    return {
        "type": "string",
        "pattern": f"{random.choice(('', '^'))}({inner}{bounds[0]}){bounds[1]}{random.choice(('', '$'))}",
    }


def _pattern_properties(random: Random) -> Any:
    letters = random.sample("abcdefghij", random.randrange(2, 9))
    kinds = ("string", "number", "boolean", "null", "array", "object", "integer")
    most = random.randrange(5)
    return {"patternProperties": {f"^.*{letter}.{{{most}}}$": {"type": random.choice(kinds)} for letter in letters}}


def _counts(random: Random) -> Any:
    large = random.choice((10**3, 10**6, 3 * 10**9, 10**20))
    return random.choice(
        (
            {"type": "array", "minItems": large},
            {"type": "array", "maxItems": large, "uniqueItems": True},
            {"type": "string", "minLength": large % 10**7, "maxLength": large},
            {"type": "object", "minProperties": large},
            {"type": "integer", "minimum": large, "multipleOf": large // 7 + 1},
            {"type": "number", "multipleOf": 1e-300, "exclusiveMaximum": large},
        )
    )


def _many(random: Random) -> Any:
    count = random.choice((100, 1_000, 5_000))
    return random.choice(
        (
            {"enum": [f"x{number * 7919}" for number in range(count)]},
            {"not": {"enum": [f"x{number * 7919}" for number in range(count)]}},
            {"properties": {f"p{number}": {"type": "integer"} for number in range(count)}},
            {"properties": {f"p{number}": {} for number in range(count)}, "minProperties": count - 1},
            {"prefixItems": [{"const": number} for number in range(count)], "items": False},
            {"oneOf": [{"required": [f"p{number}"]} for number in range(min(count, 200))]},
        )
    )


def _circles(random: Random) -> Any:
    names = [f"d{number}" for number in range(random.randrange(2, 12))]
    return {
        "$ref": "#/$defs/d0",
        "$defs": {
            name: {
                "anyOf": [
                    {"$ref": f"#/$defs/{random.choice(names)}"},
                    {"items": {"$ref": f"#/$defs/{random.choice(names)}"}},
                ]
            }
            for name in names
        },
    }


def _opposites(random: Random) -> Any:
    schema: Any = make_case(random.randrange(1 << 30), 0)["schema"]
    for _ in range(random.randrange(1, 6)):
        schema = random.choice(({"not": schema}, {"if": schema, "then": {"type": "object"}, "else": schema}))
    return schema


HOSTILE: Final[tuple[Callable[[Random], Any], ...]] = (
    _nested,
    _doubling,
    _pattern,
    _pattern_properties,
    _counts,
    _many,
    _circles,
    _opposites,
)
