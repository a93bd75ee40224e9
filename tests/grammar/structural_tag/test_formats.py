"""Each format of structural tags: what it accepts and what it does not."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import pytest

from kernels_core import Grammar, GrammarCompiler
from tests.grammar.structural_tag.driver import ANY, INFO, Format, Judge, check, const, seq, tag, token, whole

SCHEMA = {"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"], "additionalProperties": False}
JSON: Format = {"type": "json_schema", "json_schema": SCHEMA}
CALLS = [tag("<f=a>", const("1"), "</f>"), tag("<f=b>", ANY, "</f>")]


def triggered(**more: Any) -> Format:
    return {"type": "triggered_tags", "triggers": ["<f="], "tags": CALLS, **more}


def dispatch(*rules: Any, **more: Any) -> Format:
    return {"type": "dispatch", "rules": [list(rule) for rule in rules], **more}


CASES: list[tuple[Format, list[Any], list[Any]]] = [
    (const("a\n"), ["a\n"], ["", "a", "a\n\n"]),
    (const(""), [""], ["a"]),
    (JSON, ['{"q": 1}', '{"q":-20}'], ["{}", '{"q": "1"}', '{"q": 1} ']),
    ({"type": "json_schema", "json_schema": True}, ["1", "[]"], ["", "x"]),
    (JSON | {"json_schema": {"required": ["q"]}, "strict_mode": True}, ["{}", "1"][1:], ["{"]),
    (ANY, ["", "a", "<think>\n"], []),
    (ANY | {"excludes": ["ab", "<"]}, ["", "a", "aa", "ba"], ["ab", "xaby", "<"]),
    ({"type": "grammar", "grammar": 'root ::= "a" x\nx ::= "b" | x "c"'}, ["ab", "abcc"], ["a", "abb"]),
    ({"type": "regex", "pattern": "[a-c]+|\\d{2}"}, ["abc", "12"], ["", "1", "a1"]),
    (seq(const("a"), const("b")), ["ab"], ["a", "b"]),
    ({"type": "or", "elements": [const("a"), const("ab")]}, ["a", "ab"], ["", "b"]),
    ({"type": "optional", "content": const("a")}, ["", "a"], ["aa"]),
    ({"type": "plus", "content": const("a")}, ["a", "aaa"], ["", "ab"]),
    ({"type": "star", "content": const("a")}, ["", "a", "aaa"], ["ab"]),
    ({"type": "repeat", "min": 2, "max": 3, "content": const("a")}, ["aa", "aaa"], ["a", "aaaa"]),
    ({"type": "repeat", "min": 2, "max": -1, "content": const("a")}, ["aa", "aaaaaa"], ["a"]),
    (tag("<a>", const("x"), "</a>"), ["<a>x</a>"], ["<a>x", "x"]),
    (tag("", const("x"), ["</a>", "!"]), ["x</a>", "x!"], ["x", "x!!"]),
    (tag("a", const("x"), ["", "!"]), ["ax", "ax!"], ["a"]),
    # triggered tags
    (
        triggered(),
        ["", "free", "<f", "<f=a>1</f>", "x<f=a>1</f>y<f=b>z</f>", "<f=b><f=a>1</f>"],
        ["<f=", "<f=c>", "<f=a>2</f>", "x<f=a>1", "<f=b>x</f"],
    ),
    (triggered(excludes=["no"]), ["n", "<f=b>no</f>"], ["no", "<f=a>1</f>no"]),
    (triggered(stop_after_first=True), ["", "x", "x<f=a>1</f>"], ["<f=a>1</f>x", "<f=a>1</f><f=a>1</f>"]),
    (triggered(at_least_one=True), ["<f=a>1</f>", "<f=a>1</f>x<f=a>1</f>"], ["", "x<f=a>1</f>"]),
    (triggered(at_least_one=True, stop_after_first=True), ["<f=a>1</f>"], ["", "<f=a>1</f>x"]),
    # lists
    (
        {"type": "tags_with_separator", "tags": CALLS, "separator": ", "},
        ["", "<f=a>1</f>", "<f=a>1</f>, <f=b>x</f>"],
        ["<f=a>1</f>, ", "<f=a>1</f><f=a>1</f>", "x"],
    ),
    (
        {"type": "tags_with_separator", "tags": CALLS, "separator": "", "at_least_one": True},
        ["<f=a>1</f>", "<f=a>1</f><f=b>x</f>"],
        [""],
    ),
    (
        {"type": "tags_with_separator", "tags": CALLS, "separator": ",", "stop_after_first": True},
        ["", "<f=a>1</f>"],
        ["<f=a>1</f>,<f=a>1</f>"],
    ),
    # dispatch
    (dispatch(["ab", const("1")], ["c", const("2")]), ["", "a", "xab1yc2", "aab1"], ["ab", "ab2", "xc1"]),
    (dispatch(["ab", const("1")], loop=False, excludes=["z"]), ["", "xab1"], ["ab1x", "z"]),
    # tokens: 0 a, 1 b, 2 <, 3 ab, 4 <think>, 5 </think>, 6 <call>, 7 </call>
    (token(4), [[4]], [[], [5], [4, 4], "<think>"]),
    (token("<call>"), [[6]], [[4]]),
    ({"type": "exclude_token", "exclude_tokens": ["a", 4]}, [[1], [5]], [[], [0], [4], [1, 1]]),
    ({"type": "any_tokens", "exclude_tokens": [4]}, [[], [0, 5, 3]], [[4], [0, 4]]),
    (
        {"type": "token_triggered_tags", "trigger_tokens": [6], "tags": [tag(token(6), const("a"), token(7))]},
        [[], [0, 4, 6, 0, 7, 1], [6, 0, 7, 6, 0, 7]],
        [[6], [6, 1, 7], [6, 0], [6, 0, 6]],
    ),
    (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": ["<call>"],
            "tags": [tag(token("<call>"), const("a"), token("</call>"))],
            "exclude_tokens": [4],
            "at_least_one": True,
            "stop_after_first": True,
        },
        [[6, 0, 7]],
        [[], [6, 0, 7, 0], [4]],
    ),
    (
        {"type": "token_dispatch", "rules": [[6, const("a")], ["<think>", const("b")]], "exclude_tokens": [5]},
        [[], [0, 6, 0, 1, 4, 1, 4, 1]],
        [[6], [6, 1], [4], [5]],
    ),
    ({"type": "token_dispatch", "rules": [[6, const("a")]], "loop": False}, [[], [1, 6, 0]], [[6, 0, 1]]),
]


@pytest.mark.parametrize(("form", "accepts", "rejects"), CASES, ids=lambda value: None)
def test_format(form: Format, accepts: list[Any], rejects: list[Any]) -> None:
    check(form, accepts, rejects)


@pytest.mark.parametrize(
    ("form", "accepts", "rejects"),
    [
        (tag("<a>", ANY, "</a>"), ["<a></a>", "<a>x<</a>"], ["<a></a></a>", "<a>x", "<a></a>x"]),
        (tag("(", ANY, ["]", ")"]), ["(a]", "(a)"], ["(a])", "(a)]"]),
        (tag("", ANY, "aa"), ["aa", "baa"], ["aaa", "aaba"]),
        (tag("(", ANY | {"excludes": ["x"]}, ["", ")"]), ["(", "(a", "(a)"], ["(x", "(a))", "(a)b"]),
        (tag("(", seq(const("a"), ANY), ")"), ["(a)", "(ab)"], ["()", "(a))"]),
        (tag("(", {"type": "or", "elements": [const("))"), ANY]}, ")"), ["()", "(a)", "()))"], ["(a))", "())"]),
        (tag("(", {"type": "optional", "content": ANY}, ")"), ["()", "(a)"], ["(a))"]),
        (tag("(", triggered(), ")"), ["(a)", "(<f=b>)</f>)", "(<f)"], ["(a))", "(a)<f=a>1</f>)"]),
        (tag("(", triggered(stop_after_first=True), ")"), ["(a)", "(x<f=a>1</f>)"], ["(<f=a>1</f>x)", "(a))"]),
        (tag("(", triggered(at_least_one=True), ")"), ["(<f=a>1</f>)", "(<f=a>1</f>x)"], ["()", "(<f=a>1</f>))"]),
        (tag("(", dispatch(["b", const(")")]), ")"), ["(a)", "(ab))"], ["(ab)", "(a))"]),
        (tag("(", dispatch(["b", const("c")], loop=False), ")"), ["(a)", "(bc)"], ["(bca)", "(a))"]),
        (tag("(", tag("[", ANY, "]"), ")"), ["([)])", "([])"], ["([]])"]),
        (seq(ANY, const("end")), ["end", "end end"], ["en"]),
        (tag("a", {"type": "any_tokens"}, token(5)), [[0, 5], [0, 1, 4, 5]], [[0], [0, 5, 5], [0, 5, 1]]),
        (tag("a", {"type": "star", "content": {"type": "exclude_token"}}, token(5)), [[0, 1, 5]], [[0, 5, 5]]),
        (
            tag("a", {"type": "token_dispatch", "rules": [[6, {"type": "any_tokens"}]]}, token(5)),
            [[0, 5], [0, 6, 1, 6, 5]],
            [[0, 5, 5], [0, 6, 5, 5]],
        ),
        (tag(token("<think>"), ANY, token("</think>")), [[4, 5], [4, 2, 0, 5]], [[4, 5, 5], [4, 0]]),
    ],
    ids=lambda value: None,
)
def test_a_tag_ends_at_its_first_end(form: Format, accepts: list[Any], rejects: list[Any]) -> None:
    check(form, accepts, rejects)


@pytest.mark.parametrize("most", [0, 1, 2, 3])
@pytest.mark.parametrize("ends", [["</"], ["aa"], ["aba", "ab"], ["a", "ba"], ["</", ""]])
@pytest.mark.parametrize("excludes", [[], ["ab"], ["bb", "a<"]])
def test_limited_text(most: int, ends: list[str], excludes: list[str]) -> None:
    """All texts of few letters, against what limits, ends and excludes mean."""
    judge = Judge(tag("", ANY | {"max_chars": most, "excludes": excludes}, ends))
    stops = [text for text in ends if text]

    def ended(text: str, strings: list[str]) -> bool:
        return any(text.endswith(string) for string in strings)

    def expected(text: str) -> bool:
        early = any(ended(text[:size], stops + excludes) for size in range(len(text)))
        if "" in ends and len(text) <= most and not early and not ended(text, stops + excludes):
            return True
        return not early and any(text.endswith(stop) and len(text) <= most + len(stop) for stop in stops)

    texts = ["".join(letters) for size in range(7) for letters in itertools.product("ab</", repeat=size)]
    assert [text for text in texts if judge.accepts(text) != expected(text)] == []


def test_limits() -> None:
    check(ANY | {"max_chars": 2}, ["", "é€", "<a"], ["abc"])
    check(seq(ANY | {"max_chars": 3, "excludes": ["ab"]}, const("ab")), ["ab", "bbaab"], ["abab", "bbbbab"])
    check(tag("a", ANY | {"max_chars": 1}, "</call>"), [[0, 7], [0, 1, 7]], [[0, 1, 1, 7], [0]])
    check({"type": "any_tokens", "max_tokens": 2}, [[], [0], [0, 4]], [[0, 0, 0]])
    limited: Format = {"type": "any_tokens", "max_tokens": 1, "exclude_tokens": [1]}
    check(tag("a", limited, token(5)), [[0, 5], [0, 0, 5]], [[0, 0, 0, 5], [0, 1, 5], [0, 5, 5]])
    judge = Judge(tag("(", ANY | {"max_chars": 1000}, ")"))
    assert judge.accepts(f"({'a' * 1000})")
    assert not judge.reaches(f"({'a' * 1001}")


def test_names_of_control_tokens_mean_the_tokens() -> None:
    """Bytes never match a control token, so where a tag spells one, the token itself is meant."""
    check(const("a<call>b"), [[0, 6, 1]], ["a<call>b", [0, 1]])
    check(tag("<think>", ANY, "</think>"), [[4, 5], [4, 2, 0, 5]], [[4, 5, 5], [4, 0]])
    check(tag("a", ANY, ["b</call>", "<"]), [[0, 1, 7], [0, 0, 1, 1, 7], [0, 2]], [[0, 7], [0, 2, 1, 7], [0, 1]])
    calls = [tag("<call>a", const("b"), "</call>"), tag("<call>b", ANY, "</call>"), tag("<<", const("a"), "b")]
    form: Format = {"type": "triggered_tags", "triggers": ["<call>", "<<"], "tags": calls}
    one = [6, 0, 1, 7]
    check(form, [[], [0, 2], [*one, 0, *one], [0, 2, 2, 0, 1, *one, 6, 1, 2, 7]], [[6], [6, 2], [*one, 7], [2, 2, 1]])
    check(form | {"stop_after_first": True}, [[], [0], [0, *one], [2, 2, 0, 1]], [[*one, 0], [2, 2, 0, 1, 0], [6]])
    check(tag("a", form, "b"), [[0, 1], [0, *one, 0, 1]], [[0, 1, *one, 1], [0, *one]])
    check(tag("a", form, "</think>"), [[0, 5], [0, 1, *one, 0, 5]], [[0, 5, 5], [0, *one]])
    once = tag("a", form | {"stop_after_first": True}, "b")
    check(once, [[0, 1], [0, *one, 1], [0, 2, 2, 0, 1, 1]], [[0, *one], [0, *one, 0, 1], [0, 1, *one, 1]])


def test_a_control_token_behind_text_in_a_trigger() -> None:
    form: Format = {"type": "triggered_tags", "triggers": ["<b<call>"], "tags": [tag("<b<call>a", ANY, "</call>")]}
    one = [2, 1, 6, 0, 1, 7]
    check(form, [[], [2], [2, 1], [2, 2, 1], one, [2, *one, 1, *one]], [[6], [1, 6, 0, 7], [2, 1, 6], [2, 6, 0, 7]])
    check(form | {"stop_after_first": True}, [[2, 1], [0, *one]], [[*one, 0], [*one, *one]])
    check(tag("a", form, "ba"), [[0, 1, 0], [0, *one, 1, 0], [0, 2, 1, 0]], [[0, 1, 0, *one, 1, 0]])


def test_two_tags_with_different_end_tokens() -> None:
    """Each tag's free tokens leave out the end of that tag, and of no other."""
    free: Format = {"type": "any_tokens"}
    check(
        seq(tag("a", free, token(5)), tag("b", free, token(7))), [[0, 7, 5, 1, 5, 7]], [[0, 5, 5, 7], [0, 5, 1, 7, 7]]
    )


