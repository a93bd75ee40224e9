"""EBNF text to IR: each construct of the dialect, its spans, and languages as the reference recogniser sees them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar import Grammar
from kernels_core.grammar.ebnf import parse_ebnf
from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    Literal,
    Never,
    Node,
    Repeat,
    RuleRef,
    Seq,
    Span,
    TagDispatch,
    TokenSet,
    walk,
)
from tests.reference import Recogniser


def body(text: str, rest: str = "") -> Node:
    """The node that `text` becomes as a rule's body."""
    return parse_ebnf(f"root ::= {text}\n{rest}").rules["root"].body


A, B = Literal(b"a"), Literal(b"b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a"', A),
        ("'a'", A),
        ("'\"'", Literal(b'"')),
        ('"\'"', Literal(b"'")),
        ('""', Empty()),
        ("()", Empty()),
        ("[]", Never()),
        ("[^]", CharSet(((0, 0x10FFFF),))),
        ('"a" "b"', Literal(b"ab")),
        ('"a" | "b"', Choice((A, B))),
        ('("a" | "b") "a"', Seq((Choice((A, B)), A))),
        ('"a" | "b" "a"', Choice((A, Literal(b"ba")))),
        ('"a"*', Repeat(A, 0, None)),
        ('"a"+', Repeat(A, 1, None)),
        ('"a"?', Repeat(A, 0, 1)),
        ('"ab"*', Repeat(Literal(b"ab"), 0, None)),
        ('"a" "b"*', Seq((A, Repeat(B, 0, None)))),
        ('"a"{3}', Repeat(A, 3, 3)),
        ('"a"{3,}', Repeat(A, 3, None)),
        ('"a"{3,5}', Repeat(A, 3, 5)),
        ('"a"{3,-1}', Repeat(A, 3, None)),
        ('"a"{,5}', Repeat(A, 0, 5)),
        ('"a"{ 3 , 5 }', Repeat(A, 3, 5)),
        ('"a" {2}', Repeat(A, 2, 2)),
        ('"a"{2147483647}', Repeat(A, 2**31 - 1, 2**31 - 1)),
        ('"a"{1}', A),
        ('"a"{0}', Empty()),
        ('"" | "a"', Repeat(A, 0, 1)),
        (r'"\n\r\t\b\f\a\v\0\e\"\'\\\/\?"', Literal(b"\n\r\t\b\f\a\v\0\x1b\"'\\/?")),
        (r'"\x41"', Literal(b"A")),
        (r'"\x414"', Literal("\u0414".encode())),
        (r'"\u0041B"', Literal(b"AB")),
        (r'"\U0001F600"', Literal("😀".encode())),
        ('"é€😀"', Literal("é€😀".encode())),
        (r'b"\xff\x00a\n"', Literal(b"\xff\0a\n")),
        (r"b'\xc3' b'\xa9'", Literal("é".encode())),
        (r"b[\x80-\xbf]", ByteSet(((0x80, 0xBF),))),
        (r"b[^\x00]", ByteSet(((1, 0xFF),))),
        (r"b[a-c]", CharSet(((0x61, 0x63),))),
        (r"b[^]", ByteSet(((0, 0xFF),))),
        ("[a]", A),
        ("[a-c]", CharSet(((0x61, 0x63),))),
        ("[cab]", CharSet(((0x61, 0x63),))),
        ("[a-cb-f]", CharSet(((0x61, 0x66),))),
        ("[-a]", CharSet(((0x2D, 0x2D), (0x61, 0x61)))),
        ("[a-]", CharSet(((0x2D, 0x2D), (0x61, 0x61)))),
        (r"[\d-z]", CharSet(((0x2D, 0x2D), (0x30, 0x39), (0x7A, 0x7A)))),
        (r"[+-\d]", CharSet(((0x2B, 0x2B), (0x2D, 0x2D), (0x30, 0x39)))),
        (r"[^a]", CharSet(((0, 0x60), (0x62, 0x10FFFF)))),
        (r"[\^^]", Literal(b"^")),
        (r"[\]\[]", CharSet(((0x5B, 0x5B), (0x5D, 0x5D)))),
        (r"[\\\-\"\']", CharSet(((0x22, 0x22), (0x27, 0x27), (0x2D, 0x2D), (0x5C, 0x5C)))),
        (r"[\x61-\x63]", CharSet(((0x61, 0x63),))),
        (r"[\u4e00-\u9fff]", CharSet(((0x4E00, 0x9FFF),))),
        (r"[\w]", CharSet(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))),
        (r"[^\W\d_]", CharSet(((0x41, 0x5A), (0x61, 0x7A)))),
        (r"[\s\S]", CharSet(((0, 0x10FFFF),))),
        (r"[^\s\S]", Never()),
        (r"[\ud800-\udfffa]", A),
        ('["]', Literal(b'"')),
        ("[#]", Literal(b"#")),
        ('"# no comment"', Literal(b"# no comment")),
        ('"a"#"b"', A),
        ('| "a"', Repeat(A, 0, 1)),
        ('"b" ("a" |)', Seq((B, Repeat(A, 0, 1)))),
        (".", CharSet(((0, 0x10FFFF),))),
        (r'"\[\]"', Literal(b"[]")),
        ('"a" | "b" (= "a" | root)', Choice((A, B))),
        ("TagDispatch()", TagDispatch((), ())),
        (
            "TagDispatch(('a', root), ('a', \"b\" | \"a\",), loop_after_dispatch=false, excludes=('y', 'x',))",
            TagDispatch((b"a", b"a"), (RuleRef("root"), Choice((B, A))), False, (b"x", b"y")),
        ),
        (r'TagDispatch((b"\xff", "b"), stops=("x"))', TagDispatch((b"\xff",), (B,), stops=(b"x",))),
        ('TagDispatch(("a", TagDispatch(("b", ""))))', TagDispatch((b"a",), (TagDispatch((b"b",), (Empty(),)),))),
        ("Token(3, 1, 3)", TokenSet((1, 3))),
        ("ExcludeToken(7)", TokenSet((7,), True)),
        ("ExcludeToken()", TokenSet((), True)),
        ("Token(1)+", Repeat(TokenSet((1,)), 1, None)),
        (
            'TokenTagDispatch((1, "a"), excludes=(0,))',
            Repeat(Choice((TokenSet((0, 1), True), Seq((TokenSet((1,)), A)))), 0, None),
        ),
        (
            'TokenTagDispatch((1, "a"), loop_after_dispatch=false)',
            Seq((Repeat(TokenSet((1,), True), 0, None), Repeat(Seq((TokenSet((1,)), A)), 0, 1))),
        ),
        ('Regex("a|b")', Choice((A, B))),
        (r'Regex("\\\\", flags="i") "a"', Literal(b"\\a")),
    ],
)
def test_constructs(text: str, expected: Node) -> None:
    assert body(text) == expected


