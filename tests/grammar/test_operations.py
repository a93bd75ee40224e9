"""Intersection, difference and complement of grammars: by sampling, and where they must be refused."""

from __future__ import annotations

import itertools
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import GrammarError, UnsupportedFeatureError
from kernels_core.grammar import Grammar
from tests.reference import Recogniser

# Pairs of the same language, as a regular expression and as rules.
LANGUAGES = [
    ("[ab]*", "root ::= [ab]*"),
    ("a*b*", 'root ::= "a" root | tail\ntail ::= "b" tail | ""'),
    ("(?:ab)+", 'root ::= "a" half\nhalf ::= "b" root | "b"'),
    ("a|bb|é", 'root ::= "a" | two | "é"\ntwo ::= "b"{2}'),
    ("[^a]*", "root ::= other*\nother ::= [^a]"),
    ("(?:a{2}|b){1,3}", 'root ::= (x | "b"){1,3}\nx ::= "aa"'),
]
TEXTS = ["".join(letters) for n in range(5) for letters in itertools.product("abé", repeat=n)]


def texts_of(grammar: Grammar) -> set[str]:
    recogniser = Recogniser(grammar.ir)
    return {text for text in TEXTS if recogniser.accepts(text.encode())}


def doubled(rule: str) -> str:
    """Rules that call the next one twice: short to write, endless to write out."""
    rules = [rule.format(i, i + 1, i + 1) for i in range(40)]
    return "root ::= r0\n" + "\n".join(rules) + '\nr40 ::= "x"'


def plain(pattern: str) -> set[str]:
    return {text for text in TEXTS if re.fullmatch(pattern, text)}


grammars = st.sampled_from(LANGUAGES).flatmap(
    lambda pair: st.sampled_from([(pair[0], Grammar.from_regex(pair[0])), (pair[0], Grammar.from_ebnf(pair[1]))])
)


@given(grammars, grammars)
def test_operations_on_sampled_texts(one: tuple[str, Grammar], other: tuple[str, Grammar]) -> None:
    (left, a), (right, b) = one, other
    outside = a.complement()
    assert texts_of(outside) == set(TEXTS) - plain(left)
    assert texts_of(outside.complement()) == plain(left)
    assert texts_of(Grammar.intersect(a, b)) == plain(left) & plain(right) if plain(left) & plain(right) else True
    try:
        rest = Grammar.difference(a, b)
    except GrammarError as error:
        assert "no text" in str(error)  # noqa: PT017
        assert not plain(left) - plain(right)
    else:
        assert texts_of(rest) == plain(left) - plain(right)
        assert pickle.loads(pickle.dumps(rest)) == rest


def test_operations_on_more_than_two() -> None:
    three = Grammar.intersect(*(Grammar.from_regex(pattern) for pattern in ("[a-z]{3}", ".*b.*", "[^c]*")))
    assert texts_of(three) == {text for text in TEXTS if len(text) == 3 and "b" in text and "é" not in text}
    assert texts_of(Grammar.intersect(three)) == texts_of(three)
    less = Grammar.difference(Grammar.from_regex("[ab]{1,2}"), Grammar.from_regex("a"), Grammar.from_regex("ba|bb"))
    assert texts_of(less) == {"b", "aa", "ab"}


def test_long_counts_stay_counts() -> None:
    both = Grammar.intersect(Grammar.from_regex("a{0,100000}"), Grammar.from_ebnf('root ::= "a"{0,100000}'))
    assert str(both) == 'root ::= "a"{0,100000}\n'


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('root ::= "(" root ")" | ""', "not regular"),
        ('root ::= root "a" | "b"', "not regular"),
        ("root ::= b[\\x80-\\xff]", "raw bytes"),
        ('root ::= "a" b"\\xff"', "no UTF-8"),
        ("root ::= Token(1)", "tokens"),
        ("root ::= TagDispatch()", "free text with tags"),
        ("root ::= [ab]* [a] [ab]{15}", "more than 5,000 states"),
        (doubled("r{} ::= r{} r{}"), "more than 200,000 nodes"),
        (doubled('r{} ::= (r{} "a" | r{})*'), "more than 200,000 nodes"),
        ("root ::= " + '("a"' * 300 + ")*" * 300, "more than 100 levels"),
    ],
)
def test_what_is_not_regular_is_refused(source: str, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message):
        Grammar.from_ebnf(source).complement()


def test_misuse() -> None:
    with pytest.raises(GrammarError, match="at least one"):
        Grammar.intersect()
    with pytest.raises(TypeError, match="Grammar objects"):
        Grammar.intersect("a")  # type: ignore[arg-type]
    with pytest.raises(GrammarError, match="no text"):
        Grammar.intersect(Grammar.from_regex("a"), Grammar.from_regex("b"))
    with pytest.raises(GrammarError, match="no text"):
        Grammar.from_regex("[^]*").complement()
