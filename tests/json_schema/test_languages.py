"""Languages: their algebra, automata and JSON spellings against the plain meaning of each, on random languages."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import GrammarSyntaxError, UnsupportedFeatureError
from kernels_core.grammar.json_schema.formats import format_language
from kernels_core.grammar.json_schema.spelling import Speller
from kernels_core.grammar.regular.dfa import TooManyStates, determinise, is_empty
from kernels_core.grammar.regular.languages import (
    ALL,
    ANY_CHARACTER,
    NOTHING,
    And,
    Language,
    Not,
    complement,
    concat,
    intersection,
    loop,
    matches,
    union,
    words,
)
from kernels_core.grammar.regular.lengths import length_range, with_length
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.regular.patterns import full_match
from kernels_core.grammar.rulebook import RuleBook
from tests.json_schema.driver import Texts, texts_of_node

# Patterns that Python reads as ECMA-262 does, given that no sample ends in a line end.
PATTERNS = [
    "foo", "^a", "b$", "^[ab]*$", "^.{2,4}$", r"\S", "[é-ü]", "^(?!a)", '"', r"\\", "[^a-y]", "^(a|bc)+$", "😀",
    "^[a-z][a-z0-9]*$", "^a?[bc]{1,3}d*$", "^a|b$", "(^a|b)c", "a{2}?", "^(?=.*[0-9])(?=.*[a-z]).{3,5}$", "^$",
    "^((?!mode)(?!Mode).)*$", "(?:(?=a|b).){2,3}$", "x(?=y)", "(a$|b)", "^(^a)?b", "^(a(b|$))*$", "^(?:a$|b)+",
]  # fmt: skip
SAMPLES = [
    "", "a", "b", "ab", "abc", "foo", "é", "😀", "a\nb", '"', "a/b", "\x7f", "bcbc", "abab", "a😀b", "\\", "ü",
    "xfoox", "z", "aé", "bbbbb", "abcd", "bcd", "\x00", "\ud7ff", "\ue000", "\uffff", "a b", "mode", "xMode", "a1b",
    "xy", "bc", "ac",
]  # fmt: skip

leaves = st.one_of(
    st.sampled_from(PATTERNS).map(search),
    st.lists(st.sampled_from(SAMPLES), max_size=5).map(words),
    st.tuples(st.integers(0, 3), st.sampled_from([None, 3, 4, 8])).map(lambda b: loop(ANY_CHARACTER, *b)),
)
languages = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: union(*pair)),
        st.tuples(inner, inner).map(lambda pair: intersection(*pair)),
        inner.map(complement),
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_python_means(pattern: str) -> None:
    language = search(pattern)
    for text in SAMPLES:
        assert matches(language, text) == bool(re.search(pattern, text)), text


@given(languages, languages)
def test_algebra(left: Language, right: Language) -> None:
    for text in SAMPLES:
        a, b = matches(left, text), matches(right, text)
        assert matches(union(left, right), text) == (a or b)
        assert matches(intersection(left, right), text) == (a and b)
        assert matches(complement(left), text) == (not a)


lengths_and_words = st.lists(
    st.one_of(
        st.lists(st.sampled_from(["", "a", "b", "ab", "ba", "aab", "bbbb"]), max_size=4).map(words),
        st.tuples(st.integers(0, 3), st.sampled_from([None, 3, 4])).map(lambda b: loop(ANY_CHARACTER, *b)),
    ),
    min_size=1,
    max_size=3,
).map(lambda parts: union(*parts))


@given(st.lists(lengths_and_words | lengths_and_words.map(complement), min_size=2, max_size=4))
def test_lengths_and_words_stay_that(parts: list[Language]) -> None:
    found = intersection(*parts)
    for count in range(6):
        for letters in product("ab", repeat=count):
            text = "".join(letters)
            assert matches(found, text) == all(matches(part, text) for part in parts), text
    # One union, perhaps without some words: nothing that would take an automaton.
    wide = [part for part in (found.items if isinstance(found, And) else (found,)) if not isinstance(part, Not)]
    assert len(wide) <= 1
    assert is_empty(found) == (not any(determinise(found).accepting))


@given(languages)
def test_automata(language: Language) -> None:
    dfa = determinise(language)
    for text in SAMPLES:
        state = 0
        for letter in text:
            step = (t for s, r, t in dfa.edges(tuple) if s == state and any(a <= ord(letter) <= b for a, b in r))
            state = next(step, -1)
            if state < 0:
                break
        assert (state >= 0 and dfa.accepting[state]) == matches(language, text), text
    assert is_empty(language) == (not any(dfa.accepting))


def _spelt(language: Language, *, any_spelling: bool) -> Texts:
    book = RuleBook()
    return texts_of_node(Speller(book, any_spelling=any_spelling).string(language), book)


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    return '"' + "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2)) + '"'


@given(languages)
def test_json_text(language: Language) -> None:
    if is_empty(language):
        return
    plain, every = _spelt(language, any_spelling=False), _spelt(language, any_spelling=True)
    for text in SAMPLES:
        inside = matches(language, text)
        for spelling in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
            assert (spelling in plain) == inside, spelling
            assert (spelling in every) == inside, spelling
        assert (_escaped(text) in every) == inside
        assert inside or _escaped(text) not in plain


@pytest.mark.report(
    "mlc-ai/xgrammar#286, kekzl/imp#650",
    "A string holds no raw control character, no half of a surrogate pair and no bytes that are not UTF-8.",
)
def test_free_strings() -> None:
    free = _spelt(ALL, any_spelling=False)
    for text in ['""', r'"\u0061"', r'"\/\b\f\n\r\t\"\\"', r'"\ud83d\ude00"', '"\x7f😀"', r'"\u0000"']:
        assert text in free, text
    for text in [
        '"\x01"',
        '"\n"',
        '"\t"',
        r'"\ud800"',
        r'"\ud800x"',
        r'"\ude00\ud83d"',
        r'"\x"',
        '"',
        r'"\u12g4"',
        '"\\"',
        b'"\xff"',
        b'"\xc0\x80"',
        b'"\xc0\xaf"',
        b'"\xed\xa0\x80"',
    ]:
        assert text not in free, text


@pytest.mark.report("kekzl/imp#650", "Two escapes that are a surrogate pair count as one character.")
def test_a_surrogate_pair_is_one_character() -> None:
    one = _spelt(ANY_CHARACTER, any_spelling=False)
    assert r'"\ud83d\ude00"' in one
    assert r'"\ud83d\ude00a"' not in one
    assert '""' not in one


@pytest.mark.parametrize(
    ("pattern", "error", "offset"),
    [
        ("(a", GrammarSyntaxError, 0),
        ("a)", GrammarSyntaxError, 1),
        ("a**", GrammarSyntaxError, 2),
        ("[b-a]", GrammarSyntaxError, 1),
        ("x{3,2}", GrammarSyntaxError, 2),
        (r"(a)\1", UnsupportedFeatureError, 3),
        ("(?<=ab)b", UnsupportedFeatureError, 0),
        ("(" * 200 + "^" + ")" * 200, UnsupportedFeatureError, 200),
    ],
)
def test_patterns_refused_at_their_place(pattern: str, error: type[Exception], offset: int) -> None:
    with pytest.raises(error) as caught:
        search(pattern)
    assert caught.value.offset == offset  # type: ignore[attr-defined]


def test_lengths_are_solved_without_states() -> None:
    for pattern, least, most in [
        ("^[a-z][a-z0-9-]*$", 1, 63),
        ("^[a-z]([a-z0-9-]*[a-z0-9])?$", 2, 40),
        ("^(ab|cde)f*$", 0, 6),
        ("^x(yz)+$", 4, 9),
    ]:
        language = search(pattern)
        solved = with_length(language, least, most)
        assert solved is not None
        counted = intersection(language, loop(ANY_CHARACTER, least, most))
        difference = union(intersection(solved, complement(counted)), intersection(counted, complement(solved)))
        assert is_empty(difference), pattern
        low, high = length_range(solved)
        assert low >= least
        assert high is not None
        assert high <= most
    assert with_length(search("a"), 2, 5) is None  # two variable parts: an automaton counts
    dated = concat(search(r"^\d+$"), words(["-"]), search(r"^\d+$"))
    assert with_length(dated, 0, 2) == NOTHING  # but three characters are the fewest
    assert with_length(concat(words(["ab"]), search(r"^\d$")), 0, 2) == NOTHING


@pytest.mark.parametrize(("pattern", "least", "most"), [("x", 0, 200), (r"^\S+@\S+$", 3, 300), ("^a*b+c*$", 130, 257)])
def test_long_strings_are_counted_by_halving(pattern: str, least: int, most: int) -> None:
    language = search(pattern)
    book = RuleBook()
    node = Speller(book, any_spelling=False).string(intersection(language, loop(ANY_CHARACTER, least, most)))
    inside = texts_of_node(node, book)
    assert len(book.rules) < 300
    for length in [0, 1, 2, 3, 4, 99, 127, 128, 129, 130, 131, 199, 200, 201, 255, 256, 257, 258, 299, 300, 301]:
        for text in [
            "x" * length,
            "x" * (length - 2) + "@x",
            "a" * (length - 1) + "b",
            "a" * (length - 9) + "bbbbbcccc",
        ]:
            expected = matches(language, text) and least <= len(text) <= most
            assert (json.dumps(text) in inside) == expected, (pattern, length)


def test_budget_of_states() -> None:
    with pytest.raises(TooManyStates):
        determinise(intersection(search("a"), search("b"), loop(ANY_CHARACTER, 0, 100_000)))


def test_small_forms() -> None:
    assert concat(ALL, search("^b*$"), ALL) == ALL
    assert intersection(words(["a", "b"]), complement(words(["a"]))) == words(["b"])
    assert union(loop(ANY_CHARACTER, 0, 3), loop(ANY_CHARACTER, 4, None)) == ALL
    assert intersection(search("a"), complement(search("a"))) == NOTHING
    assert complement(complement(search("a"))) == search("a")


FORMATS = {
    "date": (["2024-02-29", "2000-02-29", "1999-12-31"], ["2023-02-29", "1900-02-29", "2024-13-01", "2024-04-31"]),
    "time": (["00:00:00Z", "23:59:60Z", "12:00:00.25+01:30"], ["24:00:00Z", "12:00:00", "12:00:60Z", "12:00Z"]),
    "date-time": (["2024-02-29T01:02:03Z", "2024-01-01t00:00:00.5-00:00"], ["2024-01-01", "2024-01-01 00:00:00Z"]),
    "duration": (["P1Y2M3DT4H5M6S", "PT0S", "P4W"], ["P", "PT", "P1Y4W", "1Y", "P1YT"]),
    "ipv4": (["0.0.0.0", "255.255.255.255"], ["256.0.0.1", "1.2.3", "01.2.3.4"]),
    "ipv6": (
        ["::", "::1", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"],
        ["1::2::3", "12345::", "1:2", "::1%a"],
    ),
    "uuid": (
        ["2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
        ["2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380"],
    ),
    "email": (["a@b", "a.b+c@d-e.fg", '"a b"@c'], ["a", "x@[127.0.0.1]", "a@", "@b", "a..b@c", ".a@b", "a@-b"]),
    "hostname": (
        ["a", "a-b.c1", "x" * 63 + ".y", "xn--9n2bp8q.xn--9t4b11yi5a", "xn--bcher-kva.example", "XN--ZCA29LWXOBI7A"],
        ["", "-a", "a-", "a..b", "x" * 64, "xn--x", "xn--", "xn--9n2", "xn--a-", "ab--c", "xn--" + "b" * 60, "a_b"],
    ),
    "uri": (["http://a/b?c#d", "urn:x:y", "http://[::1]:80/", "a:"], ["//a/b", "a b:", "http://[::1", ":a", "http://a/%zz"]),
    "uri-reference": (["a", "/a", "//h/p", "", "#x", "http://a"], ["\\a", "a b", "%"]),
    "uri-template": (["a{b}", "{?x,y*}", "{+path:3}/z"], ["{", "{a", "a}", "{a:0}"]),
    "iri": (["http://é/ü"], ["é"]),
    "json-pointer": (["", "/", "/a/~0~1", "/\n"], ["a", "/~", "/~2"]),
    "relative-json-pointer": (["0", "1/a", "2#"], ["01", "-1/a", "/a", "0##"]),
}  # fmt: skip


@pytest.mark.report(
    "sourcemeta/core#2520",
    "Host names with labels in Punycode, such as `xn--bcher-kva.example`, have the format `hostname`.",
)
@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str) -> None:
    language = format_language(name)
    assert language is not None
    good, bad = FORMATS[name]
    for text in good:
        assert matches(language, text), text
    for text in bad:
        assert not matches(language, text), text


def test_other_formats_are_annotations() -> None:
    assert format_language("colour") is None
    assert format_language("idn-hostname") is None


@given(st.text(alphabet="ab\\\\[]()^$|*+?{}1,2-d.xu0=!:", max_size=12))
def test_strings_of_the_format_regex_compile(text: str) -> None:
    language = format_language("regex")
    assert language is not None
    if matches(language, text):
        re.compile(text)


def test_common_regexes_have_the_format_regex() -> None:
    language = format_language("regex")
    assert language is not None
    for text in ["^[a-z]+(?:-[0-9]{2,4})*$", r"\d+\.\d*", "(a|b)c?", r"^(?!x)[^\]/_-]{3,}\b", "((a))", ""]:
        assert matches(language, text), text
    for text in ["(", "[", "*", "\\", "a**", "[b-a]", "a{2,1}", r"\1", "(?<=a)b", "((((a))))", "x++"]:
        assert not matches(language, text), text


def test_whole_matches() -> None:
    assert matches(full_match("a|b"), "a")
    assert not matches(full_match("a|b"), "xa")
