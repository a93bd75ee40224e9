"""Rows about JSON Schema: what each keyword and option lets through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .row import Row, grammar_row

__all__ = ["ROWS"]


def _row(group: str, feature: str, schema: Any, texts: list[str], **options: Any) -> Row:
    said = "".join(f", {name}={value!r}" for name, value in options.items())
    shown = json.dumps(schema, ensure_ascii=False) + said
    return grammar_row(group, feature, lambda xgr: xgr.Grammar.from_json_schema(schema, **options), shown, texts)


def _object(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), **more}


INTEGER: dict[str, Any] = {"type": "integer"}
A: dict[str, Any] = {"a": INTEGER}
AB: dict[str, Any] = {"a": INTEGER, "b": INTEGER}
ABC: dict[str, Any] = {"a": INTEGER, "b": INTEGER, "c": INTEGER}
MEMBERS = ["{}", '{"a": 1}', '{"b": 1}', '{"a": 1, "b": 1}', '{"b": 1, "a": 1}', '{"a": 1, "a": 1}', '{"z": 1}']


def _types(feature: str, schema: Any, texts: list[str], **options: Any) -> Row:
    return _row("JSON Schema: types", feature, schema, texts, **options)


def _strings(feature: str, schema: Any, texts: list[str]) -> Row:
    return _row("JSON Schema: strings", feature, {"type": "string", **schema}, texts)


def _numbers(feature: str, schema: Any, texts: list[str]) -> Row:
    return _row("JSON Schema: numbers", feature, schema, texts)


def _arrays(feature: str, schema: Any, texts: list[str], **options: Any) -> Row:
    return _row("JSON Schema: arrays", feature, {"type": "array", **schema}, texts, **options)


def _objects(feature: str, schema: Any, texts: list[str], **options: Any) -> Row:
    return _row("JSON Schema: objects", feature, {"type": "object", **schema}, texts, **options)


def _several(feature: str, schema: Any, texts: list[str], **options: Any) -> Row:
    return _row("JSON Schema: combinations", feature, schema, texts, **options)


def _layout(feature: str, schema: Any, texts: list[str], **options: Any) -> Row:
    return _row("JSON Schema: layout", feature, schema, texts, **options)


def _format(name: str, texts: list[str]) -> Row:
    quoted = [f'"{text}"' for text in texts]
    return _row("JSON Schema: formats", name, {"type": "string", "format": name}, quoted)


TYPES = (
    _types("integer", INTEGER, ["0", "-1", "12", "01", "1.0", "1e2", "-0", "+1", '"1"']),
    _types("number", {"type": "number"}, ["0", "-1.5", "1e2", "1E-2", "1.", ".5", "-0", "01", "NaN"]),
    _types("string", {"type": "string"}, ['""', '"a"', '"é"', '"\\n"', '"\\u00e9"', '"\n"', '"\\x"', "a"]),
    _types("boolean", {"type": "boolean"}, ["true", "false", "True", "1", '"true"']),
    _types("null", {"type": "null"}, ["null", "None", '""']),
    _types("array", {"type": "array"}, ["[]", "[1, []]", '[{"a": 1}]', "[1,]", "{}"]),
    _types("object", {"type": "object"}, ["{}", '{"a": 1}', '{"a": {"b": []}}', "[]", "{a: 1}"]),
    _types("list of types", {"type": ["integer", "null"]}, ["1", "null", "1.5", '"a"']),
    _types("empty list of types", {"type": []}, ["1", "null"]),
    _types("unknown type", {"type": "thing"}, ["1"]),
    _types("true", True, ["1", "{}", '"a"', "[null]"]),
    _types("false", False, ["1"]),
    _types("empty schema", {}, ["1", "{}", '"a"', ""]),
    _types("blanks around the whole", {}, [" 1", "1 ", "\n{}"]),
    _types("const", {"const": "a"}, ['"a"', '"b"', '"\\u0061"']),
    _types("const object", {"const": {"a": [1, 2]}}, ['{"a": [1, 2]}', '{"a":[1,2]}', '{ "a": [1, 2] }']),
    _types("const null", {"const": None}, ["null", "0"]),
    _types("const number", {"const": 1.0}, ["1", "1.0"]),
    _types("enum", {"enum": ["a", 1, None, True]}, ['"a"', "1", "null", "true", "false"]),
    _types("enum beside type", {"type": "string", "enum": ["a", 1]}, ['"a"', "1"]),
    _types("enum beside bounds", {"enum": [1, 5, 9], "minimum": 4}, ["1", "5", "9"]),
    _types("keywords of annotation", {"type": "integer", "title": "t", "default": 1, "examples": [2]}, ["1", "3"]),
    _types("unknown keyword", {"type": "integer", "x-mine": 1}, ["1"]),
)

STRINGS = (
    _strings("minLength", {"minLength": 2}, ['"a"', '"ab"', '"abc"', '"éé"']),
    _strings("maxLength", {"maxLength": 1}, ['""', '"a"', '"é"', '"ab"']),
    _strings("lengths and escapes", {"minLength": 1, "maxLength": 1}, ['"\\n"', '"\\""', '"\\u00e9"']),
    _strings("lengths and control characters", {"minLength": 1}, ['"\n"', '"\t"']),
    _strings("minLength above maxLength", {"minLength": 2, "maxLength": 1}, ['"ab"']),
    _strings("pattern with anchors", {"pattern": "^[a-c]+$"}, ['"abc"', '""', '"abd"']),
    _strings("pattern without anchors", {"pattern": "b"}, ['"b"', '"abc"', '"ac"']),
    _strings("pattern and length", {"pattern": "^a*$", "maxLength": 2}, ['"a"', '"aa"', '"aaa"']),
    _strings("pattern with a quote", {"pattern": '^a"b$'}, ['"a\\"b"', '"a"b"']),
    _strings("pattern beyond ASCII", {"pattern": "^é.$"}, ['"éx"', '"é"', '"é\n"', '"é\\n"']),
    _strings("pattern with look-ahead", {"pattern": "^(?=a).b$"}, ['"ab"', '"cb"']),
    _strings("pattern with word boundary", {"pattern": "^a\\b"}, ['"a"', '"a b"', '"ab"']),
    _strings("pattern that is malformed", {"pattern": "("}, ['"a"']),
    _strings("pattern with a class of escapes", {"pattern": "^\\d\\w\\s$"}, ['"1a "', '"a1 "', '"1_\\t"']),
    _strings("pattern and format", {"pattern": "^1", "format": "date"}, ['"1999-01-01"', '"2000-01-01"', '"1"']),
    _strings("unknown format", {"format": "thing"}, ['"a"']),
    _strings("contentEncoding", {"contentEncoding": "base64"}, ['"a"', '"YQ=="']),
    _row("JSON Schema: strings", "lengths without a type", {"minLength": 2}, ['"a"', '"ab"', "1"]),
    _row("JSON Schema: strings", "pattern without a type", {"pattern": "^a$"}, ['"a"', '"b"', "1"]),
)

FORMATS = (
    _format("date", ["2024-02-29", "2023-02-29", "2024-02-31", "2024-1-1"]),
    _format("time", ["10:20:30Z", "10:20:30.5+01:00", "25:00:00Z", "23:59:60Z", "10:20:30"]),
    _format("date-time", ["2024-01-01T10:20:30Z", "2024-01-01t10:20:30z", "2024-01-01 10:20:30Z"]),
    _format("duration", ["P1D", "PT1H", "P1Y2M3DT4H5M6S", "P", "P1W", "P1W2D"]),
    _format("email", ["a@b.co", "a.b+c@d.example", "a@b.c", "a@b", "@b.co"]),
    _format("ipv4", ["127.0.0.1", "256.0.0.1", "1.2.3", "01.2.3.4"]),
    _format("ipv6", ["::1", "2001:db8::1", "1:2:3:4:5:6:7:8", ":::", "12345::"]),
    _format("hostname", ["a.b", "a-b.example", "-a.b", "a--b.c", "a_b"]),
    _format("uuid", ["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"]),
    _format("uri", ["http://a.b/c?d#e", "mailto:a@b.co", "a/b", "http://a b"]),
    _format("uri-reference", ["a/b", "#c", "http://a.b", "a b"]),
    _format("uri-template", ["http://a/{b}", "a", "{"]),
    _format("json-pointer", ["/a/b", "", "a", "/~0~1", "/~2"]),
    _format("relative-json-pointer", ["0", "1/a", "0#", "/a", "-1"]),
    _format("idn-email", ["é@b.co", "a"]),
    _format("regex", ["a+", "("]),
)

NUMBERS = (
    _numbers("minimum of integers", {**INTEGER, "minimum": 5}, ["4", "5", "50", "-6", "05"]),
    _numbers("maximum of integers", {**INTEGER, "maximum": 5}, ["5", "6", "-600", "-0"]),
    _numbers("both bounds of integers", {**INTEGER, "minimum": -2, "maximum": 12}, ["-3", "-2", "0", "12", "13"]),
    _numbers("exclusive bounds of integers", {**INTEGER, "exclusiveMinimum": 1, "exclusiveMaximum": 3}, list("123")),
    _numbers("a bound of integers that is none", {**INTEGER, "minimum": 0.5}, ["0", "1"]),
    _numbers("a bound of integers written as a float", {**INTEGER, "minimum": 1.0}, ["0", "1"]),
    _numbers("a bound beyond 64 bits", {**INTEGER, "minimum": 2**70}, [str(2**70), str(2**70 - 1)]),
    _numbers("bounds that leave nothing", {**INTEGER, "minimum": 3, "maximum": 2}, ["2", "3"]),
    _numbers("integers without bounds", INTEGER, ["123456789012345678901234567890"]),
    _numbers("minimum of numbers", {"type": "number", "minimum": 1.5}, ["1.4", "1.5", "2", "1e3"]),
    _numbers("maximum of numbers", {"type": "number", "maximum": 1.5}, ["1.5", "1.6", "-7", "0.1234567"]),
    _numbers("numbers between", {"type": "number", "minimum": 0, "maximum": 1}, ["0", "0.5", "1", "1.0", "1.1", "-0"]),
    _numbers(
        "exclusive bounds of numbers", {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, ["0", "0.0", "0.1"]
    ),
    _numbers("exclusiveMinimum as a boolean", {**INTEGER, "minimum": 1, "exclusiveMinimum": True}, ["1", "2"]),
    _numbers("multipleOf of integers", {**INTEGER, "multipleOf": 7}, ["0", "7", "8", "-14"]),
    _numbers(
        "multipleOf between bounds", {**INTEGER, "multipleOf": 5, "minimum": 3, "maximum": 12}, ["0", "5", "7", "10"]
    ),
    _numbers("multipleOf with one bound", {**INTEGER, "multipleOf": 5, "minimum": 3}, ["0", "5", "7"]),
    _numbers("multipleOf of numbers", {"type": "number", "multipleOf": 0.5}, ["1", "1.5", "1.25"]),
    _numbers("multipleOf that is large", {**INTEGER, "multipleOf": 1000003}, ["0", "7"]),
    _numbers("multipleOf zero", {**INTEGER, "multipleOf": 0}, ["0"]),
    _numbers("bounds without a type", {"minimum": 5}, ["4", "5", '"a"']),
)

ARRAYS = (
    _arrays("items", {"items": INTEGER}, ["[]", "[1]", "[1, 2]", '["a"]']),
    _arrays("minItems", {"items": INTEGER, "minItems": 1}, ["[]", "[1]", "[1, 2]"]),
    _arrays("maxItems", {"items": INTEGER, "maxItems": 1}, ["[]", "[1]", "[1, 2]"]),
    _arrays("minItems alone", {"minItems": 1}, ["[]", "[1]"]),
    _arrays("maxItems alone", {"maxItems": 1}, ["[]", "[1]", "[1, 2]"]),
    _arrays("minItems above maxItems", {"items": INTEGER, "minItems": 2, "maxItems": 1}, ["[1]", "[1, 2]"]),
    _arrays("prefixItems", {"prefixItems": [INTEGER, {"type": "string"}]}, ["[]", "[1]", '[1, "a"]', '[1, "a", 2]']),
    _arrays(
        "prefixItems and items",
        {"prefixItems": [INTEGER], "items": {"type": "string"}},
        ["[]", "[1]", '[1, "a"]', "[1, 2]", '["a"]'],
    ),
    _arrays("prefixItems and items false", {"prefixItems": [INTEGER], "items": False}, ["[]", "[1]", "[1, 2]"]),
    _arrays("prefixItems that is empty", {"prefixItems": []}, ["[]", "[1]"]),
    _arrays("prefixItems with true", {"prefixItems": [True]}, ["[1]", "[]"]),
    _arrays("prefixItems and minItems", {"prefixItems": [INTEGER, INTEGER], "minItems": 2}, ["[1]", "[1, 2]"]),
    _arrays("items as a list", {"items": [INTEGER]}, ["[1]", "[]"]),
    _arrays("items false", {"items": False}, ["[]", "[1]"]),
    _arrays("uniqueItems", {"items": {"enum": [1, 2]}, "uniqueItems": True}, ["[1, 2]", "[1, 1]"]),
    _arrays("contains", {"items": {"enum": [1, 2]}, "contains": {"const": 2}}, ["[1]", "[1, 2]"]),
    _arrays(
        "minContains", {"items": {"enum": [1, 2]}, "contains": {"const": 2}, "minContains": 2}, ["[1, 1]", "[2, 2]"]
    ),
    _arrays("unevaluatedItems", {"prefixItems": [INTEGER], "unevaluatedItems": False}, ["[1]", "[1, 2]"]),
    _arrays("not strict", {"prefixItems": [INTEGER]}, ["[1]", "[1, 2]"], strict_mode=False),
    _row("JSON Schema: arrays", "items without a type", {"items": INTEGER}, ["[1]", '["a"]', "1"]),
)

OBJECTS = (
    _objects("properties", {"properties": AB}, MEMBERS),
    _objects("required", {"properties": AB, "required": ["b"]}, MEMBERS),
    _objects("all required", {"properties": AB, "required": ["a", "b"]}, MEMBERS),
    _objects("required of what is not declared", {"properties": A, "required": ["z"]}, MEMBERS),
    _objects("required alone", {"required": ["z"]}, ["{}", '{"z": 1}', '{"y": 1, "z": 1}']),
    _objects("additionalProperties false", {"properties": A, "additionalProperties": False}, MEMBERS),
    _objects("additionalProperties true", {"properties": A, "additionalProperties": True}, MEMBERS),
    _objects(
        "additionalProperties of a schema",
        {"properties": A, "additionalProperties": {"type": "string"}},
        ["{}", '{"a": 1}', '{"a": 1, "z": "b"}', '{"z": 1}', '{"a": "b"}'],
    ),
    _objects(
        "a declared name as an additional one",
        {"properties": A, "additionalProperties": {"type": "string"}},
        ['{"a": "b"}', '{"\\u0061": "b"}'],
    ),
    _objects(
        "additional names twice", {"additionalProperties": INTEGER}, ['{"y": 1}', '{"y": 1, "y": 1}', '{"y": "a"}']
    ),
    _objects("patternProperties", {"patternProperties": {"^x": INTEGER}}, ['{"x": 1}', '{"xa": 1}', '{"y": 1}']),
    _objects(
        "patternProperties and properties",
        {"properties": A, "patternProperties": {"^x": INTEGER}},
        ['{"a": 1}', '{"a": 1, "x": 1}', '{"x": "b"}'],
    ),
    _objects("propertyNames", {"propertyNames": {"pattern": "^[a-b]+$"}}, ['{"ab": 1}', '{"c": 1}', "{}"]),
    _objects("propertyNames and length", {"propertyNames": {"maxLength": 1}}, ['{"a": 1}', '{"ab": 1}']),
    _objects("minProperties", {"properties": AB, "minProperties": 1}, MEMBERS),
    _objects("maxProperties", {"properties": AB, "maxProperties": 1}, MEMBERS),
    _objects("minProperties alone", {"minProperties": 1}, ["{}", '{"z": 1}']),
    _objects("minProperties above maxProperties", {"minProperties": 2, "maxProperties": 1}, ["{}"]),
    _objects("property that is false", {"properties": {"a": False, "b": INTEGER}}, ["{}", '{"b": 1}']),
    _objects("property that is true", {"properties": {"a": True}}, ["{}", '{"a": [1]}']),
    _objects("dependentRequired", {"properties": AB, "dependentRequired": {"a": ["b"]}}, MEMBERS[:4]),
    _objects("dependentSchemas", {"properties": AB, "dependentSchemas": {"a": {"required": ["b"]}}}, MEMBERS[:4]),
    _objects("unevaluatedProperties", {"properties": A, "unevaluatedProperties": False}, MEMBERS),
    _objects("names with escapes", {"properties": {'a"b': INTEGER, "é": INTEGER}}, ['{"a\\"b": 1}', '{"é": 1}']),
    _objects("names with another spelling", {"properties": A}, ['{"a": 1}', '{"\\u0061": 1}']),
    _objects("not strict", {"properties": A}, MEMBERS, strict_mode=False),
    _objects("in any order", {"properties": AB}, MEMBERS, any_order=True),
    _objects("in any order, required", {"properties": AB, "required": ["a", "b"]}, MEMBERS, any_order=True),
    _objects("in any order, one required", {"properties": AB, "required": ["b"]}, MEMBERS, any_order=True),
    _objects(
        "in any order, others",
        {"properties": A, "required": ["a"], "additionalProperties": True},
        MEMBERS,
        any_order=True,
    ),
    _row("JSON Schema: objects", "properties without a type", {"properties": A}, ['{"a": 1}', "1", '{"a": "b"}']),
)

COMBINATIONS = (
    _several("anyOf", {"anyOf": [INTEGER, {"type": "string"}]}, ["1", '"a"', "null"]),
    _several("anyOf that is empty", {"anyOf": []}, ["1", ""]),
    _several(
        "anyOf beside other keywords", {**INTEGER, "anyOf": [{"minimum": 5}, {"maximum": 1}]}, ["0", "3", "6", '"a"']
    ),
    _several("anyOf of required", {**_object(AB), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, MEMBERS),
    _several("oneOf of distinct types", {"oneOf": [INTEGER, {"type": "string"}]}, ["1", '"a"', "null"]),
    _several("oneOf that overlaps", {"oneOf": [INTEGER, {"const": 3}]}, ["3", "4"]),
    _several("oneOf without instances", {"oneOf": [{"const": 1}, {"const": 1}]}, ["1"]),
    _several("allOf of one", {"allOf": [INTEGER]}, ["1", '"a"']),
    _several("allOf of two", {"allOf": [{**INTEGER, "minimum": 2}, {"maximum": 4}]}, ["1", "3", "5", '"a"']),
    _several("allOf of objects", {"allOf": [_object(A, required=["a"]), _object({"b": INTEGER})]}, MEMBERS),
    _several("not", {**INTEGER, "not": {"const": 3}}, ["3", "4"]),
    _several("not of a type", {"not": {"type": "string"}}, ["1", '"a"']),
    _several("if and then", {**INTEGER, "if": {"minimum": 5}, "then": {"const": 7}}, ["1", "5", "7"]),
    _several(
        "if, then and else",
        {**INTEGER, "if": {"minimum": 5}, "then": {"const": 7}, "else": {"const": 1}},
        ["1", "2", "7"],
    ),
    _several("$ref to definitions", {"$defs": {"n": INTEGER}, "$ref": "#/$defs/n"}, ["1", '"a"']),
    _several("$ref to the older definitions", {"definitions": {"n": INTEGER}, "$ref": "#/definitions/n"}, ["1", '"a"']),
    _several(
        "$ref that recurs",
        {"$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}, "$ref": "#/$defs/l"},
        ["[]", "[[]]", "[[[]], []]", "[1]"],
    ),
    _several("$ref to the whole", _object({"n": {"$ref": "#"}}), ["{}", '{"n": {}}', '{"n": {"n": {}}}', '{"n": 1}']),
    _several("$ref beside other keywords", {"$defs": {"n": INTEGER}, "$ref": "#/$defs/n", "minimum": 5}, ["4", "5"]),
    _several("$ref with ~1", {"$defs": {"a/b": INTEGER}, "$ref": "#/$defs/a~1b"}, ["1", '"a"']),
    _several("$ref to an anchor", {"$defs": {"n": {"$anchor": "x", **INTEGER}}, "$ref": "#x"}, ["1", '"a"']),
    _several("$ref to nothing", {"$ref": "#/$defs/none"}, ["1"]),
    _several("$ref to itself", {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, ["1", ""]),
    _several("$ref to another document", {"$ref": "https://example.org/x.json"}, ["1"]),
)

LAYOUT = (
    _layout("any white space", _object(A), ['{"a":1}', '{ "a" : 1 }', '{\n\t"a": 1\n}', '{"a"  :  1}']),
    _layout("no free white space", _object(A), ['{"a": 1}', '{"a":1}', '{ "a": 1}'], any_whitespace=False),
    _layout(
        "separators", _object(AB), ['{"a":1,"b":1}', '{"a": 1, "b": 1}'], any_whitespace=False, separators=(",", ":")
    ),
    _layout(
        "indent", _object(AB), ['{\n  "a": 1,\n  "b": 1\n}', '{"a": 1}', "{}", "{\n}"], any_whitespace=False, indent=2
    ),
    _layout(
        "indent inside arrays",
        {"type": "array", "items": _object(A)},
        ["[]", '[\n  {\n    "a": 1\n  }\n]', '[{"a": 1}]'],
        any_whitespace=False,
        indent=2,
    ),
    _layout("at most so many blanks", _object(A), ['{ "a": 1}', '{  "a": 1}', '{   "a": 1}'], max_whitespace_cnt=2),
    _layout(
        "indent and values that are open",
        {"type": "object"},
        ['{\n  "a": 1\n}', '{"a": 1}'],
        any_whitespace=False,
        indent=2,
    ),
    _layout(
        "constants and separators", {"const": [1, 2]}, ["[1,2]", "[1, 2]"], any_whitespace=False, separators=(",", ":")
    ),
)

ROWS = (*TYPES, *STRINGS, *FORMATS, *NUMBERS, *ARRAYS, *OBJECTS, *COMBINATIONS, *LAYOUT)