def test_tokens_by_text_inside_a_repeat() -> None:
    check({"type": "repeat", "min": 2, "max": 2, "content": token("<call>")}, [[6, 6]], [[6], [4, 4]])


def test_an_exclude_that_begins_a_trigger_leaves_the_tag_alone() -> None:
    check(triggered(excludes=["<"]), ["<f=a>1</f>"], ["<", "<x"])


def test_a_tag_inside_a_longer_partial_tag() -> None:
    check(dispatch(["abcd", const("!")], ["bc", const("?")]), ["abc?", "abcd!", "ab"], ["abcz", "abc"])


def test_older_forms() -> None:
    items = [{"begin": "<f=a>", "schema": SCHEMA, "end": "</f>"}, {"begin": "<f=b>", "schema": "{}", "end": "</f>"}]
    one = Grammar.from_structural_tag(items, ["<f="])
    two = Grammar.from_structural_tag(json.dumps({"type": "structural_tag", "structures": items, "triggers": ["<f="]}))
    assert one == two
    compiled = GrammarCompiler(INFO).compile_structural_tag(items, ["<f="])
    assert compiled.grammar == one


def test_equal_schemas_share_their_rules() -> None:
    one = Grammar.from_structural_tag(whole(tag("a", JSON, "b")))
    many = Grammar.from_structural_tag(whole(seq(*(tag("a", JSON, "b") for _ in range(20)))))
    assert len(many.ir.rules) <= len(one.ir.rules) + 1


