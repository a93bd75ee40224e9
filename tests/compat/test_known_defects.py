"""What XGrammar 0.2.8 is known to get wrong, and what is right here (the table of docs/compat-xgrammar.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench.compat.xgrammar as xgr
from kernels_core import Grammar as EngineGrammar
from workbench.compat.xgrammar import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from workbench.compat.xgrammar.testing import _is_grammar_accept_string as accepts


def allowed(matcher: GrammarMatcher) -> list[int]:
    return list(matcher.engine.allowed_token_ids())


def takes(schema: Any, text: str, **options: Any) -> bool:
    return accepts(Grammar.from_json_schema(schema, **options), text)


# -- masks --------------------------------------------------------------------------------------------------------


def test_grammars_that_differ_in_a_token_id_do_not_share_masks() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["</s>", "x", "y", "a"]))
    masks = [allowed(GrammarMatcher(compiler.compile_grammar(f'root ::= Token({i}) "a"'))) for i in (1, 2)]
    assert masks == [[1], [2]]


def test_a_token_that_contains_another_is_not_lost() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["x", "xa", "yxa", "b", "</s>"]))
    assert allowed(GrammarMatcher(compiler.compile_grammar('root ::= "xb" | "yxa"'))) == [0, 2]


def test_a_stop_token_in_the_grammar_can_be_matched() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["a", "<|return|>"], stop_token_ids=[1]))
    matcher = GrammarMatcher(compiler.compile_grammar('root ::= Token(1) "a"'))
    assert allowed(matcher) == [1]
    assert matcher.accept_token(1)
    assert allowed(matcher) == [0]


def test_without_a_stop_token_its_bit_is_not_set() -> None:
    compiled = GrammarCompiler(TokenizerInfo(["a", "b", "</s>"])).compile_grammar('root ::= "a" "b"*')
    matcher = GrammarMatcher(compiled, terminate_without_stop_token=True)
    assert matcher.accept_token(0)
    assert (matcher.is_terminated(), allowed(matcher), matcher.accept_token(2)) == (True, [1], False)


# -- free text and tags -------------------------------------------------------------------------------------------


def test_a_tag_inside_a_longer_one_fires() -> None:
    grammar = Grammar.from_ebnf('root ::= TagDispatch(("abcd", x), ("bc", y))\nx ::= "1"\ny ::= "2"')
    assert [accepts(grammar, text) for text in ("abcz", "abc2z", "abcd1", "ab")] == [False, True, True, True]


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


def test_tokens_by_text_work_inside_repeat() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["</s>", "a", "b"]))
    content = {"type": "token", "token": "b"}
    matcher = GrammarMatcher(
        compiler.compile_structural_tag({"format": {"type": "repeat", "min": 2, "max": 2, "content": content}})
    )
    assert (matcher.accept_token(2), matcher.accept_token(1), matcher.accept_token(2), allowed(matcher)) == (
        True,
        False,
        True,
        [0],
    )


def test_what_free_text_excludes_does_not_hide_a_tag() -> None:
    tag = {"type": "tag", "begin": "<f>", "content": {"type": "const_string", "value": "x"}, "end": "</f>"}
    form = {"type": "triggered_tags", "triggers": ["<f>"], "tags": [tag], "excludes": ["<"]}
    grammar = Grammar.from_structural_tag({"format": form})
    assert [accepts(grammar, text) for text in ("a<f>x</f>", "a<b", "<")] == [True, False, False]


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


def test_no_tool_is_no_call() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    call = 'hm</think>\n\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    for choice, verdict in (("auto", True), ("none", False)):
        grammar = Grammar.from_structural_tag(xgr.get_model_structural_tag("qwen_3", tools, choice))
        assert accepts(grammar, call) is verdict
        assert accepts(grammar, "hm</think>\n\nHello")


# -- jump-forward -------------------------------------------------------------------------------------------------


def test_forced_text_knows_tokens_and_characters() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["t", "b", "c", "</s>"]))
    forced = [
        GrammarMatcher(compiler.compile_grammar(text)).find_jump_forward_string()
        for text in ('root ::= Token(0) | "bc"', 'root ::= "abé" | "abè"', 'root ::= "bc"')
    ]
    assert forced == ["", "ab", "bc"]


# -- JSON Schema --------------------------------------------------------------------------------------------------


def test_lengths_count_characters_and_take_escapes() -> None:
    schema = {"type": "string", "minLength": 2, "maxLength": 2}
    assert [takes(schema, text) for text in ('"a\\n"', '"\\"\\""', '"\\u00e9x"', '"a\n"', '"\\n"')] == [
        True,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(("pattern", "value"), [('^a"b$', 'a"b'), ("^é.b$", "éxb"), (r"^\\$", "\\")])
def test_patterns_give_valid_json(pattern: str, value: str) -> None:
    grammar = Grammar.from_json_schema({"type": "string", "pattern": pattern})
    assert accepts(grammar, json.dumps(value, ensure_ascii=False))
    assert not accepts(grammar, f'"{value}"') or json.loads(f'"{value}"') == value
    assert not accepts(grammar, '"é\nb"')


def test_patterns_search() -> None:
    assert takes({"type": "string", "pattern": "abc"}, '"xabcx"')


def test_keywords_beside_each_other_all_count() -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "type": "object", "anyOf": [{"required": ["a"]}]}
    assert [takes(schema, text) for text in ('{"a": 1}', "{}", "7", '{"a": "x"}')] == [True, False, False, False]
    both = {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 5}]}
    assert [takes(both, text) for text in ("2", "4", "6", '"x"')] == [False, True, False, False]
    assert not takes({"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "maxItems": 1}, "[1,2]")
    assert [takes({"type": "integer", "not": {"const": 3}}, text) for text in ("3", "4")] == [False, True]


def test_required_alone_does_not_close_an_object() -> None:
    assert [takes({"type": "object", "required": ["z"]}, text) for text in ("{}", '{"z": 1}')] == [False, True]
    assert [takes({"type": "array", "minItems": 1}, text) for text in ("[]", "[1]")] == [False, True]


def test_any_order_asks_for_each_required_member_once_in_the_engine() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    texts = ('{"b": 1, "a": 2}', '{"a": 2, "b": 1}', '{"a": 1}', '{"a": 1, "a": 2}', '{"a": 1, "a": 2, "b": 3}')
    exact = Grammar.wrap(EngineGrammar.from_json_schema(schema, strict_mode=True))
    assert [accepts(exact, text) for text in texts] == [True, True, False, False, False]
    assert [takes(schema, text, any_order=True) for text in texts] == [True, True, False, True, True]


def test_what_has_no_instance_is_refused() -> None:
    for schema in ({"anyOf": []}, {"$ref": "#"}, {"type": "integer", "minimum": 3, "maximum": 2}):
        with pytest.raises(RuntimeError):
            Grammar.from_json_schema(schema)


def test_numbers_are_exact() -> None:
    large = 10**30 + 7
    assert [takes({"type": "integer", "minimum": large}, str(large + step)) for step in (-1, 0, 1)] == [
        False,
        True,
        True,
    ]
    assert takes({"type": "number", "minimum": 0, "maximum": 1}, "0.12345678901")
    assert takes({"type": "integer", "minimum": 0.5}, "1")
    assert [takes({"type": "integer", "multipleOf": 5000}, text) for text in ("5000", "5001")] == [True, False]


def test_layouts_are_those_of_json_dumps() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "any": {}}}
    value = {"next": {"next": {}, "any": [1, {"a": None}]}, "any": {"b": []}}
    for options in ({"indent": 2}, {"indent": 3, "separators": (",", ":")}, {"separators": (",", ":")}, {}):
        assert takes(node, json.dumps(value, **options), any_whitespace=False, **options)


def test_dates_are_dates() -> None:
    assert [takes({"type": "string", "format": "date"}, text) for text in ('"2024-02-29"', '"2023-02-29"')] == [
        True,
        False,
    ]


# -- the rest -----------------------------------------------------------------------------------------------------


def test_large_repetitions() -> None:
    assert accepts(Grammar.from_ebnf('root ::= "a"{0,2000000000}'), "aaa")
    with pytest.raises(RuntimeError, match="at most 2,147,483,647"):
        Grammar.from_ebnf('root ::= "a"{0,3000000000}')


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


def test_a_compiled_grammar_knows_its_vocabulary() -> None:
    compiled = GrammarCompiler(TokenizerInfo(["a", "b", "</s>"])).compile_grammar('root ::= "a"')
    with pytest.raises(xgr.DeserializeFormatError, match="another vocabulary"):
        xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), TokenizerInfo(["b", "a", "</s>"]))


def test_bytes_may_be_spelt_with_small_letters() -> None:
    info = TokenizerInfo(["<0x0a>", "<0x0A>"], xgr.VocabType.BYTE_FALLBACK)
    assert info.decoded_vocab == [b"\n", b"\n"]


def test_equal_compilations_are_equal() -> None:
    compiler = GrammarCompiler(TokenizerInfo(["a", "</s>"]))
    first, second = compiler.compile_regex("a+"), compiler.compile_regex("a+")
    assert first == second
    assert hash(first) == hash(second)
    assert first != compiler.compile_regex("a")
