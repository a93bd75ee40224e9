"""Arrays of distinct constants: the same as a validator says, written set by set when a text gets there."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher
from kernels_core.options import Options
from tests.engine.driver import tokenizer

VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])
VALUES: tuple[Any, ...] = (1, "x", None, True, "y")
WAYS = [Options(), Options(lazy_lowering=False)]


def takes(compiled: Any, text: str) -> bool:
    matcher = GrammarMatcher(compiled)
    return bool(matcher.accept_string(text) and matcher.is_completed())


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.sampled_from(VALUES), min_size=1, max_size=4),
    st.integers(0, 3),
    st.none() | st.integers(0, 3),
    st.sampled_from(WAYS),
)
def test_arrays_of_distinct_constants(chosen: set[Any], least: int, most: int | None, options: Options) -> None:
    schema: dict[str, Any] = {
        "type": "array",
        "items": {"enum": sorted(chosen, key=repr)},
        "uniqueItems": True,
        "minItems": least,
    }
    if most is not None:
        schema["maxItems"] = most
    validator = Draft202012Validator(schema)
    arrays = [list(some) for size in range(5) for some in product(VALUES, repeat=size)]
    valid = [array for array in arrays if validator.is_valid(array)]
    whole = {"anyOf": [schema, {"const": "none"}]}
    compiled = GrammarCompiler(VOCABULARY, options=options).compile_grammar(Grammar.from_json_schema(whole))
    accepted = [array for array in arrays if takes(compiled, json.dumps(array))]
    assert accepted == valid


def test_only_the_sets_that_a_text_comes_to_are_written() -> None:
    schema = {"type": "array", "items": {"enum": list("abcdefghi")}, "uniqueItems": True}
    grammar = Grammar.from_json_schema(schema)
    compiled = GrammarCompiler(VOCABULARY).compile_grammar(grammar)
    assert takes(compiled, '["c", "a", "i", "b"]')
    assert not takes(compiled, '["c", "a", "c"')
    assert len(grammar.lazy_ir.rules) < 60  # of 2^9


@pytest.mark.parametrize("least", [0, 4])
def test_more_than_there_are(least: int) -> None:
    schema = {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": least}
    whole = {"properties": {"a": schema}, "additionalProperties": False}
    compiled = GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_json_schema(whole))
    assert takes(compiled, '{"a": [3, 1, 2]}') == (least == 0)
    assert takes(compiled, "{}")
