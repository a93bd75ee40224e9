"""Attributes of rules: what they do to a language, and the notes that stay."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import GrammarError, UnsupportedFeatureError
from kernels_core.grammar import Grammar
from kernels_core.grammar.analysis import reached
from kernels_core.grammar.ebnf import parse_ebnf
from kernels_core.grammar.ir import GrammarIR, Literal, Rule
from kernels_core.grammar.printer import print_grammar
from tests.reference import Recogniser

TEXTS = ["".join(letters) for n in range(6) for letters in itertools.product("ab", repeat=n)]


def texts_of(source: str) -> set[str]:
    recogniser = Recogniser(Grammar.from_ebnf(source).ir)
    return {text for text in TEXTS if recogniser.accepts(text.encode())}


bodies = st.recursive(
    st.sampled_from(['"a"', '"b"', "[ab]", '"ab"', "x"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" ".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} | {two[1]})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}"])).map(lambda two: f"({two[0]}){two[1]}"),
    ),
    max_leaves=6,
)


@given(bodies, st.integers(0, 5))
def test_lazy_and_max_chars(body: str, count: int) -> None:
    tail = '\nx ::= "a" x | "b"'
    plain = texts_of(f"root ::= {body}{tail}")
    shortest = {text for text in plain if not any(text[:i] in plain for i in range(len(text)))}
    assert texts_of(f"root[lazy] ::= {body}{tail}") == shortest
    short = {text for text in plain if len(text) <= count}
    if short:
        assert texts_of(f"root[max_chars={count}] ::= {body}{tail}") == short
    if {text for text in shortest if len(text) <= count}:
        both = {text for text in shortest if len(text) <= count}
        assert texts_of(f"root[lazy, max_chars={count}] ::= {body}{tail}") == both


def test_attributes_of_called_rules_come_first() -> None:
    source = 'root[max_chars=3] ::= line line?\nline [lazy] ::= [ab]* "b"'
    assert texts_of(source) == {"b", "ab", "aab", "bb", "bab", "abb"}


@pytest.mark.parametrize(
    "other",
    [
        "Token(1)",
        'b"\\xff"',
        'TagDispatch(("x", "y"))',
        "few\nfew[max_tokens=3] ::= [a-z]*",
        'Unordered(("x", "y"))',
    ],
)
def test_a_lazy_rule_is_regular_whatever_others_hold(other: str) -> None:
    grammar = Grammar.from_ebnf(f'root ::= other | line\nother ::= {other}\nline[lazy] ::= [^x]* ";"\n')
    line = Recogniser(reached(GrammarIR(grammar.ir.rules, "line")))
    assert line.accepts(b"a;")
    assert not line.accepts(b"a;b;")


def test_long_limits_are_counts() -> None:
    grammar = Grammar.from_ebnf('root ::= text\ntext[max_chars=100000] ::= "<" [^<>]* ">"')
    assert str(grammar) == 'root ::= text\ntext ::= "<" [^<>]{0,99998} ">"\n'


def test_notes_say_nothing_about_texts() -> None:
    source = 'root ::= a "-" b\na[capture] ::= "a"+\nb[lazy, capture="the \\"b\\"", temperature=0.7] ::= "b"+\n'
    grammar = Grammar.from_ebnf(source)
    assert grammar.ir.rules["a"].notes == (("capture", None),)
    assert grammar.ir.rules["b"].notes == (("capture", 'the "b"'), ("temperature", 0.7))
    assert str(grammar) == 'root ::= a "-" b\na[capture] ::= "a"+\nb[capture="the \\"b\\"", temperature=0.7] ::= "b"\n'
    assert Grammar.from_ebnf(str(grammar)) == grammar == pickle.loads(pickle.dumps(grammar))
    assert grammar != Grammar.from_ebnf(source.replace("a[capture]", "a"))
    joined = Grammar.concat(grammar, Grammar.from_regex("x"))
    assert joined.ir.rules["a"].notes == (("capture", None),)


@pytest.mark.parametrize("note", ["capture", "temperature=0.5", 'trailing=";"', "hidden"])
def test_notes_inside_of_a_rule_that_is_made_anew_are_refused(note: str) -> None:
    rules = f'root ::= line\nline[max_chars=5] ::= word ";"\nword[{note}] ::= [a-z]*'
    with pytest.raises(UnsupportedFeatureError, match=f"'word' .*{note[:4]}") as caught:
        Grammar.from_ebnf(rules)
    assert caught.value.offset == rules.index("max_chars")


@given(st.text(st.sampled_from("ab[]\\\"'\n,=é\u2028"), min_size=1))
def test_texts_of_notes_are_read_back(text: str) -> None:
    notes = (("capture", text), ("trailing", text), ("stop_capture", text))
    ir = GrammarIR({"root": Rule("root", Literal(b"a"), notes)}, "root")
    assert parse_ebnf(print_grammar(ir)).rules["root"].notes == notes


def test_a_suffix_with_a_bracket_is_read_back() -> None:
    grammar = Grammar.from_lark('start: t "."\nt[capture, suffix="]"]: /[^]*/')
    assert Grammar.from_ebnf(str(grammar), root_rule_name="start") == grammar


def test_the_first_rule_that_is_missing_is_named() -> None:
    names = [f"missing{i}" for i in range(9)]
    for name in names:
        marks = dict.fromkeys([name, *names], ())
        with pytest.raises(GrammarError, match=f"'{name}'"):
            parse_ebnf('root ::= "a"', marks=marks)


@pytest.mark.parametrize("head", ["b[lazy]", "b [lazy]", "b[max_chars=2]", "b[capture]"])
def test_a_rule_called_b_has_attributes_too(head: str) -> None:
    assert Recogniser(Grammar.from_ebnf(f'root ::= b "c"\n{head} ::= "a"+').ir).accepts(b"ac")


def test_masks_of_a_lazy_rule() -> None:
    vocabulary = [b"a", b";", b"a;", b";;", b"x", b"</s>"]
    compiler = GrammarCompiler(TokenizerInfo(vocabulary, stop_token_ids=[5]))
    matcher = GrammarMatcher(compiler.compile_grammar('root ::= line "x"\nline[lazy] ::= [^x]* ";"'))
    assert list(matcher.allowed_token_ids()) == [0, 1, 2]
    assert matcher.accept_token(2)
    assert list(matcher.allowed_token_ids()) == [4]


def test_a_deep_rule_begins_with_a_bracket() -> None:
    deep = "(" * 900 + '"{{"' + ' "a" | "[" "b")' * 899 + ' "a" | {} "b")'
    grammar = Grammar.from_ebnf("root[distinct] ::= " + deep.format('"["'))
    assert grammar.ir.rules["root"].notes == (("distinct", None),)
    with pytest.raises(UnsupportedFeatureError, match="begins with"):
        Grammar.from_ebnf("root[distinct] ::= " + deep.format('"c"'))
