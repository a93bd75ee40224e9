"""Lark as XGrammar's users write it: endings of rules and what is captured of them, named grammars, options."""

from __future__ import annotations

from typing import Any

import pytest

import workbench.compat.xgrammar as xgr

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from workbench.compat.xgrammar.testing import _is_grammar_accept_string

COMPILER = xgr.GrammarCompiler(xgr.TokenizerInfo([]))
ANY = "\nTEXT: /(\\n|.)*/"


def captured(lark: str, text: str, **options: Any) -> list[tuple[str, bytes]] | None:
    """What is captured of a text; None where it is refused.  The printed grammar says the same."""
    grammar = xgr.Grammar.from_lark(lark, **options)
    found = []
    for form in (grammar, xgr.Grammar.from_ebnf(str(grammar))):
        matcher = xgr.GrammarMatcher(COMPILER.compile_grammar(form))
        taken = matcher.accept_string(text) and matcher.is_completed()
        found.append(matcher.get_captures() if taken else None)
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("word", ["stop", "suffix"])
def test_what_ends_a_rule_is_captured_by_itself(word: str) -> None:
    lark = f'start: head "z"\nhead[{word}="!!", capture, stop_capture="mark"]: TEXT' + ANY
    assert captured(lark, "a!b!!z") == [("mark", b"!!"), ("head", b"a!b")]
    assert captured(lark, "!!z") == [("mark", b"!!"), ("head", b"")]
    assert captured(lark, "a!!b!!z") is None
    named = f'start: head "z"\nhead[{word}=END, capture]: TEXT\nEND: "end"' + ANY
    assert captured(named, "abendz") == [("head", b"ab")]


AROUND: list[tuple[str, str, list[tuple[str, str]], list[tuple[str, str]]]] = [  # with suffix, with stop
    ('start[capture="o"]: r "z"\nr[capture, END]: /[ab]*/', "ab!z", [("r", "ab"), ("o", "ab!z")], [("o", "abz")]),
    ('start[capture="o"]: r r "z"\nr[END]: /[ab]*/', "a!b!z", [("o", "a!b!z")], [("o", "abz")]),
    ('start[capture="o"]: r\nr: "(" r ")" | i\ni[END]: /a*/', "((a!))", [("o", "((a!))")], [("o", "((a))")]),
    ('start: x "z"\nx[capture]: "!" y\ny: "a" r\nr[END]: TEXT', "!ab!z", [("x", "!ab!")], [("x", "!ab")]),
    ('start[capture="o"]: r "z"\nr[max_chars=2, END]: /[ab]*/', "abz", [("o", "abz")], [("o", "abz")]),
    ('start[capture="o"]: r "z!"\nr[END]: /[ab]*/', "!z!", [("o", "!z!")], [("o", "z!")]),
]


@pytest.mark.parametrize(("lark", "text", "kept", "hidden"), AROUND)
def test_captures_around_a_stop_leave_it_out(
    lark: str, text: str, kept: list[tuple[str, str]], hidden: list[tuple[str, str]]
) -> None:
    def made(name: str) -> list[tuple[str, str]]:
        end = "MARK" if "TEXT" in lark else '"!"'  # by its name as well
        found = captured(lark.replace("END", f"{name}={end}") + '\nMARK: "!"' + ANY, text)
        assert found is not None
        return [(rule, data.decode()) for rule, data in found]

    assert made("suffix") == kept
    assert made("stop") == [*(entry for entry in kept if entry[0] == "r"), *hidden]


def test_only_rules_around_a_stop_leave_it_out() -> None:
    """A rule that was read beside it, and did not call what stopped, keeps all of its text."""
    lark = 'start: a | c\na[capture]: b "q"\nb[stop="!"]: "x"\nc[capture]: d "!" "z"\nd: /x/'
    with pytest.raises(RuntimeError, match="lazy"):  # Lark keeps such grammars out: both end alike
        xgr.Grammar.from_lark(lark)
    ebnf = 'root ::= a | c\na[capture] ::= b "q"\nb[trailing="!", hidden] ::= "x!"\nc[capture] ::= "x!" [xz]'
    for text, expected in (("x!z", ("c", b"x!z")), ("x!q", ("a", b"xq"))):
        matcher = xgr.GrammarMatcher(COMPILER.compile_grammar(xgr.Grammar.from_ebnf(ebnf)))
        assert matcher.accept_string(text)
        assert matcher.get_captures() == [expected]


def test_hidden_without_a_text_hides_nothing() -> None:
    matcher = xgr.GrammarMatcher(COMPILER.compile_grammar('root[capture] ::= x\nx[hidden] ::= "a!"'))
    assert matcher.accept_string("a!")
    assert matcher.get_captures() == [("root", b"a!")]
    with pytest.raises(RuntimeError, match="'hidden' takes no value"):
        xgr.Grammar.from_ebnf('root[trailing="!", hidden=1] ::= "a!"')


