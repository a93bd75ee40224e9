"""Lark: construct by construct, `%ignore` and the terminal operators against their plain meaning, and real grammars."""

from __future__ import annotations

import itertools
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import GrammarError
from kernels_core.grammar import Grammar
from kernels_core.grammar.lark.common import COMMON
from tests.reference import Recogniser


def accepted(source: str, texts: list[str]) -> list[str]:
    recogniser = Recogniser(Grammar.from_lark(source).ir)
    return [text for text in texts if recogniser.accepts(text.encode())]


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        ('start: "a" "b" | "c"', ["ab", "c"], ["a", "abc"]),
        ('start: ("a" | "b" "c")? ["d"] "e"', ["e", "ae", "bcde"], ["be"]),
        ('start: "a"* "b"+ "c"?', ["b", "aabbc"], ["a", "bcc"]),
        ('start: "a"~2 "b"~1..2 "c"{2} "d"{,1} "e"{1,}', ["aabcce", "aabbccdee"], ["abcce", "aabcc"]),
        ('start: "a" |', ["a", ""], ["aa"]),
        ("start: ", [""], ["a"]),
        ('start: ""', [""], ["a"]),
        ('start: "a"\n    | "b" // one\n    # two\n\n    | "c"\nx: "d"', ["a", "b", "c"], ["d"]),
        ('start: ("a"\n  "b")\n  & "ab" | /x/', ["ab", "x"], ["a"]),
        ('?start: x -> one | "c" -> two\n!x: "a" | "b"', ["a", "b", "c"], []),
        ('start: _x b-1\n_x: _Y\n_Y: "y"\nb-1: "b"', ["yb"], ["y"]),
        (r'start: "\u0041\x42\n\"\\\/é\ud83d\ude00"', ['AB\n"\\/é😀'], []),
        ('start: "aß"i', ["aß", "Aß", "Aẞ"], ["ass"]),
        pytest.param(
            'start: "#" A // c\n    | "a \\" b" | "don\'t" | "//"\nA: /[a-z]+/',
            ["#a", 'a " b', "don't", "//"],
            ["dont", "#", "a  b"],
            marks=pytest.mark.report(
                "vllm-project/vllm#57695", "`#`, `//` and quotation marks inside a string of Lark are its text."
            ),
        ),
        ('start: "a".."c" "é".."ü"', ["aé", "cü", "bê"], ["dé", "az"]),
        (r"start: /a+\/[b]/ /x/i", ["aa/bX", "a/bx"], ["abX"]),
        ("start: /./ /./s", ["a\n", "ab"], ["\na"]),
        ("start: /(?m:^a$\\n^b$)/u", ["a\nb"], []),
        ("start: list\nlist: item | list item\nitem: /[ab]/ | nested\nnested: /[(]/ list /[)]/", ["ab(b(a))"], ["()"]),
        ('start: A B\nA: /[a-z]+/\nB: "b"', ["ab", "bb", "abb"], ["b", "ba"]),
        ('start: A\nA: B~2 | C\nB: "x" | "y"\nC: B "z"', ["xy", "yz"], ["x", "xyz"]),
        ('start: A\nA: /[a-z]+/ & ~("if" | "do")', ["i", "ifx", "dod"], ["if", "do", ""]),
        ('start: A\nA: "a" "b" & /.b/ | "d"', ["ab", "d"], ["ad", "b"]),
        ('start: A\nA: ~"a" "b"', ["b", "bb", "cb"], ["ab", "c"]),
        ('start: A\nA: ~"a"*', ["", "aa"], ["a"]),
        ('start: (~/a*/ & /../) "!"', ["ab!", "bb!"], ["aa!", "b!"]),
        ('start: A\nA: ~(~"a" | ~/./)', ["a"], ["b", "aa"]),
        ("start: t\nt[lazy]: /.*;/", ["a;", ";"], ["a;;", "a"]),
        ("start: t /.*/\nt[lazy]: /a+/", ["a", "ab", "aa"], ["b"]),
        ('start: t "c"\nt[suffix="b"]: /.*/', ["abc", "bc"], ["abbc", "ac"]),
        ("start: t\nt[suffix=/b+/]: /[^]*/", ["a\nb", "b"], ["bb", "a"]),
        ('start: T\nT[suffix=END]: /x*/\nEND: "--"', ["xx--", "--"], ["xx-"]),
        ("start: t\nt[max_chars=3]: /[ab]+/ | A\nA: /c+/", ["a", "aba", "ccc"], ["abab", "cccc"]),
        ('start: t "."\nt[suffix=";", max_chars=4]: /.*/', ["abc;.", ";."], ["abcd;.", ";;."]),
        ('start[capture]: a\na[capture="n", temperature=0.5]: "x"', ["x"], []),
        ('start: %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]} "."',
         ['{"a": 1}.'], ["{}."]),
        ('start: %json {"const": 0.12345678901234567890123}', ["0.12345678901234567890123"], ["0.12345678901234568"]),
        ('start: %json {"enum": ["}", "{"]} | %json\n {"const": 1}', ['"}"', '"{"', "1"], ["}"]),
        ('start: %lark {\n  start: "a" b\n  b: start?\n  %ignore " "\n} "b"', ["ab", "a ab"], ["a b", " ab"]),
        ('start: %regex {"substring_words": "the quick, brown"}',
         ["", "the quick", ", ", "quick,"], ["he", "th", "the,"]),
        ('start: %regex {"substring_chars": "abcé"}', ["bc", "cé", ""], ["ac"]),
        ('start: A\nA: %regex {"substring_chunks": ["ab", "c"]} & /.+/', ["ab", "abc", "c"], ["", "b"]),
        ("%import common.INT\n%import common (WS, CNAME)\n%import common.FLOAT -> F\nstart: INT WS CNAME F",
         ["1 a1.5", "12 \n_x2.e3"], ["1a1.5"]),
    ],
)  # fmt: skip
def test_dialect(source: str, good: list[str], bad: list[str]) -> None:
    assert accepted(source, good) == good
    assert accepted(source, bad) == []


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        ('start: "a" "b"\n%ignore / +/', ["ab", "a b", "a   b"], [" ab", "ab ", "a\nb"]),
        ('start: x "b" x\nx: "a"?\n%ignore " "', ["a b a", "b a", "b", "a b"], [" b", "b ", "a b ", " a b"]),
        ('start: WORD+\nWORD: /[a-z]+/\n%ignore " " | "\\t"\n%ignore /#[^\\n]*\\n/', ["ab", "a #x\n\tb"],
         ["a #x", "\na"]),
        ('start: list | ""\nlist: list "," item | item\nitem: "x"\n%ignore " "', ["", "x , x", "x,x ,x"],
         [" x", " ", "x "]),
        ('start: %json {"type": "integer"} "x"\n%ignore " "', ["1 x", "1x"], ["1 "]),
        ('%llguidance {"allow_initial_skip": true}\nstart: "a" "b"\n%ignore " "', ["  a b", "ab"], ["ab "]),
        ('start: T "x"\nT: "a" "b"\n%ignore " "', ["ab x"], ["a bx"]),
        ('start: A?\nA: "a"\n%ignore " "\n%llguidance {}', ["a", ""], [" "]),
        ('start: START\nSTART: "a" "b"\n%ignore " "', ["ab"], ["a b"]),
        ('%import common.WS\n%ignore WS\nstart: "a"~2..3', ["aa", "a \n a a"], ["a", "aa "]),
    ],
)  # fmt: skip
def test_ignored_text_stands_between_terminals(source: str, good: list[str], bad: list[str]) -> None:
    assert accepted(source, good) == good
    assert accepted(source, bad) == []


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        ('start: "a" "b"?', ["a", "a ", "a b  "], [" a", " ", ""]),
        ('start: A?\nA: "a"', ["", "a "], [" "]),  # without a terminal there is nothing to stand behind
        ('start[lazy]: /[a-z ]*/ "!"', ["a b!", "! "], [" !a"]),
        ('start: "a" x\nx: ', ["a", "a "], []),
        ('%llguidance {"allow_initial_skip": true}\nstart: "a"', [" a ", "a"], ["  "]),
        ('start: %lark {\nstart: "a"\n%ignore "-"\n} "!"', ["a-! ", "a- !", "a!"], ["a!-", "-a!", "a -!"]),
    ],
)
def test_ignored_text_behind_the_last_terminal(source: str, good: list[str], bad: list[str]) -> None:
    made = Grammar.from_lark(source + '\n%ignore " "', trailing_skip=True)
    for grammar in (made, pickle.loads(pickle.dumps(made))):
        recogniser = Recogniser(grammar.ir)
        assert [text for text in (*good, *bad) if recogniser.accepts(text.encode())] == good


