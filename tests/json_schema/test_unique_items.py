"""Arrays whose items differ, of any kind of items: the same as a validator says, and masks that agree with that.

Constants are in `test_distinct.py`; what the parser and the matcher do is in `tests/engine/test_distinct_items.py`.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, UnsupportedSchemaError
from tests.engine.driver import VARIANTS, mask, tokenizer
from workbench.tokenizers import load_tokenizer

VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])
STRINGS: list[Any] = ["", "a", "b", "ab", 'a"', "é", "\\", "1"]
NUMBERS: list[Any] = [0, 1, 10, 1.5, -1, 100]
VALUES: list[Any] = [
    *STRINGS,
    *NUMBERS,
    True,
    False,
    None,
    [],
    [1],
    [1, 2],
    ["a"],
    {},
    {"a": 1},
    {"a": 1, "b": 2},
    {"b": "x"},
]
SPELLINGS = {
    0: ("0", "-0", "0.0", "0e5"),
    1: ("1", "1.0"),
    10: ("10", "10.0"),
    100: ("100", "100.00"),
    1.5: ("1.5", "1.50"),
}
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
        return (
            '"'
            + "".join(random.choice([json.dumps(c)[1:-1], c if c not in '"\\' else json.dumps(c)[1:-1]]) for c in value)
            + '"'
        )
    return json.dumps(value) if isinstance(value, bool) else random.choice(SPELLINGS.get(value, (json.dumps(value),)))


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": draw(st.sampled_from(SCHEMAS)), "uniqueItems": True}
    if draw(st.integers(0, 3)) == 0:
        schema["prefixItems"] = draw(st.lists(st.sampled_from(SCHEMAS), min_size=1, max_size=2))
    if draw(st.integers(0, 3)) == 0:
        # How many at most takes the complement, and that of items that differ is refused.
        schema["contains"] = draw(st.sampled_from([one for one in SCHEMAS if "uniqueItems" not in one]))
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


def takes(schema: Any, *texts: str, **arguments: Any) -> list[bool]:
    made = GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_json_schema(schema, **arguments))
    found = []
    for text in texts:
        matcher = GrammarMatcher(made)
        found.append(matcher.accept_string(text) and matcher.is_completed())
    return found


MIXED = {"enum": ["north", "south", 1, None]}


@pytest.mark.parametrize("other", [{"type": "object"}, {"type": "array"}, {"type": "boolean"}])
def test_a_constant_among_others_is_not_begun_twice(other: dict[str, Any]) -> None:
    schema = {"type": "array", "items": {"anyOf": [MIXED, other]}, "uniqueItems": True, "minItems": 1, "maxItems": 4}
    made = GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_json_schema(schema))
    for begun, allowed in [('["', "ns"), ('["north","', "s"), ("[1,", None), ('[null,"south",', None)]:
        matcher = GrammarMatcher(made)
        assert matcher.accept_string(begun)
        letters = {chr(byte) for low, high in matcher.possible_bytes() for byte in range(low, high + 1)}
        if allowed is not None:
            assert letters == set(allowed)
        assert ("1" in letters) == (begun == '[null,"south",')
        assert ("n" in letters) == (begun not in ('["north","', '[null,"south",'))
    texts = [
        '["north",{},[],true,1]',
        '["north",1,null,"south"]',
        "[1,1.0]",
        "[null,null]",
        "[{},{}]",
        "[[],[]]",
        "[{},[]]",
    ]
    expected = [Draft202012Validator(schema).is_valid(json.loads(text)) for text in texts]
    assert takes(schema, *texts) == expected


def test_an_item_may_be_a_beginning_of_another_or_equal_in_another_spelling() -> None:
    strings = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    texts = ['["a","ab","abc"]', '["ab","a"]', '["\\ud83d\\ude00","😀"]', '["\\ud83d","\\ud83e"]', '["é","\\u00e9"]']
    assert takes(strings, *texts) == [True, True, False, takes({"type": "string"}, '"\\ud83d"')[0], False]
    numbers = {"type": "array", "items": {"type": "number"}, "uniqueItems": True}
    assert takes(numbers, "[0,-0.0]", "[10,1e1]", "[1e99999,1e99998]", "[0.1,0.10]", "[1,10,100]") == [False] * 2 + [
        True, False, True
    ]  # fmt: skip
    nested = {"type": "array", "items": {}, "uniqueItems": True}
    texts = ['[{"a":1,"b":[2]},{"b":[2.0],"a":1}]', '[{"a":1},{"a":"1"}]', "[[1],[[1]]]", "[true,1]", "[[true],[1]]"]
    assert takes(nested, *texts) == [False, True, True, True, True]
    deep = "[" * 3_000 + "]" * 3_000
    assert takes(nested, f"[{deep},{deep}]", f"[{deep},[{deep}]]") == [False, True]


COUNTED = {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}


@pytest.mark.report(
    "mlc-ai/xgrammar#321", "`minProperties` counts names that differ: one that comes twice is one member."
)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_names_that_are_counted_differ(order: Any) -> None:
    texts = [
        '{"x":1,"y":2}',
        '{"x":1,"x":2}',
        '{"x":1,"\\u0078":2}',
        '{"x":1,"x":2,"y":3}',
        '{"x":1}',
        '{"x":1,"xx":1}',
    ]
    assert takes(COUNTED, *texts, order=order) == [True, False, False, False, False, True]
    declared = {**COUNTED, "properties": {"a": {"type": "integer"}}, "minProperties": 3}
    assert takes(declared, '{"a":1,"x":1,"y":2}', '{"a":1,"x":1,"x":2}', order=order) == [True, False]
    inner = {"type": "object", "properties": {"o": COUNTED}, "required": ["o"], "minProperties": 2}
    assert takes(inner, '{"o":{"x":1,"y":2},"o2":1}', '{"o":{"x":1,"x":2},"p":1}', order=order) == [True, False]
    patterns = {"type": "object", "patternProperties": {"^a": {"type": "integer"}, "^b": True}, "minProperties": 2}
    closed = {**patterns, "additionalProperties": False}
    assert takes(closed, '{"a1":1,"b":2}', '{"a1":1,"a1":2}', '{"a":1,"b":1,"a":1}', order=order) == [
        True, False, False
    ]  # fmt: skip


def test_a_name_that_meets_a_condition_comes_once() -> None:
    some = {"type": "object", "not": {"additionalProperties": {"type": "string"}}}
    assert takes(some, '{"x":1}', '{"x":"a"}', '{"x":1,"x":"a"}', '{"x":1,"y":"a"}') == [True, False, False, True]


@given(st.sampled_from(["any", "declared"]), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_objects_with_names_that_are_counted(order: Any, variant: str, random: Random) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "minProperties": random.choice([2, 3]),
    }
    schema |= random.choice(
        [{}, {"required": ["a"]}, {"maxProperties": 3}, {"patternProperties": {"^x": {"type": "string"}}}]
    )
    grammar = Grammar.from_json_schema(schema, order=order)
    made = GrammarCompiler(VOCABULARY, options=VARIANTS[variant]).compile_grammar(grammar)
    for _ in range(20):
        names = [random.choice(["b", "c", "x", "xy", "é"]) for _ in range(random.randint(0, 3))]
        pairs = [(name, random.choice([1, 2, "s"])) for name in names]
        pairs = random.choice([[("a", 1)], []]) + pairs
        text = (
            "{"
            + ",".join(f"{json.dumps(name, ensure_ascii=random.random() < 0.5)}:{json.dumps(v)}" for name, v in pairs)
            + "}"
        )
        once = len(dict(pairs)) == len(pairs)
        expected = once and Draft202012Validator(schema).is_valid(dict(pairs))
        counted = schema["minProperties"] - len(schema.get("required", ())) > 1
        if once or counted:
            _reads_byte_by_byte(made, text, expected=expected)


@pytest.mark.parametrize("style", ["minimax_m3_xml", "cohere_xml"])
def test_items_that_are_no_json_are_refused(style: str) -> None:
    tags = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    schema = {"type": "object", "properties": {"tags": tags}}
    with pytest.raises(UnsupportedSchemaError, match="in this style items can only differ"):
        Grammar.from_structural_tag({"format": {"type": "json_schema", "json_schema": schema, "style": style}})


def test_arrays_in_json_in_other_styles_are_compared() -> None:
    tags = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    schema = {"type": "object", "properties": {"tags": tags}, "required": ["tags"], "additionalProperties": False}
    tag = {"format": {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}}
    made = GrammarCompiler(VOCABULARY).compile_grammar(Grammar.from_structural_tag(tag))
    for text, expected in [('["a","b"]', True), ('["a","a"]', False)]:
        _reads_byte_by_byte(made, f"<parameter=tags>{text}</parameter>", expected=expected)


@pytest.mark.parametrize("options", [Options(), Options(lazy_lowering=False)])
def test_what_waits_may_call_what_is_compared(options: Options) -> None:
    tags = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "tags": tags}, "additionalProperties": False}
    made = GrammarCompiler(VOCABULARY, options=options).compile_grammar(Grammar.from_json_schema(schema))
    for text, expected in [('{"name":"x","tags":["a","b"]}', True), ('{"tags":["a","a"]}', False)]:
        _reads_byte_by_byte(made, text, expected=expected)


@pytest.mark.data
def test_a_real_vocabulary(data_dir: Path) -> None:
    """Masks allow what is taken, of 128,000 tokens: all that are near, and a sample of the others."""
    file = data_dir / "tokenizers" / "llama3.tiktoken"
    if not file.is_file():
        pytest.skip("the data folder has no tokenizers/llama3.tiktoken")
    info = load_tokenizer(str(file)).info
    random, tokens = Random(3), info.decoded_vocab
    ids = {bytes(token): number for number, token in enumerate(tokens) if token}
    near = [number for text, number in ids.items() if text[:1] in b'",]}0123456789[{' or b'"' in text]
    compiler = GrammarCompiler(info)
    for items, values in [
        ({"type": "string"}, ["blue", "blueberry", "Blue", "b", "", "red", "blue, red"]),
        ({"type": ["integer", "string"], "maxLength": 12}, [1, 11, 111, "1", "11", 100, 10]),
        ({"type": "object"}, [{"id": 1}, {"id": 1, "n": "x"}, {"n": "x", "id": 2}, {}, {"id": 10}]),
    ]:
        schema = {"type": "array", "items": items, "uniqueItems": True}
        made = compiler.compile_grammar(Grammar.from_json_schema(schema))
        assert made.masks.item_ends is None
        text, at = json.dumps(random.sample(values, len(values))).encode(), 0
        matcher = GrammarMatcher(made)
        refused = 0
        while at < len(text):
            allowed = set(matcher.allowed_token_ids())
            parser_allows = set(made.masks.allowed_ids(matcher.set_number))
            assert allowed - {*matcher.stop_token_ids} <= parser_allows
            refused += len(parser_allows - allowed)
            for number in {
                *random.sample(near, 60),
                *(parser_allows - allowed),
                *random.sample(range(len(tokens)), 30),
            }:
                assert matcher.fork().accept_token(number) == (number in allowed), (matcher.text, tokens[number])
            size = max(size for size in range(1, 12) if bytes(text[at : at + size]) in ids)
            assert matcher.accept_token(ids[bytes(text[at : at + size])])
            at += min(size, len(text) - at)
        assert matcher.is_completed()
        assert refused


TAGS: dict[str, Any] = {
    "type": "object",
    "properties": {"l": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["l"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("schema", [TAGS, COUNTED], ids=["items", "names"])
@pytest.mark.parametrize("around", ["lark", "lark, ignoring blanks", "tags", "sequence", "union", "concat", "pickle"])
def test_grammars_around_a_schema_keep_what_differs(schema: dict[str, Any], around: str) -> None:
    alone = Grammar.from_json_schema(schema)
    front, back = "", ""
    if around.startswith("lark"):
        front, back = "<", ">"
        ignore = "\n%ignore / +/" if "ignoring" in around else ""
        grammar = Grammar.from_lark(f'start: "<" x ">" | y\nx: %json {json.dumps(schema)}\ny: /[a-z]+/{ignore}')
    elif around in ("tags", "sequence"):
        content = {"type": "json_schema", "json_schema": schema}
        tags = [{"begin": f"<f={name}>", "content": content, "end": "</f>"} for name in "ab"]
        form: dict[str, Any] = {"type": "triggered_tags", "triggers": ["<f="], "tags": tags}
        if around == "sequence":
            form = {"type": "sequence", "elements": [{"type": "const_string", "value": "<f=a>"}, content, content]}
        grammar = Grammar.from_structural_tag({"format": form})
        front, back = "<f=a>", "</f>" if around == "tags" else '{"l":["a"]}' if schema is TAGS else '{"a":1,"b":2}'
    elif around == "union":
        grammar = Grammar.union(Grammar.from_ebnf('root ::= "x"'), alone)
    elif around == "concat":
        grammar, front = Grammar.concat(Grammar.from_ebnf('root ::= "x" | "y"'), alone), "y"
    else:
        grammar = pickle.loads(pickle.dumps(alone))
    made = GrammarCompiler(VOCABULARY).compile_grammar(grammar)
    for text, same in (
        [('{"l":["a","b"]}', '{"l":["a","a"]}')] if schema is TAGS else [('{"a":1,"b":2}', '{"a":1,"a":2}')]
    ):
        for one, expected in ((text, True), (same, False)):
            matcher = GrammarMatcher(made)
            assert (matcher.accept_string(front + one + back) and matcher.is_completed()) == expected
