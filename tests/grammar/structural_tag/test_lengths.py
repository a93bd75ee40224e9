"""Raw text up to an end string, and its length: characters are counted beside the automaton, and no mask may show it.

All is compared with a parser that has no such counts (everything is lowered at once), with the reference recogniser,
and with the definition.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import CompiledGrammar, GrammarCompiler, GrammarError, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import UnsupportedSchemaError
from kernels_core.grammar.compact_body import Diagram
from kernels_core.grammar.ir import DeferredRule
from kernels_core.grammar.rules import body_of
from kernels_core.grammar.structural_tag.styles import STYLES
from kernels_core.grammar.templates import get_model_structural_tag
from kernels_core.laboratory import without
from tests.engine.driver import everywhere, follow, mask, tokenizer
from tests.grammar.structural_tag.driver import ANY, Format, tag, whole
from tests.grammar.structural_tag.test_styles import styled
from tests.reference.masks import mask_at
from tests.reference.recogniser import Recogniser
from tests.strategies import examples

M3 = "]<]minimax[>["
AROUND = {
    "qwen_xml": ("<parameter=s>", "</parameter>"),
    "minimax_xml": ('<parameter name="s">', "</parameter>"),
    "minimax_m3_xml": (f"{M3}<s>", f"{M3}</s>"),
    "deepseek_xml": ('<｜DSML｜parameter name="s" string="true">', "</｜DSML｜parameter>"),
    "glm_xml": ("<arg_key>s</arg_key><arg_value>", "</arg_value>"),
    "cohere_xml": ('<cofl:value name="s" type="raw">', "</cofl:value>"),
    "kimi_k3_xml": ('<|open|>argument key="s" type="string"<|sep|>', "<|close|>argument<|sep|>"),
}
VOCABULARY = sorted(
    {
        *(bytes([byte]) for byte in b'ab7\n </pre]>["{}:,|'),
        *(text.encode() for text in ("é", "éa", "😀", "aa", "a7", "aaaa", "b7b7a", "ab<", "</", "<a", "][<", "a</")),
        *(end.encode()[:size] for _, end in AROUND.values() for size in (len(end.encode()), 4, 6)),
        *(b"a" + end.encode()[:size] for _, end in AROUND.values() for size in (len(end.encode()), 3)),
        *(end.encode()[3:] for _, end in AROUND.values()),
        *(b"\xc3", b"\xa9", b"\xf0\x9f", b"\x98\x80", b"</c>", b"a</c>", b"</parameter></c>"),
    }
)
INFO = tokenizer(VOCABULARY)
COMPILERS = everywhere(INFO)
WHOLE = GrammarCompiler(INFO, options=Options(parser="naive", lazy_lowering=False))
PATTERNS = [None, "^[ab]+$", "a7|b7b", "^[^b]*<", "é", "^a*$", "7$"]


def call(style: str, string: dict[str, Any]) -> Format:
    schema = {"type": "object", "properties": {"s": {"type": "string"} | string}, "required": ["s"]}
    return whole(tag("<c>", styled(style, schema | {"additionalProperties": False}), "</c>"))


def compiled(compiler: GrammarCompiler, style: str, string: dict[str, Any]) -> CompiledGrammar:
    return compiler.compile_structural_tag(call(style, string))


def bounds(grammar: CompiledGrammar) -> list[int]:
    """The greatest lengths of texts that the parser counts."""
    ir = grammar.grammar.lazy_ir
    made = [body_of(ir.rules, ir.made, name, True) for name in list(ir.rules)]
    return [body.most for body in made if isinstance(body, Diagram) and body.spans is not None]


@pytest.mark.parametrize("style", AROUND)
def test_the_parser_counts(style: str) -> None:
    assert bounds(compiled(COMPILERS["as it is"], style, {"maxLength": 60_000})) == [60_000]


# All bounds have to be met, and all patterns, with each style.
@examples(2)
@given(st.sampled_from(list(AROUND)), st.sampled_from(PATTERNS), st.integers(0, 5), st.integers(0, 9), st.data())
def test_counting_changes_no_mask(style: str, pattern: str | None, least: int, more: int, data: st.DataObject) -> None:
    string: dict[str, Any] = {"minLength": least, "maxLength": least + more}
    string |= {} if pattern is None else {"pattern": pattern}
    try:
        at_once = compiled(WHOLE, style, string)
    except UnsupportedSchemaError:  # no text is left
        with pytest.raises(UnsupportedSchemaError):
            compiled(COMPILERS["as it is"], style, string)
        return
    plain = GrammarMatcher(at_once)
    others = {name: GrammarMatcher(compiled(compiler, style, string)) for name, compiler in COMPILERS.items()}
    for matcher in (plain, *others.values()):
        assert matcher.accept_string("<c>" + AROUND[style][0])
    follow(plain, others, data, steps=8)


@examples(0.5)
@given(st.integers(0, 3), st.integers(0, 6), st.data())
def test_the_reference_takes_the_same_tokens(least: int, more: int, data: st.DataObject) -> None:
    grammar = compiled(COMPILERS["as it is"], "qwen_xml", {"minLength": least, "maxLength": least + more})
    matcher = GrammarMatcher(grammar)
    recogniser = Recogniser(grammar.grammar.ir)
    token = b"<c><parameter=s>"
    here = recogniser.start()
    for _ in range(6):
        assert matcher.accept_string(token)
        for byte in token:
            here = recogniser.advance(here, byte)
        expected = mask_at(recogniser, here, VOCABULARY)
        assert mask(matcher) == expected | ({len(VOCABULARY)} if here.completed else set())
        if not expected:
            break
        token = VOCABULARY[data.draw(st.sampled_from(sorted(expected)))]


@pytest.mark.parametrize("style", AROUND)
@pytest.mark.parametrize("pattern", [None, "^[^b]*<", "7"])
@pytest.mark.parametrize("bounds", [(0, 3), (2, 4), (3, 3), (1, 40), (0, 0)])
def test_texts_are_those_of_the_schema(style: str, pattern: str | None, bounds: tuple[int, int]) -> None:
    least, most = bounds
    string: dict[str, Any] = {"minLength": least, "maxLength": most} | ({"pattern": pattern} if pattern else {})
    front, back = AROUND[style]
    if pattern and not most:
        with pytest.raises(UnsupportedSchemaError):
            compiled(COMPILERS["as it is"], style, string)
        return
    grammar = compiled(COMPILERS["as it is"], style, string)
    seen = set()
    for text in _texts(STYLES[style].stop):
        # A style may let a line feed beside the markers be layout.
        read = {text, text.removeprefix("\n"), text.removesuffix("\n"), text.removeprefix("\n").removesuffix("\n")}
        allowed = any(
            least <= len(one) <= most and STYLES[style].stop not in one and (not pattern or re.search(pattern, one))
            for one in (read if STYLES[style].lines else {text})
        )
        matcher = GrammarMatcher(grammar)
        accepted = matcher.accept_string(f"<c>{front}{text}{back}</c>") and matcher.is_completed()
        assert accepted == allowed, text
        seen.add(allowed)
    assert seen == {True, False}


@cache
def _texts(stop: str) -> list[str]:
    parts = ["", "a", "7", "é", "<", "😀", "\n", stop[:-1], stop[:3], stop, "b<"]
    return [one + two + three for one in parts for two in parts for three in ("", "a", "7é", "\n", stop[:-2])]


@given(
    st.integers(0, 6),
    st.lists(st.sampled_from(["ab", "b", "aba", "aab", "</c>", ">"]), max_size=2),
    st.sampled_from(["</c>", "aa", "abab", "</", ["</c>", "ba"], ["</c>", ""]]),
    st.data(),
)
def test_free_text_with_a_limit(most: int, excludes: list[str], end: Any, data: st.DataObject) -> None:
    form = whole(tag("<", ANY | {"max_chars": most, "excludes": excludes}, end))
    try:
        plain = GrammarMatcher(WHOLE.compile_structural_tag(form))
    except GrammarError:  # no text is left
        with pytest.raises(GrammarError):
            COMPILERS["as it is"].compile_structural_tag(form)
        return
    others = {name: GrammarMatcher(compiler.compile_structural_tag(form)) for name, compiler in COMPILERS.items()}
    for matcher in (plain, *others.values()):
        assert matcher.accept_string("<")
    follow(plain, others, data, steps=8)


def test_a_long_limit_of_free_text_is_counted() -> None:
    form = whole(tag("<", ANY | {"max_chars": 50_000, "excludes": ["<tool>"]}, "</c>"))
    grammar = COMPILERS["as it is"].compile_structural_tag(form)
    assert bounds(grammar)


@pytest.mark.parametrize(
    ("string", "accepts", "rejects"),
    [
        ({"maxLength": 300}, [300 * "a"], [301 * "a"]),
        ({"anyOf": [{"maxLength": 300}, {"enum": [302 * "b"]}]}, [300 * "a", 302 * "b"], [301 * "b", 302 * "a"]),
        ({"anyOf": [{"maxLength": 300}, {"pattern": "^c"}]}, [300 * "a", 400 * "c"], [301 * "a"]),
    ],
)
def test_strings_inside_of_other_values_are_counted(string: Any, accepts: list[str], rejects: list[str]) -> None:
    array = {"type": "array", "items": {"type": "string"} | string}
    schema = {"type": "object", "properties": {"s": array, "t": {"type": "string"} | string}, "required": ["s"]}
    grammar = COMPILERS["as it is"].compile_structural_tag(whole(tag("<c>", styled("qwen_xml", schema), "</c>")))
    assert bounds(grammar)
    for text in (*accepts, *rejects):
        for written in (
            f'<c><parameter=s>["{text}"]</parameter></c>',
            f"<c><parameter=s>[]</parameter><parameter=t>{text}</parameter></c>",
        ):
            matcher = GrammarMatcher(grammar)
            assert (matcher.accept_string(written) and matcher.is_completed()) == (text in accepts), written[:60]


LIMITS = [32, 50, 100, 255, 256, 1000, 1024, 4096, 8000, 20_000, 65_535]


def tools(count: int) -> list[dict[str, Any]]:
    """Each has a string with a limit of its own, and more."""

    def properties(number: int) -> dict[str, Any]:
        return {
            "text": {"type": "string", "maxLength": LIMITS[number % len(LIMITS)] + number},
            "mode": {"enum": ["on", "off", number]},
            "when": {"type": "string", "format": "date"},
            "code": {"type": "string", "pattern": "^[a-z]{2,9}$"},
            "many": {"type": "array", "items": {"type": "string", "maxLength": 500 + number}},
        }

    return [
        {
            "type": "function",
            "function": {"name": f"t{n}", "parameters": {"type": "object", "properties": properties(n)}},
        }
        for n in range(count)
    ]


@pytest.mark.report(
    "ggml-org/llama.cpp#25895, ggml-org/llama.cpp#25746",
    "Forty tools, each with a `maxLength` of its own, make a small grammar in every style of arguments.",
)
@pytest.mark.parametrize(
    "model", ["qwen_3_5", "deepseek_v3_2", "glm_4_7", "minimax", "minimax_m3", "kimi_k3", "gemma", "hermes"]
)
def test_sets_of_tools_are_not_read_before_they_are_called(model: str) -> None:
    made = get_model_structural_tag(model, tools=tools(40), tool_choice="auto")
    grammar = COMPILERS["as it is"].compile_structural_tag(made).grammar
    assert len(grammar.lazy_ir.rules) < 10


def test_what_is_shown_counts_as_the_parser_does() -> None:
    """Nothing is read before the first character, so an item's counter is the number of characters."""
    grammar = compiled(COMPILERS["as it is"], "qwen_xml", {"minLength": 2, "maxLength": 300})
    matcher = GrammarMatcher(grammar)
    for text, count in (("<c><parameter=s>a", 1), ("b", 2), ("</param", 9)):
        assert matcher.accept_string(text)
        items = [item for item in matcher.frontier().items if item.characters is not None]
        assert {(item.characters, item.counter) for item in items} == {(count, count)}
        shown = {item.state for item in matcher.frontier().items if item.scannable}
        assert shown >= {state for state, _, _ in grammar.machine.set_items(matcher.set_number)}
    (rule,) = (one for one in grammar.automaton().rules if one.lengths)
    assert rule.lengths == (2, 300)
    here = {state.id: state for state in rule.states}
    assert not here[rule.start].accepting
    assert not here[rule.start].ends_character
    assert any(state.accepting and state.ends_character for state in rule.states)


