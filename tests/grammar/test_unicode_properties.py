r"""`\p{...}` in regular expressions, beside the tables of the package `regex`."""

from __future__ import annotations

import sys

import pytest

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, UnsupportedFeatureError
from kernels_core.grammar import unicode_properties

COMPILER = GrammarCompiler(TokenizerInfo([*(bytes([i]) for i in range(256)), b"</s>"], stop_token_ids=[256]))


def accepts(pattern: str, text: str) -> bool:
    matcher = GrammarMatcher(COMPILER.compile_regex(pattern))
    return matcher.accept_string(text) and matcher.is_completed()


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        (r"\p{Script=Greek}", "α", "a"),
        (r"\p{sc=Grek}", "Ω", "Я"),
        (r"\p{Script_Extensions=Hiragana}", "ー", "a"),
        (r"\p{Emoji}", "😀", "a"),
        (r"\p{Extended_Pictographic}", "❤", "1"),
        (r"\p{Emoji_Component}", "1", "a"),
        pytest.param(
            r"[\p{Extended_Pictographic}\p{Emoji_Component}]+",
            "❤\ufe0f",
            "❤a",
            marks=pytest.mark.report(
                "colinhacks/zod#2433, colinhacks/zod#6515",
                "The properties in the pattern of `z.emoji()`, such as `Extended_Pictographic`, are read.",
            ),
        ),
        (r"\P{Alphabetic}", "1", "é"),
        (r"\p{IDC}", "_", "-"),  # the package takes this short name for that of a block
        (r"\p{VS}", "\U000e0100", "a"),  # and this one
        (r"\p{White_Space}", "\u3000", "a"),
        (r"[\p{Lu}\p{Script=Han}]", "漢", "a"),
    ],
)
def test_properties(pattern: str, inside: str, outside: str) -> None:
    assert accepts(pattern, inside)
    assert not accepts(pattern, outside)


def test_every_binary_property_is_the_same_by_both_names_and_is_that_of_the_table() -> None:
    regex = pytest.importorskip("regex")
    for short, name in unicode_properties._BINARY.items():
        found = unicode_properties.unicode_property(None, name)
        assert unicode_properties.unicode_property(None, short) == found
        one = regex.compile(rf"\p{{{name}=Yes}}")
        held = {low for low, _ in found} | {high for _, high in found}
        beside = {low - 1 for low, _ in found if low} | {high + 1 for _, high in found if high < sys.maxunicode}
        assert all(one.match(chr(point)) for point in held)
        assert not any(one.match(chr(point)) for point in beside)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"a\p{Greek}", r"a script is written \p{Script=Greek}"),
        (r"\p{RGI_Emoji}", "property of strings"),
        (r"\p{Script=Klingon}", "there is no script of this name"),
        (r"\p{Emojy}", "ECMA-262 has no such property"),
        (r"\p{InGreek}", "ECMA-262 has no such property"),
        (r"\p{Block=Greek}", "ECMA-262 has no such property"),
        (r"\p{CWKCF}", "the table of this property is not here"),
    ],
)
def test_what_there_is_not(pattern: str, said: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        Grammar.from_regex(pattern)
    assert said in caught.value.reason
    assert caught.value.offset == pattern.index("\\")


def test_without_the_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    unicode_properties._by_library.cache_clear()
    with pytest.raises(UnsupportedFeatureError, match="package regex, which is not installed"):
        Grammar.from_regex(r"\p{Emoji}")
    assert accepts(r"\p{Lu}", "A")  # general categories are Python's
