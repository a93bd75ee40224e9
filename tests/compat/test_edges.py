"""Small things that programs written for XGrammar meet: large objects, names of captures, tokens with one text,
escapes, sizes of caches, texts that are written twice."""

from __future__ import annotations

import json

import pytest

import workbench.compat.xgrammar as xgr

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from workbench.compat.xgrammar.testing import _is_grammar_accept_string


def test_ten_thousand_required_members_are_read_to_the_end() -> None:
    names = [f"k{number}" for number in range(10_000)]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": names}
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo([])).compile_json_schema(schema)
    matcher = xgr.GrammarMatcher(compiled)
    assert matcher.accept_string(json.dumps(dict.fromkeys(names, 1)))
    assert matcher.is_completed()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('root[capture=""] ::= "a"', "capture name must not be empty"),
        ('root[capture, stop_capture=""] ::= "a"', "stop_capture must not be empty"),
    ],
)
def test_captures_have_names(text: str, reason: str) -> None:
    with pytest.raises(RuntimeError, match=f"line 1, column .*{reason}"):
        xgr.Grammar.from_ebnf(text)


@pytest.mark.parametrize("attribute", ['capture="x"', "capture", "temperature=0.5"])
def test_notes_are_for_rules(attribute: str) -> None:
    assert xgr.Grammar.from_lark(f"start: t\nt[{attribute}]: /a*/")
    with pytest.raises(RuntimeError, match="line 2, column 3: attributes are only supported on rules"):
        xgr.Grammar.from_lark(f"start: T\nT[{attribute}]: /a*/")


def test_several_tokens_of_one_text() -> None:
    info = xgr.TokenizerInfo(["a", "<n>", "<n>", "</s>"])
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_lark("start: <n>"))
    assert matcher.engine.allowed_token_ids() == [1, 2]


def test_bell_and_escape_in_patterns() -> None:
    for grammar in (
        xgr.Grammar.from_regex(r"\a[\e]"),
        xgr.Grammar.from_lark(r"start: /\a[\e]/"),
        xgr.Grammar.from_ebnf(r'root ::= Regex("\\a[\\e]")'),
    ):
        assert [_is_grammar_accept_string(grammar, text) for text in ("\a\x1b", "ae")] == [True, False]


def test_a_vocabulary_is_written_alike_when_it_was_read() -> None:
    info = xgr.TokenizerInfo(["1", "<0x0A>", "▁a", "一"], xgr.VocabType.BYTE_FALLBACK, vocab_size=6, stop_token_ids=[0])
    text = info.serialize_json()
    again = xgr.TokenizerInfo.deserialize_json(text)
    assert again.serialize_json() == text
    assert again.decoded_vocab == info.decoded_vocab == [b"1", b"\n", b" a", "一".encode(), b"", b""]


def test_a_compiler_that_has_compiled_nothing_keeps_nothing() -> None:
    vocabulary = [bytes([byte]) for byte in range(256)] + [b"%d" % number for number in range(100, 9_000)]
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(vocabulary))
    assert compiler.engine.pool.nbytes > 0  # what strings and numbers of JSON need is there
    assert compiler.get_cache_size_bytes() == 0
    compiled = compiler.compile_json_schema({"type": "string", "pattern": "^[a-c]+x$"})
    matcher = xgr.GrammarMatcher(compiled)
    matcher.fill_next_token_bitmask(xgr.allocate_token_bitmask(1, len(vocabulary)))
    assert compiler.get_cache_size_bytes() > 0
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0


TAG = {"type": "tag", "begin": "<", "content": {"type": "const_string", "value": "x"}, "end": ">"}
PHRASES: list[tuple[dict[str, object], str]] = [
    ({"type": "any_text", "max_tokens": 1.5}, "non-negative 32-bit integer"),
    ({"type": "repeat", "min": -1, "max": 1, "content": TAG}, "Repeat min must be >= 0"),
    ({"type": "repeat", "min": 2, "max": 1, "content": TAG}, "Repeat min must be <= max"),
    ({"type": "repeat", "min": 2, "max": -2, "content": TAG}, r"Repeat max must be -1 \(unbounded\) or >= 0"),
    ({"type": "thing"}, "Format type not recognized: thing"),
]


@pytest.mark.parametrize(("form", "phrase"), PHRASES)
def test_phrases_about_tags(form: dict[str, object], phrase: str) -> None:
    with pytest.raises(xgr.InvalidStructuralTagError, match=f"^Invalid structural tag error: .*{phrase}") as caught:
        xgr.Grammar.from_structural_tag({"format": form})
    assert "#/format" in str(caught.value)


def test_phrases_about_texts_and_arguments() -> None:
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo(["a"])).compile_grammar('root ::= "a"')
    named = {"left": "start: @right", "right": "start: @left"}
    for call, phrase in (
        (lambda: xgr.Grammar.from_ebnf('root ::= "a'), "^EBNF lexer error at line 1, column 10: "),
        (lambda: xgr.Grammar.from_ebnf('root[temperature=-1] ::= "a"'), "finite non-negative"),
        (lambda: xgr.Grammar.from_ebnf('root[temperature=1e999] ::= "a"'), "finite non-negative"),
        (lambda: xgr.Grammar.from_lark("start: missing"), "^Lark error at line 1, column 8: "),
        (
            lambda: xgr.Grammar.from_lark('start[temperature=-1]: "a"'),
            "temperature must be a finite non-negative number",
        ),
        (lambda: xgr.Grammar.from_lark('start[temperature=x]: "a"'), "expected number after temperature="),
        (lambda: xgr.Grammar.from_lark('start[lazy, lazy]: "a"'), "lazy attribute is specified more than once"),
        (
            lambda: xgr.Grammar.from_lark("start: @left", named_grammars=named),  # type: ignore[arg-type]
            "circular named grammar reference: @left -> @right -> @left",
        ),
        (lambda: xgr.GrammarMatcher(compiled, default_temperature=-0.1), "finite non-negative"),
        (lambda: xgr.get_model_structural_tag("nobody"), "Unknown format type"),
        (lambda: xgr.get_model_structural_tag("llama", 1), "must be a list"),  # type: ignore[arg-type]
        (lambda: xgr.get_model_structural_tag("llama", [], {"type": "search"}), "exactly one"),
    ):
        with pytest.raises(RuntimeError, match=phrase):
            call()
    assert str(xgr.Grammar.from_ebnf('root[temperature=1e3] ::= "a"')) == str(
        xgr.Grammar.from_ebnf('root[temperature=1000.0] ::= "a"')
    )


def test_a_draft_tree_is_made_of_int64() -> None:
    torch = pytest.importorskip("torch")
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(xgr.TokenizerInfo(["a"])).compile_grammar('root ::= "a"'))
    tree = torch.tensor([-1])
    with pytest.raises(RuntimeError, match="retrieve_next_sibling must be a 1-D tensor of int64"):
        matcher.traverse_draft_tree(tree, tree.int(), tree, xgr.allocate_token_bitmask(1, 1))


@pytest.mark.parametrize("flag", [True, False])
def test_templates_of_a_model_take_the_older_spelling_of_reasoning(flag: bool) -> None:
    from workbench.compat.xgrammar import builtin_structural_tag as templates

    mode = "enabled" if flag else "disabled"
    assert templates.get_llama_structural_tag(reasoning=flag) == xgr.get_model_structural_tag("llama", reasoning=mode)
