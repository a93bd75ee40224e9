"""How rules say that their texts begin, before they are made: what is sure may come, and what may not come does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarError, GrammarMatcher, Options, UnsupportedSchemaError
from kernels_core.grammar.first_bytes import known_beginnings
from kernels_core.grammar.ir import DeferredRule, GrammarIR
from tests.engine.driver import mask, tokenizer
from tests.json_schema.strategies import schemas as conditions
from tests.json_schema.test_later import schemas as plain

COMPILER = GrammarCompiler(tokenizer([bytes([byte]) for byte in range(256)]))
BEGINNINGS = (b"", b'"', b"[", b"{", b"[{")
BLANKS = set(b" \t\n\r")
CHARACTERS = {*range(0x20, 0x80), *range(0xC2, 0xF5)} - set(b'"')
VALUES = set(b'"[{-0123456789tfn')
strings = st.one_of(
    st.sampled_from(
        ["^[a-f]{2,}$", "a|b", "^(a|/b)?", "", "^$|^x", "^\\d+", "[^a]$", "^(?!a)b?", "^é", "^\\\\", '^"']
    ).map(lambda pattern: {"type": "string", "pattern": pattern}),
    st.sampled_from(["date", "uri", "email", "uuid", "ipv4", "regex", "date-time", "hostname", "unknown"]).map(
        lambda name: {"type": "string", "format": name}
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"minLength": st.integers(0, 2), "maxLength": st.integers(0, 2)}
    ),
    st.lists(st.sampled_from(["", "a", "/", "é", '"', "\\", "\t", "+b", 0, -1, 1.5, None, True]), min_size=1).map(
        lambda values: {"enum": values}
    ),
)
numbers = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={word: st.sampled_from([-2, -1, -0.5, 0, 0.5, 1, 7]) for word in ("minimum", "exclusiveMaximum")},
)
schemas = st.one_of(plain, conditions, strings, numbers)
wrapped = st.one_of(
    schemas,
    schemas.map(lambda inner: {"type": "array", "items": inner}),
    st.lists(schemas, min_size=1, max_size=3).map(lambda options: {"anyOf": options}),
    schemas.map(lambda inner: {"type": "object", "patternProperties": {"^a": inner}, "additionalProperties": False}),
)


def told(grammar: Grammar) -> list[tuple[str, dict[Any, Any]]]:
    """What the rules of a grammar say that are the values of its only member."""
    return [
        (name, found)
        for name, rule in list(grammar.ir.rules.items())
        if isinstance(rule, DeferredRule) and (found := known_beginnings(grammar.ir, name)) is not None
    ]


def check(grammar: Grammar, name: str, said: dict[Any, Any]) -> None:
    """Compare what a rule says with the masks of its texts."""
    matcher = GrammarMatcher(COMPILER.compile_grammar(Grammar(GrammarIR(grammar.ir.rules, name, ""))))
    for beginning in BEGINNINGS:
        matcher.reset()
        if not matcher.accept_string(beginning):
            continue
        sure, perhaps = said[beginning]
        true = mask(matcher)
        assert sure <= true <= perhaps | {256}, (name, beginning)
        assert not (256 in true and beginning != b"" and perhaps != set(range(256))), "a text ends there"
    matcher.reset()
    if not said[None] and matcher.accept_string(b'""'):
        assert mask(matcher) == {256}


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(schema=wrapped, any_spelling=st.booleans(), canonical=st.booleans())
def test_what_rules_say_is_so(schema: Any, any_spelling: bool, canonical: bool) -> None:
    try:
        grammar = Grammar.from_json_schema(
            {"$defs": {"a": True, "b": schema, "c": False, "p": schema}, "type": "object", "properties": {"m": schema}},
            any_spelling=any_spelling,
            canonical_numbers=canonical,
        )
        COMPILER.compile_grammar(grammar)
    except (GrammarError, UnsupportedSchemaError):
        return
    grammar.ir.brief(grammar.ir.root)
    for name, said in told(grammar):
        check(grammar, name, said)


OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TOKENS = [
    b'"',
    b'":',
    b'":"',
    b'":""',
    b'":"",',
    b'":"/',
    b'":"+',
    b'":[',
    b'":["',
    b'":[{',
    b'":[{"',
    b'":{"',
    b'":-',
    b'": ',
]
NAMES = tokenizer([*(bytes([byte]) for byte in range(256)), *TOKENS])
MADE_LATER = {
    "words": ({"enum": ["a", "bc", "/"]}, b'":"/'),
    "lengths": ({"type": "string", "minLength": 1, "maxLength": 9}, b'":"+'),
    "may be empty": ({"type": "string", "maxLength": 9}, b'":"",'),
    "pattern": ({"type": "string", "pattern": "^[+a]b{2,}$"}, b'":"+'),
    "search": ({"type": "string", "pattern": "ab|cd"}, b'":"/'),
    "format": ({"type": "string", "format": "date-time"}, b'":"'),
    "array of objects": ({"type": "array", "items": OBJECT, "minItems": 1}, b'":[{"'),
    "array of strings": ({"type": "array", "items": {"type": "string", "maxLength": 3}}, b'":["'),
    "array of anything": ({"type": "array"}, b'":[{"'),
    "numbers": ({"type": "number", "minimum": 0}, b'":-'),
    "union": ({"anyOf": [OBJECT, {"type": "array", "items": OBJECT}, {"type": "string", "pattern": "^/"}]}, b'":[{"'),
    "keys by pattern": ({"type": "object", "patternProperties": {"^a": True}, "minProperties": 1}, b'":{"'),
    "conditions": ({"allOf": [OBJECT, {"not": {"required": ["y"]}}]}, b'":{"'),
}


@pytest.mark.parametrize("kind", MADE_LATER)
def test_rules_are_not_made_where_their_first_bytes_are_enough(kind: str) -> None:
    """A token reads a name's quote, the colon and a byte or two of the value: the value's rule is made behind it."""
    value, token = MADE_LATER[kind]
    members = {"m": value, "n": {"type": "integer"}}
    schema = {"type": "object", "properties": members, "required": ["m"], "additionalProperties": False}
    grammar = Grammar.from_json_schema(json.dumps(schema))
    compiled = GrammarCompiler(NAMES, cache_enabled=False).compile_grammar(grammar)
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string(b'{"m')
    rules = compiled.machine.tables.lowering.rules
    allowed = mask(matcher)
    made = [rule.name for rule in rules if rule.nfa is not None]
    assert set(made) <= {"root", "root, opened", "opening 1", "ws{0,128}"}
    assert 256 + TOKENS.index(token) in allowed
    naive = GrammarMatcher(GrammarCompiler(NAMES, options=Options(parser="naive")).compile_grammar(grammar))
    assert naive.accept_string(b'{"m')
    assert allowed == mask(naive)


def test_rules_are_made_where_a_token_goes_deeper() -> None:
    tokens = tokenizer([*(bytes([byte]) for byte in range(256)), b'":"ab', b'":"ac', b'":"b"'])
    schema = {"type": "object", "properties": {"m": {"enum": ["ab", "b", "cc", "dd", "e"]}}, "required": ["m"]}
    compiled = GrammarCompiler(tokens, cache_enabled=False).compile_grammar(
        Grammar.from_json_schema(json.dumps(schema))
    )
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string(b'{"m')
    assert {256, 258} == {token for token in mask(matcher) if token >= 256}
    assert any(rule.source == "m" and rule.nfa is not None for rule in compiled.machine.tables.lowering.rules)
