"""Messages about malformed structural tags: XGrammar's phrase, then the place and the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("pydantic")

import workbench.compat.xgrammar as xgr
from kernels_core import InvalidStructuralTagError as EngineError
from workbench.compat.xgrammar.tag_phrases import phrase_of

Format = dict[str, Any]
TEXT: Format = {"type": "const_string", "value": "a"}
TAG: Format = {"type": "tag", "begin": "<a>", "content": TEXT, "end": "</a>"}
TOKEN_TAG: Format = {**TAG, "begin": {"type": "token", "token": 1}}
COMPLETE: dict[str, Format] = {
    "const_string": {"value": "a"},
    "json_schema": {"json_schema": {"type": "integer"}},
    "any_text": {},
    "grammar": {"grammar": 'root ::= "a"'},
    "regex": {"pattern": "a"},
    "sequence": {"elements": [TEXT]},
    "or": {"elements": [TEXT]},
    "optional": {"content": TEXT},
    "plus": {"content": TEXT},
    "star": {"content": TEXT},
    "repeat": {"min": 1, "max": 2, "content": TEXT},
    "tag": {"begin": "<", "content": TEXT, "end": ">"},
    "triggered_tags": {"triggers": ["<"], "tags": [TAG]},
    "tags_with_separator": {"tags": [TAG], "separator": ","},
    "dispatch": {"rules": [["<", TEXT]]},
    "token": {"token": 1},
    "exclude_token": {"exclude_tokens": [1]},
    "any_tokens": {},
    "token_triggered_tags": {"trigger_tokens": [1], "tags": [TOKEN_TAG]},
    "token_dispatch": {"rules": [[1, TEXT]]},
}
MISSING = object()
"""In place of a value: the key is left out."""


def told(form: Any) -> list[str]:
    """What is said of a format, by all ways in."""
    tag = {"type": "structural_tag", "format": form}
    said = []
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "b", "c"]), cache_enabled=False)
    for make in (xgr.Grammar.from_structural_tag, compiler.compile_structural_tag):
        for given in (tag, json.dumps(tag)):
            with pytest.raises(xgr.exception.InvalidStructuralTagError) as caught:
                make(given)
            said.append(str(caught.value))
            assert isinstance(caught.value, EngineError)
    return said


ONE_KEY: list[tuple[str, str, Any, str, str]] = [
    ("const_string", "value", MISSING, "ConstString format must have a value field with a string", ""),
    ("const_string", "value", 123, "ConstString format must have a value field with a string", "/value"),
    ("json_schema", "json_schema", MISSING, "JSON schema format must have a json_schema field with a object", ""),
    ("json_schema", "json_schema", "x", "JSON schema format must have a json_schema field with a", "/json_schema"),
    ("json_schema", "any_order", 1, "any_order must be a boolean", "/any_order"),
    ("json_schema", "max_whitespace_cnt", "x", "max_whitespace_cnt must be an integer or null", "/max_whitespace_cnt"),
    ("json_schema", "excludes", [""], "JSONSchema format's excludes must be an array of non-empty", "/excludes/0"),
    ("any_text", "excludes", "x", "AnyText format's excluded_strs field must be an array", "/excludes"),
    ("any_text", "excludes", [1], "AnyText format's excluded_strs array must contain strings", "/excludes/0"),
    ("any_text", "max_chars", -1, "max_chars in any_text must be a non-negative 32-bit integer or null", "/max_chars"),
    ("any_tokens", "max_tokens", "x", "max_tokens in any_tokens must be a non-negative 32-bit integer", "/max_tokens"),
    ("grammar", "grammar", MISSING, "Grammar format must have a grammar field with a non-empty string", ""),
    ("grammar", "grammar", "", "Grammar format must have a grammar field with a non-empty string", "/grammar"),
    ("grammar", "grammar", "root ::= (", "EBNF parser error at line 1, column 10", "/grammar"),
    ("regex", "pattern", 5, "Regex format must have a pattern field with a non-empty string", "/pattern"),
    ("sequence", "elements", MISSING, "Sequence format must have an elements field with an array", ""),
    ("sequence", "elements", [], "Sequence format must have at least one element", "/elements"),
    ("or", "elements", "x", "Or format must have an elements field with an array", "/elements"),
    ("or", "elements", [], "Or format must have at least one element", "/elements"),
    ("or", "elements", [TEXT, {}], "Invalid format", "/elements/1"),
    ("or", "elements", [{"type": 5}], "Format's type must be a string", "/elements/0"),
    ("optional", "content", MISSING, "Optional format must have a content field", ""),
    ("plus", "content", MISSING, "Plus format must have a content field", ""),
    ("star", "content", {"type": "token"}, "TokenFormat must have a token field", "/content"),
    ("repeat", "min", "x", "Repeat format must have a min field (number)", "/min"),
    ("repeat", "max", MISSING, "Repeat format must have a max field (number)", ""),
    ("tag", "begin", MISSING, "Tag format's begin field must be a string", ""),
    ("tag", "begin", 5, "Tag format's begin field must be a string", "/begin"),
    ("tag", "content", MISSING, "Tag format must have a content field", ""),
    ("tag", "end", MISSING, "Tag format must have an end field", ""),
    ("tag", "end", 5, "Tag format's end field must be a string or array of strings", "/end"),
    ("tag", "end", [], "Tag format's end array cannot be empty", "/end"),
    ("tag", "end", ["x", 5], "Tag format's end array must contain only strings", "/end/1"),
    ("triggered_tags", "triggers", MISSING, "Triggered tags format must have a triggers field with an array", ""),
    ("triggered_tags", "triggers", "x", "Triggered tags format must have a triggers field with an array", "/triggers"),
    ("triggered_tags", "triggers", [], "Triggered tags format's triggers must be non-empty", "/triggers"),
    ("triggered_tags", "triggers", [5], "Triggered tags format's triggers must be non-empty strings", "/triggers/0"),
    ("triggered_tags", "triggers", ["x"], "One tag does not match any trigger in a triggered tags", "/tags/0/begin"),
    ("triggered_tags", "triggers", ["<", "<a"], "One tag matches multiple triggers in a triggered", "/tags/0/begin"),
    ("triggered_tags", "tags", MISSING, "Triggered tags format must have a tags field with an array", ""),
    ("triggered_tags", "tags", [], "Triggered tags format's tags must be non-empty", "/tags"),
    ("triggered_tags", "tags", [5], "Tag format must be an object", "/tags/0"),
    ("triggered_tags", "tags", [TEXT], "Tag format's type must be a string \"tag\"", "/tags/0"),
    ("triggered_tags", "tags", [TOKEN_TAG], "Tags in triggered_tags must have a string begin", "/tags/0/begin"),
    ("triggered_tags", "tags", [{"begin": "<"}], "Tag format must have an end field", "/tags/0"),
    ("triggered_tags", "tags", [{**TAG, "content": {"type": "or"}}], "Or format must have an elem", "/tags/0/content"),
    ("triggered_tags", "at_least_one", 1, "at_least_one must be a boolean", "/at_least_one"),
    ("triggered_tags", "stop_after_first", "x", "stop_after_first must be a boolean", "/stop_after_first"),
    ("triggered_tags", "excludes", 5, "Triggered tags format should have a excludes field with an array", "/excludes"),
    ("triggered_tags", "excludes", [""], "Triggered tags format's excluded_strs must be non-empty", "/excludes/0"),
    ("tags_with_separator", "tags", MISSING, "Tags with separator format must have a tags field with an array", ""),
    ("tags_with_separator", "tags", [], "Tags with separator format's tags must be non-empty", "/tags"),
    ("tags_with_separator", "separator", 5, "Tags with separator format's separator field must be", "/separator"),
    ("dispatch", "rules", MISSING, "TagDispatch format must have a rules field with an array", ""),
    ("dispatch", "rules", [], "TagDispatch format rules must be non-empty", "/rules"),
    ("dispatch", "rules", [["x"]], "TagDispatch pair must be a 2-element array", "/rules/0"),
    ("dispatch", "rules", [[5, TEXT]], "TagDispatch pair first element must be a string", "/rules/0/0"),
    ("dispatch", "rules", [["x", {"type": "or"}]], "Or format must have an elements field with an", "/rules/0/1"),
    ("dispatch", "loop", 0, "loop must be a boolean", "/loop"),
    ("dispatch", "excludes", [5], "excludes must contain non-empty strings", "/excludes/0"),
    ("token", "token", None, "TokenFormat's token must be an integer or string", "/token"),
    ("token", "token", 1.5, "Token ID must be an integer", "/token"),
    ("token", "token", -1, "Token ID must be non-negative", "/token"),
    ("exclude_token", "exclude_tokens", 5, "exclude_tokens must be an array", "/exclude_tokens"),
    ("exclude_token", "exclude_tokens", [1, {}], "exclude_tokens elements must be integers or", "/exclude_tokens/1"),
    ("exclude_token", "exclude_tokens", [1.5], "exclude_tokens elements must be integers, not", "/exclude_tokens/0"),
    ("exclude_token", "exclude_tokens", [-1], "exclude_tokens elements must be non-negative", "/exclude_tokens/0"),
    ("token_triggered_tags", "trigger_tokens", MISSING, "TokenTriggeredTagsFormat must have a trigger_tokens", ""),
    ("token_triggered_tags", "trigger_tokens", [], "trigger_tokens must be non-empty", "/trigger_tokens"),
    ("token_triggered_tags", "tags", [], "TokenTriggeredTagsFormat tags must be non-empty", "/tags"),
    ("token_triggered_tags", "tags", [TAG], "Tags in token_triggered_tags must have a token format", "/tags/0/begin"),
    ("token_dispatch", "rules", [[1.5, TEXT]], "TokenTagDispatch pair first element must be an integer", "/rules/0/0"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "key", "value", "phrase", "place"), ONE_KEY)
def test_the_phrase_stands_in_front_of_the_place(kind: str, key: str, value: Any, phrase: str, place: str) -> None:
    form = {"type": kind, **COMPLETE[kind], key: value}
    if value is MISSING:
        del form[key]
    for message in told(form):
        assert message.startswith(f"Invalid structural tag error: {phrase}")
        assert f": #/format{place}: " in message


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('"x"', "Structural tag must be an object: #: "),
        ("{}", "Structural tag must have a format field: #: "),
        ('{"type": "x", "format": {}}', 'Structural tag\'s type must be a string "structural_tag": #/type: '),
        ('{"format": {}}', "Invalid format: #/format: "),
    ],
)
def test_phrases_about_the_whole_tag(text: str, phrase: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        xgr.Grammar.from_structural_tag(text)
    assert str(caught.value).startswith(f"Invalid structural tag error: {phrase}")


@pytest.mark.parametrize("given", ['{"format":', "[1,"])
def test_text_that_is_no_json(given: str) -> None:
    for make in (xgr.Grammar.from_structural_tag, xgr.Grammar.from_json_schema):
        with pytest.raises(xgr.exception.InvalidJSONError, match=r"Failed to parse JSON: JSON, line 1, column \d+"):
            make(given)


def test_a_token_by_its_text_needs_a_vocabulary() -> None:
    for form in ({"type": "token", "token": "x"}, {"type": "token_dispatch", "rules": [["x", TEXT]]}):
        with pytest.raises(RuntimeError, match=r"Token string resolution requires tokenizer_info: #/format.*'x'"):
            xgr.Grammar.from_structural_tag({"format": form})


@pytest.mark.parametrize("kind", COMPLETE)
def test_no_phrase_where_a_value_is_of_the_right_kind(kind: str) -> None:
    """What the engine finds beyond that (a surrogate, an unused trigger, ...) is not told as another kind of value."""
    form = {"type": kind, **COMPLETE[kind]}
    xgr.Grammar.from_structural_tag({"format": form})
    for key, value in COMPLETE[kind].items():
        error = EngineError("something else", f"#/format/{key}")
        assert phrase_of({"format": form}, error) == "" or isinstance(value, list)
    assert phrase_of({"format": form}, EngineError("something else", "#/format")) == ""


def test_an_error_of_another_kind_has_no_phrase() -> None:
    with pytest.raises(RuntimeError, match=r"error: #/format/value: a lone surrogate"):
        xgr.Grammar.from_structural_tag({"format": {"type": "const_string", "value": "\ud800"}})
    with pytest.raises(RuntimeError, match=r"error: #/format/triggers/1: no tag begins with 'x'"):
        xgr.Grammar.from_structural_tag({"format": {"type": "triggered_tags", "triggers": ["<", "x"], "tags": [TAG]}})
    with pytest.raises(RuntimeError, match=r"error: #/format: unknown key 'valu'"):
        xgr.Grammar.from_structural_tag({"format": {"type": "const_string", "valu": "a"}})


def test_what_holds_itself_is_refused() -> None:
    tags: list[Any] = []
    tags.append(tags)
    with pytest.raises(RuntimeError, match="#/0: an object is expected here"):
        xgr.Grammar.from_structural_tag(tags, ["x"])
    inner: Format = {"type": "sequence"}
    inner["elements"] = [TEXT, inner]
    schema: Format = {"type": "object", "properties": {}}
    schema["properties"]["x"] = schema
    for form in (inner, {"type": "json_schema", "json_schema": schema}):
        with pytest.raises(RuntimeError, match="or holding itself"):
            xgr.Grammar.from_structural_tag({"format": form})