MARKS = [b"<|open|>", b"<|close|>", b"<|sep|>", b'<|"|>', "｜DSML｜".encode(), b"]<]minimax[>["]


@pytest.mark.parametrize(
    ("style", "front", "back"),
    [
        ("kimi_k3_xml", '<|open|>argument key="s" type="string"<|sep|>', "<|close|>argument<|sep|>"),
        ("gemma", '{s:<|"|>', '<|"|>}'),
        ("deepseek_xml", '<｜DSML｜parameter name="s" string="true">', "</｜DSML｜parameter>"),
        ("minimax_m3_xml", f"{M3}<s>", f"{M3}</s>"),
    ],
)
def test_markers_that_are_control_tokens(style: str, front: str, back: str) -> None:
    """The markers of a call that is read late are tokens as they are where it is read at once."""
    vocabulary = [*MARKS, *(bytes([byte]) for byte in range(256)), b"<stop>"]
    last = len(vocabulary) - 1
    info = TokenizerInfo(vocabulary, stop_token_ids=[last], special_token_ids=[*range(len(MARKS)), last])
    schema = {"type": "object", "properties": {"s": {"type": "string", "minLength": 2, "maxLength": 3}}}
    calls = [tag(f"<{name}>", styled(style, schema | {"required": ["s"]}), "</>") for name in ("a", "b")]
    form = whole({"type": "tags_with_separator", "tags": calls, "separator": ",", "at_least_one": True})
    late = GrammarCompiler(info).compile_structural_tag(form)
    assert all(isinstance(late.grammar.lazy_ir.rules[name], DeferredRule) for name in ("a", "_b"))
    with without("deferrable calls"):
        at_once = GrammarCompiler(info).compile_structural_tag(form)
    pattern = re.compile(b"|".join(map(re.escape, MARKS)) + b"|.", re.DOTALL)
    for text, ends in (("xy", True), ("xyz", True), ("x", False), ("", False)):
        matchers = [GrammarMatcher(late), GrammarMatcher(at_once)]
        for token in pattern.findall(f"<b>{front}{text}".encode()):
            for matcher in matchers:
                assert matcher.accept_token(vocabulary.index(token))
        assert mask(matchers[0]) == mask(matchers[1])
        taken = [
            all(matcher.accept_token(vocabulary.index(token)) for token in pattern.findall(f"{back}</>".encode()))
            for matcher in matchers
        ]
        assert taken == [ends, ends]
        assert not ends or all(matcher.is_completed() for matcher in matchers)
