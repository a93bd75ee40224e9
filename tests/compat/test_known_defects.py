"""What XGrammar 0.2.8 is known to get wrong, and what is right here (the table of docs/compat-xgrammar.md), beside the
rows of the behaviour matrix."""

from __future__ import annotations

import json

import pytest

import workbench.compat.xgrammar as xgr
from workbench.compat.xgrammar import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from workbench.compat.xgrammar.testing import _is_grammar_accept_string as accepts


def allowed(matcher: GrammarMatcher) -> list[int]:
    return list(matcher.engine.allowed_token_ids())


def test_each_tag_has_its_own_end_token() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["</s>", "a", "<1>", "<2>", "x", "y"]))
    tag = {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": begin, "content": {"type": "any_tokens"}, "end": {"type": "token", "token": end}}
            for begin, end in (("x", 2), ("y", 3))
        ],
    }
    matcher = GrammarMatcher(compiler.compile_structural_tag({"format": tag}))
    for token in (4, 1, 2, 5, 1):
        assert matcher.accept_token(token)
    assert matcher.accept_token(3)
    assert allowed(matcher) == [0]  # after its end token the content does not go on


def test_misspelt_keys_are_errors_with_a_place() -> None:
    wrong = {"format": {"type": "sequence", "elements": [{"type": "any_text", "exclude": ["x"]}]}}
    for refuse in (Grammar.from_structural_tag, GrammarCompiler(TokenizerInfo(["a"])).compile_structural_tag):
        with pytest.raises(xgr.InvalidStructuralTagError, match="did you mean 'excludes'") as caught:
            refuse(wrong)
        assert caught.value.path == "#/format/elements/0"
    with pytest.raises(ValueError, match="exclude"):
        xgr.StructuralTag.from_json(wrong)
    inner = {"format": {"type": "or", "elements": [{"type": "regex", "pattern": "("}]}}
    with pytest.raises(xgr.InvalidStructuralTagError, match="#/format/elements/0/pattern"):
        Grammar.from_structural_tag(inner)


def test_layouts_are_those_of_json_dumps() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "any": {}}}
    value = {"next": {"next": {}, "any": [1, {"a": None}]}, "any": {"b": []}}
    for options in ({"indent": 2}, {"indent": 3, "separators": (",", ":")}, {"separators": (",", ":")}, {}):
        assert accepts(Grammar.from_json_schema(node, any_whitespace=False, **options), json.dumps(value, **options))


def test_control_tokens_are_not_text() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = {"<pad>": 0, "<end>": 1, "<": 2, "e": 3, "n": 4, "d": 5, ">": 6}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(["<pad>", "<end>"])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>", pad_token="<pad>")
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert info.stop_token_ids == [1]
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar("root ::= [<a-z>]+"))
    assert allowed(matcher) == [2, 3, 4, 5, 6]


def test_equal_compilations_are_equal() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["a", "</s>"]))
    first, second = compiler.compile_regex("a+"), compiler.compile_regex("a+")
    assert first == second
    assert hash(first) == hash(second)
    assert first != compiler.compile_regex("a")
