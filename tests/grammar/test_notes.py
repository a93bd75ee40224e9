"""What a grammar says that its author hardly means is a note, and compiling warns of it."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable

import pytest

from kernels_core import (
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    GrammarNote,
    GrammarWarning,
    TokenizerInfo,
    UnsupportedFeatureError,
    UnsupportedSchemaError,
)

NAMES = ["<think>", "</think>", "[END]", "<|im_end|>"]
VOCABULARY = [*(bytes([value]) for value in range(256)), *(name.encode() for name in NAMES)]
INFO = TokenizerInfo(VOCABULARY, stop_token_ids=[259], special_token_ids=[256, 257, 258, 259])
UNIQUE = {"properties": {"l": {"type": "array", "items": {"type": "string"}, "not": {"uniqueItems": True}}}}


def regex_tag(pattern: str) -> object:
    return {"format": {"type": "sequence", "elements": [{"type": "regex", "pattern": pattern}]}}


SPELT: list[tuple[Callable[[GrammarCompiler], CompiledGrammar], str]] = [
    (lambda compiler: compiler.compile_grammar('root ::= "a" | "<think>"'), "write Token(256)"),
    (lambda compiler: compiler.compile_grammar('root ::= "a</think>b"'), "write Token(257)"),
    (lambda compiler: compiler.compile_grammar(r'root ::= Regex("a<think>")'), "write Token(256)"),
    (lambda compiler: compiler.compile_regex("<think>[a-z]*"), "EBNF has Token(256)"),
    (lambda compiler: compiler.compile_lark('start: "<think>"'), "write <think> without quotes"),
    (lambda compiler: compiler.compile_lark('start: "x[END]"'), "write <[258]> without quotes"),
    (lambda compiler: compiler.compile_structural_tag(regex_tag("<think>")), "#/format/elements/0/pattern"),
    (
        lambda compiler: compiler.compile_structural_tag(
            {"format": {"type": "grammar", "grammar": 'root ::= "<think>"'}}
        ),
        "of type const_string or token",
    ),
]


@pytest.mark.report(
    "dottxt-ai/outlines#1965, dottxt-ai/outlines#1771",
    "A literal that spells a control token gives a warning: the model writes the token, and no literal means it.",
)
@pytest.mark.parametrize(("compiled", "way"), SPELT)
def test_a_control_token_as_text(compiled: Callable[[GrammarCompiler], CompiledGrammar], way: str) -> None:
    with pytest.warns(GrammarWarning) as caught:
        made = compiled(GrammarCompiler(INFO))
    (note,) = made.grammar.warnings
    assert isinstance(note, GrammarNote)
    assert way in str(note)
    assert [str(warning.message) for warning in caught] == [str(note)]
    assert caught[0].filename == __file__
    assert not {256, 257, 258} & set(GrammarMatcher(made).allowed_token_ids())  # it means what it says


def test_the_grammar_itself_is_left_alone() -> None:
    grammar = Grammar.from_ebnf('root ::= "<think>"')
    with pytest.warns(GrammarWarning):
        compiled = GrammarCompiler(INFO).compile_grammar(grammar)
    assert grammar.warnings == ()
    assert compiled.grammar == grammar


@pytest.mark.parametrize(
    "compiled",
    [
        lambda compiler: compiler.compile_grammar('root ::= Token(256) "<thin" "k>x"'),
        lambda compiler: compiler.compile_lark("start: <think>"),
        lambda compiler: compiler.compile_json_schema({"const": "<think>"}),
        lambda compiler: compiler.compile_structural_tag({"format": {"type": "const_string", "value": "<think>"}}),
        lambda compiler: compiler.compile_structural_tag(
            {"format": {"type": "json_schema", "json_schema": {"const": "<think>"}}}
        ),
    ],
)
def test_nothing_is_said_of_tokens_and_of_json(compiled: Callable[[GrammarCompiler], CompiledGrammar]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(GrammarCompiler(INFO)).grammar.warnings == ()


def test_rules_that_nothing_calls_and_names_in_brackets() -> None:
    text = 'root ::= [digit] digit "[word]"\ndigit ::= [0-9]\nword ::= more\nmore ::= "a"\n'
    grammar = Grammar.from_ebnf(text)
    assert [(note.line, note.column) for note in grammar.warnings if isinstance(note, GrammarNote)] == [
        (1, 10),
        (3, 1),
        (4, 1),
    ]
    assert "there is a rule digit" in str(grammar.warnings[0])
    assert str(grammar.warnings[1]) == "line 3, column 1: nothing calls the rule word"
    assert pickle.loads(pickle.dumps(grammar)).warnings == grammar.warnings
    assert Grammar.from_ebnf(str(grammar)).warnings == ()
    with pytest.warns(GrammarWarning, match="nothing calls"):
        GrammarCompiler(INFO).compile_grammar(text)


def test_a_rule_that_calls_itself_and_nobody_else_does() -> None:
    (note,) = Grammar.from_ebnf('root ::= "a"\nloop ::= "b" loop | "c"').warnings
    assert "loop" in str(note)


@pytest.mark.parametrize("attribute", ["lazy", "max_chars=3", "max_tokens=0"])
def test_a_rule_with_attributes_calls_what_is_written_in_it(attribute: str) -> None:
    rules = f'root ::= line [a-z]*\nline[{attribute}] ::= text ";"\ntext ::= [^]*\n'
    assert Grammar.from_ebnf(rules).warnings == ()
    (note,) = Grammar.from_ebnf(rules + "line2[lazy] ::= text").warnings
    assert "line2" in str(note)


@pytest.mark.report(
    "guidance-ai/llguidance#163",
    "A keyword that cannot be exact can be left out, with a warning, in a tag as in a schema.",
)
def test_a_structural_tag_can_be_read_leniently() -> None:
    tag = {
        "format": {"type": "tag", "begin": "<c>", "content": {"type": "json_schema", "json_schema": UNIQUE}, "end": "."}
    }
    compiler = GrammarCompiler(INFO)
    with pytest.raises(UnsupportedSchemaError, match="lenient=True: the keyword is ignored"):
        compiler.compile_structural_tag(tag)
    made = compiler.compile_structural_tag(tag, lenient=True)
    (lost,) = made.grammar.warnings
    assert str(lost).startswith("#/format/content/json_schema/properties/l/not, uniqueItems: ")
    matcher = GrammarMatcher(made)
    assert matcher.accept_string('<c>{"l": ["a", "a"]}.')
    assert matcher.is_completed()
    again = pickle.loads(pickle.dumps(made.grammar))
    assert again.warnings == made.grammar.warnings
    with pytest.raises(UnsupportedSchemaError):
        compiler.compile_structural_tag(tag)


@pytest.mark.report(
    "guidance-ai/llguidance#163", "A message names an option as a cure only where the caller has that option."
)
def test_no_message_names_a_cure_that_cannot_be_taken() -> None:
    with pytest.raises(UnsupportedFeatureError, match="uniqueItems") as lark:
        Grammar.from_lark('start: %json {"type": "array", "items": {"type": "string"}, "not": {"uniqueItems": true}}')
    assert "lenient" not in str(lark.value)
    with pytest.raises(UnsupportedSchemaError) as hopeless:
        Grammar.from_json_schema({"type": "string", "const": 1})
    assert "lenient" not in str(hopeless.value)
    with pytest.raises(UnsupportedSchemaError) as schema:
        Grammar.from_json_schema(UNIQUE)
    assert "lenient=True" in str(schema.value)
    assert "lenient" not in schema.value.strictly


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("root ::= [#x41] | [#x42]+", [10, 19]),
        ('root ::= "a" | #x9', [15]),
        ('root ::= "&#x41;" | "#x41" | "a#x4"', []),
    ],
)
def test_a_character_of_w3c_s_notation(text: str, places: list[int]) -> None:
    assert [note.offset for note in Grammar.from_ebnf(text).warnings] == places
