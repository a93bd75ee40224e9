"""Which texts the usual schemas take, in each layout."""

import json

import xgrammar as xgr
from pydantic import BaseModel
from xgrammar.testing import _is_grammar_accept_string


class Point(BaseModel):
    """A point, perhaps with a label."""

    x: int
    y: float
    label: str | None = None


TREE = {
    "$defs": {
        "node": {"type": "object", "properties": {"left": {"$ref": "#/$defs/node"}, "value": {"type": "integer"}}}
    },
    "$ref": "#/$defs/node",
}
CASES = [
    (
        Point,
        [
            '{"x": 1, "y": 2.5}',
            '{"x":1,"y":1e3,"label":"p"}',
            '{"y":1,"x":2}',
            '{"x":1.0,"y":1}',
            '{"x":1,"y":2,"z":3}',
        ],
    ),
    ({"type": "integer", "minimum": -3, "maximum": 120}, ["-4", "-3", "0", "-0", "7", "120", "121", "5.0", "05"]),
    ({"type": "number"}, ["1", "1.50", "-0", "1e5", "1E+05", ".5", "1.", "0.0"]),
    (
        {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2},
        ["[]", "[true]", "[true, false]", "[ true ]"],
    ),
    ({"type": "array", "prefixItems": [{"type": "integer"}]}, ["[1]", "[1, 2]"]),
    ({"enum": ["a", 1, None]}, ['"a"', "1", "null", "1.0", '"b"']),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, ["1", '"a"', "true", '"\\u0041\\n"', '"\x01"']),
    ({"type": ["integer", "null"]}, ["1", "null", '"x"']),
    ({}, ["1", '{"a": [{}]}', " 1", "1 "]),
    (TREE, ['{"left": {"value": 1}, "value": 2}', '{"left": {"left": {}}}', '{"value": 2, "left": {}}']),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, ['{"x": 1, "y": 2}', "{}", '{"x": "a"}']),
    (
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        ['{"a": 1}', '{"a": 1, "b": 2}', "{}"],
    ),
]
LAYOUTS = [
    {},
    {"strict_mode": False},
    {"any_whitespace": False},
    {"any_whitespace": False, "indent": 2},
    {"any_whitespace": False, "separators": (",", ":")},
    {"max_whitespace_cnt": 1},
]

RESULT = []
for layout in LAYOUTS:
    style = {"indent": layout.get("indent"), "separators": layout.get("separators")}
    for schema, texts in CASES:
        grammar = xgr.Grammar.from_json_schema(schema, **layout)
        for text in texts:
            try:
                forms = [text, json.dumps(json.loads(text), **style)]
            except ValueError:
                forms = [text]
            if schema in ({}, TREE, {"type": "array", "prefixItems": [{"type": "integer"}]}) and layout.get("indent"):
                continue  # one library indents what a schema leaves open, and what refers to itself, by where it stands
            verdicts = [_is_grammar_accept_string(grammar, form) for form in forms]
            RESULT.append((len(RESULT), text, verdicts))
