"""Lark that cannot be read: every message at its place, and nothing hangs or crashes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from kernels_core.grammar import Grammar
from tests.reference import Recogniser
from tests.strategies import examples

MARK = "»"


def located(marked: str, kind: type[GrammarError], message: str) -> None:
    offset = marked.index(MARK)
    source = marked.replace(MARK, "")
    with pytest.raises(GrammarError, match=message) as caught:
        Grammar.from_lark(source)
    assert type(caught.value) is kind
    assert caught.value.offset == offset
    assert caught.value.language == "Lark"
    assert caught.value.line == source.count("\n", 0, offset) + 1


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("»", "at least one rule"),
        ("»x: /a/", "no start rule called 'start'"),
        ("start: »y", "unknown name 'y': there is no rule called 'y'"),
        ("start: »wrd\nword: /a/", "did you mean word"),
        ("start: »@tree", "unknown named grammar '@tree': there is no grammar called 'tree'"),
        ("start: »<x>", "named special token <x> requires tokenizer_info"),
        ("start: A\nA: »B", "unknown name 'B': there is no rule called 'B'"),
        ("%override »X: /a/\nstart: /a/", "%override: there is no rule or terminal called 'X'"),
        ("%extend »X: /a/\nstart: /a/", "%extend: there is no"),
        ("%extend »f{y}: y\nstart: f{/a/}\nf{x}: x", "the parameters of 'f' are x"),
        ("%extend »start[lazy]: /b/\nstart: /a/", "keeps its attributes"),
        ("%declare »X\nstart: X\nX: /a/", "declared, and defined"),
        ("start: »f{/a/, /b/}\nf{x}: x", r"'f' takes f\{x\}, and not 2 arguments"),
        ("start: »f\nf{x}: x", r"'f' is a template: it takes f\{x\}"),
        ("start: »g{/a/}\nf{x}: x", "there is no template called 'g'"),
        ("»one: two\ntwo: /a/", "a whole text may be one, which no other rule calls: pass start='one'"),
        ('start: »%lark { item: "a" }', "failed to compile nested Lark grammar: there is no start rule"),
    ],
)
def test_unusable(marked: str, message: str) -> None:
    located(marked, GrammarError, message)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ('start »"a"', "expected ':' after rule name 'start'; found"),
        ('start: »("a"', "expected '\\)' after group: .* never closed"),
        ('start: »["a"', "expected '\\]' after optional group: .* never closed"),
        ('start: ("a"\nx»: "b"', "found :"),
        ('start: "a"»)', "end of the statement"),
        ('start: »"a', "unterminated string literal: it is never closed"),
        ("start: »'a'", "strings are written with"),
        ("start: »/a", "unterminated regular expression: it is never closed"),
        ("start: »@", "empty grammar reference"),
        ("start: »<bad token>", "invalid special token"),
        ("start: »<bad", "unterminated special token"),
        ("start: »!", "unexpected '!' character"),
        ("start: »-", "unexpected '-' character"),
        ('start: "a" ->»', "expected alias name after '->'"),
        (r'start: "a»\q"', r"invalid string literal: unknown escape \\q"),
        (r'start: »"\ud800"', "lone surrogate"),
        ('start: »"ab".."c"', "range endpoints must be one character"),
        ('start: »"a".."z"i', "flags are not allowed on character ranges"),
        ('start: »"c".."a"', "range start must not exceed end: .* runs backwards"),
        ('start: "a".. »x', "last character of the range"),
        ("start: »*", "nothing to repeat"),
        ('start: "a"*»?', "two quantifiers"),
        ('start: "a"~2»~3', "two quantifiers"),
        ('start: "a"~3..»2', "runs backwards"),
        ('start: "a"{3,»2}', "repetition end must be greater than or equal to .* runs backwards"),
        ('start: "a"~»2147483648', "invalid repetition count: a count may be at most 2,147,483,647"),
        ('start: "a"{1»', 'expected "}"'),
        ("start: »~2", "nothing to repeat"),
        ("start: ~»", "expected a name"),
        ('start: "a"\n»start: "b"', "duplicate rule or terminal 'start': it is already defined on line 1"),
        ('%import common.INT\n»INT: "1"\nstart: INT', "duplicate rule or terminal 'INT': it is already imported"),
        ('INT: "1"\n%import common.»INT\nstart: INT', "already defined"),
        ("%import common.»FOO\nstart: FOO", "unknown common import 'FOO'"),
        ("%import common.INT -> »int\nstart: int", "upper case"),
        ("»%skip /a/\nstart: /a/", "no statement %skip"),
        ("start: A\nA: »A /b/ | /c/", "circular reference in terminal 'A': it calls itself"),
        ('start: x\nx[lazy]: "a" »x | "b"', "terminal cannot reference rules: it calls itself"),
        ("start: A\nA: B\nB: /x/ C\nC: »A", "calls itself"),
        ("start: A\nA: »x\nx: /a/", "terminal 'A' cannot reference rule 'x'"),
        ("start: ~»x\nx: /a/", "what & and ~ join cannot reference rule 'x'"),
        ("start: A\nA: »<[1]>", "special tokens cannot be used in terminals"),
        ('start: A\nA: »%json {"type": "null"}', "%json cannot be used in terminals"),
        ('start: A\nA: »%lark { start: "a" }', "nested %lark cannot be used in terminals"),
        ("start: A\nA: »@other", "named grammars cannot be used in terminals"),
        ("start: x\nx[lazy]: /a/ »y\ny: /b/", "a terminal cannot reference rule 'y'"),
        ("start: /a»(b/", "failed to compile regular expression: .* never closed"),
        (r"start: /a/ /x»\q/", "unknown escape"),
        ("start: »<[1-]>", "invalid numeric special-token range: tokens are written"),
        ("start: »<[9-1]>", "invalid numeric special-token range"),
        ("start: »<[,]>", "empty numeric special-token range"),
        ("start: »<[*,1]>", "wildcard cannot be mixed"),
        ("start: »<[^*]>", "negated wildcard special token is not supported"),
        ("start: »<[0-99999999]>", "special-token range is too large"),
        ("start[»foo]: /a/", "attribute 'foo' is not supported"),
        ("start[stop=/a/, »suffix=/b/]: /a/", "suffix cannot be combined with stop"),
        ("start[suffix=/a/, »stop=/b/]: /a/", "stop cannot be combined with suffix"),
        ("start[lazy, »lazy]: /a/", "given twice"),
        ("start[suffix»]: /a/", "needs a value"),
        ("start[lazy=»2]: /a/", "takes no value"),
        ("start[max_chars»]: /a/", "needs a value"),
        ("start[max_chars=»x]: /a/", "expected a number"),
        (
            "start[max_chars=3]: /a/ »x\nx: /b/",
            "'start' has an attribute of terminals, and a terminal cannot reference rule 'x'",
        ),
        ("start[temperature=»x]: /a/", "expected number after temperature="),
        ("start[capture=»3]: /a/", "name in quotes"),
        ("start: %json »x", "failed to compile inline JSON schema: a JSON object is expected"),
        ('start: %json {"a": »}', "failed to parse JSON value after %json: this is not JSON"),
        ('start: %json »{"a": ' + 5_000 * "1" + "}", "4300 digits"),
        ("start: %regex »[]", "%regex value must be an object"),
        ("%grammar_options »[]\nstart: /a/", "%grammar_options value must be an object"),
        ('start: »%regex {"words": "a"}', "unknown field 'words' in %regex: %regex takes one of"),
        ("start: »%regex {}", "no fields set on %regex"),
        ('start: »%regex {"substring_words": "a", "substring_chars": "a"}', "only one field can be set on %regex"),
        ('start: »%regex {"substring_chars": ["a"]}', "substring_chars must be a string"),
        ('start: »%regex {"substring_chars": "a\\ud800"}', "surrogate"),
        ('start: »%regex {"substring_chunks": ["a", "\\ud800"]}', "surrogate"),
        ('start: »%regex {"substring_chunks": "a"}', "substring_chunks must be an array of strings"),
        ('start: %lark {\n start: "a"»', "expected the end of the statement|expected a rule"),
        ("start: f{»(/a/ /b/)}\nf{x}: x", "an argument is a name"),
        ("start: f{x»\n", 'expected "," or "}"'),
        ("f{x, »x}: x\nstart: /a/", "two parameters are called 'x'"),
        ("f{»}: /a/\nstart: /a/", "expected the name of a parameter"),
        ("%import .a»\nstart: /a/", 'expected "." and a name'),
        ("%import .a.b -> »B\nstart: /a/", "a rule's name is in lower case"),
        ("%declare »\nstart: /a/", "expected a name to declare"),
        ("start: »^", "unexpected character"),
        ('»%llguidance {"allow_initial_skip": 1}\nstart: /a/', "allow_initial_skip must be a boolean: true or false"),
    ],
)
def test_malformed(marked: str, message: str) -> None:
    located(marked, GrammarSyntaxError, message)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("start: A».2\nA: /a/", "a priority stands at a definition"),
        ('start: IF NAME\n»IF.2: "if"\nNAME: /[a-z]+/', "texts of IF out of NAME, .* write NAME & ~IF for NAME"),
        ('start: "if" NAME\n»NAME.-1: /[a-z]+/', 'texts of "if" out of NAME'),
        ('start: f{"a"}\nf{x}: x | "(" »f{g{x}} ")"\ng{x}: x "b"', "written out at most 5,000 times"),
        ("start: " + "f{" * 60 + "»f{x" + "}" * 61, "nested deeper than 60"),
        ("start: »X\n%declare X", "'X' is declared and not supplied"),
        ('start: "a"{»-1,}', "invalid repetition count"),
        ('»%grammar_options {"deep": true}\nstart: /a/', "unknown %grammar_options option 'deep'"),
        ("%import »python.name\nstart: /a/", r"pass imports=\{'python': text\}, or base_path"),
        ("%import ».csv.row\nstart: /a/", "the folder of csv.lark"),
        ('»%llguidance {"no_forcing": true}\nstart: /a/', "%llguidance option 'no_forcing' is not supported"),
        ('start: »%json {"x-guidance": {}}', "x-guidance"),
        ('start: »%json {"not": {"uniqueItems": true}, "type": "array"}', "uniqueItems"),
        ("start[lazy, »max_tokens=3]: /a/", "takes no max_tokens"),
        ('start[»max_tokens=3, suffix="b"]: /a/', "takes no max_tokens"),
        ('start: x\nx[max_tokens=3, max_chars=2]: /a/\ny[lazy]: »x "b"', "counts tokens"),
        ("»start[stop=/a/, capture]: /a/", "not at a pattern"),
        ('»%grammar_options {"allow_invalid_utf8": true}\nstart: /a/', "allow_invalid_utf8"),
        ("start: /a/»x", "regular-expression flag 'x' is not supported"),
        ("start: /a/i»l", "flag 'l'"),
        (r"start: /(a)»\1/", "back-references"),
        ("start: " + "(" * 60 + "»(" + '"a"' + ")" * 61, "nested deeper than 60"),
        ("start: A\nA: »~/.*a.{20}/", "more than 5,000 states"),
    ],
)
def test_known_and_not_built(marked: str, message: str) -> None:
    located(marked, UnsupportedFeatureError, message)


@pytest.mark.parametrize("rule", ["T{}: T{} T{}", 'T{}: ~(T{} "a") & ~(T{} "b")', 'T{}[lazy]: (T{} "a" | T{} "b")+'])
def test_terminals_too_large_to_follow_are_refused(rule: str) -> None:
    terminals = "\n".join(rule.format(i, i + 1, i + 1) for i in range(40))
    with pytest.raises(UnsupportedFeatureError, match="more than 200,000 nodes"):
        Grammar.from_lark(f'start: ~T0\n{terminals}\nT40: "x"')


@pytest.mark.parametrize("attributes", ["", ", max_chars=400000"])
def test_a_terminal_too_large_with_its_suffix_is_refused_at_its_place(attributes: str) -> None:
    long = "a" * 150_000
    located(f'start: X\n»X[suffix="{long}"{attributes}]: "{long}"', UnsupportedFeatureError, "more than 200,000 nodes")


def test_a_terminal_that_stands_beside_an_operation_may_be_larger_than_one() -> None:
    Grammar.from_lark(f'start: A B\nA: "{"a" * 200_001}"\nC: /c+/\nB: C & /cc/')


def test_a_terminal_as_deep_as_may_be_loses_what_a_lazy_rule_takes() -> None:
    deep = "a"
    for _ in range(50):
        deep = f"(?:{deep}|b)c"
    texts = Recogniser(Grammar.from_lark(f'start: T | l\nl[lazy]: "a"\nT: /{deep}/').ir)
    assert texts.accepts(b"bc")
    assert not texts.accepts(b"a" + b"c" * 50)


def test_long_sequences_with_skips_stay_linear() -> None:
    grammar = Grammar.from_lark("start: " + "a " * 500 + '\na: "x"?\n%ignore " "')
    assert len(str(grammar)) < 50_000


def test_long_chains_of_terminals() -> None:
    chain = "\n".join(f"T{i}: T{i + 1} | {'~' if i == 0 else ''}/x/" for i in range(3000))
    Grammar.from_lark(f"start: T0\n{chain}\nT3000: /y/")


SOUP = [
    *'ab:|()[]{}?*+~&,.=-<>%@"/#\n 12',
    "start: ",
    "A: ",
    '"a"',
    "/b+/",
    "%ignore ",
    "%import common.WS",
    '%json {"const": 1}',
]
SOUP += ["%lark {\n", "<[1]>", "lazy", "..", "->", "::", "\\", "é", "start", "A", '%regex {"substring_chars": "ab"}']


# Most of it is wrong at its first characters: it takes many to be wrong further on, and little time.
@examples(5)
@given(st.lists(st.sampled_from(SOUP), max_size=14).map("".join))
def test_anything_is_a_grammar_or_a_located_error(soup: str) -> None:
    for source in (soup, f"start: {soup}"):
        try:
            grammar = Grammar.from_lark(source)
        except GrammarError as error:
            assert error.offset is not None  # noqa: PT017
            assert 0 <= error.offset <= len(source)  # noqa: PT017
        else:
            assert Grammar.from_ebnf(str(grammar), root_rule_name=grammar.ir.root) == grammar


@pytest.mark.parametrize(
    "marked",
    [
        "start: A B\nA: /a»(?=b)/\nB: /b/",
        "start: A? B\nA: /(?:x|a»(?=[bc]))/\nB: /b/",
        "start: /»(?<=a)b/ /c/",
        "start: /c/ (/a»(?=b)+?/ & ~/x/)",
        "start: A B\nA: Y X\nX: /a»(?=b)/\nY: /y/\nB: /b/",
        "start: A B\nA: _X & ~/x/\n_X: /a»(?=b)|c/\nB: /b/",
        "start: X | B\nX[suffix=/b»(?=c)/]: /a*/\nB: /b/",
        "start: X | B\nX[suffix=/»(?<=a)b/]: /a*/\nB: /b/",
        "start: X | B\nX[suffix=END, max_chars=3]: /a*/\nEND: /b»(?=c)/\nB: /b/",
        "start: X | B\nX[suffix=END]: /a*/\nEND: /x/ & /b»(?=c)|x/\nB: /b/",
        'start: X "c" | B\nX[lazy]: /a»(?=c)/\nB: /b/',
        'start: Y | B\nY: X "c"\nX[lazy]: /a»(?=c)/\nB: /b/',
    ],
)
def test_a_terminal_asks_for_no_text_around_it(marked: str) -> None:
    located(marked, UnsupportedFeatureError, "a terminal sees its own text alone")


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (r"and\b", True),
        (r"\band", True),
        ("if(?!x)", True),
        ("(?<![a-z])if", True),
        ("(?=.*z)[a-z]+", False),
        ('"(?!"").*?(?<!x)(xx)*?"', False),
        ("(?:(?!--)[^])*", False),
        (r"a\bb|c\.", False),
        ("a(?=b*)", False),
        (r"[\b]c", False),
    ],
)
def test_what_a_terminal_forbids_around_it_is_told(pattern: str, told: bool) -> None:
    for definition in (f"A: /{pattern}/", f"A: B\nB[lazy]: /{pattern}/", f'A[suffix=/{pattern}/]: "x"'):
        notes = Grammar.from_lark(f"start: A /c/?\n{definition}").warnings
        assert ["is not asked" in str(note) for note in notes] == [True] * told
