"""Languages that end once, and those that begin or end with some characters, against all short texts of theirs."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.charset import Ranges
from kernels_core.grammar.regular.ends import ending_in, starting_in
from kernels_core.grammar.regular.languages import ALL, Language, complement, intersection, matches, union, words
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.regular.patterns import full_match
from kernels_core.grammar.regular.prefixes import ends_once
from tests.strategies import examples

TEXTS = ["".join(letters) for length in range(6) for letters in product("abc", repeat=length)]
PARTS = st.sampled_from(["a", "b", "[ab]", "ab", "(a|ab)", "(ab|ba)", "(|c)", "[^a]", "(ab){2}", "(a|b+c)"])
COUNTS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{1,2}"])


# Quick, and few examples come near the border.
@examples(5)
@given(st.lists(st.tuples(PARTS, COUNTS), min_size=1, max_size=4))
def test_what_ends_once_goes_on_in_no_text(parts: list[tuple[str, str]]) -> None:
    language = full_match("".join(f"(?:{part}){count}" for part, count in parts))
    if ends_once(language):
        texts = {text for text in TEXTS if matches(language, text)}
        assert not [text for text in texts if any(text[:end] in texts for end in range(len(text)))]


@pytest.mark.parametrize("pattern", ["https?://", "[0-9]{4}-x", "a*b", "(ab)*c?b", "(x|yz)\\.", "[a-c]?[^a-d]"])
def test_beginnings_that_end_once(pattern: str) -> None:
    assert ends_once(full_match(pattern))


@pytest.mark.parametrize("pattern", ["a+", "ab?", "(a|ab)", "a*[ab]", "(a|b+c)?b", "(|a)b?", "a?"])
def test_beginnings_that_may_go_on(pattern: str) -> None:
    assert not ends_once(full_match(pattern))


LETTERS = "ab-é"
SHORT = ["".join(letters) for length in range(5) for letters in product(LETTERS, repeat=length)]
SETS = [((0x61, 0x61),), ((0x61, 0x62),), ((0x2D, 0x61), (0xE9, 0xE9)), ((0xE9, 0xE9),)]
PIECES = st.sampled_from(["a", "b?", "[ab-]*", "(ab|b|)", "(é|a+-)", "(a?b?)*", "(-[ab]){1,2}", "[^a]", ".*"])

languages = st.lists(PIECES, min_size=1, max_size=4).map(lambda parts: full_match("".join(f"(?:{p})" for p in parts)))
composed = st.one_of(
    languages,
    st.tuples(languages, languages).map(lambda both: union(*both)),
    st.tuples(languages, languages).map(lambda both: intersection(*both)),
    languages.map(complement),
    st.just(ALL),
    st.just(words(["", "a", "ba", "éb"])),
)


# Quick, and few examples come near the border.
@examples(5)
@given(composed, st.sampled_from(SETS))
def test_ends_are_those_of_the_language(language: Language, ranges: Ranges) -> None:
    letters = {letter for letter in LETTERS if any(low <= ord(letter) <= high for low, high in ranges)}
    for restricted, place in ((starting_in(language, ranges), 0), (ending_in(language, ranges), -1)):
        if restricted is not None:
            for text in SHORT:
                expected = bool(text) and text[place] in letters and matches(language, text)
                assert matches(restricted, text) == expected, text


@pytest.mark.parametrize("pattern", [r"^[a-z]{1,6}\b-*$", r"\bab\b", r"^a+\b.*$", r"\w(?!-)", r"^[a-](?<!a)b"])
def test_word_boundaries_leave_a_pattern_as_it_is(pattern: str) -> None:
    """It is written and counted by places, without intersections inside."""
    assert search(pattern).plain