def test_different_schemas_share_what_is_equal() -> None:
    """Any value, strings and blanks are the same rules in all of them, and stay what they are."""

    def arguments(name: str) -> Format:
        return {"type": "json_schema", "json_schema": {"properties": {name: {"type": "string"}}, "required": [name]}}

    sizes = [
        len(Grammar.from_structural_tag(whole(seq(*(arguments(name) for name in names)))).ir.rules)
        for names in ("a", "ab", "abc")
    ]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] <= sizes[0] / 2
    check(
        seq(arguments("a"), arguments("b")), ['{"a": "x", "c": [{"d": 1}]}{"b": ""}'], ['{"b": "x"}{"a": ""}', "{}{}"]
    )


@pytest.mark.parametrize(
    ("schema", "other", "apart"),
    [
        ({"type": "object", "minProperties": 2}, {"excludes": ["zz"]}, ('{"a": "1zz", "b": 2}', '{"a": "1z", "b": 2}')),
        ({"type": "array", "uniqueItems": True}, {"excludes": ["zz"]}, ('["1zz", 2]', '["1z", 2]')),
        (
            {"type": "object", "minProperties": 2},
            {"whitespace_before_separators": False},
            ('{"a" : 1, "b":2}', '{"a": 1, "b":2}'),
        ),
        ({"type": "array", "uniqueItems": True}, {"whitespace_before_separators": False}, ("[1 , 2]", "[1, 2]")),
    ],
)
def test_one_schema_that_is_written_in_two_ways(schema: Any, other: Any, apart: tuple[str, str]) -> None:
    """Of rules that compare names or items, too."""
    one, two = ({"type": "json_schema", "json_schema": schema, **more} for more in ({}, other))
    wide, both = apart
    check(seq(one, const("|"), two), [f"{wide}|{both}", f"{both}|{both}"], [f"{both}|{wide}"])
    check(seq(two, const("|"), one), [f"{both}|{wide}", f"{both}|{both}"], [f"{wide}|{both}"])


