"""JSON Schemas, instances and tools out of a random generator: what the benchmarks run on where there is no data.

The same seed and number give the same case on every machine, in the form that data files have (`datasets.py`).  Shapes
are those of tool parameters and configuration files: closed objects with required and optional properties, arrays,
enumerations, bounded strings and integers, alternatives, now and then a recursive definition.  Instances are right by
construction; a wrong one is a right one with one thing broken that the schema rules out.  They measure; they prove
nothing about JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

from workbench.json_values import Json

TOOLS: Final = 600
Schema: TypeAlias = dict[str, Any]
"""A JSON Schema that is being made."""
Record: TypeAlias = dict[str, Any]
"""A line of a file of data."""
MAX_DEPTH: Final = 4
VALID_INSTANCES: Final = 2

_NOUNS: Final = """
    account address amount artist budget category channel city color comment count country currency customer date
    delay device distance duration email event filter folder format group height image index invoice item key
    language level limit link location mode month name note number offset order owner page path period phone photo
    price priority product project quality quantity query range rate reason region report result role room route
    score section size sort source speed stage start state status street style subject summary table tag target team
    text theme ticket time title topic total type unit user value version volume week weight width year zone
"""
_VERBS: Final = "add book cancel check convert create delete fetch find get list move open plan read send set sort"
_WORDS: Final = """
    the quick river under green northern lights keeps seven small boats near an old harbour while children count
    slow waves and write names on warm stones before evening rain returns over quiet hills
"""
NOUNS, VERBS, WORDS = (tuple(text.split()) for text in (_NOUNS, _VERBS, _WORDS))


def make_case(seed: int, index: int) -> Record:
    """Case `index` of the collection `seed`: `schema`, and `tests`, each with `data` and whether that is `valid`."""
    random = Random(f"case {seed} {index}")
    schema = _object(random, 0)
    if random.random() < 0.15:
        schema = _recursive(random, schema)
    return _case(random, schema, VALID_INSTANCES)


def make_tool(seed: int, index: int) -> Record:
    """Tool `index` of the collection `seed`: `name` (names differ), `parameters`, and the `arguments` of one call."""
    random = Random(f"tool {seed} {index}")
    name = f"{random.choice(VERBS)}_{random.choice(NOUNS)}_{index}"
    parameters = _object(random, 2)
    return {"name": name, "parameters": parameters, "arguments": _value(random, parameters, parameters, 0)}


def make_wide(seed: int, properties: int) -> Record:
    """One object of so many properties (at most one a noun), nested and with enumerations, most of them required."""
    random = Random(f"wide {seed} {properties}")
    named = {name: _schema(random, 2) for name in random.sample(NOUNS, properties)}
    required = [name for name in named if random.random() < 0.8]
    schema = {"type": "object", "properties": named, "required": required, "additionalProperties": False}
    return _case(random, schema, 1)


def _case(random: Random, schema: Schema, right: int) -> Record:
    """With so many valid instances, and one that is not."""
    values = [_value(random, schema, schema, 0) for _ in range(right)]
    tests = [{"data": value, "valid": True} for value in values]
    return {"schema": schema, "tests": [*tests, {"data": _broken(random, schema, values[0]), "valid": False}]}


# -- schemas ----------------------------------------------------------------------------------------------------------


def _object(random: Random, depth: int) -> Schema:
    names = random.sample(NOUNS, random.randint(1, 8))
    properties = {name: _schema(random, depth + 1) for name in names}
    required = [name for name in names if random.random() < 0.6]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def _schema(random: Random, depth: int) -> Schema:
    kinds = [*LEAVES] * 2 if depth >= MAX_DEPTH else [*LEAVES, _object, _array, _alternatives]
    made: Schema = random.choice(kinds)(random, depth)
    return made


def _array(random: Random, depth: int) -> Schema:
    bounds = {} if random.random() < 0.5 else {"minItems": random.randint(0, 2), "maxItems": random.randint(3, 20)}
    return {"type": "array", "items": _schema(random, depth + 1)} | bounds


def _alternatives(random: Random, depth: int) -> Schema:
    return {"anyOf": [_schema(random, depth + 1), {"type": "null"}]}


def _string(random: Random, depth: int) -> Schema:
    if random.random() < 0.6:
        return {"type": "string"}
    return {"type": "string", "minLength": random.randint(0, 3), "maxLength": random.choice((20, 50, 255))}


def _integer(random: Random, depth: int) -> Schema:
    if random.random() < 0.6:
        return {"type": "integer"}
    return {"type": "integer", "minimum": 0, "maximum": random.choice((10, 100, 65535))}


LEAVES: Final[tuple[Callable[[Random, int], Schema], ...]] = (
    _string,
    _integer,
    lambda random, depth: {"type": "number"},
    lambda random, depth: {"type": "boolean"},
    lambda random, depth: {"enum": random.sample(WORDS, random.randint(2, 8))},
)


def _recursive(random: Random, schema: Schema) -> Schema:
    """A tree whose nodes look like `schema`."""
    node = schema | {
        "properties": schema["properties"] | {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}
    }
    return {"$defs": {"node": node}, "$ref": "#/$defs/node"}


# -- values -----------------------------------------------------------------------------------------------------------


def _value(random: Random, schema: Schema, root: Schema, depth: int) -> Any:
    if "$ref" in schema:
        return _value(random, root["$defs"]["node"], root, depth + 1)
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "anyOf" in schema:
        return _value(random, random.choice(schema["anyOf"]), root, depth)
    kind = schema["type"]
    if kind == "object":
        required = schema.get("required", ())
        names = [name for name in schema["properties"] if name in required or random.random() < 0.5]
        return {name: _value(random, schema["properties"][name], root, depth + 1) for name in names}
    if kind == "array":
        most = 0 if depth > 6 else min(4, schema.get("maxItems", 4))
        count = random.randint(min(most, 1), most) if most else 0
        count = max(count, schema.get("minItems", 0))
        return [_value(random, schema["items"], root, depth + 1) for _ in range(count)]
    if kind == "string":
        return _text(random, schema.get("minLength", 0), schema.get("maxLength", 80))
    if kind == "integer":
        return random.randint(schema.get("minimum", -1000), schema.get("maximum", 100_000))
    if kind == "number":
        return random.choice((random.randint(-50, 50), round(random.uniform(-1000, 1000), 3)))
    return random.random() < 0.5 if kind == "boolean" else None


def _text(random: Random, least: int, most: int) -> str:
    text = " ".join(random.choices(WORDS, k=random.randint(1, 10)))[:most].rstrip()
    return text + "x" * (least - len(text))


def _broken(random: Random, schema: Schema, value: Schema) -> Json:
    """`value` with a required property missing, an unknown one added, or not an object at all."""
    shape = schema["$defs"]["node"] if "$ref" in schema else schema
    ways: list[Callable[[], Json]] = [lambda: value | {"unheard_of": 1}, lambda: [value]]
    if required := shape.get("required"):
        gone = random.choice(required)
        ways.append(lambda: {name: inner for name, inner in value.items() if name != gone})
    return random.choice(ways)()
