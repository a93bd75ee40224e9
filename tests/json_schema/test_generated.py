"""The front-end against the `jsonschema` library, on random schemas: verdicts on random instances, and texts that are
written by following the masks."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Unpack

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from experiments.synthetic_schemas import make_case
from kernels_core import CompiledGrammar, Grammar, GrammarMatcher, Options, TokenizerInfo, UnsupportedSchemaError
from kernels_core.grammar.json_schema import SchemaArguments
from tests.json_schema.json_judge import byte_vocabulary
from tests.json_schema.json_walks import mentioned, piece_vocabulary, write_text
from tests.json_schema.strategies import MANY, NAMES, documents, instances
from workbench.comparing.referee import Referee, Unjudged, python_pattern


def _compiled(schema: Any, vocabulary: TokenizerInfo, **arguments: Unpack[SchemaArguments]) -> CompiledGrammar | None:
    """None for a schema that is refused because it has no instance; other refusals are no examples."""
    try:
        return CompiledGrammar(Grammar.from_json_schema(schema, **arguments), vocabulary, Options())
    except UnsupportedSchemaError as error:
        assume(all("no instance" in problem.lenient for problem in error.problems))
        return None


def _shuffled(value: Any) -> st.SearchStrategy[Any]:
    """The same value, the members of the outer object in any order."""
    if not isinstance(value, dict):
        return st.just(value)
    return st.permutations(list(value.items())).map(dict)


@MANY
@given(documents(), st.lists(instances.flatmap(_shuffled), min_size=5, max_size=15))
def test_any_order_takes_every_order(schema: dict[str, Any], values: list[Any]) -> None:
    """Each text by itself: with its members in the order in which they stand there."""
    validator = jsonschema.Draft202012Validator(schema)
    compiled = _compiled(schema, byte_vocabulary())
    if compiled is None:
        assert not any(validator.is_valid(value) for value in values)
        return
    for value in values:
        matcher = GrammarMatcher(compiled)
        accepted = matcher.accept_string(json.dumps(value)) and matcher.is_completed()
        assert accepted == validator.is_valid(value), value


@MANY
@given(documents(), st.integers(0, 2**32), st.sampled_from(["any", "declared"]))
def test_what_is_written_is_valid(schema: dict[str, Any], seed: int, order: Any) -> None:
    compiled = _compiled(schema, piece_vocabulary(), order=order)
    assume(compiled is not None)
    assert compiled is not None
    referee = Referee(schema)
    rng = Random(seed)
    for _ in range(3):
        text = write_text(compiled, rng, words=NAMES)
        try:
            assert text is None or referee.complaint(text) is None, text
        except Unjudged:
            continue


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
    compiled = CompiledGrammar(Grammar.from_json_schema(schema, order="declared"), piece_vocabulary(), Options())
    referee = Referee(schema)
    judged = 0
    for seed in range(30):
        text = write_text(compiled, Random(seed), words=mentioned(schema))
        assert text is not None
        try:
            assert referee.complaint(text) is None, text
            judged += 1
        except Unjudged:  # a name that is not declared twice, mostly
            continue
    assert judged >= 8


def test_synthetic_texts_are_valid() -> None:
    """Schemas like those of tools, members in declared order and in any order."""
    judged = 0
    for number in range(40):
        schema = make_case(5, number)["schema"]
        compiled = _compiled(schema, piece_vocabulary(), order="any" if number % 2 else "declared")
        assert compiled is not None
        text = write_text(compiled, Random(number), words=mentioned(schema))
        try:
            assert text is None or Referee(schema).complaint(text) is None, text
            judged += text is not None
        except Unjudged:
            continue
    assert judged >= 33


def test_referee() -> None:
    """The second opinion itself: exact numbers, ECMA-262 patterns, and no verdict where JSON leaves one open."""
    tenths = Referee({"type": "number", "multipleOf": 0.1})
    assert tenths.complaint("0.3") is None
    assert tenths.complaint("0.30000000000000001") is not None
    assert Referee({"type": "integer"}).complaint("1.0") is None
    assert Referee({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}).complaint("1.0")
    assert Referee({"pattern": "^a$"}).complaint(r'"a\n"') is not None
    assert Referee({"patternProperties": {r"^\d$": False}}).complaint('{"\u0663": 1}') is None
    assert Referee({}).complaint("{]") is not None
    with pytest.raises(Unjudged):
        Referee({}).complaint('{"a": 1, "a": 2}')
    assert python_pattern(r"[\d.$]\.(?<n>[^\w])") == r"[0-9.$]\.(?<n>[^A-Za-z0-9_])"