def test_rules_run_over_lines_and_comments() -> None:
    ir = parse_ebnf(
        """\ufeff# a grammar
        root ::=      # the body is below
            "a" (     # inside a group, too

              item
              | "b" ) # not here
\r
  item
::= root?
"""
    )
    assert ir.rules["root"].body == Seq((A, Choice((RuleRef("item"), B))))
    assert ir.rules["item"].body == Repeat(RuleRef("root"), 0, 1)


def test_names_may_hold_dots_dashes_and_underscores() -> None:
    names = ["a-b", "a.b", "_a", "-", ".x", "A9", "b"]
    text = f"root ::= {' '.join(names)}\n" + "\n".join(f'{name} ::= "{name}"' for name in names)
    assert [node.name for node in walk(parse_ebnf(text).rules["root"].body) if isinstance(node, RuleRef)] == names


def test_a_rule_called_b_stands_before_a_string_with_a_blank() -> None:
    assert body('b "x"', 'b ::= "y"') == Seq((RuleRef("b"), Literal(b"x")))
    assert body("b [xy]", 'b ::= "y"') == Seq((RuleRef("b"), CharSet(((0x78, 0x79),))))


def test_a_macro_name_may_name_a_rule_and_a_group_may_touch_a_name() -> None:
    assert body('Token("x")', 'Token ::= "y" | "z"') == Seq((RuleRef("Token"), Literal(b"x")))


def test_any_root_rule() -> None:
    grammar = Grammar.from_ebnf('one ::= "1"\ntwo ::= one one', root_rule_name="two")
    assert grammar.ir.root == "two"
    assert list(grammar.ir.rules) == ["two", "one"]


def test_spans_point_at_the_source() -> None:
    source = 'root ::= "ab" [x-z]{2,3} | ( item "c" "d" )\n\nitem ::= "q"  # end\n'
    ir = parse_ebnf(source)
    assert source[slice_of(ir.rules["root"].span)] == 'root ::= "ab" [x-z]{2,3} | ( item "c" "d" )'
    assert source[slice_of(ir.rules["item"].span)] == 'item ::= "q"'
    written = {source[slice_of(node.span)] for node in walk(ir.rules["root"].body)}
    assert written == {
        '"ab" [x-z]{2,3} | ( item "c" "d" )',
        '"ab" [x-z]{2,3}',
        '"ab"',
        "[x-z]{2,3}",
        "[x-z]",
        'item "c" "d"',
        "item",
        '"c" "d"',
    }


