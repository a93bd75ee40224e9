"""Structural tags as XGrammar's users write them: what free text in a tag leaves out, free tokens before an end string,
names and types of arguments."""

from __future__ import annotations

from typing import Any

import pytest

import workbench.compat.xgrammar as xgr

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from workbench.compat.xgrammar.tag_arguments import engine_tag
from workbench.compat.xgrammar.testing import _is_grammar_accept_string

Format = dict[str, Any]
ANY: Format = {"type": "any_text"}
INFO = xgr.TokenizerInfo(["a", "b", "<t>", "</t>", "x", "</s>"])
COMPILER = xgr.GrammarCompiler(INFO)


def tag(content: Format, begin: str = "<t>", end: Any = "</t>") -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def const(value: str) -> Format:
    return {"type": "const_string", "value": value}


def sequence(*elements: Format) -> Format:
    return {"type": "sequence", "elements": list(elements)}


def verdicts(form: Format, *texts: str) -> list[bool]:
    grammar = xgr.Grammar.from_structural_tag({"format": form})
    return [_is_grammar_accept_string(grammar, text) for text in texts]


@pytest.mark.parametrize(
    "free",
    [
        ANY,
        {"type": "any_text", "max_chars": 9},
        {"type": "triggered_tags", "triggers": ["<u>"], "tags": [tag(const(""), "<u>", "")]},
    ],
)
def test_free_text_inside_a_tag_leaves_out_its_end(free: Format) -> None:
    form = tag(sequence(free, const("\n")))
    assert verdicts(form, "<t>a\n</t>", "<t>a\nb\n</t>", "<t>a</t>b\n</t>") == [True, True, False]
    assert verdicts(sequence(form, free), "<t>a\n</t></t>") == [True]  # behind the tag it is text like any other
    inner = tag(sequence(tag(sequence(free, const("!")), "<u>", "</u>"), const("\n")))
    assert verdicts(inner, "<t><u>a!</u>\n</t>", "<t><u></t>!</u>\n</t>") == [True, True]  # the innermost tag counts


@pytest.mark.parametrize("kind", ["star", "plus", {"type": "repeat", "min": 2, "max": 5}])
def test_repeated_free_text_is_free_text(kind: Any) -> None:
    repeated = {**(kind if isinstance(kind, dict) else {"type": kind}), "content": ANY}
    texts = ("<t></t>", "<t>ab</t>", "<t>a</t>b</t>")
    assert verdicts(tag(repeated), *texts) == [True, True, False]
    assert verdicts(tag({**repeated, "content": {**ANY, "excludes": ["ab"]}}), *texts) == [True, False, False]
    lines = {**repeated, "content": sequence(const("-"), ANY)}
    assert verdicts(tag(lines), "<t>-a-b</t>", "<t>-a</t>-b</t>", "<t>a</t>") == [True, False, False]


def test_an_empty_end_needs_other_limits() -> None:
    with pytest.raises(RuntimeError, match=r"When the content is unlimited, at least one end string must be non-empty"):
        xgr.Grammar.from_structural_tag({"format": tag(ANY, end="")})


TOKENS: list[tuple[Format, list[list[int]], list[list[int]]]] = [
    ({"type": "any_tokens"}, [[2, 3], [2, 0, 4, 3]], [[2], [2, 0]]),
    ({"type": "any_tokens", "exclude_tokens": [4], "max_tokens": 1}, [[2, 3], [2, 0, 3]], [[2, 4, 3], [2, 0, 1, 3]]),
    ({"type": "exclude_token", "exclude_tokens": [0]}, [[2, 1, 3]], [[2, 3], [2, 0, 3]]),
    (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [4],
            "tags": [tag(const("b"), {"type": "token", "token": 4}, {"type": "token", "token": 1})],  # type: ignore[arg-type]
        },
        [[2, 3], [2, 0, 4, 1, 1, 3]],
        [[2, 4, 3], [2, 4, 1, 3]],
    ),
    ({"type": "token_dispatch", "rules": [[4, const("b")]]}, [[2, 3], [2, 0, 4, 1, 3]], [[2, 4, 3], [2, 4, 0, 3]]),
]


