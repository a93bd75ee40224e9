"""What counts members counts different names: a name that comes twice counts once."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels_core import (
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    Options,
    TokenizerInfo,
    UnsupportedSchemaError,
    allocate_token_bitmask,
)
from kernels_core.grammar.json_schema import explain_schema
from kernels_core.grammar.json_schema.different_names import _cells, cells, few_names
from kernels_core.grammar.regular.languages import ALL, matches
from kernels_core.grammar.regular.patterns import full_match

INFO = TokenizerInfo([*(bytes([value]) for value in range(256)), b"</s>"], stop_token_ids=[256])
COMPILER = GrammarCompiler(INFO)
NAIVE = GrammarCompiler(INFO, options=Options(parser="naive"))


def accepts(compiled: CompiledGrammar, text: str) -> bool:
    """Whether a text is taken; each byte's place in the mask is what accepting it says."""
    matcher = GrammarMatcher(compiled)
    bitmask = allocate_token_bitmask(1, INFO.vocab_size)
    for byte in text.encode():
        matcher.fill_next_token_bitmask(bitmask)
        allowed = bool(int(bitmask[0, byte >> 5]) >> (byte & 31) & 1)
        assert matcher.accept_token(byte) == allowed
        if not allowed:
            return False
    return matcher.is_completed()


def written(pairs: list[tuple[str, int]]) -> str:
    return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {value}" for name, value in pairs) + "}"


NUMBER: dict[str, Any] = {"type": "integer"}
OPEN = [
    {"minProperties": 2, "additionalProperties": NUMBER},
    {"minProperties": 3},
    {"minProperties": 2, "maxProperties": 2},
    {"minProperties": 2, "properties": {"a": NUMBER}},
    {"minProperties": 2, "properties": {"a": NUMBER, "b": NUMBER}, "required": ["b"]},
    {"minProperties": 3, "required": ["a"]},
    {"minProperties": 2, "patternProperties": {"^a": NUMBER}, "additionalProperties": {"enum": [1, 2]}},
    {"minProperties": 2, "propertyNames": {"pattern": "^[ab]"}},
    {"minProperties": 2, "propertyNames": {"minLength": 2}},
    {"minProperties": 2, "maxProperties": 3, "propertyNames": {"pattern": "^(a|b[0-9]*)$"}},
]
CLOSED = [
    {"minProperties": 2, "propertyNames": {"enum": ["a", "b", "c"]}},
    {"minProperties": 3, "propertyNames": {"pattern": "^[abc]$"}},
    {"minProperties": 2, "propertyNames": {"enum": ["a", "b", "c"]}, "properties": {"b": {"const": 1}}},
    {"minProperties": 2, "maxProperties": 2, "patternProperties": {"^[ab]b?$": NUMBER}, "additionalProperties": False},
    {"required": ["a", "b"]},
    {"required": ["c", "a"], "minProperties": 2},
]
ORDERS = [False, True]


@pytest.mark.parametrize("any_order", ORDERS)
@pytest.mark.parametrize("schema", OPEN + CLOSED)
def test_what_is_taken_has_as_many_different_names(schema: dict[str, Any], any_order: bool) -> None:
    compiled = COMPILER.compile_json_schema({"type": "object", **schema}, any_order=any_order)
    some = False
    for count in range(4):
        for names in product(("a", "b", "c", "ab", "b1"), repeat=count):
            pairs = [(name, 1) for name in names]
            if accepts(compiled, written(pairs)):
                some = True
                jsonschema.validate(dict(pairs), schema)
    assert some


@pytest.mark.parametrize("schema", CLOSED)
def test_sets_of_names_are_exact(schema: dict[str, Any]) -> None:
    """Of texts without a name twice exactly the valid ones are taken, whatever their order."""
    compiled = COMPILER.compile_json_schema({"type": "object", **schema}, any_order=True)
    for count in range(4):
        for names in product(("a", "b", "c", "ab", "bb"), repeat=count):
            if len(set(names)) == count:
                pairs = [(name, 1) for name in names]
                valid = jsonschema.Draft202012Validator(schema).is_valid(dict(pairs))
                assert accepts(compiled, written(pairs)) == valid, pairs


