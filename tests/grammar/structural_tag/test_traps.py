"""Where structural tags go wrong elsewhere: ends, token ids, names of control tokens in ordinary text, errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    BudgetExceededError,
    GrammarCompiler,
    GrammarError,
    GrammarMatcher,
    GrammarSyntaxError,
    InvalidStructuralTagError,
    TimeLimit,
    TokenizerInfo,
    UnsupportedSchemaError,
)
from kernels_core.grammar import nodes
from kernels_core.grammar.ir import Node, TokenSet
from kernels_core.grammar.structural_tag.ends import End, FreeText, crosses
from kernels_core.grammar.structural_tag.tokens import Spellings
from tests.grammar.structural_tag.driver import ANY, INFO, Format, Judge, check, const, seq, tag, token, whole

OBJECT: Format = {"type": "json_schema", "json_schema": {"type": "object", "properties": {"a": {"type": "string"}}}}


def test_tags_that_differ_in_a_token_alone() -> None:
    """One compiler, whose caches know states by what they are, and so by their tokens."""
    compiler = GrammarCompiler(INFO)
    for number in (4, 5, 6, 7):
        forms: list[Format] = [
            seq(token(number), const("a")),
            tag(token(number), const("a"), "b"),
            {"type": "exclude_token", "exclude_tokens": [number]},
        ]
        allowed = []
        for form in forms:
            matcher = GrammarMatcher(compiler.compile_structural_tag(whole(form)))
            allowed.append(matcher.allowed_token_ids())
        assert allowed[:2] == [[number], [number]]
        assert allowed[2] == [other for other in range(10) if other not in (number, 8)]


def test_stop_tokens_in_a_tag() -> None:
    """They are tokens like any other there, and end the text elsewhere."""
    check(tag("a", ANY, token("<stop>")), [[0, 8], [0, 1, 8]], [[0], [0, 8, 8]])
    check(tag("a", ANY, ["<stop>", "</call>"]), [[0, 8], [0, 7]], [[0], [0, 6]])
    assert Judge(seq(token(8), const("a"))).matcher.allowed_token_ids() == [8]


def test_control_tokens_are_no_part_of_a_string() -> None:
    for style in ("json", "qwen_xml", "glm_xml", "cohere_xml"):
        judge = Judge(OBJECT | {"style": style})
        opening = {
            "json": '{"a": "',
            "qwen_xml": "<parameter=a>",
            "glm_xml": "<arg_key>a</arg_key><arg_value>",
            "cohere_xml": '<cofl:value name="a" type="raw">',
        }[style]
        assert judge.reaches(opening)
        allowed = judge.matcher.allowed_token_ids()
        assert {0, 1, 3} <= set(allowed)
        assert not set(allowed) & {4, 5, 6, 7, 8}


def test_forced_text_stops_where_a_token_may_come() -> None:
    either: Format = {"type": "or", "elements": [token(6), const("bc")]}
    assert Judge(seq(const("a"), either)).matcher.find_jump_forward_string() == "a"


def test_free_text_before_a_constant_is_not_cut() -> None:
    check(seq(ANY, const("end")), ["end", "xend", "endend", "an end and an end"], ["", "en", "ends"])


def test_an_empty_end_behind_text_with_excludes() -> None:
    check(tag("a", ANY | {"excludes": ["b"]}, ""), ["a", "axy"], ["ab", "axb"])
    check(seq(tag("a", ANY | {"excludes": ["b"]}, ""), const("b")), ["ab", "axb"], ["a", "abb"])


def test_raw_text_in_a_tag_whose_end_it_holds() -> None:
    """The tag ends behind the arguments, not at the first text that looks like its end."""
    form = tag("<f>", OBJECT | {"style": "qwen_xml"}, "</f>")
    check(form, ["<f><parameter=a></f></parameter></f>", "<f></f>"], ["<f><parameter=a></f>", "<f></f></f>"])


@pytest.mark.parametrize(
    ("tag", "kind", "place"),
    [
        ({"format": {"type": "tag", "begin": "a", "content": ANY}}, InvalidStructuralTagError, "#/format"),
        ({"format": {"type": "regex", "pattern": "("}}, InvalidStructuralTagError, "#/format/pattern"),
        ({"format": ANY, "excludes": ["a"]}, InvalidStructuralTagError, "#"),
        (
            {"format": OBJECT | {"json_schema": {"properties": {"a": {"type": "x"}}}, "style": "glm_xml"}},
            UnsupportedSchemaError,
            "#/format/json_schema/properties/a",
        ),
        ('{"format":', GrammarSyntaxError, "line 1, column 11"),
    ],
)
def test_a_compiler_raises_what_a_grammar_raises(tag: Any, kind: type[Exception], place: str) -> None:
    compiler = GrammarCompiler(INFO)
    for _ in range(2):
        with pytest.raises(kind, match=place) as caught:
            compiler.compile_structural_tag(tag)
        assert isinstance(caught.value, GrammarError | UnsupportedSchemaError)
    assert compiler.compile_structural_tag(whole(ANY)) is not None


letters = st.text("ab<|é", min_size=1, max_size=5)
names = st.one_of(
    st.sets(letters, min_size=1, max_size=8),
    st.sets(letters.map("<|".__add__), min_size=1, max_size=8),
    st.sets(letters.map("<|".__add__), max_size=4).map(lambda some: {"<|", *some}),
    st.sets(st.integers(1, 80).map("a".__mul__), min_size=30, max_size=60),  # each the beginning of the next
)


def spelt(text: bytes, ids: dict[bytes, int]) -> list[Node]:
    """By the definition: from left to right, the longest name that stands at a place."""
    found: list[Node] = []
    plain = b""
    while text:
        here = max((name for name in ids if text.startswith(name)), key=len, default=b"")
        if not here:
            plain, text = plain + text[:1], text[1:]
            continue
        found += [nodes.literal(plain)] if plain else []
        found.append(TokenSet((ids[here],)))
        plain, text = b"", text[len(here) :]
    return [*found, nodes.literal(plain)] if plain else found


@given(names, st.lists(st.text("ab<|é", max_size=12) | st.integers(0, 99).map("a".__mul__), max_size=3))
def test_the_longest_name_at_a_place_is_meant(names: set[str], texts: list[str]) -> None:
    vocabulary = [name.encode() for name in sorted(names)]
    ids = {name: number for number, name in enumerate(vocabulary)}
    spellings = Spellings(TokenizerInfo(vocabulary, special_token_ids=list(ids.values()), stop_token_ids=[]))
    meant: set[int] = set()
    for text in texts:
        parts = spelt(text.encode(), ids)
        assert spellings.parts(text) == parts
        meant.update(number for part in parts if isinstance(part, TokenSet) for number in part.ids)
    assert spellings.named(texts) == tuple(sorted(meant))


def test_long_ends_look_at_the_clock() -> None:
    """All ends of a long string are compared with the beginnings of another."""
    watched, end = "a" * 2_000 + "b", "a" * 2_000
    assert crosses([watched], [end.encode()]) is None
    with pytest.raises(BudgetExceededError), TimeLimit(0, looks=50):
        crosses([watched], [end.encode()])
    trigger = nodes.seq((nodes.literal(end.encode()), TokenSet((4,))))
    free = FreeText([(trigger, nodes.seq(()))], True, (watched.encode(),))
    assert free.clash(End()) is None
    with pytest.raises(BudgetExceededError), TimeLimit(0, looks=50):
        free.clash(End())
