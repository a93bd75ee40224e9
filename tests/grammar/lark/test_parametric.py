"""Parametric rules, `name::_: ... %if condition`, against what their numbers mean, worked out text by text."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from kernels_core.grammar import Grammar
from tests.reference import Recogniser
from tests.strategies import examples

BYTES = TokenizerInfo([], vocab_size=0)
TOKENS = TokenizerInfo([b"<call>", b"</s>"], stop_token_ids=[1])
WORDS = [bytes(word) for length in range(6) for word in itertools.product(b"abc", repeat=length)]


def taken(grammar: Grammar, words: list[bytes]) -> list[bytes]:
    """Those that are whole texts of the grammar, for the engine and for the reference."""
    matcher = GrammarMatcher(GrammarCompiler(BYTES).compile_grammar(grammar))
    reference, found = Recogniser(grammar.ir), []
    for word in words:
        matcher.reset()
        if matcher.accept_string(word) and matcher.is_completed():
            found.append(word)
    assert found == [word for word in words if reference.accepts(word)]
    return found


PERMUTED = """
start: some::0x0
some::_: "" %if {condition}
  | "a" some::set_bit(0) {first}
  | "b" some::set_bit(1) %if bit_clear(1)
  | "c" some::set_bit(2) %if bit_clear(2)