def slice_of(span: Span | None) -> slice:
    assert span is not None
    return slice(span.start, span.end)


@pytest.mark.parametrize(
    ("text", "accepts", "rejects"),
    [
        ('root ::= ("a"? "b"?){2,3}', ["", "a", "ab", "bb", "bab", "ababab", "bbb"], ["abababa", "bbbb", "baba" * 2]),
        ('root ::= ("a"*){5,5} "c"', ["c", "aaaaaaaaac"], ["", "ab"]),
        ('root ::= ("ab"{2}){0,3}', ["", "abab", "abab" * 3], ["ab", "ababab", "abab" * 4]),
        ('root ::= root "+" root | [0-9]', ["1", "1+2", "1+2+3"], ["", "+", "1+"]),
        ("root ::= 'a' other | ''\nother ::= root 'b'", ["", "ab", "aabb"], ["a", "aab", "abb"]),
        (r'root ::= b[\xc3] b[\xa9-\xaa] "!"', ["é!", "ê!"], ["è!", "é"]),
        (
            'root ::= "a" Substring("ab", "c", "ab", "d") ',
            ["a", "aabcabd", "acab", "aab", "abd"[:1]],
            ["ad" * 2, "aabd!"],
        ),
        ('root ::= Substring() Substring("")', [""], ["a"]),
        ("root ::= [^a]", ["b", "é", "\n", "😀"], ["a", "", "bb"]),
    ],
)
def test_languages(text: str, accepts: list[str], rejects: list[str]) -> None:
    recogniser = Recogniser(Grammar.from_ebnf(text).ir)
    assert [t for t in accepts if not recogniser.accepts(t.encode())] == []
    assert [t for t in rejects if recogniser.accepts(t.encode())] == []


def test_spans_of_macros() -> None:
    source = "root ::= 'x' TagDispatch(('a', 'b' root)) Token(1)  Regex('c*')"
    written = [source[slice_of(node.span)] for node in walk(parse_ebnf(source).rules["root"].body) if node.span]
    assert written[0] == source[9:]
    assert written[1:] == ["'x'", source[13:41], "'b' root", "'b'", "root", "Token(1)", "Regex('c*')"]


@given(st.lists(st.sampled_from(["a", "b", "ab", "ba", ""]), max_size=7))
def test_substring_is_any_run_of_chunks(chunks: list[str]) -> None:
    spelt = ", ".join(f'"{chunk}"' for chunk in chunks)
    recogniser = Recogniser(Grammar.from_ebnf(f"root ::= Substring({spelt})").ir)
    runs = {"".join(chunks[i:j]) for i in range(len(chunks) + 1) for j in range(i, len(chunks) + 1)}
    texts = ["".join(letters) for size in range(6) for letters in product("ab", repeat=size)]
    assert [text for text in texts if recogniser.accepts(text.encode())] == [text for text in texts if text in runs]


def test_two_substrings_do_not_share_rules() -> None:
    text = 'root ::= Substring("ab", "c") Substring("d")\nSubstring.1 ::= "x"'
    grammar = Grammar.from_ebnf(text)
    assert Grammar.from_ebnf(str(grammar)) == grammar
    assert Recogniser(grammar.ir).accepts(b"abcd")
    assert not Recogniser(grammar.ir).accepts(b"dd")


def test_a_regex_with_assertions_brings_its_automaton() -> None:
    grammar = Grammar.from_ebnf("""
    root ::= Regex("(?:(?!ab)[a-c]){2,}") "-" Regex("(?:(?!ab)[a-c]){2,}(?<=c)") Regex.text
    Regex.text ::= "!"
    """)
    recogniser = Recogniser(grammar.ir)
    assert recogniser.accepts(b"ba-acc!")
    assert recogniser.accepts(b"cab-cc!") is False
    assert recogniser.accepts(b"caa-ca!") is False
    assert Grammar.from_ebnf(str(grammar)) == grammar


def test_leading_zeros_say_nothing() -> None:
    zeros = "0" * 5000
    source = 'root[max_tokens={0}9] ::= Token({0}7) ("a"{{{0}2}} | Unordered(("a", "b"), most={0}1))'
    assert parse_ebnf(source.format(zeros)).rules == parse_ebnf(source.format("")).rules
