"""The front-end against the `jsonschema` library, on random schemas: verdicts on random instances, and texts that are
written by following the masks."""

from __future__ import annotations

import json
import random
from decimal import Decimal, InvalidOperation
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from experiments.json_judge import Judge
from kernels_core import CompiledGrammar, Grammar, GrammarMatcher, Options, UnsupportedSchemaError
from kernels_core.masks.bitmask import allocate_token_bitmask
from tests.json_schema.driver import INFO
from tests.json_schema.strategies import documents, instances

_REPEATED = object()


def _compiled(schema: Any) -> CompiledGrammar | None:
    """None for a schema that is refused because it has no instance; other refusals are no examples."""
    try:
        return CompiledGrammar(Grammar.from_json_schema(schema), INFO, Options())
    except UnsupportedSchemaError as error:
        assume(all("no instance" in problem.lenient for problem in error.problems))
        return None


@settings(max_examples=300, deadline=None)
@given(documents(), st.lists(instances, min_size=5, max_size=15))
def test_verdicts(schema: dict[str, Any], values: list[Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    expected = [validator.is_valid(value) for value in values]
    compiled = _compiled(schema)
    if compiled is None:
        assert not any(expected)
        return
    judge = Judge(schema, compiled, steps=20_000)
    for value, valid in zip(values, expected, strict=True):
        assert judge.accepts(value) == valid, value


def _write(compiled: CompiledGrammar, rng: random.Random, most: int = 600) -> str | None:
    """A text by following the masks: at random, and towards an end after a while.  None if it does not end."""
    matcher = GrammarMatcher(compiled)
    mask = allocate_token_bitmask(1, INFO.vocab_size)
    written = bytearray()
    while len(written) < most:
        if matcher.is_completed() and (rng.random() < 0.3 or len(written) > 40):
            return written.decode()
        matcher.fill_next_token_bitmask(mask)
        allowed = [byte for byte in range(256) if mask[0, byte >> 5] >> (byte & 31) & 1]
        if not allowed:
            break
        ends = [byte for byte in allowed if byte in b'"]}']
        likely = [byte for byte in allowed if chr(byte) in '{["abcx,:019.-tfne']
        if ends and rng.random() < min(0.9, 0.1 + len(written) / 60):
            allowed = ends
        elif likely and rng.random() < 0.9:
            allowed = likely
        byte = rng.choice(allowed)
        assert matcher.accept_token(byte)
        written.append(byte)
    return written.decode() if matcher.is_completed() else None


def _pairs(pairs: list[tuple[str, Any]]) -> Any:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise LookupError(names)  # judged as if the names differed: see objects.py
    return dict(pairs)


def _number(text: str) -> float | int:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise LookupError(text) from None
    if abs(value.adjusted()) > 30 or len(value.as_tuple().digits) > 15:
        raise LookupError(text)  # beyond floats, in which the library computes
    return int(value) if value == value.to_integral_value() else float(text)


def _read(text: str) -> Any:
    """The value of a text, or `_REPEATED` where the library cannot judge it."""
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_float=_number, parse_int=_number)
    except LookupError:
        return _REPEATED


@settings(max_examples=200, deadline=None)
@given(documents(), st.integers(0, 2**32))
def test_what_is_written_is_valid(schema: dict[str, Any], seed: int) -> None:
    compiled = _compiled(schema)
    assume(compiled is not None)
    assert compiled is not None
    validator = jsonschema.Draft202012Validator(schema)
    rng = random.Random(seed)
    for _ in range(3):
        text = _write(compiled, rng)
        value = _REPEATED if text is None else _read(text)
        if value is not _REPEATED:
            assert validator.is_valid(value), text


REALISTIC = {
    "person": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 20},
            "born": {"type": "string", "format": "date"},
            "mail": {"type": "string", "format": "email"},
            "tags": {"type": "array", "items": {"enum": ["x", "y", "z"]}, "uniqueItems": True},
            "home": {"$ref": "#/$defs/place"},
        },
        "required": ["name", "home"],
        "additionalProperties": {"type": ["integer", "null"]},
        "$defs": {
            "place": {
                "properties": {"ip": {"format": "ipv4", "type": "string"}, "id": {"format": "uuid", "type": "string"}},
                "required": ["ip"],
                "type": "object",
            }
        },
    },
    "shape": {
        "oneOf": [
            {
                "properties": {"kind": {"const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}},
                "required": ["kind", "radius"],
            },
            {
                "properties": {
                    "kind": {"const": "box"},
                    "sides": {
                        "type": "array",
                        "items": {"type": "integer", "minimum": 1, "maximum": 99},
                        "minItems": 2,
                        "maxItems": 3,
                    },
                },
                "required": ["kind", "sides"],
            },
        ],
        "type": "object",
        "unevaluatedProperties": False,
    },
    "rules": {
        "type": "object",
        "patternProperties": {"^x-": {"type": "boolean"}, "^[0-9]+$": {"multipleOf": 5, "type": "integer"}},
        "propertyNames": {"maxLength": 6},
        "minProperties": 1,
        "maxProperties": 4,
        "additionalProperties": False,
    },
    "mixed": {
        "type": "array",
        "prefixItems": [{"enum": ["v1", "v2"]}],
        "items": {"type": ["string", "integer"], "pattern": "^[a-c]{2,5}$"},
        "contains": {"type": "integer", "minimum": 100, "maximum": 120},
        "minContains": 2,
        "maxContains": 2,
        "maxItems": 6,
    },
    "tree": {
        "$defs": {
            "t": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "l": {"$ref": "#/$defs/t"}, "r": {"$ref": "#/$defs/t"}},
                "required": ["v"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/t",
    },
}


@pytest.mark.parametrize("name", REALISTIC)
def test_realistic_texts_are_valid(name: str) -> None:
    schema = REALISTIC[name]
    compiled = CompiledGrammar(Grammar.from_json_schema(schema), INFO, Options())
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    judged = 0
    for seed in range(60):
        text = _write(compiled, random.Random(seed))
        value = _REPEATED if text is None else _read(text)
        if value is not _REPEATED:
            assert validator.is_valid(value), text
            judged += 1
    assert judged >= 10
