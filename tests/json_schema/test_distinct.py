"""Arrays of distinct constants: the same as a validator says, however many there are, and however they are spelt."""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, UnsupportedSchemaError
from kernels_core.grammar.ir import Unordered, walk
from kernels_core.options import Options
from tests.engine.driver import VARIANTS, compiled, follow, some_variants, tokenizer

VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])
# Some are the beginning of others, and 0 and 10 have spellings that go on behind them.
VALUES: tuple[Any, ...] = (1, 12, "1", None, True, 1.5, 0, -1, "x,", 'x"', 10)
SPELLINGS = {1: ("1", "1.0", "1.00"), 12: ("12", "12.0"), 0: ("0", "-0", "0.0", "0e5"), 10: ("10", "10.0")}
# Pieces of such arrays, so that a token ends in a number and the next goes on with it.
PIECES = [
    b"1,",
    b"12",
    b"0,1",
    b"[1",
    b"[12,",
    b".0",
    b".0,",
    b", ",
    b" ]",
    b"1]",
    b'"x',
    b'",',
    b"null,",
    b"[]",
    b'["',
]


def takes(compiled: Any, text: str) -> bool:
    matcher = GrammarMatcher(compiled)
    return bool(matcher.accept_string(text) and matcher.is_completed())


def spelt(value: Any, random: Random) -> str:
    """One of the spellings of a value, with blanks around it."""
    text = json.dumps(value) if isinstance(value, bool) else random.choice(SPELLINGS.get(value, (json.dumps(value),)))
    return random.choice(["", " ", "\n"]) + text + random.choice(["", " "])


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """An array of distinct constants, named one by one or as a range of integers beside others."""
    chosen = draw(st.sets(st.sampled_from(VALUES), min_size=1, max_size=6))
    values: dict[str, Any] = {"enum": sorted(chosen, key=repr)}
    if draw(st.booleans()):
        low = draw(st.integers(-2, 9))
        values = {"anyOf": [values, {"type": "integer", "minimum": low, "maximum": low + draw(st.integers(0, 12))}]}
    schema: dict[str, Any] = {"type": "array", "items": values, "uniqueItems": True}
    least = draw(st.integers(0, 3))
    if least:
        schema["minItems"] = least
    if draw(st.booleans()):
        schema["maxItems"] = draw(st.integers(least, 4))
    return schema


def arrays_of(schema: dict[str, Any], random: Random) -> list[list[Any]]:
    inside = [value for value in [*VALUES, *range(-3, 25)] if Draft202012Validator(schema["items"]).is_valid(value)]
    found = [list(some) for size in range(3) for some in product(VALUES, repeat=size)]
    for _ in range(60 if inside else 0):
        found.append([random.choice(inside) for _ in range(random.randint(2, 5))])
    for _ in range(30 if inside else 0):
        found.append(random.sample(inside, random.randint(1, len(inside))))
    return found


@given(
    schemas(), st.sampled_from(["any", "declared"]), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False)
)
def test_arrays_of_distinct_constants(schema: dict[str, Any], order: Any, variant: str, random: Random) -> None:
    arrays = arrays_of(schema, random)
    validator = Draft202012Validator(schema)
    whole = {"anyOf": [schema, {"const": "none"}]}
    if not any(map(validator.is_valid, arrays)) and schema.get("minItems"):
        return  # it may be void
    grammar = Grammar.from_json_schema(whole, order=order)
    made = GrammarCompiler(VOCABULARY, options=VARIANTS[variant]).compile_grammar(grammar)
    for array in arrays:
        text = "[" + ",".join(spelt(value, random) for value in array) + "]" if array else "[ ]"
        assert takes(made, text) == validator.is_valid(array), text
    assert takes(made, '"none"')


@given(schemas(), some_variants(), st.data())
def test_all_ways_have_the_masks_of_the_plain_parser(
    schema: dict[str, Any], variants: dict[str, Options], data: st.DataObject
) -> None:
    grammar = Grammar.from_json_schema({"anyOf": [schema, {"const": "none"}]})
    vocabulary = [*(bytes([value]) for value in range(0x20, 0x7F)), *PIECES]
    plain = GrammarMatcher(compiled(grammar, vocabulary, Options(parser="naive", lazy_lowering=False)))
    others = {name: GrammarMatcher(compiled(grammar, vocabulary, options)) for name, options in variants.items()}
    follow(plain, others, data, steps=12)