@pytest.mark.parametrize("any_order", ORDERS)
def test_names_of_a_set_come_in_any_order_and_once(any_order: bool) -> None:
    compiled = COMPILER.compile_json_schema(
        {"minProperties": 2, "propertyNames": {"enum": ["b", "a"]}, "type": "object"}, any_order=any_order
    )
    assert accepts(compiled, '{"a": 1, "b": 2}')
    assert accepts(compiled, '{"b": 1, "a": 2}')
    assert not accepts(compiled, '{"a": 1, "b": 2, "a": 3}')
    assert not accepts(compiled, '{"a": 1, "\\u0061": 2}')


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            OPEN[0],
            ['{"x":1,"y":2}', '{"x":1,"y":2,"x":3}', '{"é":1,"x":2}', '{"":1,"x":2}'],
            ['{"x":1,"x":2}', '{"x":1}'],
        ),
        (OPEN[0], ['{"item_1":1,"item_2":2}'], ['{"x":1,"\\u0078":2}', '{"é":1,"\\u00e9":2}', '{"a/":1,"a\\/":1}']),
        (OPEN[1], ['{"x":1,"y":[],"z":{}}'], ['{"x":1,"x":2,"y":1}', '{"x":1,"y":2}']),
        (OPEN[3], ['{"a":1,"y":2}', '{"y":1,"z":2}'], ['{"y":1,"y":2}', '{"a":1}', '{"a":1,"a":2}']),
        (OPEN[5], ['{"a":1,"y":2,"z":3}'], ['{"a":1,"y":2,"y":3}']),
    ],
)
def test_names_without_an_end(schema: dict[str, Any], good: list[str], bad: list[str]) -> None:
    compiled = COMPILER.compile_json_schema({"type": "object", **schema})
    assert [accepts(compiled, text) for text in good] == [True] * len(good)
    assert [accepts(compiled, text) for text in bad] == [False] * len(bad)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.sampled_from("abé9"), max_size=3), max_size=4), st.sampled_from(OPEN), st.booleans())
def test_masks_are_those_of_the_naive_parser(names: list[str], schema: dict[str, Any], any_order: bool) -> None:
    text = written([(name, 1) for name in names]).encode()
    grammar = Grammar.from_json_schema({"type": "object", **schema}, any_order=any_order)
    ours, naive = (GrammarMatcher(compiler.compile_grammar(grammar)) for compiler in (COMPILER, NAIVE))
    for byte in text:
        assert ours.allowed_token_ids() == naive.allowed_token_ids()
        assert ours.accept_token(byte) == naive.accept_token(byte)


def test_cells_part_all_names() -> None:
    for name in ("", "a", "A", "ab", "ba", "name", "type", "é", "名称", "价格", "\x00", "😀x"):
        assert sum(matches(cell, name) for cell in _cells()) == 1
    inside = cells(full_match("x-[0-9]+"))
    for number in range(100):
        assert sum(matches(cell, f"x-{number}") for cell in inside) == 1
    assert not any(matches(cell, "y") for cell in inside)
    assert len(cells(ALL)) == len(_cells())


def test_few_names() -> None:
    assert few_names(full_match("a|b[01]?")) == {"a", "b", "b0", "b1"}
    assert few_names(full_match("a*")) is None
    assert few_names(full_match("[a-z]{3}")) is None


def test_more_names_than_there_are() -> None:
    with pytest.raises(UnsupportedSchemaError, match="no value is left"):
        Grammar.from_json_schema({"type": "object", "minProperties": 3, "propertyNames": {"pattern": "^[ab]$"}})


def test_what_is_not_counted_is_refused() -> None:
    beside = {"type": "object", "minProperties": 2, "not": {"additionalProperties": {"type": "integer"}}}
    with pytest.raises(UnsupportedSchemaError, match="counting different names, which is not built beside"):
        Grammar.from_json_schema(beside)
    with pytest.raises(UnsupportedSchemaError, match="no more than 1,089 are told apart"):
        Grammar.from_json_schema({"type": "object", "minProperties": 2_000})


def test_explain_says_it() -> None:
    for least, status in ((1, "exact"), (2, "approximated")):
        rows = {row.keyword: row.status for row in explain_schema({"type": "object", "minProperties": least})}
        assert rows["minProperties"] == status
