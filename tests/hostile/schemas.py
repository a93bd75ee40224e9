"""The hostile requests in JSON: schemas and structural tags.  `cases.py` says what a row is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.hostile.grammars import NESTED, WORK

__all__ = ["SCHEMAS", "TAGS"]


def _tag(element: Any) -> dict[str, Any]:
    return {"type": "structural_tag", "format": element}


def _triggers(content: Any) -> dict[str, Any]:
    begins = [f"<f{i}>" for i in range(10_000)]
    tags = [{"begin": begin, "content": content, "end": "</" + begin[1:]} for begin in begins]
    return _tag({"type": "triggered_tags", "triggers": begins, "tags": tags})


def _text(value: str) -> dict[str, Any]:
    return {"type": "const_string", "value": value}


def _doubled(inner: Any, outer: Callable[[Any], Any], times: int) -> Any:
    for _ in range(times):
        inner = outer(inner)
    return inner


def _circle(kind: type) -> Any:
    """A value of Python's that holds itself."""
    inner: Any = {"type": "object"}
    inner["properties"] = {"a": inner} if kind is dict else inner
    if kind is list:
        items: list[Any] = []
        items.append({"anyOf": items})
        inner = {"anyOf": items}
    return inner


def _refs(count: int, body: Callable[[int], Any], last: Any) -> dict[str, Any]:
    return {"$ref": "#/$defs/d0", "$defs": {f"d{count}": last} | {f"d{i}": body(i) for i in range(count)}}


