"""Masks where a name begins which may be any but some, or a counted text, are those of a walk token by token.

The vocabulary has what walks take at once where they do: a quote and letters in hundreds, with and without white space
in front, and such that close the name or escape something in it.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from tests.engine.driver import mask, tokenizer
from tests.json_schema.strategies import MANY

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MARKS = [",", "{", "}", ":", '{"', ', "', '","', '",']
BODIES = [
    "abcd",
    "nb1xyz",
    10 * "x",
    *LETTERS,
    *("".join(pair) for pair in product("abnx1", LETTERS[:16])),
    "",
    "a\\",
    "\\u",
    "é",
    "ab\x7f",
    "A1",
]
ENDS = ["", '"', '":', '","', '": "', '"}', '", "n', ' "']
INFO = tokenizer(
    list(
        dict.fromkeys(
            [(algebra + '"' + body + end).encode() for algebra in ("", " ", "  ") for body in BODIES for end in ENDS]
            + [
                (algebra + mark).encode()
                for algebra in ("", " ")
                for mark in (",", "{", "}", ":", '{"', ', "', '","', '",')
            ]
            + [b"\xc3", b" " * 3, *(bytes([byte]) for byte in range(128))]
        )
    )
)
QUICK = GrammarCompiler(INFO)
OTHERS = {
    "naive": GrammarCompiler(INFO, options=Options(parser="naive")),
    "visited one by one": GrammarCompiler(INFO, options=Options.laboratory(walk_shortcuts=False)),
}
NAMES = ["a", "ab", "abc", "b", "na", "nb1", "x", "", "é", 'q"', "ca\\b"]


VALUES: dict[str, tuple[dict[str, Any], object]] = {
    "string": ({"type": "string"}, "x"),
    "null": ({"type": "null"}, None),
    "object": ({"type": "object"}, {}),
    "short": ({"type": "string", "maxLength": 3}, "ab"),
    "counted": ({"type": "string", "minLength": 2, "maxLength": 9}, "abc"),
    "long": ({"type": "string", "minLength": 1}, "n"),
    "ended": ({"type": "string", "maxLength": 40, "pattern": "e$"}, "abe"),
    "either": ({"anyOf": [{"type": "string", "minLength": 3, "maxLength": 12}, {"enum": ["a", "n1"]}]}, "abc"),
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A schema, and a text that goes on behind a value of it."""
    kinds = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(sorted(VALUES)), max_size=6))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: VALUES[kind][0] for name, kind in kinds.items()},
        "required": draw(st.lists(st.sampled_from(sorted(kinds)), unique=True)) if kinds else [],
        "additionalProperties": draw(st.sampled_from([True, {"type": "string"}, {"maxLength": 9}])),
    }
    some = {name: VALUES[kind][1] for name, kind in kinds.items()}
    some |= draw(st.dictionaries(st.sampled_from(["zz", "abn", "1"]), st.just("v"), max_size=2))
    text = json.dumps(some, ensure_ascii=False)
    return {"type": "array", "items": schema}, "[" + text[: draw(st.integers(0, len(text)))]


@MANY
@given(case=cases())
def test_masks_at_names_are_those_of_a_walk_token_by_token(case: tuple[dict[str, Any], str]) -> None:
    schema, text = case
    grammar = Grammar.from_json_schema(json.dumps(schema))
    quick = GrammarMatcher(QUICK.compile_grammar(grammar))
    others = {name: GrammarMatcher(compiler.compile_grammar(grammar)) for name, compiler in OTHERS.items()}
    for byte in text.encode():
        if not quick.accept_string(bytes([byte])):
            break
        for name, other in others.items():
            assert other.accept_string(bytes([byte])), name
            if byte in b'":, {':
                assert mask(quick) == mask(other), (name, schema, text)


@pytest.mark.parametrize("pattern", ["e$", "[ab]x$", "^[a-z]*e[a-z]$", "a.*b.*x"])
@pytest.mark.parametrize(
    "bounds", [{"maxLength": 64}, {"minLength": 1, "maxLength": 64}, {"minLength": 3}, {"maxLength": 9}]
)
def test_letters_that_end_a_text_are_told_from_those_it_goes_on_with(pattern: str, bounds: dict[str, int]) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string", "pattern": pattern, **bounds}}
    grammar = Grammar.from_json_schema(json.dumps(schema))
    masks = []
    for compiler in (QUICK, *OTHERS.values()):
        matcher = GrammarMatcher(compiler.compile_grammar(grammar))
        assert matcher.accept_string('{"a":')
        masks.append(mask(matcher))
    assert masks[0] == masks[1] == masks[2]
