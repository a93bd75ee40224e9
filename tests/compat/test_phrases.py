"""Messages about EBNF, regular expressions and Lark: XGrammar's place and phrase, then the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import workbench.compat.xgrammar as xgr

TAIL = '\nr ::= "a"'
EBNF = [
    ('root ::= "a', "lexer error at line 1, column 10: Expect \" in string literal: the string is never closed"),
    ('root ::= "\\@"', "lexer error at line 1, column 11: Invalid escape sequence: unknown escape \\@"),
    ('root ::= "\\uFF"', "lexer error at line 1, column 11: Invalid escape sequence: \\u needs 4 hex digits"),
    ("root ::= [a", "lexer error at line 1, column 10: Unterminated character class: "),
    ('::= "a"', "lexer error at line 1, column 1: Assign should not be the first token: "),
    ('root ::= "a" ::= "b"', "lexer error at line 1, column 14: Assign should be preceded by an identifier: "),
    ('root ::= "a" $', "lexer error at line 1, column 14: Unexpected character: $: "),
    ("root ::= [z-a]", "parser error at line 1, column 11: Invalid character class: lower bound is larger than upper"),
    ('root ::= "a"{3,1}', "parser error at line 1, column 14: Lower bound is larger than upper bound: 3 > 1: "),
    ('root ::= "a"**', "parser error at line 1, column 14: Expect element, but got *: two quantifiers"),
    ("root ::= *", "parser error at line 1, column 10: Expect element, but got *: nothing to rep"),
    ("root ::=", "parser error at line 1, column 9: Expect element: the rule 'root' has no body"),
    ('root ::= ("a"', 'parser error at line 1, column 10: Expect ): "(" is never closed'),
    ('root ::= "a")', "parser error at line 1, column 13: Expect rule name: "),
    ("", "parser error at line 1, column 1: The root rule with name \"root\" is not found: "),
    ('root ::= a "b"', 'parser error at line 1, column 10: Rule "a" is not defined: '),
    ('root ::= "a"\nroot ::= "b"', 'parser error at line 2, column 1: Rule "root" is defined multiple times: '),
    ('a ::= "a"', 'parser error at line 1, column 1: The root rule with name "root" is not found: '),
    ('root ::= TagDispatch("t", r)' + TAIL, "parser error at line 1, column 22: Each tag dispatch element must be a"),
    ('root ::= TagDispatch(("", r))' + TAIL, "parser error at line 1, column 23: Tag must be a non-empty string"),
    ('root ::= TagDispatch(("t" r))' + TAIL, "parser error at line 1, column 27: Expect , or ) in tuple: "),
    ('root ::= TagDispatch(("t", r), x=1)' + TAIL, "parser error at line 1, column 32: Unknown named argument for "
     "TagDispatch: x: TagDispatch has no argument 'x'; it has loop_after_dispatch, excludes, stops"),
    ('root ::= TagDispatch(("t", r), loop_after_dispatch=3)' + TAIL, "parser error at line 1, column 52: "
     "loop_after_dispatch must be a boolean literal: "),
    ('root ::= TagDispatch(("t", r), excludes=3)' + TAIL, "parser error at line 1, column 41: excludes must be a"),
    ('root ::= TagDispatch(("t", r), excludes=(""))' + TAIL, "parser error at line 1, column 42: Exclude must be a "),
    ('root ::= TokenTagDispatch(("x", r))' + TAIL, "parser error at line 1, column 28: Token trigger ID must be a"),
    ('root ::= TokenTagDispatch((1, r), x=1)' + TAIL, "parser error at line 1, column 35: Unknown named argument for "
     "TokenTagDispatch: x: "),
    ('root ::= Token("a")', "parser error at line 1, column 16: Token() arguments must be non-negative integers: "),
    ("root ::= ExcludeToken(x)", "parser error at line 1, column 23: ExcludeToken() arguments must be non-negative "),
    ("root ::= Token()", "parser error at line 1, column 16: Token() requires at least one integer argument: "),
    ('root ::= Substring("a", 1)', "parser error at line 1, column 25: Substring() arguments must be strings: "),
    ('root ::= Substring("a", x=1)', "parser error at line 1, column 25: Substring() does not accept named arg"),
    ('root ::= Regex("(a)\\\\1")', "parser error at line 1, column 16: Backreference is not supported: "),
    ('root ::= Regex("\\\\uZZ")', "parser error at line 1, column 16: Escape sequence is not finished: \\u must be "
     "followed by four hexadecimal digits: "),
    ('root ::= Regex("+a")', "parser error at line 1, column 16: nothing to repeat here (column 1 of the pattern)"),
]  # fmt: skip
REGEX = [
    ("(a)\\1", 4, "Backreference is not supported: back-references are not regular"),
    ("a\n(a)\\1", 6, "Backreference is not supported: "),  # characters of the whole text
    ("\\x4", 1, "Escape sequence is not finished: \\x must be followed by two hexadecimal digits: \\x needs 2"),
    ("\\c1", 1, "Invalid control character escape sequence: "),
    ("a\\", 2, "Escape sequence is not finished: the pattern ends"),
    ("\\u{110000}", 1, "The code point is beyond the Unicode range: "),
    ("a**", 3, "Two consecutive repetition modifiers are not allowed: "),
    ("abc)", 4, "Unmatched ')': "),
    ("(abc", 1, "The parenthesis is not closed: "),
    ("[abc", 1, "Unclosed '[': "),
    ("[z-a]", 2, "Invalid character class: lower bound is larger than upper bound: "),
    ("a{3,1}", 3, "Lower bound is larger than upper bound: 3 > 1: "),
    ("(?<1>a)", 1, "Invalid named capturing group: "),
    ("(?a)", 3, "Group modifier flag is not supported: "),
    ("*", 1, "nothing to repeat here"),
]
LARK = [
    (
        "start: /(a)\\1/",
        "Lark error at line 1, column 12: Backreference is not supported: failed to compile regular expr",
    ),
    (
        "start: /a**/",
        "Lark error at line 1, column 11: Two consecutive repetition modifiers are not allowed: failed to",
    ),
    ("start: x", "Lark error at line 1, column 8: unknown name 'x'"),
]
CASES: list[tuple[Callable[[str], Any], str, str]] = [
    *((xgr.Grammar.from_ebnf, text, f"EBNF {said}") for text, said in EBNF),
    *((xgr.Grammar.from_regex, text, f"Regex parsing error at position {at}: {said}") for text, at, said in REGEX),
    *((xgr.Grammar.from_lark, text, said) for text, said in LARK),
]


@pytest.mark.parametrize(("make", "text", "said"), CASES)
def test_a_message_begins_with_the_place_and_the_phrase(make: Callable[[str], Any], text: str, said: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{re.escape(said)}"):
        make(text)


SCHEMAS: list[tuple[Any, str]] = [
    ({"type": "nope"}, 'Unsupported type "nope"'),
    ({"type": 5}, "Type should be a string"),
    ({"type": "array", "prefixItems": 5}, "prefixItems must be an array"),
    ({"type": "array", "prefixItems": ["x"]}, "prefixItems must be an array of objects or booleans"),
    ({"type": "array", "items": 5}, "items must be a boolean or an object"),
    ({"type": "array", "maxItems": -1}, "maxItems must be a non-negative integer"),
    ({"type": "array", "minItems": 1.5}, "minItems must be an integer"),
    ({"type": "object", "required": "x"}, "required must be an array"),
    ({"type": "object", "properties": {"a": 5}}, "Schema should be an object or bool"),
    ({"type": "object", "propertyNames": 5}, "propertyNames must be an object"),
    ({"type": "integer", "minimum": "x"}, "Value must be a number"),
    ({"enum": []}, "enum array must not be empty"),
    ({"oneOf": "x"}, "oneOf must be an array"),
]


@pytest.mark.parametrize(("schema", "phrase"), SCHEMAS)
def test_phrases_about_schemas(schema: Any, phrase: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        xgr.Grammar.from_json_schema(schema)
    said, _, reasons = str(caught.value).partition(": the schema cannot be compiled exactly, for one reason:\n  #, ")
    assert said == phrase
    assert f"{next(iter(set(schema) - {'type'}), 'type')}: " in reasons


def test_several_problems_of_a_schema_are_told_in_order() -> None:
    schema = {"properties": {"a": {"type": "nope"}, "b": {"minItems": -1}, "c": {"type": "nope"}, "d": {"not": {}}}}
    with pytest.raises(
        RuntimeError, match=r'^Unsupported type "nope"; minItems must be a non-negative integer: the sch'
    ):
        xgr.Grammar.from_json_schema({**schema, "required": ["d"]})
    with pytest.raises(RuntimeError, match=r"^the schema cannot be compiled exactly"):
        xgr.Grammar.from_json_schema({"not": {}})


def test_a_grammar_in_a_tag_is_told_alike() -> None:
    pytest.importorskip("pydantic")
    for text, said in EBNF:
        if text and "Backreference" not in said:  # the tag's own phrase, and an error of another class
            with pytest.raises(
                RuntimeError, match=re.escape(f"Invalid structural tag error: EBNF {said.split(': ')[0]}")
            ):
                xgr.Grammar.from_structural_tag({"format": {"type": "grammar", "grammar": text}})
    with pytest.raises(
        RuntimeError, match=r"column 14: Expect element: #/format/grammar: EBNF, line 1, column 14: two"
    ):
        xgr.Grammar.from_structural_tag({"format": {"type": "grammar", "grammar": 'root ::= "a"**'}})