SCHEMAS: Final = [
    (
        "a schema's pattern",
        lambda: {"type": "string", "pattern": "^" + NESTED + "$"},
        '"',
        "BudgetExceededError|UnsupportedSchemaError .* #, pattern: its conditions on strings take too much work",
    ),
    (
        "pattern properties that meet",
        lambda: {
            "patternProperties": {
                f"^.*{letter}.{{2}}$": {"type": kind}
                for letter, kind in zip(
                    "abcdefgh",
                    ["string", "number", "boolean", "null", "array", "object", "integer", "string"],
                    strict=True,
                )
            }
        },
        '{"a',
        "done|BudgetExceededError",
    ),
    (
        "not one of many strings",
        lambda: {"not": {"enum": [f"x{i * 7919}" for i in range(700)]}},
        '"x',
        "done",
    ),
    (
        "one of two hundred names",
        lambda: {"oneOf": [{"required": [f"p{i}"]} for i in range(200)]},
        '{"p1": 1',
        "done",
    ),
    (
        "one of two hundred pairs of names",
        lambda: {"oneOf": [{"required": [f"p{i}", f"q{i}"]} for i in range(200)]},
        "",
        "BudgetExceededError|UnsupportedSchemaError .* #, oneOf: .* leave too many alternatives",
    ),
    (
        "a hundred thousand items by position",
        lambda: {"properties": {"a": {"prefixItems": [{"type": "integer"}] * 100_000}}},
        "",
        "UnsupportedSchemaError .* #/properties/a, prefixItems: its conditions on items take too many states; use"
        "|BudgetExceededError compiling a JSON schema: more than",  # whichever is met first
    ),
    (
        "more items than a text can hold",
        lambda: {"properties": {"a": {"type": "array", "minItems": 3_000_000_000}}, "required": ["a"]},
        '{"a": [1',
        "UnsupportedSchemaError .* #/properties/a, minItems: minItems must be at most 2,147,483,646",
    ),
    (
        "a bound that nothing reaches",
        lambda: {"maxItems": 3_000_000_000, "maxProperties": 1 << 40},
        "[1,",
        "done",
    ),
    (
        "more members than there are numbers",
        lambda: '{"properties": {"a": {"minProperties": 1e400}}, "required": ["a"]}',
        "",
        "UnsupportedSchemaError .* #/properties/a, minProperties: ",
    ),
    (
        "a number of five million digits",
        lambda: '{"items": {"const": 1e-5000000}}',
        "",
        "UnsupportedSchemaError .* #/items, const: a number has more than 2,000 digits",
    ),
    (
        "a bound of five million digits",
        lambda: '{"items": {"minimum": 1e-5000000}}',
        "",
        "UnsupportedSchemaError .* #/items, minimum: a number has more than 2,000 digits",
    ),
    (
        "a schema that holds itself twice, thirty times",
        lambda: _doubled({"const": 1}, lambda e: {"anyOf": [e, {"items": e}]}, 30),
        "",
        "BudgetExceededError a schema or a tag.* more than 16,777,216 bytes of JSON text",
    ),
    (
        "a schema that holds itself thrice, twelve times",
        lambda: _doubled(
            {"type": "integer"}, lambda e: {"not": {"anyOf": [{"items": e}, {"prefixItems": [e, e]}]}}, 12
        ),
        "",
        "BudgetExceededError a schema or a tag.* more than 16,777,216 bytes of JSON text",
    ),
    (
        "letters of many scripts, often and often",
        lambda: {"type": "string", "pattern": r"^(\p{L}{1,300}\p{Nd}{1,300}){1,300}$"},
        '"ab1',
        "done",
    ),
    (
        "a chain of twenty thousand references",
        lambda: _refs(20_000, lambda i: {"$ref": f"#/$defs/d{i + 1}"}, {"type": "integer"}),
        "",
        "UnsupportedSchemaError .*: schemas are nested too deeply",
    ),
    (
        "references in five thousand circles",
        lambda: _refs(
            5000,
            lambda i: {
                "anyOf": [{"$ref": f"#/$defs/d{(i + 1) % 5000}"}, {"$ref": f"#/$defs/d{i * 7 % 5000}"}, {"const": i}]
            },
            {"type": "null"},
        ),
        "",
        "UnsupportedSchemaError .*: schemas are nested too deeply",
    ),
    (
        "references that double at each of forty steps",
        lambda: _refs(40, lambda i: {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2}, {"type": "integer"}),
        "12",
        "done",
    ),
    (
        "three hundred thousand strings",
        lambda: {"enum": [f"x{i * 7919}" for i in range(300_000)]},
        '"x7919',
        "done",
    ),
    (
        "two to the sixteenth objects",
        lambda: {
            "allOf": [
                {"anyOf": [{"properties": {f"p{i}": {"const": value}}, "required": [f"p{i}"]} for value in (0, 1)]}
                for i in range(16)
            ]
        },
        "",
        "UnsupportedSchemaError .* #, allOf: the schemas that apply here leave too many alternatives",
    ),
    (
        "members that ask for schemas in a circle",
        lambda: {
            "dependentSchemas": {
                f"p{i}": {
                    "required": [f"p{(i * 7 + 1) % 40}"],
                    "properties": {f"p{i * 3 % 40}": {"type": "integer"}},
                }
                for i in range(40)
            }
        },
        "",
        "UnsupportedSchemaError .* #, dependentSchemas: the schemas that apply here leave too many alternatives",
    ),
    (
        "forty pattern properties that meet",
        lambda: {"patternProperties": {f"a{{{i},{i + 9}}}.*b": {"minimum": i} for i in range(40)}},
        "",
        "BudgetExceededError compiling a JSON schema: more than",
    ),
    (
        "exactly one of two hundred patterns",
        lambda: {"oneOf": [{"type": "string", "pattern": f"a{i}.*b"} for i in range(200)]},
        "",
        "UnsupportedSchemaError .* #, oneOf: its conditions on strings take too much work"
        "|BudgetExceededError compiling a JSON schema: more than",
    ),
    (
        "a schema in a circle",
        lambda: _circle(dict),
        "",
        "GrammarSyntaxError JSON, line 1, column 1: this is no JSON: Circular",
    ),
    (
        "a list in a circle",
        lambda: _circle(list),
        "",
        "GrammarSyntaxError JSON, line 1, column 1: this is no JSON: Circular",
    ),
    ("not a number", lambda: {"const": float("nan")}, "", "UnsupportedSchemaError|GrammarError"),
    ("a bound of infinity", lambda: {"minimum": float("inf")}, "", "UnsupportedSchemaError|GrammarError"),
    (
        "schemas, fifty thousand deep",
        lambda: '{"items":' * 50_000 + "{}" + "}" * 50_000,
        "",
        "UnsupportedSchemaError|GrammarError|GrammarSyntaxError",
    ),
    (
        "lists, a million deep",
        lambda: '{"const":' + "[" * 1_000_000 + "]" * 1_000_000 + "}",
        "",
        "UnsupportedSchemaError|GrammarError|GrammarSyntaxError",
    ),
    (
        "not not not, three hundred times",
        lambda: _doubled({"type": "integer", "minimum": 3}, lambda e: {"not": e}, 300),
        "4",
        "done|UnsupportedSchemaError",
    ),
    (
        "different items of a large enum",
        lambda: {"type": "array", "uniqueItems": True, "items": {"enum": [f"x{i * 7919}" for i in range(3_900)]}},
        '["x7919", "x',
        "done|BudgetExceededError|UnsupportedSchemaError",
    ),
    (
        "different items of too large an enum",
        lambda: {"type": "array", "uniqueItems": True, "items": {"enum": list(range(100_000))}},
        "[1, 2",
        "done|BudgetExceededError|UnsupportedSchemaError",
    ),
    (
        "numbers between many remainders",
        lambda: {"allOf": [{"multipleOf": prime} for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)]},
        "",
        "UnsupportedSchemaError|BudgetExceededError",
    ),
    (
        "a bound of two thousand digits and its remainder",
        lambda: {"type": "integer", "minimum": 10**1999, "maximum": 10**2000 - 1, "multipleOf": 997},
        "1",
        "done|UnsupportedSchemaError|BudgetExceededError",
    ),
    (
        "names that are the beginnings of each other",
        lambda: {
            "properties": {"a" * i: {"type": "integer"} for i in range(1, 3000)},
            "required": ["a" * i for i in range(1, 3000, 7)],
            "additionalProperties": {"type": "string"},
        },
        '{"a": 1, "aa',
        "done|BudgetExceededError|UnsupportedSchemaError",
    ),
    (
        "half a surrogate pair as a name",
        lambda: '{"properties": {"\\ud800": {"const": "\\udfff"}}, "required": ["\\ud800"]}',
        "",
        "done|UnsupportedSchemaError|GrammarError",
    ),
    (
        "a name with NUL in it",
        lambda: {"properties": {"\0a\0": {"const": "\0"}}, "required": ["\0a\0"]},
        '{"\\u0000a\\u0000": "\\u0000"',
        "done",
    ),
    (
        "a text that is no JSON, of sixteen megabytes",
        lambda: '{"enum": [' + "1," * 8_000_000,
        "",
        "GrammarSyntaxError|BudgetExceededError|UnsupportedSchemaError|GrammarError",
    ),
    (
        "a pattern of a megabyte",
        lambda: {"type": "string", "pattern": "^(" + "|".join(f"[a-z]{{{i}}}x{i}" for i in range(60_000)) + ")$"},
        '"a',
        "done|BudgetExceededError|UnsupportedSchemaError",
    ),
    (
        "many objects that some array has to contain",
        lambda: {
            "type": "array",
            "allOf": [{"contains": {"properties": {f"p{i}": {"const": i}}, "required": [f"p{i}"]}} for i in range(12)],
        },
        "[",
        "done|BudgetExceededError|UnsupportedSchemaError",
    ),
    (
        "what nobody evaluated, in many branches",
        lambda: {
            "anyOf": [{"properties": {f"p{i}": {"type": "integer"}}} for i in range(60)],
            "unevaluatedProperties": False,
        },
        "{",
        "done|BudgetExceededError|UnsupportedSchemaError",
    ),
]
TAGS: Final = [
    (
        "a tag",
        lambda: _tag({"type": "regex", "pattern": NESTED}),
        "c",
        f"UnsupportedFeatureError #/format/pattern: regex, line 1, column 8: {WORK}",
    ),
    (
        "optional elements of a tag",
        lambda: _tag({"type": "sequence", "elements": [{"type": "optional", "content": _text("a")}] * 100_000}),
        "aa",
        "done",
    ),
    (
        "a tag that holds itself twice, thirty times",
        lambda: _tag(_doubled(_text("a"), lambda e: {"type": "or", "elements": [e, e]}, 30)),
        "",
        "BudgetExceededError a schema or a tag.* more than 16,777,216 bytes of JSON text",
    ),
    (
        "ten thousand triggers of free text",
        lambda: _triggers({"type": "any_text"}),
        "well <f12>x</f12> <f",
        "done|BudgetExceededError",
    ),
    (
        "ten thousand triggers of calls",
        lambda: _triggers({"type": "json_schema", "json_schema": {"type": "object"}}),
        "well <f12>{}</f12> <f",
        "done",
    ),
    (
        "free text of a billion tokens, in a hundred tags",
        lambda: _tag(
            {
                "type": "sequence",
                "elements": [
                    {"type": "tag", "begin": f"<{i}>", "content": {"type": "any_text", "max_tokens": 10**9}, "end": "!"}
                    for i in range(100)
                ],
            }
        ),
        "<0>ab!<1>",
        "done|BudgetExceededError",
    ),
    (
        "tags, a hundred thousand deep",
        lambda: (
            '{"type": "structural_tag", "format": '
            + '{"type": "optional", "content": ' * 100_000
            + '{"type": "any_text"}'
            + "}" * 100_001
        ),
        "",
        "GrammarError|GrammarSyntaxError|BudgetExceededError|UnsupportedFeatureError",
    ),
    (
        "free text without ten thousand words",
        lambda: _tag({"type": "any_text", "excludes": [f"w{i * 7919}" for i in range(10_000)]}),
        "w7",
        "done|BudgetExceededError",
    ),
]
