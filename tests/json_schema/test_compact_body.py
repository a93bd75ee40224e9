"""Compact bodies say exactly what the bodies say that they stand for: both become the same minimal automaton."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher
from kernels_core.automata.compact_bodies import spell_compact_body
from kernels_core.automata.lower import Lowering
from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.compact_body import Diagram, ExcludedWords
from kernels_core.grammar.ir import CharSet, DeferredRule, GrammarIR, Literal, Rule, RuleRef
from kernels_core.grammar.json_schema import SchemaOptions
from kernels_core.grammar.json_schema.compile import compile_schema
from kernels_core.grammar.nodes import choice, literal, repeat, seq
from kernels_core.grammar.rules import body_of
from kernels_core.options import Options
from tests.engine.driver import minimal, tokenizer

VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])


def same_language(lowering: Lowering, name: str, compact: Any, body: Any) -> bool:
    short, long = Nfa(), Nfa()
    assert spell_compact_body(short, lowering, compact, name, 1_000_000)
    assert long.fill(lowering, body, name, (), 1_000_000)
    return minimal(lowering, short) == minimal(lowering, long)


def test_edges_of_a_diagram_stay_inside() -> None:
    lowering = Lowering(GrammarIR({"root": Rule("root", Literal(b"x"))}, "root"), Options())
    quote = Literal(b'"')
    for edge in ((2, 0), (0, 3), (-1, 1), (1, -1)):
        diagram = Diagram(2, [(edge[0], Literal(b"a"), edge[1])], (1,), quote, quote)
        with pytest.raises(ValueError, match="no edge"):
            spell_compact_body(Nfa(), lowering, diagram, "root", 1000)


def test_other_keys_are_brief() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
    ir = compile_schema(schema, json.dumps(schema), SchemaOptions(), {}, defer=True).ir
    ir.expand("root")
    assert isinstance(body_of(ir.rules, ir.made, "other_key", True), ExcludedWords)
    assert isinstance(ir.rules["other_key"], DeferredRule)  # nobody asked for the body
    ir.expand("other_key")
    assert not isinstance(body_of(ir.rules, ir.made, "other_key", True), ExcludedWords)  # what was made in full stays


def test_a_needless_rule_is_not_made_in_full() -> None:
    schema = {"type": "object", "properties": {f"name_{i}": {"type": "string"} for i in range(30)}}
    grammar = Grammar.from_json_schema(schema)
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_grammar(grammar))
    assert matcher.accept_string('{"name_3": "x", "other": [1]}')
    assert isinstance(grammar.lazy_ir.rules["other_key"], DeferredRule)


@pytest.mark.parametrize("word", ["a/b", "é"])
def test_words_with_other_spellings_are_spelt_out(word: str) -> None:
    schema = {"type": "object", "properties": {word: {"type": "integer"}}}
    compiled = GrammarCompiler(VOCABULARY).compile_json_schema(schema)

    def is_taken(key: str) -> bool:
        return GrammarMatcher(compiled).accept_string(f'{{{key}: "text"')

    assert is_taken('"other"')
    assert not is_taken(json.dumps(word))
    assert not is_taken(json.dumps(word).replace("/", "\\/"))


def test_words_hold_letters_only() -> None:
    ir = GrammarIR({"root": Rule("root", Literal(b"x"))}, "root")
    besides = ExcludedWords(frozenset((b'a"',)), ((0x61, 0x7A),), CharSet(((0x80, 0xFF),)), RuleRef("root"), 0x22)
    with pytest.raises(ValueError, match="no letter"):
        spell_compact_body(Nfa(), Lowering(ir, Options()), besides, "root", 1000)


def test_what_waits_inside_a_shorthand_can_be_explained() -> None:
    properties = {"name": {"type": "string"}, "deep": {"type": "object", "properties": {"z": {"type": "integer"}}}}
    compiled = GrammarCompiler(VOCABULARY).compile_json_schema({"type": "object", "properties": properties})
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string('{"deep": {"z')
    reason = matcher.explain(b"\x01")
    assert not reason.accepted
    assert {"deep", "other_key_1"} == {item.rule for item in reason.waiting}


@pytest.mark.parametrize(("token", "allowed"), [(b'":', True), (b'":{', True), (b'":{"z', True), (b'":{"a', False)])
def test_an_object_is_looked_into_when_a_token_goes_on_to_it(token: bytes, allowed: bool) -> None:
    deep = {"type": "object", "properties": {"z": {}}, "additionalProperties": False, "required": ["z"]}
    grammar = Grammar.from_json_schema({"type": "object", "properties": {"deep": deep}})
    compiled = GrammarCompiler(tokenizer([*(bytes([byte]) for byte in range(256)), token])).compile_grammar(grammar)
    matcher = GrammarMatcher(compiled)

    def looked_into() -> bool:
        return any(rule.name == "deep" and rule.nfa is not None for rule in compiled.machine.tables.lowering.rules)

    assert matcher.accept_string('{"deep')
    assert (256 in matcher.allowed_token_ids()) == allowed
    assert looked_into() == (token != b'":')
    assert matcher.accept_string('":')
    assert looked_into()


def test_what_was_expanded_meanwhile_goes_on() -> None:
    grammar = Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "object", "required": ["b"]}}})
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_grammar(grammar))
    assert matcher.accept_string('{"a": {')
    assert not any(isinstance(rule, DeferredRule) for rule in grammar.ir.rules.values())
    assert not matcher.fork().accept_string("}")
    assert matcher.accept_string('"b": 1, "c": {}}}')
    assert matcher.is_completed()


def alone(compact: Any, body: Any) -> bool:
    ir = GrammarIR({"x": Rule("x", body)}, "x", "")
    return same_language(Lowering(ir, Options(parser="fsm", max_states=1_000_000)), "x", compact, body)


@given(st.sets(st.text("abc", max_size=3).map(str.encode), max_size=8))
def test_texts_besides_some_words(words: set[bytes]) -> None:
    """Also where what is around the words calls nothing, so that it is not what all grammars have in common."""
    letters, end = CharSet(((0x61, 0x64),)), Literal(b".")
    rest = seq((repeat(choice((letters, Literal(b"!"))), 0, None), end))
    longer = [
        seq((literal(word[:n]), choice((CharSet(((b, b),)), Literal(b"!"))), rest))
        for word in sorted(words)
        for n in range(len(word) + 1)
        for b in b"abcd"
        if not any(other.startswith(word[:n] + bytes([b])) for other in words)
    ]
    shorter = [literal(word[:n] + b".") for word in sorted(words) for n in range(len(word)) if word[:n] not in words]
    body = choice([*longer, *shorter]) if words else rest
    assert alone(ExcludedWords(frozenset(words), ((0x61, 0x64),), Literal(b"!"), rest, 0x2E), body)