@pytest.mark.parametrize(("content", "taken", "refused"), TOKENS)
def test_free_tokens_before_an_end_string(content: Format, taken: list[list[int]], refused: list[list[int]]) -> None:
    compiled = COMPILER.compile_structural_tag({"format": tag(content)})

    def takes(tokens: list[int]) -> bool:
        matcher = xgr.GrammarMatcher(compiled)
        return all(matcher.accept_token(token) for token in tokens) and matcher.is_completed()

    assert [takes(tokens) for tokens in taken] == [True] * len(taken)
    assert [takes(tokens) for tokens in refused] == [False] * len(refused)


def argument(name: str, kind: str, value: str) -> str:
    return f'<|open|>argument key="{name}" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'


def test_kimi_k3_names_and_types() -> None:
    schema = {"type": "object", "properties": {'a"&<b': {"type": "integer"}, "c": {}}, "additionalProperties": True}
    form = {"type": "json_schema", "json_schema": schema, "style": "kimi_k3_xml"}
    with pytest.raises(RuntimeError, match="cannot be written in this style"):
        verdicts(form)
    schema["properties"] = {'a"&b': {"type": "integer"}, "c": {}}
    assert verdicts(
        form,
        argument("a&quot;&amp;b", "number", "1"),
        argument('a"&b', "number", "1"),
        argument("a&quot;&amp;b", "integer", "1"),  # a declared number is called so
        argument("c", "integer", "1"),
        argument("c", "integer", "1.5"),
        argument("d", "integer", "1"),
        argument("d", "integer", "x"),
        argument("d&amp;e", "string", "x"),
        argument("d&e", "string", "x"),
    ) == [True, False, False, True, False, True, False, True, False]


JSON_STRINGS = [
    (r'Regex("\\S+", json_string=true)', ["abc", "é!"], ['a"b', "a\\b", "a b", ""]),
    (r'Regex(".+", json_string=true)', ["a b"], ['"', "a\tb"]),
    (r'Regex("a[b-d]+", flags="i", json_string=true)', ["ABC"], ["AE"]),
    (r'Regex("(?=.*z)[^a]+", json_string=true)', ["bz"], ["b", 'z"', "az"]),
    (r'Regex("a|b\"", json_string=true)', ["a"], ['b"', "b"]),
    (r'Regex("\\S+", json_string=false)', ['a"b'], ["a b"]),
]


@pytest.mark.parametrize(("macro", "taken", "refused"), JSON_STRINGS)
def test_patterns_of_what_stands_in_a_json_string(macro: str, taken: list[str], refused: list[str]) -> None:
    grammar = xgr.Grammar.from_ebnf(f"root ::= {macro}")
    for form in (grammar, xgr.Grammar.from_ebnf(str(grammar))):
        assert [text for text in (*taken, *refused) if _is_grammar_accept_string(form, text)] == taken


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        ("", "Regex expects exactly one string argument"),
        ('"a", "b"', "Regex expects exactly one string argument"),
        ("abc", "Regex pattern must be a string literal"),
        ('"a", foo=true', "Regex does not support the named argument foo"),
        ('"a", json_string="yes"', "json_string must be a boolean"),
        ('"a", flags=true', "flags must be a string"),
        ('"a", flags="l"', "regular-expression flag 'l' is not supported"),
    ],
)
def test_arguments_of_regex_that_are_refused(arguments: str, phrase: str) -> None:
    with pytest.raises(RuntimeError, match=f"line 1.*{phrase}"):
        xgr.Grammar.from_ebnf(f"root ::= Regex({arguments})")


def test_a_part_that_stands_in_many_places_is_read_once() -> None:
    """A tag that holds a part twice, which holds a part twice, ..., stays as small as it is."""
    part: dict[str, Any] = {"type": "json_schema", "json_schema": {"type": "integer"}}
    for _ in range(16):
        part = {"type": "or", "elements": [part, part]}
    found = engine_tag([{"type": "structural_tag", "format": part}], {}, "compile_structural_tag")["format"]
    for _ in range(16):
        one, other = found["elements"]
        assert one is other
        found = one
    assert found["type"] == "json_schema"