@pytest.mark.parametrize("options", [Options(), Options(lazy_lowering=False)])
@pytest.mark.parametrize(
    "items",
    [{"enum": [f"value_{i}" for i in range(400)]}, {"type": "integer", "minimum": -99, "maximum": 300}],
    ids=["names", "integers"],
)
def test_four_hundred_values(items: dict[str, Any], options: Options) -> None:
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 399}
    made = GrammarCompiler(VOCABULARY, options=options).compile_grammar(Grammar.from_json_schema(schema))
    values = items.get("enum") or list(range(-99, 301))
    Random(4).shuffle(values)
    assert takes(made, json.dumps(values))
    assert takes(made, json.dumps(values[1:]))
    assert not takes(made, json.dumps(values[2:]))
    assert not takes(made, json.dumps([*values[:200], values[7], *values[200:]]))
    assert not takes(made, json.dumps([*values[:200], values[199], *values[200:]]))


def test_masks_forbid_what_was_there() -> None:
    schema = {"type": "array", "items": {"enum": [1, 12, "a", "b"]}, "uniqueItems": True, "minItems": 3}
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_json_schema(schema)))

    def allowed() -> str:
        return "".join(chr(token) for token in range(0x21, 0x7F) if matcher.fork().accept_token(token))

    steps = [("[", '"1'), ('"a"', ","), (",", '"1'), ("1", ",.2Ee"), (".0", ",0Ee"), (",", '"1'), ("1", "2.")]
    for text, expected in [*steps, ("2", ",.]"), (', "', "b"), ('b"', "]")]:
        assert matcher.accept_string(text)
        assert allowed() == "".join(sorted(expected)), matcher.text
    assert ("1", "12", "a", "b") in {item.seen and tuple(sorted(item.seen)) for item in matcher.frontier().items}


def test_the_parser_remembers_and_the_grammar_does_not_grow() -> None:
    schema = {"type": "array", "items": {"enum": list("abcdefghi")}, "uniqueItems": True}
    grammar = Grammar.from_json_schema(schema)
    made = GrammarCompiler(VOCABULARY).compile_grammar(grammar)
    assert takes(made, '["c", "a", "i", "b"]')
    assert not takes(made, '["c", "a", "c"')
    assert sum(isinstance(node, Unordered) for rule in grammar.ir.rules.values() for node in walk(rule.body)) == 1
    assert len(grammar.ir.rules) < 5


@pytest.mark.parametrize("least", [0, 4, 40])
def test_more_than_there_are(least: int) -> None:
    schema = {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": least}
    whole = {"properties": {"a": schema}, "additionalProperties": False}
    compiled = GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_json_schema(whole))
    assert takes(compiled, '{"a": [3, 1, 2]}') == (least == 0)
    assert takes(compiled, "{}")


@pytest.mark.parametrize("chosen", [{"prefixItems": [{"enum": [1, 2]}]}, {"contains": {"const": 2}}, {}])
def test_what_else_is_said_of_few_values(chosen: dict[str, Any]) -> None:
    """A prefix, a count and equal items keep the values seen in states: of few values.  That others differ the matcher
    says, and that some are equal is refused."""
    different = bool(chosen)
    schema = {"type": "array", "items": {"enum": [1, 2, 12]}, **chosen}
    schema |= {"uniqueItems": True} if different else {"not": {"uniqueItems": True}}
    made = GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_json_schema(schema))
    for size in range(5):
        for array in product((1, 2, 12), repeat=size):
            assert takes(made, json.dumps(array)) == Draft202012Validator(schema).is_valid(list(array))
    many = {**schema, "items": {"enum": [*range(20)]}}
    if different:
        made = GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_json_schema(many))
        for array in product((1, 2, 12), repeat=3):
            assert takes(made, json.dumps(array)) == Draft202012Validator(many).is_valid(list(array))
        return
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema({"properties": {"a": many}})
    assert "uniqueItems" in {problem.keyword for problem in caught.value.problems}
    assert "at most 9 constants" in str(caught.value)