def test_a_rule_that_is_full_ends_without_it() -> None:
    lark = 'start: head "z"\nhead[suffix="!", max_chars=2, capture, stop_capture="mark"]: TEXT' + ANY
    assert captured(lark, "abz") == [("head", b"ab")]
    assert captured(lark, "a!z") == [("mark", b"!"), ("head", b"a")]
    for text in ("ab!z", "az", "abcz"):
        assert captured(lark, text) is None


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ('stop=""', "stop must not be empty"),
        ('suffix=""', "suffix must not be empty"),
        ('stop="x", suffix="y"', "cannot be combined with stop"),
        ('stop_capture="m"', "stop_capture requires stop or suffix"),
        ('stop="x", stop_capture="bad name"', "capture name"),
        ('stop="x", stop_capture=MARK', "expected string literal after stop_capture="),
        ('capture=""', "capture name must not be empty"),
        ("stop=/[0-9]/, capture", "not at a pattern"),
    ],
)
def test_endings_that_say_nothing_are_refused(attributes: str, reason: str) -> None:
    with pytest.raises(RuntimeError, match=reason) as caught:
        xgr.Grammar.from_lark(f"start: head\nhead[{attributes}]: TEXT" + ANY)
    assert "line 2" in str(caught.value)


def test_notes_of_other_grammars_stay() -> None:
    word = xgr.Grammar.from_lark("start[capture, temperature=0.5]: /[a-z]+/")
    matcher = xgr.GrammarMatcher(
        COMPILER.compile_grammar(xgr.Grammar.from_lark('start: "<" @w ">"', named_grammars={"w": word}))
    )
    assert matcher.accept_string("<ab")
    assert matcher.temperature == 0.5
    assert matcher.accept_string(">")
    assert matcher.get_captures() == [("start", b"ab")]
    content = {"type": "grammar", "grammar": 'root[capture="r"] ::= [a-z]+'}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<", "content": content, "end": ">"}}
    matcher = xgr.GrammarMatcher(COMPILER.compile_structural_tag(tag))
    assert matcher.accept_string("<ab>")
    assert matcher.get_captures() == [("r", b"ab")]


def test_named_texts_call_each_other() -> None:
    named: dict[str, Any] = {"a": 'start: @b "x"', "b": 'start: "y" @c', "c": xgr.Grammar.from_ebnf('root ::= "z"')}
    grammar = xgr.Grammar.from_lark("start: @a", named_grammars=named)
    assert _is_grammar_accept_string(grammar, "yzx")
    wrong: list[tuple[Any, str]] = [
        ([grammar], "named_grammars must be a dictionary"),
        ({1: grammar}, "names must be strings, and 1 is a int"),
        ({"a": 1}, "values must be Grammar instances or Lark strings, and that of 'a' is a int"),
    ]
    for given, reason in wrong:
        with pytest.raises(TypeError, match=reason):
            xgr.Grammar.from_lark("start: @a", named_grammars=given)
        with pytest.raises(TypeError, match=reason):
            COMPILER.compile_lark("start: @a", named_grammars=given)


def test_ignored_text_may_stand_behind_the_last_terminal() -> None:
    grammar = xgr.Grammar.from_lark('start: "a" "b"?\n%ignore " "')
    texts = ("a", "a ", "a b ", " a", " ", "")
    assert [text for text in texts if _is_grammar_accept_string(grammar, text)] == ["a", "a ", "a b "]
    named = xgr.Grammar.from_lark("start: @g", named_grammars={"g": 'start: "a"\n%ignore " "'})
    assert _is_grammar_accept_string(named, "a ")


def test_integers_in_json_are_digits() -> None:
    grammar = xgr.Grammar.from_lark('start: %json {"type": "integer"}')
    assert [_is_grammar_accept_string(grammar, text) for text in ("1", "1.0")] == [True, False]


def test_options_by_both_names() -> None:
    for name in ("llguidance", "grammar_options"):
        text = f'%{name} {{"allow_initial_skip": true, "no_forcing": false}}\nstart: "a"\n%ignore " "'
        assert _is_grammar_accept_string(xgr.Grammar.from_lark(text), " a")
        with pytest.raises(RuntimeError, match="no_forcing"):
            xgr.Grammar.from_lark(f'%{name} {{"no_forcing": true}}\nstart: "a"')


DISPATCH = """start: tool* tail
tail: TEXT
head[lazy]: TEXT "<tool_call>"
tool: head %json {"type": "object", "properties": {"x": {"type": "integer"}}} "</tool_call>"
"""


def test_dispatch_by_a_lazy_rule_is_enforced() -> None:
    grammar = xgr.Grammar.from_lark(DISPATCH + ANY)
    for text, verdict in (
        ("a <tool_cal", True),
        ('a<tool_call>{"x": 1}</tool_call>b', True),
        ("<tool_call>", False),
        ('<tool_call>{"x":"bad"}</tool_call>', False),
    ):
        assert _is_grammar_accept_string(grammar, text) is verdict


def test_dispatch_by_a_token_that_is_ordinary_text_is_enforced() -> None:
    info = xgr.TokenizerInfo(["<tool_call>", "x", "y", "<tool_", "call>", "</s>"], stop_token_ids=[5])
    compiler = xgr.GrammarCompiler(info)
    for call in ("<tool_call>", "<[0]>"):
        text = f'start: tool* tail\ntail: TEXT\ntool: TEXT {call} "x"' + ANY
        for form in (text, xgr.Grammar.from_lark(text, tokenizer_info=info)):
            matcher = xgr.GrammarMatcher(
                compiler.compile_lark(form) if isinstance(form, str) else compiler.compile_grammar(form)
            )
            assert matcher.accept_token(2)
            assert matcher.accept_token(0)
            assert not matcher.accept_token(2)
            assert matcher.accept_token(1)
            assert matcher.is_completed()
            assert matcher.accept_token(3)
            assert not matcher.accept_token(4)
    with pytest.raises(RuntimeError, match="put together"):
        compiler.compile_lark('start: (TEXT | tool)*\ntool: <tool_call> "x"' + ANY)