expressions = st.recursive(
    st.sampled_from(['"a"', '"b"', "x", "y", '""', "A"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda items: f"({' '.join(items)})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda items: f"({' | '.join(items)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "~2", "{1,2}"])).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@given(expressions, expressions, expressions, st.lists(st.text(alphabet="ab ", max_size=7), min_size=1, max_size=12))
def test_skips_come_and_go(start: str, x: str, y: str, texts: list[str]) -> None:
    source = f'start: {start}\nx: {x}\ny: {y} | "b"\nA: "a"\n'
    try:
        plain = Recogniser(Grammar.from_lark(source).ir)
    except GrammarError as error:
        assert "no text" in str(error)  # noqa: PT017
        return
    skipping = Recogniser(Grammar.from_lark(source + '%ignore " "').ir)
    trailing = Recogniser(Grammar.from_lark(source + '%ignore " "', trailing_skip=True).ir)
    for text in texts:
        # All terminals are one character, so blanks may stand wherever there is a character on both sides.
        expected = text == text.strip() and plain.accepts(text.replace(" ", "").encode())
        assert skipping.accepts(text.encode()) == expected, text
        behind = text == text.lstrip() and plain.accepts(text.replace(" ", "").encode())
        assert trailing.accepts(text.encode()) == behind, text


SHORT = ["".join(letters) for n in range(5) for letters in itertools.product("ab", repeat=n)]
Texts = frozenset[str]


def _joined(left: Texts, right: Texts) -> Texts:
    return frozenset(one + other for one in left for other in right if len(one + other) <= 4)


terminals = st.recursive(
    st.sampled_from(
        [('"a"', {"a"}), ('"ab"', {"ab"}), ('/[ab]/', {"a", "b"}), ("/a*/", {"", "a", "aa", "aaa", "aaaa"})]
    ).map(lambda pair: (pair[0], frozenset(pair[1]))),
    lambda inner: st.one_of(
        inner.map(lambda item: (f"(~{item[0]})", frozenset(SHORT) - item[1])),
        st.tuples(inner, inner).map(lambda two: (f"({two[0][0]} & {two[1][0]})", two[0][1] & two[1][1])),
        st.tuples(inner, inner).map(lambda two: (f"({two[0][0]} | {two[1][0]})", two[0][1] | two[1][1])),
        st.tuples(inner, inner).map(lambda two: (f"({two[0][0]} {two[1][0]})", _joined(two[0][1], two[1][1]))),
    ),
    max_leaves=6,
)  # fmt: skip


@given(terminals)
def test_terminal_operators(terminal: tuple[str, Texts]) -> None:
    written, meaning = terminal
    try:
        recogniser = Recogniser(Grammar.from_lark(f"start: A\nA: {written}").ir)
    except GrammarError as error:
        assert "no text" in str(error)  # noqa: PT017
        assert not meaning
        return
    assert {text for text in SHORT if recogniser.accepts(text.encode())} == meaning


ARITHMETIC = """
// Sums of products; unary signs bind tightest.
?start: sum
?sum: product | sum ("+" | "-") product
?product: atom | product ("*" | "/") atom
?atom: NUMBER -> number | "-" atom -> negative | NAME call? -> name | "(" sum ")"
call: "(" [sum ("," sum)*] ")"
NAME: CNAME & ~/if|else/
%import common (NUMBER, CNAME, WS_INLINE)
%ignore WS_INLINE
"""

PROGRAM = """
start: statement+
statement: "if" "(" value ")" block ["else" block] | "return" value? ";" | NAME "=" value ";" | COMMENT
block: "{" statement* "}"
value: value OPERATOR value | NAME | NUMBER | STRING | "(" value ")"
OPERATOR: "+" | "-" | "==" | "<"
NAME: /[a-z_]\\w*/i & ~KEYWORD
KEYWORD: "if" | "else" | "return"
%import common.ESCAPED_STRING -> STRING
%import common.C_COMMENT -> COMMENT
%import common (NUMBER, WS)
%ignore WS
"""


def test_real_grammars() -> None:
    sums = ["1", "1 + 2*x", "f( 1,  g() )", "--(1.5e3)", "ifx"]
    assert accepted(ARITHMETIC, [*sums, "1 +", "if", "f(1,)", " 1", "else(1)"]) == sums
    programs = [
        "x = 1;",
        'if (x < 3) { y = "a\\"b"; } else { return; }\n/* done **/ return x + (y == 2);',
        "iff=elsewhere;",
    ]
    assert accepted(PROGRAM, [*programs, "if = 1;", "x = 1", "/* x */ */", 'x = "a\nb";']) == programs


COMMON_TEXTS = {
    "DIGIT": (["0"], ["10", "\u0660"]), "HEXDIGIT": (["f", "F", "9"], ["g"]), "INT": (["0", "012"], ["-1", ""]),
    "SIGNED_INT": (["+1", "-1", "1"], ["+", "1.0"]), "DECIMAL": (["1.", ".5", "1.5"], ["1", "."]),
    "_EXP": (["e5", "E-5"], ["e", "5"]), "FLOAT": (["1.", "1e5", ".5e1"], ["1"]),
    "SIGNED_FLOAT": (["-1.5e-3", "+.5"], ["-1"]),
    "NUMBER": (["1", "1.e5"], ["-1"]), "SIGNED_NUMBER": (["-1", "+1.5"], ["--1"]),
    "ESCAPED_STRING": (['""', r'"a\"b\\"'], ['"a', '"a"b"', '"a\nb"', '"\\"']), "LCASE_LETTER": (["a"], ["A", "é"]),
    "UCASE_LETTER": (["A"], ["a"]), "LETTER": (["a", "Z"], ["1"]), "WORD": (["aB"], ["", "a1"]),
    "CNAME": (["_a1"], ["1a", ""]), "WS_INLINE": ([" \t"], ["\n", ""]), "WS": ([" \t\n\r\f"], ["", "\u00a0"]),
    "CR": (["\r"], ["\n"]), "LF": (["\n"], ["\r"]), "NEWLINE": (["\n", "\r\n\n"], ["\r", ""]),
    "SH_COMMENT": (["#", "# x"], ["# x\n"]), "CPP_COMMENT": (["//"], ["/"]),
    "C_COMMENT": (["/**/", "/* * / **/", "/*\n*/"], ["/*/", "/* */ */"]), "SQL_COMMENT": (["-- x"], ["-"]),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMON)
def test_common_terminals(name: str) -> None:
    good, bad = COMMON_TEXTS[name]
    source = f"%import common.{name}\nstart: {name}"
    assert accepted(source, good) == good
    assert accepted(source, bad) == []


VOCABULARY = [b"a", b"b", b" ", b"ab", b"<call>", b"<think>", b"</s>", b";"]


def test_tokens_by_id_and_by_text() -> None:
    info = TokenizerInfo(VOCABULARY, stop_token_ids=[6], special_token_ids=[4, 5])
    compiler = GrammarCompiler(info)

    def allowed(source: str, *tokens: int) -> list[int]:
        matcher = GrammarMatcher(compiler.compile_lark(source))
        for token in tokens:
            assert matcher.accept_token(token)
        return list(matcher.allowed_token_ids())

    assert allowed('start: <call> "a"* "b"') == [4]
    assert allowed('start: <call> "a"* "b"', 4) == [0, 1, 3]
    assert allowed("start: <[0-1,5]>") == [0, 1, 5]
    assert allowed("start: <[^0-3]>") == [4, 5, 7]
    assert allowed("start: <[*]>") == [0, 1, 2, 3, 4, 5, 7]
    assert allowed('start: <call> <think>\n%ignore " "', 4) == [2, 5]
    text = 'start: t <call> "a"\nt[lazy]: /[ab]*;/'
    assert allowed(text) == [0, 1, 3, 7]
    assert allowed(text, 3, 7) == [4]
    with pytest.raises(GrammarError, match="no token is spelt '<other>'"):
        compiler.compile_lark("start: <other>")
    with pytest.raises(GrammarError, match="named special token <call> requires tokenizer_info"):
        Grammar.from_lark("start: <call>")
    grammar = Grammar.from_lark("start: <call>", tokenizer_info=info)
    assert pickle.loads(pickle.dumps(grammar)) == grammar


def test_other_grammars_and_another_start() -> None:
    inner = Grammar.from_ebnf('root ::= "(" root ")" | x\nx ::= "x"')
    source = 'main: @tree "-" @tree\nstart: "unused"'
    grammar = Grammar.from_lark(source, start="main", grammars={"tree": inner})
    recogniser = Recogniser(grammar.ir)
    assert recogniser.accepts(b"((x))-x")
    assert not recogniser.accepts(b"((x)-x")
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    loop = Grammar.from_ebnf('root ::= "a" root | ""')
    assert Recogniser(Grammar.from_lark("start: @loop", grammars={"loop": loop}).ir).accepts(b"aaa")


def test_notes_and_spans_stay() -> None:
    source = 'start: word ";"\nword[capture="w", temperature=0.25]: /[a-z]+/\n'
    grammar = Grammar.from_lark(source)
    assert grammar.ir.rules["word"].notes == (("capture", "w"), ("temperature", 0.25))
    assert 'word[capture="w", temperature=0.25] ::= [a-z]+' in str(grammar)
    assert Grammar.from_ebnf(str(grammar), root_rule_name="start") == grammar
    span = grammar.ir.rules["word"].span
    assert span is not None
    assert source[span.start : span.end] == 'word[capture="w", temperature=0.25]: /[a-z]+/'
    skipping = Grammar.from_lark(source + '%ignore " "').ir.rules
    assert skipping["word.first"].notes == grammar.ir.rules["word"].notes


@pytest.mark.parametrize(
    "source",
    [
        'start: "-" %lark { start: word\n word[capture]: "a" }\nword: "a"',
        'start: word{"a"} word{"b"}\nword{z}[capture]: "y" z',
        'start: word word\nword[capture]: "a" "b"\n%ignore " "',
        'start: word %lark { start: "b" }\nword[capture, lazy]: "a"',
    ],
)
def test_a_capture_is_called_after_the_rule_that_was_written(source: str) -> None:
    notes = [(rule.name, *note) for rule in Grammar.from_lark(source).ir.rules.values() for note in rule.notes]
    assert notes
    assert all((note == "capture" and value == "word") or name == "word" for name, note, value in notes)


@pytest.mark.parametrize("name", ["true", "b"])
def test_a_capture_is_called_after_a_rule_that_takes_another_name(name: str) -> None:
    grammar = Grammar.from_lark(f'start: {name}\n{name}[capture]: "x"')
    assert grammar.ir.rules[f"_{name}"].notes == (("capture", name),)


@pytest.mark.parametrize(
    ("terminals", "pattern", "texts"),
    [
        (
            'A: "\\"" _B "\\""\n_C: /.*?/\n_B: _C /(?<!!)(!!)*?/',
            '".*?(?<!!)(!!)*?"',
            ['""', '"a"', '"!"', '"!!"', '"!!!"', '"a!"b"'],
        ),
        ('A: "a" /b(?=c)/ _C+\n_C: /c|d/', "ab(?=c)[cd]+", ["abc", "abd", "abcd", "ab"]),
        ('A: (/x\\b/ | "y")~1..3 "-x"', r"(?:x\b|y){1,3}-x", ["x-x", "xy-x", "yx-x", "yyy-x"]),
        ("A: _B _B\n_B: /a(?!a)|aa/", "(?:a(?!a)|aa){2}", ["aa", "aaa", "aaaa", "aaaaa"]),
        ("A: /(?:a(?=b)|b)+/", "(?:a(?=b)|b)+", ["b", "ab", "bab", "a", "aab", "ba"]),
        ("A: /[a-z](?:[a-z]|-(?=[a-z]))*/", "[a-z](?:[a-z]|-(?=[a-z]))*", ["a", "a-b", "ab-c", "a-", "a--b", "-a"]),
        ('A: /a\\B/ "b"', r"a\Bb", ["ab", "a"]),
    ],
)
def test_assertions_see_what_stands_beside_them_in_a_terminal(terminals: str, pattern: str, texts: list[str]) -> None:
    recogniser = Recogniser(Grammar.from_lark(f"start: A\n{terminals}").ir)
    matched = [re.fullmatch(pattern, text) is not None for text in texts]
    assert True in matched
    assert False in matched
    assert [recogniser.accepts(text.encode()) for text in texts] == matched
