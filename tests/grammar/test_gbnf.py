"""Grammars in the style of llama.cpp's GBNF load as they are, and mean what they say."""

from __future__ import annotations

import pytest

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import UnsupportedFeatureError
from kernels_core.grammar import Grammar
from tests.reference import Recogniser

GRAMMARS = {
    "arithmetic": (
        r"""
# one equation a line
root    ::= (sum "=" ws sum "\n")+
sum     ::= product ([-+] ws product)*
product ::= atom ([*/] ws atom)*
atom    ::= number | name | "(" ws sum ")" ws
number  ::= [0-9]+ ws
name    ::= [a-z] [a-z0-9_]* ws
ws      ::= [ \t]*
""",
        ["1 = 2\n", "x1*(2+ y)=z\na=b\n"],
        ["1 = 2", "=\n", "1 ==2\n"],
    ),
    "json": (
        r"""
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
""",
        ['{"a": [1, -2.5e3, "\\u00e9\\n"], "b" :{}}', "{}", '{\n  "x": null\n}'],
        ["[]", '{"a"}', '{"a": 01}', '{"a": "\x1f"}'],
    ),
    "chess": (
        r"""
root   ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n"){,20}
move   ::= (pawn | piece | castle) [+#]?
piece  ::= [NBKQR] [a-h]? [1-8]? "x"? square
pawn   ::= ([a-h] "x")? square ("=" [NBQR])?
square ::= [a-h] [1-8]
castle ::= "O-O" "-O"?
""",
        ["1. e4 e5\n2. Nf3 Nc6\n", "1. d4 O-O-O+\n10. exd8=Q# Rad1\n"],
        ["1. e9 e5\n", "e4 e5\n", "1. e4\n"],
    ),
    "program": (
        r"""
root        ::= (declaration)*
declaration ::= type " " name "(" parameter? ")" "{" statement* "}"
type        ::= "int" | "float" | "char"
name        ::= [a-zA-Z_] [a-zA-Z_0-9]*
parameter   ::= type " " name
statement   ::=
    ( type " " name " = " value ";" ) |
    ( name "(" value? ")" ";" ) |
    ( "return " value ";" ) |
    ( "while" "(" value relation value ")" "{" statement* "}" ) |
    ( "//" [^\n]* "\n" )
relation    ::= ("<=" | "<" | "==" | "!=" | ">=" | ">")
value       ::= term (("+" | "-") term)*
term        ::= factor (("*" | "/") factor)*
factor      ::= name | number | "-" factor | "(" value ")"
number      ::= [0-9]+
""",
        ["int main(){return 0;}", "float f(int x){while(x<=9){g(x*-2);}// done\n}", ""],
        ["int main(){return 0}", "int 1x(){}"],
    ),
    "kana-list": (
        r"""
root ::= item+
# a dash, kana or kanji, the end of the line
item ::= "- " (hiragana | katakana | kanji | [、。]){1,8} "\n"
hiragana ::= [ぁ-ゟ]
katakana ::= [\u30A1-\u30FF]
kanji ::= [\U00004E00-\U00009FFF]
""",
        ["- ねこ\n- イヌ、猫。\n"],
        ["- \n", "- cat\n", "- " + "ね" * 9 + "\n"],
    ),
    "anything-but": (
        r"""
root ::= "<" . ">" [^<>]* | tail-1.x
tail-1.x ::= "\[\]" [\]\[^-]+ ("a"|)
""",
        ["<é>xyz", "[]^-[]", "[][a"],
        ["<>", "[]"],
    ),
    # as converters of schemas name rules: after members, which may begin with a digit or be a word of a macro
    "names-of-members": (
        r"""
root ::= "{" 2nd-kv ("," true-kv)? "}"
2nd-kv ::= "\"2nd\":" 3.14_x{2}
3.14_x ::= true | false
true-kv ::= "\"true\":" true
true ::= "1"
false ::= "0"
""",
        ['{"2nd":10}', '{"2nd":00,"true":1}'],
        ['{"2nd":1}', '{"2nd":10,"true":0}'],
    ),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars_in_the_style_of_gbnf(name: str) -> None:
    source, good, bad = GRAMMARS[name]
    recogniser = Recogniser(Grammar.from_ebnf(source).ir)
    assert [text for text in good if not recogniser.accepts(text.encode())] == []
    assert [text for text in bad if recogniser.accepts(text.encode())] == []


@pytest.mark.report(
    "ggml-org/llama.cpp#7572, ggml-org/llama.cpp#27597, ggml-org/llama.cpp#18988, mlc-ai/xgrammar#125",
    "Loops over what may be empty, `\\-` in a class, and comments behind a rule are read.",
)
@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        ('root ::= "a" ( "" | "b" )* "c"', ["ac", "abbc"], ["a", "abab"]),
        ('root ::= (("a"*)*)+ "b"', ["b", "aaab"], ["a", "ba"]),
        (r'root ::= "<" ([^\-<] | "-" [^\-<])* ">"', ["<a-b>", "<>"], ["<a-->", "<-<>"]),
        ('root ::= a # "x" ::= y\na ::= "a"', ["a"], ["x", ""]),
    ],
)
def test_loops_classes_and_comments(source: str, good: list[str], bad: list[str]) -> None:
    recogniser = Recogniser(Grammar.from_ebnf(source).ir)
    matcher = GrammarMatcher(
        GrammarCompiler(TokenizerInfo([bytes([byte]) for byte in range(256)])).compile_grammar(source)
    )
    for text in (*good, *bad):
        matcher.reset()
        taken = matcher.accept_string(text) and matcher.is_completed()
        assert taken == recogniser.accepts(text.encode()) == (text in good), text


def test_tokens_in_the_style_of_gbnf() -> None:
    vocabulary = [b"a", b"b", b"<think>", b"</think>", b"</s>"]
    compiler = GrammarCompiler(TokenizerInfo(vocabulary, stop_token_ids=[4], special_token_ids=[2, 3]))
    matcher = GrammarMatcher(compiler.compile_grammar('root ::= <[2]> !<[3]>* <[3]> "b"'))
    assert list(matcher.allowed_token_ids()) == [2]
    assert matcher.accept_token(2)
    assert list(matcher.allowed_token_ids()) == [0, 1, 2, 3]
    assert matcher.accept_token(3)
    assert list(matcher.allowed_token_ids()) == [1]
    for source in ("root ::= <think>", "root ::= !<think>", "root ::= <[x]>", "root ::= <[1-2]>"):
        with pytest.raises(UnsupportedFeatureError, match="give its id") as caught:
            Grammar.from_ebnf(source)
        assert caught.value.offset == 9
