"""What is wrong with a grammar's text, and at which character."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from kernels_core.grammar import Grammar
from tests.strategies import examples

# In each text the character to point at follows the mark (which is taken out).
MARK = "»"


def fails(marked: str, kind: type[GrammarError], message: str, root: str = "root") -> GrammarError:
    offset = marked.index(MARK)
    source = marked.replace(MARK, "")
    with pytest.raises(GrammarError, match=message) as caught:
        Grammar.from_ebnf(source, root_rule_name=root)
    error = caught.value
    assert type(error) is kind
    assert error.offset == offset
    assert error.source == source
    assert error.line == source.count("\n", 0, offset) + 1
    assert error.column == offset - (source.rfind("\n", 0, offset) + 1) + 1
    return error


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("»", "at least one rule"),
        ("»# nothing\n", "at least one rule"),
        ('»"a"', "expected a rule"),
        ("root» = 'a'", 'expected "::="'),
        ('»::= "a"', "expected a rule"),
        ('root ::= "a" »::= "b"', '"::=" without a rule name'),
        ('root ::= "a" »other ::= "b"', "line of its own"),
        ('»12 ::= "a"', "expected a rule"),
        ('»// words\nroot ::= "a"', 'a comment begins with "#"'),
        ('root ::= "a"»;', "ends where the next begins"),
        ('root ::= "a" »/ "b"', 'told apart by "|"'),
        ("root ::= »12", "unexpected character"),
        ("root ::=»", "no body"),
        ('root ::=»\nother ::= "a"', "no body"),
        ('root ::= »("a"', "never closed"),
        ('root ::= »("a" ("b")', "never closed"),
        ('root ::= »("a"\nother ::= "b")', "never closed"),
        ('root ::= "a"»)', r'"\)" without'),
        ("root ::= »*", "nothing to repeat"),
        ('root ::= "a" | »{2}', "nothing to repeat"),
        ('root ::= "a"*»*', "two quantifiers"),
        ('root ::= "a"{2}»?', "two quantifiers"),
        ('root ::= "a"»{', "a count is written"),
        ('root ::= "a"»{,}', "a count is written"),
        ('root ::= "a"»{-1}', "a count is written"),
        ('root ::= "a"»{1,2,3}', "a count is written"),
        ('root ::= "a"»}', '"}" without'),
        ('root ::= "a"»]', '"]" without'),
        ('root ::= "a"{»3,2}', "backwards"),
        ('root ::= "a"{»2147483648}', "at most 2,147,483,647"),
        ('root ::= "a"{0,»3000000000}', "at most 2,147,483,647"),
        ('root ::= "a"{»' + "9" * 6000 + "}", "at most"),
        ('root ::= »"a', "never closed"),
        ("root ::= »'a\n'", "never closed"),
        ('root ::= »"a\\"', "never closed"),
        ("root ::= »[a", "never closed"),
        ("root ::= »[a\n]", "never closed"),
        ("root ::= »[a\\]", "never closed"),
        (r'root ::= "ab»\q"', r"unknown escape \\q"),
        (r'root ::= "»\u12"', "needs 4 hex"),
        (r'root ::= "»\u12g4"', "needs 4 hex"),
        (r'root ::= "»\U0001F60"', "needs 8 hex"),
        (r'root ::= "»\x"', "needs hex"),
        (r'root ::= "»\x110000"', r"above U\+10FFFF"),
        ('root ::= "»\\x' + "f" * 9000 + '"', r"above U\+10FFFF"),
        (r'root ::= "»\U00110000"', r"above U\+10FFFF"),
        (r'root ::= "a»\ud83d\ude00"', r"surrogate U\+D83D"),
        ('root ::= "a»\ud83d"', r"surrogate U\+D83D"),
        (r'root ::= b"a»\x4"', "exactly two hex"),
        (r'root ::= b"a»\u0041"', "in raw bytes"),
        ('root ::= b"a»é"', "not one byte"),
        ("root ::= b[a-»é]", "not one byte"),
        ('root ::= »b"x" b\nb ::= "y"', "raw bytes or the rule b"),
        ('root ::= »b[xy]\nb ::= "y"', "raw bytes or the rule b"),
        ("root ::= [»z-a]", "z-a runs backwards"),
        (r"root ::= [a-c»\u0062-a]", "backwards"),
        (r"root ::= [a»\q]", "unknown escape"),
        ('root ::= "a" »@', "unexpected character '@'"),
        ('root ::= "a" », "b"', "unexpected character ','"),
        ('root ::= "a" »é', "unexpected character"),
        ('root[»greedy] ::= "a"', "no attribute 'greedy'"),
        ('root[lazy, »lazy] ::= "a"', "given twice"),
        ('root[»lazy=1] ::= "a"', "takes no value"),
        ('root[»max_chars] ::= "a"', "takes a number"),
        ('root[»max_chars=1.5] ::= "a"', "takes a number"),
        ('root[»max_chars=99999999999] ::= "a"', "takes a number"),
        ('root[»temperature="x"] ::= "a"', "finite non-negative number"),
        ('root[»temperature=-0.1] ::= "a"', "finite non-negative number"),
        ('root[»temperature=1e999] ::= "a"', "finite non-negative number"),
        ('root[»capture=3] ::= "a"', "name in quotes"),
        ('root[lazy »max_chars] ::= "a"', 'expected "," or'),
        ('root[lazy,»] ::= "a"', "attribute's name is expected"),
        ('root ::= "a" »(= "b") "c"', "last thing of its rule"),
        ('root ::= "a" ("b" »(= "c"))', "last thing of its rule"),
        ('root ::= "a" (=»)', "something is missing"),
        ('root ::= »(= "c"', "never closed"),
        ('root ::= TagDispatch((»"", root))', "a tag is empty"),
        ("root ::= TagDispatch((»1, root))", "a string is expected"),
        ('root ::= TagDispatch(("a"»))', "content are missing"),
        ('root ::= TagDispatch(("a", »))', "something is missing"),
        ('root ::= »TagDispatch(("a", "b"', "never closed"),
        ('root ::= TagDispatch(("a", "b"), »)', "expected"),
        ('root ::= TagDispatch(excludes=("x"), »("a", root))', "in front of named"),
        ('root ::= TagDispatch(excludes=(»""))', "an empty string in excludes"),
        ('root ::= TagDispatch(»stop_str=("x"))', "no argument 'stop_str'"),
        ('root ::= TagDispatch(excludes=("x"), »excludes=("x"))', "given twice"),
        ("root ::= TagDispatch(loop_after_dispatch=»1)", "true or false"),
        ("root ::= TagDispatch(excludes=»1)", "list in parentheses"),
        ('root ::= Unordered(("a", »))', "a value is missing"),
        ('root ::= Unordered(("a", "b"), »)', "expected"),
        ('root ::= Unordered(("a", "b", 1 »"x"), needs=1)', r"\(key, value, number, required\)"),
        ('root ::= Unordered(others=(("a", "b"», required),))', r"\(key, value, number\)"),
        ('root ::= Unordered(others=(), »("a", "b"))', "in front of named"),
        ("root ::= Token(»)", "at least one id"),
        ('root ::= Token(»"a")', "is a token's id"),
        ("root ::= Token(1 »2)", "expected"),
        ("root ::= Token(»9999999999)", "at most"),
        ('root ::= Unordered(("a", "b"), least=»' + "9" * 6000 + ")", "at most"),
        ("root ::= Token(»loop=1)", "does not support the named argument loop"),
        ('root ::= TokenTagDispatch((»"a", root))', "is a token's id"),
        ("root ::= »Regex()", "exactly one string argument"),
        ('root ::= Regex(»"a(")', "column 2 of the pattern"),
        ('root ::= Regex(»b"\\xff")', "not raw bytes"),
        ('root ::= Regex("a", flags=»b"\\xff")', "flags must be a string"),
        ('root ::= Substring("a", »1)', "an argument of Substring is a string"),
        ('root ::= other »$\nother ::= "a"', "unexpected character"),
    ],
)
def test_malformed(marked: str, message: str) -> None:
    fails(marked, GrammarSyntaxError, message)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ('root ::= "a" »valeu\nvalue ::= "b"', "did you mean value?"),
        ("root ::= »xyz", "there is no rule called 'xyz'; the rules are: root"),
        ("root ::= TokenTagDispatch((1, root), excludes=(»1))", "a tag and excluded"),
        ('root ::= TagDispatch(("a", »x))', "no rule called 'x'"),
        ('root ::= "a" (= »x)', "no rule called 'x'"),
        ('root ::= "a"\n»root ::= "b"', "already defined on line 1"),
        ('»start ::= "a"', "no root rule called 'root'; the rules are: start; a whole text may be start, which"),
        ('»roto ::= "a"', "did you mean roto?"),
        ('»root ::= "a" root', "never finish: root"),
        ('»root ::= one | two\none ::= two\ntwo ::= one "x"', "never finish: root, one, two"),
        ("»root ::= []", "never finish: root"),
    ],
)
def test_unusable(marked: str, message: str) -> None:
    fails(marked, GrammarError, message)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ('root[lazy, »max_tokens=5] ::= "a"', "takes no max_tokens"),
        ('root[lazy] ::= "a" x\n»x[max_tokens=3] ::= "a"', "limits its tokens"),
        ('root ::= b\nb[»lazy] ::= "(" b ")" | "a"', "not regular"),
        ('root[»max_chars=3] ::= "a" | root "b"', "not regular"),
        ('root[lazy] ::= "a" | »Token(1)', "tokens"),
        ("root[»lazy, max_chars=30] ::= [ab]* [a] [ab]{15}", "more than 5,000 states"),
        ('root ::= Regex(»"(a)\\\\1")', "back-references are not regular"),
    ],
)
def test_known_and_not_built(marked: str, message: str) -> None:
    fails(marked, UnsupportedFeatureError, message)


def test_another_root_is_suggested() -> None:
    fails('»json ::= "a"', GrammarError, "did you mean json?", root="jsn")


def test_the_message_shows_the_line_and_a_caret() -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        Grammar.from_ebnf('root ::= "a"\n  | "b" }')
    head = 'EBNF, line 2, column 9: "}" without its "{"'
    assert str(caught.value).splitlines() == [head, '    | "b" }', "          ^"]


def test_only_text_is_a_grammar() -> None:
    with pytest.raises(TypeError, match="takes a str, not bytes"):
        Grammar.from_ebnf(b"root ::= 'a'")  # type: ignore[arg-type]


def test_errors_cross_processes() -> None:
    error = fails("root ::= »xyz", GrammarError, "no rule")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.offset, copy.line) == (type(error), str(error), error.offset, error.line)


SOUP = [*"|()*+?]b\\#x-é\ud800,\n  ", "root", "::=", '"a"', "'b'", "{2}", "{1,", "[a-z]", "[^", "b[x]"]
SOUP += ['b"\\xff"', "(=", "Token(", "{0}", "[]", '""', ",", "="]
SOUP += ["TagDispatch(", '("a", ', "excludes=(", "Regex(", "Substring(", "TokenTagDispatch(", "1"]


# Most of it is wrong at its first characters: it takes many to be wrong further on, and little time.
@examples(5)
@given(st.lists(st.sampled_from(SOUP), max_size=14).map("".join), st.booleans())
def test_anything_is_a_grammar_or_a_grammar_error(soup: str, begun: bool) -> None:
    source = "root ::= 'a' | " + soup if begun else soup
    try:
        grammar = Grammar.from_ebnf(source)
    except GrammarError as caught:
        error: GrammarError | None = caught
    else:
        error = None
        assert Grammar.from_ebnf(str(grammar)) == grammar
    if error is not None:
        assert error.offset is not None
        assert 0 <= error.offset <= len(source)