def test_recursive_rules_of_two_grammars_stay_apart() -> None:
    one: Format = {"type": "grammar", "grammar": 'root ::= "(" x ")"\nx ::= root | "1"'}
    two: Format = {"type": "grammar", "grammar": 'root ::= "(" x ")"\nx ::= root | "2"'}
    check(seq(one, two, one), ["((1))(2)(1)"], ["(1)(1)(1)", "(1)((1))(1)"])
    assert len(Grammar.from_structural_tag(whole(seq(one, one))).ir.rules) == 3


def test_text_dict_and_pickle_are_one_grammar() -> None:
    form = whole(seq(triggered(), token("<call>")))
    grammar = Grammar.from_structural_tag(form, tokenizer_info=INFO)
    assert Grammar.from_structural_tag(json.dumps(form), tokenizer_info=INFO) == grammar
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert json.loads(grammar.source) == form


def test_masks_of_free_text_leave_control_tokens_out() -> None:
    judge = Judge(ANY)
    assert judge.matcher.allowed_token_ids() == [0, 1, 2, 3, 8, 9]


@pytest.mark.report("mlc-ai/xgrammar#701", "A stop token that may end a tag can be written, and the text has ended.")
def test_a_stop_token_ends_a_tag() -> None:
    judge = Judge(tag("a", ANY, ["</call>", "<stop>"]))
    assert judge.accepts([0, 1, 7])
    assert not judge.accepts([0, 1])
    assert set(judge.matcher.allowed_token_ids()) >= {7, 8}
    assert judge.matcher.accept_token(8)
    assert judge.matcher.is_terminated()


@pytest.mark.report(
    "mlc-ai/xgrammar#535", "A tag without an end, of free text with excludes, can be the one that has to come."
)
def test_a_required_tag_without_an_end() -> None:
    free = tag("<a", ANY | {"excludes": ["bb"]}, "")
    form = {"type": "triggered_tags", "triggers": ["<a"], "tags": [free], "at_least_one": True}
    check(form, ["<a", "<aab < ", "<a<a"], ["", "a", "<", "b<a"])
