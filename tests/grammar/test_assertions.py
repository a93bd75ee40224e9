"""Assertions, searching and regular operations: against Python's `re`, and languages against their automata."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import TimeLimit
from kernels_core.errors import GrammarError, UnsupportedFeatureError
from kernels_core.grammar import Grammar
from kernels_core.grammar.regular import patterns
from kernels_core.grammar.regular.assertions import START, rest
from kernels_core.grammar.regular.dfa import Dfa, determinise
from kernels_core.grammar.regular.from_rules import with_languages
from kernels_core.grammar.regular.languages import ALL, EPSILON, matches
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.regular.patterns import full_match
from kernels_core.grammar.regular.reader import read
from tests.reference import Recogniser
from tests.strategies import examples

# Python reads these as ECMA-262 does, with re.ASCII and texts without line ends; but for \\B, see `comparable`.
LEAVES = [
    "a",
    "b",
    "-",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\W",
    "ab",
    "",
    "a*",
    "[ab]+",
    "b?",
    "^",
    "$",
    r"\b",
    r"\B",
    "(?<=a)",
]
LEAVES += ["(?<!a)", r"(?<!\w)", "(?<=a|-)"]


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    look = st.sampled_from(["(?:", "(?:", "(?=", "(?!"])
    times = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,2}", "*?"])
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(look, inner, st.just(")"), times).map("".join),
    )


PATTERNS = st.recursive(st.sampled_from(LEAVES), compound, max_leaves=8)
TEXTS = st.lists(st.text(alphabet="ab-", max_size=6), min_size=1, max_size=8)


def comparable(pattern: str, texts: list[str]) -> list[str]:
    """Before Python 3.14 `\\B` did not match the empty text."""
    return [text for text in texts if text or r"\B" not in pattern]


def run(dfa: Dfa, text: str) -> bool:
    state = 0
    for letter in text:
        found = [t for s, ranges, t in dfa.edges(tuple) if s == state and any(a <= ord(letter) <= b for a, b in ranges)]
        if not found:
            return False
        (state,) = found
    return dfa.accepting[state]


# Quick, and few patterns have two assertions at one place.
@examples(5)
@given(PATTERNS, TEXTS)
def test_assertions_mean_what_python_means(pattern: str, texts: list[str]) -> None:
    python = re.compile(pattern, re.ASCII)
    try:
        whole, somewhere = full_match(pattern), search(pattern)
        automaton, wide = determinise(whole, 3000), determinise(somewhere, 3000)
    except UnsupportedFeatureError as error:
        assert "states" in str(error)  # noqa: PT017
        return
    for text in comparable(pattern, texts):
        assert run(automaton, text) == matches(whole, text) == (python.fullmatch(text) is not None), text
        assert run(wide, text) == matches(somewhere, text) == (python.search(text) is not None), text


@given(PATTERNS, TEXTS, st.booleans())
def test_grammars_of_assertions(pattern: str, texts: list[str], anywhere: bool) -> None:
    python = re.compile(pattern, re.ASCII)
    find = python.search if anywhere else python.fullmatch
    try:
        recogniser = Recogniser(Grammar.from_regex(pattern, match="search" if anywhere else "full").ir)
    except GrammarError as error:
        assert "matches no text" in str(error)  # noqa: PT017
        assert not any(find(text) for text in comparable(pattern, texts))
        return
    for text in comparable(pattern, texts):
        assert recogniser.accepts(text.encode()) == (find(text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "flags", "good", "bad"),
    [
        (r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{4,8}", "", ["aB3x", "1234567aB"[1:]], ["abcd", "aB3", "aB3aB3aB3"]),
        ("(?!foo|bar)[a-z]+", "", ["fo", "baz", "xfoo"], ["foo", "foox", "bar", ""]),
        ("(?:(?!-->).)*", "", ["a-b--", "->"], ["x-->y", "-->"]),
        (r"(?:(?!\*/)[^])*", "", ["a\n*"], ["*/", "a*/b"]),
        (r"\bfoo\b.*", "", ["foo", "foo bar", "foo-"], ["foox", "foo_"]),
        (r".*\B-\B.*", "", [" - ", "-", "--"], ["a-b", "a- "]),
        ("(?:(?!ab)(?!ba)[ab])*", "", ["aaa", "b", ""], ["ab", "aba"]),
        ("(?:a(?=b)|b(?=a|$))*", "", ["abab", "", "b"], ["aa", "aba"]),
        ("(?:^a|(?<=a)b)+", "", ["a", "ab"], ["aa", "b", "abb"]),
        ("^a$\n^b$", "m", ["a\nb"], ["ab"]),
        (r"\Aab\Z|\Aac\z", "", ["ab", "ac"], ["AabZ", "ab\n", "acz"]),
        (r"(?:(?:\Aa|^b)\n?)*(?:^c\Z|d$)?", "m", ["a\nb\nc", "a\nd"], ["b\na", "c\nc"]),
        (r"(?:a\Z|b)\n?", "", ["a", "b", "b\n"], ["a\n"]),
        (r"(?m:^\d.*$|^$|[^])*", "", ["1a\n2b\n", ""], []),
        (r"(?:\d+(?=\n|$)\n?)*", "", ["1\n23"], ["1 2"]),
        (r"(?i)(?!select\b)\w+", "", ["selects", "x"], ["select", "SELECT", "Select"]),
        ("(?<![ab])c|d(?<!d)", "", ["c"], ["d"]),
        ("(?=(?=(?=a)[ab])[ac])[a-z]", "", ["a"], ["b", "c"]),
        ("(?!(?!a))[ab]", "", ["a"], ["b"]),
        ("x(?:(?=a)){3}a", "", ["xa"], ["x", "xb"]),
        ("(?:(?=a)|b){2}a*", "", ["a", "ba", "bb", "bba", "aa"], ["", "b"]),
    ],
)
def test_assertions(pattern: str, flags: str, good: list[str], bad: list[str]) -> None:
    recogniser = Recogniser(Grammar.from_regex(pattern, flags=flags).ir)
    assert [text for text in good if not recogniser.accepts(text.encode())] == []
    assert [text for text in bad if recogniser.accepts(text.encode())] == []


def test_searching_leaves_plain_patterns_as_they_are() -> None:
    for pattern, printed in [
        ("ab", '[^]* "ab" [^]*'),
        ("^ab", '"ab" [^]*'),
        ("ab$", '[^]* "ab"'),
        ("^a{2,5000}$", '"a"{2,5000}'),
        (r"\Aa{2,5000}\Z", '"a"{2,5000}'),
        ("^a|b$", '"a" [^]* | [^]* "b"'),
    ]:
        assert str(Grammar.from_regex(pattern, match="search")) == f"root ::= {printed}\n"
    with pytest.raises(ValueError, match="full"):
        Grammar.from_regex("a", match="prefix")  # type: ignore[arg-type]


LOOKS = 500_000  # at the clock: several times what the most demanding of these patterns takes


@pytest.mark.parametrize(
    "marked",
    [
        "".join(f"»(?=.*{letter})" if letter == "a" else f"(?=.*{letter})" for letter in "abcdefghijklmnop") + ".*",
        "»(?=(?:a|b)*a(?:a|b){14}c)[abc]*",
        "(?:»(?!a{40}b{40}c{40})[abc]){100,900}",
    ],
)
def test_what_needs_too_many_states_is_refused_in_time(marked: str) -> None:
    pattern = marked.replace("»", "")
    with TimeLimit(0, looks=LOOKS), pytest.raises(UnsupportedFeatureError, match="states") as caught:
        Grammar.from_regex(pattern)
    assert caught.value.offset == marked.index("»")


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:a|\b)" * 40,
        "(?:(?=a)|b)" * 40,
        "(?:(?=a)|b)*" * 20,
        "(?:" * 20 + r"\b" + "a)*" * 20,
        "(?=(?:a|b)*c)" * 60 + ".*",
        r"(?:\b\w{1,50}\b ?){1,50}",
        "(?!" + "|".join(f"w{i}" for i in range(2000)) + ")[a-z0-9]*",
    ],
)
def test_many_assertions_take_their_time_and_no_more(pattern: str) -> None:
    with TimeLimit(0, looks=LOOKS):
        Grammar.from_regex(pattern)


PLAIN = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "ab", "a*", "b?", "(?:ab)+", "b{2,3}", "[^]*"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
    ),
    max_leaves=6,
)


@given(PLAIN, st.sampled_from(["{}", "^{}", "{}$", "^{}$", "^{}|a", "a$|^{}|b"]), st.booleans())
def test_anchors_at_the_ends_are_not_different(body: str, anchored: str, anywhere: bool) -> None:
    """Patterns with `^` in front and `$` at the end are read in a short way, which is what the long way comes to."""
    pattern = read(anchored.format(f"(?:{body})"))
    assert patterns.unanchored(pattern.tree, anywhere=anywhere) is not None
    quick = patterns.language_of(pattern, anywhere=anywhere)
    tree = with_languages(pattern.tree)
    slow = rest((ALL, tree), ALL, START) if anywhere else rest((tree,), EPSILON, START)
    for letters in range(5):
        for text in map("".join, product("abc", repeat=letters)):
            assert matches(quick, text) == matches(slow, text)


def test_anchors_elsewhere_take_the_long_way() -> None:
    for text in ("a^b", "a$b", "(?:^a)b", "(?m:^a$)"):
        tree = read(text).tree
        assert patterns.unanchored(tree, anywhere=True) is None


@pytest.mark.parametrize("marked", ["»(?<=a)b", "a»(?=b)c", r"a»\B", "»(?!)b"])
def test_what_never_holds_is_told_at_the_assertion(marked: str) -> None:
    with pytest.raises(GrammarError, match="never holds in a whole text") as caught:
        Grammar.from_regex(marked.replace("»", ""))
    assert caught.value.offset == marked.index("»")