"""


@pytest.mark.parametrize(
    ("lark", "belongs"),
    [
        (
            PERMUTED.format(condition="is_ones([0:3])", first="%if bit_clear(0)"),
            lambda word: sorted(word) == [97, 98, 99],
        ),
        (
            PERMUTED.format(condition="bit_count_ge(_, 2)", first="%if bit_clear(0)"),
            lambda word: 2 <= len(word) == len(set(word)),
        ),
        (
            PERMUTED.format(condition="is_ones([0:3])", first=""),
            lambda word: set(word) == {97, 98, 99} and word.count(b"b") == word.count(b"c") == 1,
        ),
        (
            'start: a::0\na::_: "a" a::incr(_) %if lt(_, 3) | b::_\nb::_: "b" b::incr(_) %if lt(_, 3) | ""',
            lambda word: len(word) < 4 and b"ba" not in word and b"c" not in word,
        ),
        (
            'start: l::0\nl::_: ("a" l::incr([0:2]) %if lt([0:2], 2) | "b" l::incr([2:3]))\n'
            '  | "c"? -> end %if bit_set(2)',
            lambda word: (
                word.rstrip(b"c").count(b"a") <= 2 and b"b" in word and word.count(b"c") == word.endswith(b"c")
            ),
        ),
        # As many b as a, which is not regular: a call in the middle counts down.
        (
            'start: up::0\nup::_: "a" up::incr(_) %if lt(_, 5) | down::_\n'
            'down::_: "b" down::decr(_) %if gt(_, 0) | "" %if is_zeros(_)',
            lambda word: word == b"a" * (len(word) // 2) + b"b" * (len(word) // 2),
        ),
        # Alternatives that are left out take with them what cannot be without them; what may be absent stays.
        (
            'start: f::1 f::2\nf::_: "a" ("b" %if bit_set(0)) | "c" ("b" %if bit_clear(0))? ("a" %if bit_set(1))*',
            lambda word: word[:1] + b"." in (b"a.", b"c.") and word in texts_of_two(),
        ),
    ],
)
def test_families_of_rules(lark: str, belongs: Callable[[bytes], bool]) -> None:
    grammar = Grammar.from_lark(lark)
    assert taken(grammar, WORDS) == [word for word in WORDS if belongs(word)]
    assert Grammar.from_ebnf(str(grammar), root_rule_name="start") == grammar


def texts_of_two() -> list[bytes]:
    odd = [b"ab", b"c"]
    even = [b"c" + b * b"b" + a * b"a" for a in range(6) for b in range(2)]
    return [first + second for first in odd for second in even]


def bits(number: int, first: int, last: int) -> int:
    return sum(1 << i - first for i in range(first, last) if number & 1 << i)


@pytest.mark.parametrize(
    ("rules", "taken", "refused"),
    [
        ('x::_: TEXT w <call> (Q %if lt(_, 0)) | TEXT "e"\nw: "w"\nTEXT: /(.|\\n)*/', ["ae", "<call>e"], ["a"]),
        ('x::_: TEXT TEXT <call> (Q %if lt(_, 0)) | "e"\nTEXT: /(.|\\n)*/', ["e"], ["ae"]),
        ('x::_: B B (Q %if lt(_, 0)) | "c" | l\nl[lazy]: /[a-z]*bb/\nB: "b"', ["c", "abb"], ["bbq", "a"]),
        ('x::_: B (Q %if lt(_, 0)) | A | "c"\nA.2: "a"\nB: /[a-z]/', ["a", "c"], ["b", "bq"]),
        ('x::_: "a" (Q %if lt(_, 0))* "b" | "c" (Q %if lt(_, 0))+', ["ab"], ["aqb", "c", "cq"]),
    ],
)
def test_what_stands_beside_a_part_without_texts_is_not_there(rules: str, taken: list[str], refused: list[str]) -> None:
    """A token or a lazy rule in it takes nothing from other text, and no priority is lost to it."""
    compiled = GrammarCompiler(TOKENS).compile_lark(f'start: x::0\n{rules}\nQ: "q"\n')
    for text in (*taken, *refused):
        matcher = GrammarMatcher(compiled)
        assert (matcher.accept_string(text) and matcher.is_completed()) == (text in taken), text


# What is written, beside what it does to a number, in other words than the engine's.
STEPS: list[tuple[str, Callable[[int], int]]] = [
    ("_", lambda p: p),
    ("5", lambda p: 5),
    ("0x3", lambda p: 3),
    ("set_bit(1)", lambda p: p + 2 * (not p & 2)),
    ("clear_bit(0)", lambda p: p - p % 2),
    ("bit_or(6)", lambda p: 6 + p % 2 + 8 * (p // 8)),
    ("bit_and(0x5)", lambda p: bits(p, 0, 1) + 4 * bits(p, 2, 3)),
    ("incr([0:2])", lambda p: p if p % 4 == 3 else p + 1),
    ("incr([1:3])", lambda p: p if p // 2 % 4 == 3 else p + 2),
    ("decr([0:3])", lambda p: p if p % 8 == 0 else p - 1),
    ("decr([1:2])", lambda p: p if p // 2 % 2 == 0 else p - 2),
]
TESTS: list[tuple[str, Callable[[int], bool]]] = [
    ("true", lambda p: True),
    ("true()", lambda p: True),
    ("bit_clear(2)", lambda p: p // 4 % 2 == 0),
    ("bit_set(0)", lambda p: p % 2 == 1),
    ("is_ones([0:2])", lambda p: p % 4 == 3),
    ("is_zeros([1:3])", lambda p: p // 2 % 4 == 0),
    ("eq([0:3], 0x5)", lambda p: p % 8 == 5),
    ("ne(_, 2)", lambda p: p != 2),
    ("lt([0:2], 2)", lambda p: p % 4 < 2),
    ("le([1:3], 1)", lambda p: p // 2 % 4 <= 1),
    ("gt(_, 3)", lambda p: p > 3),
    ("ge([0:64], 6)", lambda p: p >= 6),
    ("bit_count_eq(_, 2)", lambda p: bin(p).count("1") == 2),
    ("bit_count_ne([0:2], 1)", lambda p: bin(p % 4).count("1") != 1),
    ("bit_count_lt(_, 2)", lambda p: bin(p).count("1") < 2),
    ("bit_count_le([1:3], 1)", lambda p: bin(p // 2 % 4).count("1") <= 1),
    ("bit_count_gt(_, 1)", lambda p: bin(p).count("1") > 1),
    ("bit_count_ge([0:3], 1)", lambda p: bin(p % 8).count("1") >= 1),
    ("and(bit_set(1), lt(_, 7))", lambda p: p // 2 % 2 == 1 and p < 7),
    ("or(eq(_, 0), not(bit_clear(2)))", lambda p: p == 0 or p // 4 % 2 == 1),
]
Way = tuple[str, int | None, int, int]
ways = st.tuples(
    st.sampled_from("abc"),
    st.none() | st.integers(0, 1),
    st.integers(0, len(STEPS) - 1),
    st.integers(0, len(TESTS) - 1),
)


@examples(0.5)
@given(st.lists(st.lists(ways, min_size=1, max_size=4), min_size=2, max_size=2), st.integers(0, 7))
def test_every_function_and_condition(families: list[list[Way]], first: int) -> None:
    """Families of rules that read a letter and call one of them with another number, or end there."""
    lines = [f'start: "a" f0::{first} | "z"']
    for number, family in enumerate(families):
        alternatives = [
            f'"{letter}" {"" if then is None else f"f{then}::{STEPS[step][0]}"} %if {TESTS[test][0]}'
            for letter, then, step, test in family
        ]
        lines.append(f"f{number}::_: {' | '.join(alternatives)}")

    def reads(family: int, number: int, word: str) -> bool:
        return any(
            word[:1] == letter
            and TESTS[test][1](number)
            and (word[1:] == "" if then is None else reads(then, STEPS[step][1](number), word[1:]))
            for letter, then, step, test in families[family]
        )

    expected = [word for word in WORDS if word[:1] == b"a" and reads(0, first, word[1:].decode())]
    assert taken(Grammar.from_lark("\n".join(lines)), WORDS) == expected


def test_numbers_have_64_bits() -> None:
    top = 'start: f::{}\nf::_: "a" %if {} | "b"'
    for number, condition in (
        ("0xffffffffffffffff", "is_ones(_)"),
        ("18446744073709551615", "bit_count_eq([63:64], 1)"),
        ("0x8000000000000000", "bit_set(63)"),
    ):
        assert taken(Grammar.from_lark(top.format(number, condition)), [b"a"])
    full = (
        'start: f::0xffffffffffffffff\nf::_: g::incr(_)\ng::_: g2::clear_bit(63)\ng2::_: "a" %if is_ones([0:63]) | "b"'
    )
    assert taken(Grammar.from_lark(full), [b"a", b"b"]) == [b"a", b"b"]


def test_what_else_a_grammar_has_stands_beside_them(tmp_path: Path) -> None:
    words = [b"a b", b"b a", b"a a", b"a,b", b"b,a", b"a"]
    skipping = 'start: p::0\np::_: A p::set_bit(0) %if bit_clear(0) | "b" p::set_bit(1) %if bit_clear(1)\n'
    skipping += ' | "" %if is_ones([0:2])\nA: "a"\n%ignore " "'
    assert taken(Grammar.from_lark(skipping), words) == [b"a b", b"b a"]
    template = 'start: two{","}\ntwo{s}: pick::1 s pick::2\npick::_: "a" %if bit_set(0) | "b" %if bit_set(1)\n'
    assert taken(Grammar.from_lark(template), words) == [b"a,b"]
    (tmp_path / "more.lark").write_text('some::_: "a" other::_ %if true\nother::_: ",b" %if bit_set(3)\n')
    imported = "start: some::8\n%import .more.some"
    assert taken(Grammar.from_lark(imported, base_path=tmp_path), words) == [b"a,b"]
    nested = 'start: %lark { start: f::1\nf::_: "a" %if bit_set(0)\n }'
    assert taken(Grammar.from_lark(nested), words) == [b"a"]


def test_a_capture_is_called_after_the_family() -> None:
    grammar = Grammar.from_lark('start: part::1 part::2\npart::_[capture]: "a" %if bit_set(0) | "b"')
    notes = {name: rule.notes for name, rule in grammar.ir.rules.items() if rule.notes}
    assert notes == {"part.0x1": (("capture", "part"),), "part.0x2": (("capture", "part"),)}


MARK = "»"


@pytest.mark.parametrize(
    ("marked", "kind", "message"),
    [
        ("start: f::0\n»f::x: /a/", GrammarSyntaxError, "a parametric rule is written name::_"),
        ("start: f::0\nf::» : /a/", GrammarSyntaxError, "expected '_' behind '::'"),
        ("start: /a/\n»A::_: /a/", GrammarSyntaxError, "with a name in lower case"),
        ("start: »f::1\nf: /a/", GrammarError, "rule 'f' is not parametric"),
        ("start: »g::1\nf::_: /a/", GrammarError, "there is no rule called 'g'; did you mean f|no rule called 'g'"),
        ("start: »f\nf::_: /a/", GrammarError, "rule 'f' is parametric, but no parameter provided"),
        ("»start::_: /a/", GrammarError, "rule 'start' is parametric, but no parameter provided"),
        ("start: »f::_\nf::_: /a/", GrammarError, "'start' is not parametric, but its body requires parameters"),
        ("start: »/a/ %if true", GrammarError, "'start' is not parametric, but its body requires parameters: '%if'"),
        ('start: A\nA: »"b" %if true', GrammarError, "'%if' is not supported in terminals"),
        ("start: A\nA: »f::0\nf::_: /a/", GrammarError, "name::param cannot be used in terminals"),
        ("start: /a/\n%ignore »f::0\nf::_: /b/", GrammarError, "name::param cannot be used in terminals"),
        ("start: f::0\nf::_: /a/ %if eq(»[3:3], 0)", GrammarSyntaxError, "end bit index 3 must be > start bit index 3"),
        ("start: f::0\nf::_: /a/ %if eq([»64:65], 0)", GrammarSyntaxError, "number 64 is too large; must be <= 63"),
        ("start: f::0\nf::_: /a/ %if eq([0:»65], 0)", GrammarSyntaxError, "number 65 is too large; must be <= 64"),
        (
            "start: f::0\nf::_: /a/ %if eq(»0, 0)",
            GrammarSyntaxError,
            r"expected '_' or '\[start_bit:stop_bit\]'; found 0",
        ),
        ("start: f::0\nf::_: /a/ %if »odd(_)", GrammarSyntaxError, "Unexpected condition 'odd'; there are true, eq"),
        ("start: f::0\nf::_: /a/ %if » ", GrammarSyntaxError, "expected a condition"),
        ("start: f::0\nf::_: /a/ %if true »x", GrammarSyntaxError, "end of the statement"),
        ("start: f::»twice(_)\nf::_: /a/", GrammarSyntaxError, "Unexpected expression 'twice'; there are _, set_bit"),
        (
            "start: f::»99999999999999999999\nf::_: /a/",
            GrammarSyntaxError,
            "is too large; must be <= 18446744073709551615",
        ),
        ("start: f::»0x10000000000000000\nf::_: /a/", GrammarSyntaxError, "is too large"),
        ('start: f::0\nf::_[»stop="x"]: /a/', UnsupportedFeatureError, "stop= is not supported for parametric rules"),
        ("start: f::0\nf::_[»max_tokens=3]: /a/", UnsupportedFeatureError, "max_tokens= is not supported"),
        ("start: f::0\n»f::_{x}: x", UnsupportedFeatureError, "is a template, and parametric, too"),
        ('start: f::0\nf::_: "a" »f::incr(_) | /b/', UnsupportedFeatureError, "for at most 10,000 numbers"),
        (
            f"start: f::0\nf::_: /a/ %if {'not(' * 60}»not(true{')' * 61}",
            UnsupportedFeatureError,
            "nested deeper than 60",
        ),
    ],
)
def test_what_is_refused(marked: str, kind: type[GrammarError], message: str) -> None:
    source = marked.replace(MARK, "")
    with pytest.raises(GrammarError, match=message) as caught:
        Grammar.from_lark(source)
    assert type(caught.value) is kind
    assert caught.value.offset is not None
    assert abs(caught.value.offset - marked.index(MARK)) <= 1
