"""What is wrong with a structural tag, and at which JSON pointer."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kernels_core import (
    Grammar,
    GrammarError,
    GrammarSyntaxError,
    InvalidStructuralTagError,
    UnsupportedFeatureError,
)
from kernels_core.errors import UnsupportedSchemaError
from tests.grammar.structural_tag.driver import ANY, INFO, Format, const, seq, tag, token, whole

TAGS = [tag("<a>", ANY, "</a>")]


def listed(**more: Any) -> Format:
    return {"type": "triggered_tags", "triggers": ["<a"], "tags": TAGS} | more


@pytest.mark.parametrize(
    ("form", "path", "message"),
    [
        (3, "", "must be an object"),
        ({}, "", "'type' is missing"),
        ({"type": "constant"}, "", "not recognized: constant"),
        ({"type": ["tag"]}, "", "not recognized"),
        ({"type": "const_string"}, "", "'value' is missing"),
        ({"type": "const_string", "value": 1}, "/value", "a string is expected"),
        ({"type": "const_string", "value": "\ud800"}, "/value", "surrogate"),
        (ANY | {"exclude": ["a"]}, "", "did you mean 'excludes'"),
        (ANY | {"excludes": "a"}, "/excludes", "a list is expected"),
        (ANY | {"excludes": ["a", ""]}, "/excludes/1", "empty"),
        (ANY | {"excludes": [1]}, "/excludes/0", "a string is expected"),
        (ANY | {"max_chars": -1}, "/max_chars", "not within"),
        ({"type": "any_tokens", "max_tokens": 2**31}, "/max_tokens", "not within"),
        (seq(), "/elements", "list is empty"),
        (seq(ANY, {"type": "x"}), "/elements/1", "not recognized: x"),
        ({"type": "repeat", "min": 2, "max": 1, "content": ANY}, "/max", "neither -1"),
        ({"type": "repeat", "min": -1, "max": 1, "content": ANY}, "/min", "not within"),
        ({"type": "repeat", "min": True, "max": 1, "content": ANY}, "/min", "a whole number"),
        ({"type": "optional"}, "", "'content' is missing"),
        ({"type": "grammar", "grammar": "root ::= x"}, "/grammar", "no rule called 'x'"),
        ({"type": "grammar", "grammar": 'start ::= "x"'}, "/grammar", "no root rule"),
        ({"type": "grammar", "grammar": "root ::= root"}, "/grammar", "no text at all"),
        ({"type": "regex", "pattern": "a("}, "/pattern", "never closed"),
        ({"type": "json_schema", "json_schema": "{}"}, "/json_schema", "an object or a boolean"),
        ({"type": "json_schema", "json_schema": {}, "max_whitespace_cnt": -1}, "/max_whitespace_cnt", "not within"),
        ({"type": "json_schema", "json_schema": {}, "style": "yaml"}, "/style", "no style 'yaml'"),
        (tag("a", ANY, []), "/end", "list is empty"),
        (tag("a", ANY, ["a", 1]), "/end/1", "a string is expected"),
        (tag("a", ANY, ["a", "\ud800"]), "/end/1", "surrogate"),
        (tag("a", ANY, ANY), "/end", "type 'token'"),
        (tag(1, ANY, "b"), "/begin", "type 'token'"),
        (tag("a", ANY, ""), "/content", "never ends"),
        (tag("a", listed(), ""), "/content", "never ends"),
        (listed(triggers=["<b"]), "/tags/0/begin", "with no trigger"),
        (listed(triggers=["<", "<a"]), "/tags/0/begin", "several triggers: '<', '<a'"),
        (listed(triggers=["<a", "<b"]), "/triggers/1", "no tag begins with '<b'"),
        (listed(triggers=[]), "/triggers", "list is empty"),
        (listed(triggers=["<ca"], tags=[tag("<call>", ANY, "b")]), "/tags/0/begin", "cuts a control token's name"),
        (listed(triggers=["a<call>"], tags=[tag("a<call>", ANY, "b")], excludes=["xa"]), "", "'xa' can end inside 'a'"),
        (listed(tags=[]), "/tags", "list is empty"),
        (listed(tags=[ANY]), "/tags/0", "type 'tag'"),
        (listed(tags=[tag(token(4), ANY, "a")]), "/tags/0/begin", "must have a string begin"),
        (listed(stop_after_first=1), "/stop_after_first", "true or false"),
        (listed(at_least_one="yes"), "/at_least_one", "true or false"),
        ({"type": "tags_with_separator", "tags": TAGS}, "", "'separator' is missing"),
        ({"type": "dispatch", "rules": []}, "/rules", "list is empty"),
        ({"type": "dispatch", "rules": [["a"]]}, "/rules/0", "a list of two"),
        ({"type": "dispatch", "rules": [["", ANY]]}, "/rules/0/0", "non-empty"),
        ({"type": "dispatch", "rules": [["\ud800", ANY]]}, "/rules/0/0", "surrogate"),
        ({"type": "dispatch", "rules": [["a", {}]]}, "/rules/0/1", "'type' is missing"),
        (token(10), "/token", "no token 10; this vocabulary has ids 0..9"),
        (token(-1), "/token", "no token -1"),
        (token("<nope>"), "/token", "no token is spelt '<nope>'"),
        (token("\ud800"), "/token", "no token is spelt"),
        (token("<"), "/token", "2 tokens are spelt '<'"),
        ({"type": "token", "token": True}, "/token", "must be an integer, its id"),
        ({"type": "exclude_token", "exclude_tokens": [1, 99]}, "/exclude_tokens/1", "no token 99"),
        (
            {"type": "token_triggered_tags", "trigger_tokens": [6], "tags": [tag(token(4), ANY, "a")]},
            "/tags/0/begin",
            "not among trigger_tokens",
        ),
        ({"type": "token_dispatch", "rules": [[4, ANY]], "exclude_tokens": [4]}, "/rules/0/0", "excluded, too"),
    ],
)
def test_at_fault(form: Any, path: str, message: str) -> None:
    for outer, place in ((form, "#/format"), (seq(const("a"), form), "#/format/elements/1")):
        with pytest.raises(InvalidStructuralTagError, match=message) as caught:
            Grammar.from_structural_tag(whole(outer), tokenizer_info=INFO)
        assert caught.value.path == place + path
        assert str(caught.value).startswith(place + path + ": ")
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (str(copy), copy.path) == (str(caught.value), caught.value.path)


@pytest.mark.parametrize(
    ("form", "path"),
    [
        (tag("<", ANY | {"max_tokens": 3}, "aa"), "/content/max_tokens"),
        (tag("<", ANY | {"max_tokens": 3, "excludes": ["x>"]}, ">"), "/content/max_tokens"),
        (tag("<", ANY | {"max_tokens": 3}, [">", "->"]), "/content/max_tokens"),
        (ANY | {"max_chars": 100_000, "excludes": ["a" * 60, "b" * 60]}, "/max_chars"),
        ({"type": "regex", "pattern": "(a)\\1"}, "/pattern"),
        ({"type": "grammar", "grammar": 'root[lazy, max_tokens=1] ::= "a"'}, "/grammar"),
    ],
)
def test_known_and_not_built(form: Format, path: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="#/format/elements/0" + path):
        Grammar.from_structural_tag(whole(seq(form)))


def test_a_schema_is_refused_at_its_place_in_the_tag() -> None:
    form: Format = {"type": "json_schema", "json_schema": {"properties": {"a": {"type": "integer", "minimum": "x"}}}}
    with pytest.raises(UnsupportedSchemaError) as caught:
        Grammar.from_structural_tag(whole(seq(const("a"), form)))
    assert caught.value.problems[0].pointer.startswith("#/format/elements/1/json_schema/properties/a")


def test_tokens_by_text_need_a_tokenizer() -> None:
    with pytest.raises(InvalidStructuralTagError, match="with a tokenizer"):
        Grammar.from_structural_tag(whole(token("<call>")))


@pytest.mark.parametrize(
    ("top", "path", "message"),
    [
        ({}, "#", "'format' is missing"),
        (7, "#", "an object is expected"),
        ({"type": "tag", "format": ANY}, "#/type", "the type is 'structural_tag'"),
        ({"format": ANY, "tags": []}, "#", "unknown key 'tags'"),
        ([], "#", "needs a list of triggers"),
        ({"structures": [{"begin": "a", "end": "b"}], "triggers": ["a"]}, "#/structures/0", "'schema' is missing"),
        (
            {"structures": [{"begin": "a", "end": "b", "schema": "{"}], "triggers": ["a"]},
            "#/structures/0/schema",
            "not JSON",
        ),
        (
            {"structures": [{"begin": "a", "end": "b", "schema": '{"const": %s}' % (5_000 * "1")}], "triggers": ["a"]},
            "#/structures/0/schema",
            "not JSON: .*4300 digits",
        ),
        ({"format": {"type": "const_string", "value": {1, 2}}}, "#", "not JSON"),
    ],
)
def test_top_level(top: Any, path: str, message: str) -> None:
    with pytest.raises(InvalidStructuralTagError, match=message) as caught:
        Grammar.from_structural_tag(top)
    assert caught.value.path == path


def test_triggers_of_a_list_of_tags_are_a_list() -> None:
    tags = [{"begin": "<<f", "schema": {}, "end": ">"}]
    for triggers, path in (("<<", "#/triggers"), (["<<", 1], "#/triggers/1"), ([], "#/triggers")):
        with pytest.raises(InvalidStructuralTagError) as caught:
            Grammar.from_structural_tag(tags, triggers)
        assert caught.value.path == path


def test_text_that_is_not_json() -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        Grammar.from_structural_tag('{"format": }')
    assert caught.value.offset == 11
    with pytest.raises(GrammarSyntaxError):
        Grammar.from_structural_tag("[" * 100_000)
    with pytest.raises(GrammarSyntaxError, match="4300 digits"):
        Grammar.from_structural_tag('{"format": %s}' % (5_000 * "1"))


def test_deep_nesting_is_an_error() -> None:
    form = ANY
    for _ in range(5000):
        form = {"type": "optional", "content": form}
    with pytest.raises(GrammarError):
        Grammar.from_structural_tag(whole(form))
    for _ in range(4850):
        form = form["content"]
    with pytest.raises(InvalidStructuralTagError, match="nested deeper"):
        Grammar.from_structural_tag(whole(form))
