"""`pattern` takes the escapes of ECMA-262 and no others; what cannot match says why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kernels_core import (
    Grammar,
    GrammarCompiler,
    GrammarError,
    GrammarMatcher,
    TokenizerInfo,
    UnsupportedSchemaError,
)
from tests.json_schema.driver import texts

COMPILER = GrammarCompiler(TokenizerInfo([*(bytes([i]) for i in range(256)), b"</s>"], stop_token_ids=[256]))


def accepts(pattern: str, text: str) -> bool:
    matcher = GrammarMatcher(COMPILER.compile_json_schema({"type": "string", "pattern": pattern}))
    return matcher.accept_string(json.dumps(text)) and matcher.is_completed()


@pytest.mark.report(
    "ggml-org/llama.cpp#26939, ggml-org/llama.cpp#19051",
    "Escapes that ECMA-262 lacks, such as `\\e` and `\\h`, are refused by name in a `pattern`.",
)
@pytest.mark.parametrize("letter", "aehACEFGHIJKLMNOQRTUVXYZgijlmoqyz")
@pytest.mark.parametrize("where", ["^\\{}$", "^[\\{}]$", "^x\\{}"])
def test_letters_that_are_no_escape_are_refused(letter: str, where: str) -> None:
    for schema in (
        {"type": "string", "pattern": where.format(letter)},
        {"patternProperties": {where.format(letter): True}},
        {"type": "integer", "pattern": where.format(letter)},
    ):
        with pytest.raises(UnsupportedSchemaError, match=f"unknown escape .{letter}"):
            Grammar.from_json_schema(schema)


@pytest.mark.parametrize(("letter", "way"), [("e", "\\x1b"), ("a", "\\x07"), ("A", "^"), ("Z", "$")])
def test_the_error_says_what_to_write(letter: str, way: str) -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_json_schema({"pattern": f"x\\{letter}"})
    assert f"; write {way}" in str(caught.value)


def test_escapes_of_ecma_262() -> None:
    assert accepts(r"^\x1b\x07\cJ\0\t\u0041\u{42}\-\/\.$", "\x1b\x07\n\0\tAB-/.")


def test_regex_has_two_escapes_more() -> None:
    matcher = GrammarMatcher(COMPILER.compile_regex(r"\e[\a]"))
    assert matcher.accept_string("\x1b\x07")
    assert matcher.is_completed()


@pytest.mark.report(
    "vllm-project/vllm#15210",
    "The class `[]a]` of Python and PCRE is refused; the error says that `[]` is empty in ECMA-262, and what to write.",
)
def test_an_empty_class_is_explained() -> None:
    for pattern, place in (("^[]a]$", 1), ("x[]", 1), ("[]]+", 0)):
        with pytest.raises(UnsupportedSchemaError) as caught:
            Grammar.from_json_schema({"type": "string", "pattern": pattern})
        assert f"[] at character {place} is an empty class" in str(caught.value)
        assert "[\\]a]" in str(caught.value)
    with pytest.raises(GrammarError, match="empty class") as located:
        Grammar.from_regex("x[]a]")
    assert located.value.offset == 1


def test_an_empty_class_beside_something_that_matches() -> None:
    assert accepts("^(?:[]|b)$", "b")
    assert accepts("^[^]$", "\n")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        pytest.param(
            {"pattern": "^[a-z ]+$", "maxLength": 5},
            ["abc", "a b c"],
            ["abcdef", "A", ""],
            marks=pytest.mark.report("vllm-project/vllm#45592", "`maxLength` counts beside a `pattern`."),
        ),
        pytest.param(
            {"pattern": r"^(?=.*[\p{L}\p{N}])(?=.*\d)[\p{L}\p{N}_-]{8,}$", "maxLength": 20},
            ["Passwörd1", "abcdefg7", "a1" * 10],
            ["abcdefgh", "a1", "a1" * 10 + "a", "abcdef 7"],
            marks=pytest.mark.report(
                "everit-org/json-schema#156, ggml-org/llama.cpp#26939",
                "Look-aheads and Unicode properties in a `pattern` are exact, and `maxLength` counts beside them.",
            ),
        ),
    ],
)
def test_a_pattern_and_a_length_both_count(schema: dict[str, Any], good: list[str], bad: list[str]) -> None:
    strings = texts({"type": "array", "items": {"type": "string", **schema}})
    for text in good:
        assert json.dumps([text, text]) in strings, text
    for text in bad:
        assert json.dumps([good[0], text]) not in strings, text
