"""Lark as its users write it: templates, imports from other texts, changes of what is imported, declared names."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from kernels_core.grammar import Grammar

BYTES = TokenizerInfo([], vocab_size=0)
TABLE = """
start: row (NEWLINE row)*
row: list{field, ","}
field: FIELD | quoted
quoted: _QUOTE FIELD _QUOTE
list{x, mark}: x (mark x)*
FIELD: /[a-z]*/
_QUOTE: "'"
%import common.NEWLINE
%ignore " "
unused: "x"
"""


def taken(grammar: Grammar, *texts: str) -> list[str]:
    """Those of `texts` that are whole texts of the grammar."""
    compiled = GrammarCompiler(BYTES).compile_grammar(grammar)
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    found = []
    for text in texts:
        matcher = GrammarMatcher(compiled)
        if matcher.accept_string(text) and matcher.is_completed():
            found.append(text)
    return found


@pytest.mark.parametrize(
    ("lark", "good", "bad"),
    [
        ('start: _sep{WORD, ","}\n_sep{x, s}: x (s x)*\nWORD: /[a-z]+/', "a a,b a,b,c", "a, ,a ab;c"),
        (
            'start: l{pair{W, W}}\nl{x}: "[" [x ("," x)*] "]"\npair{a, b}: a "=" b\nW: /[a-z]/',
            "[] [a=b] [a=b,c=d]",
            "[a]",
        ),
        ('start: f{"a"}\nf{x}: x | "(" f{x} ")"', "a (a) ((a))", "(a b"),
        ('start: two{"a"} two{"b"} two{"a"}\ntwo{x}: x x', "aabbaa", "aabb aabbbb"),
        ('start: two{/a|b/, "x"}\ntwo{p, q}: p q p', "axa axb bxa", "ax"),
        ('start: W{"a"}+\nW{x}: x /[0-9]/ & ~"a7"', "a1 a1a2", "a7 a1a7"),
        ('start: f{"a".."c"}\nf{x}: x~2', "ab cc", "a ad"),
        ('start: f{@none}\nf{x}: "a"', "a", "b"),
        ('start: f{"a"}\nf{start}: start', "a", "aa"),
        ('start: f{"a"}\nf{x}: %lark { start: "l" }', "l", "a"),
        ('start: f{","}\nf{x}[lazy]: /[^;]*;/', "a;", "a;b;"),
        ('start: f{";"}\nf{x}[suffix=x]: /.*/', "a; ;", "a a;b;"),
        ('start: f{"a"}\nf{x}: x\n%extend f{x}: "(" x ")"', "a (a)", "()"),
        ('start: a\na: "a"\n%extend a: "b" | "c"\n%override a: a_ "!"\na_: "d"', "d!", "a b"),
        ('start: A+\nA: "a"\n%extend A: /[0-9]/', "a a1", "b"),
        ('start: INT\n%import common.INT\n%extend INT: "x"', "1 23 x", "y xx"),
        ("start: D I\n%import common.INT -> I\nD: I & /[5-9]/\n%override I: /[0-9]/", "51", "15 5 511"),
    ],
)
def test_templates_and_changes(lark: str, good: str, bad: str) -> None:
    assert taken(Grammar.from_lark(lark), *good.split(), *bad.split(), "") == good.split()


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.sampled_from(",;"), st.text("abc,;", max_size=6))
def test_a_template_is_what_is_written_out(words: list[str], mark: str, text: str) -> None:
    used = "start: " + " | ".join(f'sep{{"{word}", "{mark}"}}' for word in words) + "\nsep{x, s}: x (s x)*"
    spelt = "start: " + " | ".join(f'"{word}" ("{mark}" "{word}")*' for word in words)
    assert taken(Grammar.from_lark(used), text) == taken(Grammar.from_lark(spelt), text)


@pytest.mark.parametrize(
    ("lark", "good", "bad"),
    [
        ('start: "<" table__start ">"\n%import .table.start -> table__start', ["<a,'b'>", "<a\nb>"], ["<a, b>", "a"]),
        ('start: "<" row ">"\n%import .table.row', ["<a,b>"], ["<a\nb>"]),
        ('start: "<" row ">"\n%import .table (row, FIELD)\n%override FIELD: /[0-9]/', ["<1,'2'>"], ["<a>", "<12>"]),
        ('start: "<" row ">"\n%import .table (row, FIELD)\n%extend FIELD: "!"', ["<!,'a'>"], ["<a!>"]),
        ("start: row\n%import .table.row\n%override table__field: /[0-9]/", ["1,2"], ["a"]),
        ("start: row other\n%import .table.row\n%import .table.row -> other\n", ["a,b"], ["a b"]),
        ('start: list{"x", "-"}\n%import .table.list', ["x-x"], ["x,x"]),
        ("start: row\n%import .table.row\n%ignore /_/", ["a,_b"], ["a, b"]),
        ("start: row NL\n%import .table (row, NEWLINE)\n%import common.NEWLINE -> NL", ["a\n"], ["a"]),
        ("start: deep\n%import .deep.er.row -> deep", ["(a,b)"], ["a,b"]),
        ("start: T\n%import .deep.er.TWICE -> T", ["abab", "aa"], ["ab_ab"]),
        ('start: %lark { start: "<" row ">"\n%import .table.row\n}', ["<a,b>"], ["a"]),
    ],
)
def test_imports(lark: str, good: list[str], bad: list[str], tmp_path: Path) -> None:
    deep = '%import .table.row -> line\nrow: "(" line ")"\nTWICE: _ONE _ONE\n_ONE: /ab?/'
    texts = {"table": TABLE, "deep.er": deep}
    assert taken(Grammar.from_lark(lark, imports=texts), *good, *bad) == good
    (tmp_path / "deep").mkdir()
    (tmp_path / "table.lark").write_text(TABLE)
    (tmp_path / "deep" / "er.lark").write_text(deep)
    read = Grammar.from_lark(lark, base_path=tmp_path)
    assert taken(read, *good, *bad) == good
    assert read == Grammar.from_lark(lark, imports=texts)
    assert GrammarCompiler(BYTES).compile_lark(lark, base_path=str(tmp_path)).grammar == read


def test_a_grammar_of_files_is_read_again_without_them(tmp_path: Path) -> None:
    (tmp_path / "table.lark").write_text(TABLE)
    sent = pickle.dumps(Grammar.from_lark("start: row\n%import .table.row", base_path=tmp_path))
    (tmp_path / "table.lark").unlink()
    assert taken(pickle.loads(sent), "a,b", "a;b") == ["a,b"]


@pytest.mark.parametrize(
    ("lark", "texts", "kind", "line", "message"),
    [
        ("start: row\n%import .tabel.row", {"table": TABLE}, GrammarError, 2, "called 'tabel'; did you mean table"),
        ("start: row\n%import .table.rows", {"table": TABLE}, GrammarError, 2, "'table' has no 'rows'"),
        ("start: a\n\n%import .x.a", {"x": "a: /b/\nb: (a"}, GrammarSyntaxError, 2, "in x: expected '\\)'"),
        ("start: a\n\n%import .x.a", {"x": "\na: /(/"}, GrammarSyntaxError, 2, "in x: failed to compile regular"),
        ("start: a\n\n%import .x.a", {"x": "\n\n\na: b"}, GrammarError, 4, "in x: unknown name 'x__b'"),
        (
            "start: a\n%import .x.a",
            {"x": "%import .y.a", "y": "\n%import .x.a"},
            GrammarError,
            2,
            "in y: 'x' imports its",
        ),
        ("start: a\n%import .x.a", {"x": "%import .y.a"}, GrammarError, 1, "in x: there is no text among imports"),
        ('start: row\nrow: "a"\n%import .table.row', {"table": TABLE}, GrammarError, 3, "duplicate rule or terminal"),
        ("start: a »\n%import .x.a", {"x": "a: /b/"}, GrammarSyntaxError, 1, "unexpected character"),
    ],
)
def test_mistakes_of_imports(
    lark: str, texts: dict[str, str], kind: type[GrammarError], line: int, message: str
) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        Grammar.from_lark(lark, imports=texts)
    assert type(caught.value) is kind
    assert caught.value.line == line
    assert caught.value.source in (lark, *texts.values())


def test_only_files_of_the_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "secret.lark").write_text('start: "a"')
    (tmp_path / "in").mkdir()
    with pytest.raises(GrammarError, match=r"there is no file secret\.lark"):
        Grammar.from_lark("start: a\n%import .secret.start -> a", base_path=tmp_path / "in")
    for path in ("..secret.start", "/secret.start", '"secret".start'):
        with pytest.raises(GrammarError):
            Grammar.from_lark(f"start: a\n%import .{path} -> a", base_path=tmp_path / "in")


def test_what_is_imported_stands_at_its_import() -> None:
    lark = "start: row\n%import .table.row"
    grammar = Grammar.from_lark(lark, imports={"table": TABLE})
    assert grammar.ir.source == lark
    spans = [rule.span for rule in grammar.ir.rules.values() if rule.span is not None]
    assert spans
    assert all(span.end <= len(lark) for span in spans)


def test_declared_names_are_supplied() -> None:
    lark = 'start: "if" _INDENT WORD _DEDENT | WORD\nWORD: /[a-z]/\n%declare _INDENT _DEDENT'
    with pytest.raises(UnsupportedFeatureError, match=r"'_INDENT' is declared and not supplied.*grammars=") as caught:
        Grammar.from_lark(lark)
    assert caught.value.offset == lark.index("_INDENT")
    supplied = {"_INDENT": Grammar.from_regex(r"\n +"), "_DEDENT": Grammar.from_regex(r"\n")}
    assert taken(Grammar.from_lark(lark, grammars=supplied), "a", "if\n  b\n", "if b") == ["a", "if\n  b\n"]
    # Another start rule may do without.
    other = f"{lark}\nword: WORD\nboth: start"
    assert taken(Grammar.from_lark(other, start="word"), "a", "if") == ["a"]
    with pytest.raises(UnsupportedFeatureError, match="_INDENT"):
        Grammar.from_lark(other, start="both")


@pytest.mark.parametrize(
    ("source", "name", "text"),
    [
        ("start: X\n%import .m.X", "X", "x"),
        ("start: NEW a\n%import .m.X -> NEW\n%import .m.a", "NEW", "xxb"),
        ("start: a\n%import .m.a", "X", "xb"),
    ],
)
def test_declared_names_are_imported(source: str, name: str, text: str) -> None:
    supplied = {name: Grammar.from_regex("x")}
    grammar = Grammar.from_lark(source, imports={"m": 'a: X "b"\n%declare X'}, grammars=supplied)
    assert taken(grammar, text, "b") == [text]


@pytest.mark.parametrize("given", [b'a: "x"', None])
def test_what_is_imported_from_is_text(given: Any) -> None:
    with pytest.raises(TypeError, match=r"takes a str for imports\['m'\], not"):
        Grammar.from_lark("start: a\n%import .m.a", imports={"m": given})


def test_what_is_supplied_is_a_grammar() -> None:
    supplied: Any = {"a": 'root ::= "x"'}
    with pytest.raises(TypeError, match="takes Grammar objects, not str"):
        Grammar.from_lark("start: @a", grammars=supplied)


def test_declared_names_of_a_module() -> None:
    module = {"m": "a: _X /b/\n%declare _X"}
    with pytest.raises(UnsupportedFeatureError, match="in m: '_X' is declared and not supplied"):
        Grammar.from_lark("start: a\n%import .m.a", imports=module)
    supplied = {"_X": Grammar.from_regex("x")}
    assert taken(Grammar.from_lark("start: a\n%import .m.a", imports=module, grammars=supplied), "xb", "b") == ["xb"]


def test_priorities_that_say_nothing_are_remarked_on() -> None:
    lark = 'start.2: a | INT | HEX\na.-1: "a"\nHEX.3: "0x" /[0-9]+/\nINT: /[0-9]+/\nLEFT.7: INT'
    grammar = Grammar.from_lark(lark)
    assert taken(grammar, "a", "12", "0x12", "x") == ["a", "12", "0x12"]
    assert [str(note).split("'")[1] for note in grammar.warnings] == ["start", "a", "HEX", "LEFT"]
    assert Grammar.from_lark("start: /a/").warnings == ()
    assert pickle.loads(pickle.dumps(grammar)).warnings == grammar.warnings
