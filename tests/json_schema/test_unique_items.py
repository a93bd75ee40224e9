"""Arrays whose items differ, of any kind of items: the same as a validator says, and masks that agree with that.

Constants are in `test_distinct.py`; what the parser and the matcher do is in `tests/engine/test_distinct_items.py`.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, UnsupportedSchemaError
from tests.engine.driver import VARIANTS, compiled, mask, tokenizer

VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])
STRINGS: list[Any] = ["", "a", "b", "ab", 'a"', "é", "\\", "1"]
NUMBERS: list[Any] = [0, 1, 10, 1.5, -1, 100]
VALUES: list[Any] = [*STRINGS, *NUMBERS, True, False, None, [], [1], [1, 2], ["a"], {}, {"a": 1}, {"a": 1, "b": 2}, {"b": "x"}]
SPELLINGS = {0: ("0", "-0", "0.0", "0e5"), 1: ("1", "1.0"), 10: ("10", "10.0"), 100: ("100", "100.00"), 1.5: ("1.5", "1.50")}
SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "maxLength": 3},
    {"type": "string", "pattern": "^a?b*$"},
    {"type": "number"},
    {"type": "integer"},
    {"type": "integer", "minimum": -5, "maximum": 200},
    {"type": ["string", "null"]},
    {"type": ["boolean", "integer", "string"]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": True}},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"type": "array", "items": {"type": "integer"}},
    {"type": "array", "items": {"type": ["integer", "string"]}, "uniqueItems": True},
    {"anyOf": [{"const": "a"}, {"type": "integer"}, {"type": "object"}]},
    {},
]


def spelt(value: Any, random: Random) -> str:
    """One of the spellings of a value, with blanks in it."""
    blank = random.choice(["", "", " ", "\n"])
    if isinstance(value, list):
        return "[" + blank + ",".join(spelt(item, random) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{blank}{spelt(item, random)}" for name, item in value.items()) + "}"
    if isinstance(value, str):
        return '"' + "".join(random.choice([json.dumps(c)[1:-1], c if c not in '"\\' else json.dumps(c)[1:-1]]) for c in value) + '"'
    return json.dumps(value) if isinstance(value, bool) else random.choice(SPELLINGS.get(value, (json.dumps(value),)))


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": draw(st.sampled_from(SCHEMAS)), "uniqueItems": True}
    if draw(st.integers(0, 3)) == 0:
        schema["prefixItems"] = draw(st.lists(st.sampled_from(SCHEMAS), min_size=1, max_size=2))
    if draw(st.integers(0, 3)) == 0:
        schema["contains"] = draw(st.sampled_from(SCHEMAS))
        if draw(st.booleans()):
            schema["maxContains"] = draw(st.integers(1, 2))
    least = draw(st.integers(0, 2))
    if least:
        schema["minItems"] = least
    if draw(st.booleans()):
        schema["maxItems"] = draw(st.integers(least, 4))
    return schema


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Such an array alone, in an object, or beside another reading."""
    schema = draw(schemas())
    match draw(st.integers(0, 4)):
        case 0:
            return {"type": "object", "properties": {"x": schema}, "required": ["x"]}
        case 1:
            return {"anyOf": [schema, {"type": "array", "items": draw(st.sampled_from(SCHEMAS)), "maxItems": 2}]}
        case 2:
            return {"anyOf": [schema, draw(schemas())]}
        case 3:
            return {"allOf": [schema, {"items": draw(st.sampled_from(SCHEMAS))}]}
    return schema


@given(documents(), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_as_the_validator_says(schema: dict[str, Any], variant: str, random: Random) -> None:
    validator = Draft202012Validator(schema)
    whole = {"anyOf": [schema, {"const": "none"}]}
    made = GrammarCompiler(VOCABULARY, options=VARIANTS[variant]).compile_grammar(Grammar.from_json_schema(whole))
    for _ in range(30):
        some = random.sample(VALUES, random.randint(1, 6))
        array = [random.choice(some) for _ in range(random.randint(0, 4))]
        value: Any = {"x": array} if schema.get("type") == "object" else array
        text = spelt(value, random)
        # The validator takes 1 and true for different values, as JSON does, but compares nested ones as Python does.
        expected = validator.is_valid(value)
        matcher = GrammarMatcher(made)
        taken = matcher.accept_string(text)
        assert (taken and matcher.is_completed()) == expected, text
        _reads_byte_by_byte(made, text, expected=expected)


def _reads_byte_by_byte(made: Any, text: str, *, expected: bool) -> None:
    """Each byte is taken exactly where the mask has it."""
    matcher = GrammarMatcher(made)
    for byte in text.encode():
        allowed = byte in mask(matcher)
        assert matcher.accept_token(byte) == allowed, matcher.text
        if not allowed:
            assert not expected, matcher.text
            return
    assert matcher.is_completed() == expected
