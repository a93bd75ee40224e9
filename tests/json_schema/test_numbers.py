"""Sets of numbers: their algebra and their JSON text against plain arithmetic."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernels_core.automata.lower import Lowering
from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.ir import GrammarIR, Node, Rule, walk
from kernels_core.grammar.json_schema import number_text as number_text_module
from kernels_core.grammar.json_schema.digits import decimals as decimals_between
from kernels_core.grammar.json_schema.digits import naturals, places
from kernels_core.grammar.json_schema.number_text import _Form, _plain_dfa, number_text
from kernels_core.grammar.json_schema.numbers import (
    ALL_NUMBERS,
    NO_NUMBERS,
    Numbers,
    Piece,
    in_one,
    interval,
    multiples,
    points,
    united,
)
from kernels_core.grammar.regular.dfa import TooManyStates
from kernels_core.grammar.rulebook import RuleBook
from kernels_core.options import Options
from tests.engine.driver import minimal
from tests.json_schema.driver import Texts, texts, texts_of_node
from tests.strategies import examples

Membership = Callable[[Fraction], bool]
decimals = st.builds(
    Fraction, st.one_of(st.integers(-30, 30), st.integers(-1000, 1000)), st.sampled_from([1, 1, 2, 4, 5, 10, 100])
)


@st.composite
def plain_sets(draw: st.DrawFn) -> tuple[Numbers, Membership]:
    kind = draw(st.sampled_from(["interval", "multiples", "points"]))
    if kind == "points":
        values = draw(st.lists(decimals, max_size=3))
        return points(values), lambda x: x in values
    if kind == "multiples":
        step = Fraction(draw(st.sampled_from([1, 1, 2, 3, 7, 10])), draw(st.sampled_from([1, 1, 2, 10, 100])))
        return multiples(step), lambda x: (x / step).denominator == 1
    low, high = draw(st.one_of(st.none(), decimals)), draw(st.one_of(st.none(), decimals))
    low_open, high_open = draw(st.booleans()), draw(st.booleans())

    def inside(x: Fraction) -> bool:
        above = low is None or x > low or (x == low and not low_open)
        below = high is None or x < high or (x == high and not high_open)
        return above and below

    return interval(low, high, low_open=low_open, high_open=high_open), inside


def _and(pair: tuple[tuple[Numbers, Membership], tuple[Numbers, Membership]]) -> tuple[Numbers, Membership]:
    (a, in_a), (b, in_b) = pair
    return a & b, lambda x: in_a(x) and in_b(x)


def _or(pair: tuple[tuple[Numbers, Membership], tuple[Numbers, Membership]]) -> tuple[Numbers, Membership]:
    (a, in_a), (b, in_b) = pair
    return a | b, lambda x: in_a(x) or in_b(x)


def _not(one: tuple[Numbers, Membership]) -> tuple[Numbers, Membership]:
    a, in_a = one
    return ~a, lambda x: not in_a(x)


sets = st.recursive(
    plain_sets(),
    lambda inner: st.one_of(st.tuples(inner, inner).map(_and), st.tuples(inner, inner).map(_or), inner.map(_not)),
    max_leaves=4,
)


def _text(value: Fraction) -> str:
    text = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    assert Fraction(Decimal(text)) == value
    return text


def _texts(numbers: Numbers, *, canonical: bool) -> Texts:
    book = RuleBook()
    return texts_of_node(number_text(numbers, book, canonical=canonical), book)


@given(sets, st.lists(decimals, min_size=5, max_size=25))
def test_text_of_random_sets(pair: tuple[Numbers, Membership], values: list[Fraction]) -> None:
    numbers, inside = pair
    for piece in numbers.whole:
        for bound in (piece.low, piece.high):
            if bound is not None:
                values += [bound, bound + 1, bound - Fraction(1, 10)]
    if not numbers:
        assert not any(inside(value) for value in values)
        return
    try:
        free, canonical = _texts(numbers, canonical=False), _texts(numbers, canonical=True)
    except TooManyStates:
        assume(False)
    for value in values:
        text = _text(value)
        assert (text in free) == inside(value), text
        assert (text in canonical) == inside(value), text
        padded = text + ("0" if "." in text else ".00")
        assert (padded in free) == inside(value), padded
        assert padded not in canonical
        mantissa, exponent = f"{float(value):.17e}".split("e")
        scientific = f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"
        if value and Fraction(Decimal(scientific)) == value:
            if scientific in free:
                assert inside(value), scientific
            elif inside(value):
                # Only multiples and what is left of them are without exponent.
                assert all(piece.step or piece.gaps for piece in numbers.whole if value in piece), scientific


@given(st.lists(sets, min_size=1, max_size=5), st.lists(decimals, min_size=5, max_size=25))
def test_what_is_in_one_set_and_what_is_taken_away(
    pairs: list[tuple[Numbers, Membership]], values: list[Fraction]
) -> None:
    first, others = pairs[0][0], united(numbers for numbers, _ in pairs[1:])
    once, left = in_one([numbers for numbers, _ in pairs]), first - others
    for numbers, _ in pairs:
        values += [bound for piece in numbers.whole for bound in (piece.low, piece.high) if bound is not None]
    for value in values:
        holders = [inside(value) for _, inside in pairs]
        assert any(value in piece for piece in once.whole) == (sum(holders) == 1), value
        assert any(value in piece for piece in left.whole) == (holders[0] and sum(holders) == 1), value


def test_alternatives_that_are_multiples_within_bounds_stay_few() -> None:
    primes = (2, 3, 5, 7, 11, 13, 17, 19)
    sets = [
        multiples(Fraction(p)) & interval(Fraction(-7 * p), Fraction(1000), low_open=False, high_open=False)
        for p in primes
    ]
    once = in_one(sets)
    assert len(once.whole) < 100
    for value in range(-140, 1010):
        holders = [p for p in primes if value % p == 0 and -7 * p <= value <= 1000]
        assert any(Fraction(value) in piece for piece in once.whole) == (len(holders) == 1), value


@pytest.mark.report(
    "vllm-project/vllm#52011, kekzl/imp#1104",
    "A number has one point and one exponent, so 3.5.5 is none; its digits have no bound.",
)
def test_spellings() -> None:
    number = _texts(ALL_NUMBERS, canonical=False)
    for text in ["0", "-0", "0.0", "1e5", "1E+05", "12.50e-3", "-0e0", "1" * 50]:
        assert text in number, text
    for text in ["01", "+1", ".5", "1.", "e5", "--1", "1e", "", "0x1", "NaN", "3.5.5", "1e5e5"]:
        assert text not in number, text
    positive = texts({"type": "number", "exclusiveMinimum": 0})
    assert "0.000e7" not in positive
    assert "0.001e-99" in positive
    assert "-1" not in positive
    integer = texts({"type": "integer"})
    assert {"1.0" in integer, "1e2" in integer, "-0.00" in integer} == {True}
    assert {"1.5" in integer, "1e-2" in integer, "0.1e1" in integer} == {False}
    assert "5.0" not in texts({"type": "integer"}, canonical_numbers=True)
    plain = texts({"type": "integer"}, plain_integers=True)
    assert {"0" in plain, "-70" in plain} == {True}
    assert {"5.0" in plain, "5e0" in plain, "-0" in plain, "05" in plain} == {False}
    bounded = texts({"type": "integer", "minimum": 3, "multipleOf": 3}, plain_integers=True)
    assert {"12" in bounded, "12.0" in bounded, "2" in bounded} == {True, False}
    for schema in ({"type": "number"}, {"type": "number", "minimum": 1}, {"enum": [1, 1.5]}):
        assert "1.0" in texts(schema, plain_integers=True)
    assert "1.0" not in texts({"const": 1}, plain_integers=True)
    small = texts({"minimum": -1, "maximum": 1})
    assert {"9.99e-1" in small, "1.0e0" in small, "-1e-5" in small} == {True}
    assert {"1.01e0" in small, "1e1" in small, "-2e0" in small} == {False}


@pytest.mark.parametrize("value", [2**53 + 1, 10**30 + 7, -(2**63) - 1, 12345678901234567890123])
def test_no_float_is_ever_made(value: int) -> None:
    exactly = texts({"const": value})
    assert str(value) in exactly
    assert str(value + 1) not in exactly
    at_least = texts({"type": "integer", "minimum": value})
    assert {str(value) in at_least, str(value + 1) in at_least, str(value * 10) in at_least} >= {True}
    assert str(value - 1) not in at_least


def test_decimals_in_schema_text_are_exact() -> None:
    schema = texts('{"minimum": 0.1234567890123456789012345678901, "maximum": 1e2}')
    assert "0.1234567890123456789012345678901" in schema
    assert "0.1234567890123456789012345678900" not in schema
    assert "100.00" in schema
    assert "100.01" not in schema


def test_multiples() -> None:
    tenths = texts({"multipleOf": 0.1})
    assert {"0.3" in tenths, "-7" in tenths, "0.30" in tenths, "0" in tenths} == {True}
    assert {"0.35" in tenths, "0.01" in tenths} == {False}
    assert "12391239123" in texts({"type": "integer", "multipleOf": 1e-8})
    odd = texts({"type": "integer", "not": {"multipleOf": 2}})
    assert "13" in odd
    assert "14" not in odd


@pytest.mark.parametrize(
    ("step", "gaps"),
    [("6", ["4", "30", "9"]), ("0.5", ["0.2", "3", "0.75"]), ("0", ["0.04", "7", "0.5"]), ("12", ["0.9", "8"])],
)
def test_multiples_of_one_that_are_none_of_others(step: str, gaps: list[str]) -> None:
    """Remainders by decimals with as many digits are counted together, by others apart."""
    piece = Piece(Fraction(0), low_open=True, step=Fraction(step), gaps=frozenset(map(Fraction, gaps)))
    dfa = _plain_dfa(piece, _Form(canonical=False, whole=True, pointed=True))
    for number in range(1, 40_000):
        text = f"{number / 100:.2f}".rstrip("0").rstrip(".")
        state = 0
        for letter in text:
            state = dfa.table[state][10 if letter == "." else int(letter)] if state >= 0 else -1
        assert (state >= 0 and dfa.accepting[state]) == (Fraction(number, 100) in piece), text


@pytest.mark.parametrize("high", [None, 50_000])
def test_more_remainders_than_states_are_refused_before_they_are_met(
    high: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = None if high is None else Fraction(high)
    piece = Piece(Fraction(0), most, low_open=True, step=Fraction(3), gaps=frozenset((Fraction(21), Fraction(3027))))
    monkeypatch.setattr(number_text_module, "explore", None)
    with pytest.raises(TooManyStates):
        _plain_dfa(piece, _Form(canonical=True, whole=True, pointed=False))


def test_few_numbers_have_few_remainders() -> None:
    piece = Piece(
        Fraction(0), Fraction(900), low_open=True, step=Fraction(3), gaps=frozenset((Fraction(21), Fraction(3027)))
    )
    assert len(_plain_dfa(piece, _Form(canonical=True, whole=True, pointed=False)).table) < 2_000


def test_finite_sets() -> None:
    assert points([Fraction(1), Fraction(1, 2)]).finite(5) == [Fraction(1, 2), 1]
    assert (multiples(Fraction(3)) & interval(Fraction(0), Fraction(10), low_open=False, high_open=False)).finite(
        9
    ) == [0, 3, 6, 9]
    assert ALL_NUMBERS.finite(9) is None
    assert not NO_NUMBERS


def test_numbers_that_end_in_the_same_way_share_their_end() -> None:
    book = RuleBook()
    node = number_text(points(Fraction(number, 4) for number in range(1, 4001)), book, canonical=False)
    assert sum(1 for _ in walk(node)) < 3 * 4000
    assert not book.rules


def test_draft_4_integers_are_spelt_without_point() -> None:
    old = texts({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"})
    assert "1" in old
    assert "1.0" not in old
    not_integer = texts(
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "not": {"type": "integer"}}
    )
    assert "1.0" in not_integer
    assert "1" not in not_integer


def _byte_steps(node: Node) -> tuple[dict[tuple[int, int], int], list[bool]]:
    """Transitions of the automaton of a node that calls nothing, and which states accept."""
    lowering, nfa = Lowering(GrammarIR({"root": Rule("root", node)}, "root"), Options()), Nfa()
    assert nfa.fill(lowering, node, "root", (), 100_000)
    assert not nfa.called()
    edges, accepting = minimal(lowering, nfa)
    return {(at, byte): to for at, low, high, to in edges for byte in range(low, high + 1)}, accepting


bounds = st.one_of(
    decimals.map(abs), st.builds(Fraction, st.integers(0, 10**7), st.integers(0, 7).map(lambda n: 10**n))
)


# Signs, digits and bounds have to meet.
@examples(5)
@given(bounds, st.none() | bounds, st.booleans(), st.booleans())
def test_decimals_between_bounds_are_those_that_an_automaton_compares(
    low: Fraction, high: Fraction | None, low_open: bool, high_open: bool
) -> None:
    """Digit by digit as nodes, or as an automaton that compares what it reads with both bounds: the same texts."""
    assume(high is None or low < high)
    low_open = low_open or not low  # 0 has spellings of its own
    piece = Piece(low, high, low_open=low_open, high_open=high_open and high is not None)
    node = decimals_between(
        places(low), None if high is None else places(high), low_open=piece.low_open, high_open=piece.high_open
    )
    steps, accepting = _byte_steps(node)
    table = _plain_dfa(piece, _Form(canonical=False, whole=True, pointed=True))
    seen, work = {(0, 0)}, [(0, 0)]
    while work:
        left, right = work.pop()
        assert (left >= 0 and accepting[left]) == (right >= 0 and table.accepting[right])
        for letter, byte in enumerate(b"0123456789."):
            pair = (steps.get((left, byte), -1), table.table[right][letter] if right >= 0 else -1)
            if pair not in seen:
                seen.add(pair)
                work.append(pair)


@given(st.integers(1, 3000), st.integers(0, 3000), st.integers(1, 4000))
def test_naturals_between_bounds(low: int, more: int, probe: int) -> None:
    for high in (low + more, None):
        steps, accepting = _byte_steps(naturals(low, high))
        for number in (probe, low - 1, low, low + more, low + more + 1):
            for text in (str(number), f"0{number}"):
                state = 0
                for byte in text.encode():
                    state = steps.get((state, byte), -1)
                inside = number >= low and (high is None or number <= high) and number > 0 and text[0] != "0"
                assert (state >= 0 and accepting[state]) == inside, (text, low, high)


def test_large_bounds_are_no_burden() -> None:
    """Bounds of very many digits are compared by an automaton, of which no part is nested."""
    small, large = Fraction(1, 10**300), Fraction(10**300)
    found = _texts(interval(small, large, low_open=True, high_open=True), canonical=False)
    assert "0." + "0" * 299 + "1" not in found
    assert "0." + "0" * 299 + "11" in found
    assert "9" * 300 in found
    assert "1" + "0" * 300 not in found


@given(sets, st.lists(decimals, min_size=5, max_size=25))
def test_numbers_of_few_digits_stay(pair: tuple[Numbers, Membership], values: list[Fraction]) -> None:
    numbers, inside = pair
    few = numbers.of_few_digits()
    for value in values:
        for pieces in (few.whole, few.pointed):
            assert any(value in piece for piece in pieces) == inside(value)


# Of a range that holds no number of few digits all spellings stay; others end.
@pytest.mark.parametrize(
    ("schema", "longest", "kept"),
    [
        ({"type": "number"}, ["9" * 20 + "." + "9" * 15, "-0." + "0" * 14 + "1"], []),
        ({"type": "number", "minimum": 0, "maximum": 1}, ["0." + "9" * 15, "0." + "0" * 14 + "1"], ["1"]),
        ({"type": "number", "exclusiveMinimum": 0}, ["9" * 20 + "." + "9" * 15, "0." + "0" * 14 + "1"], []),
        ({"type": "number", "minimum": 0}, ["9" * 20 + "." + "9" * 15, "0." + "0" * 14 + "1"], ["0"]),
        ({"type": "number", "minimum": 3}, ["9" * 20 + "." + "9" * 15, "3." + "0" * 14 + "1"], ["3"]),
        ({"type": "integer"}, ["9" * 20, "-" + "9" * 20], ["0"]),
        ({"type": "integer", "minimum": 5}, ["9" * 20], ["5"]),
        ({"type": "integer", "multipleOf": 997}, [], ["0", "997", "997" + "0" * 30]),
        ({"enum": [Decimal("1e-30"), 10**30]}, [], ["0." + "0" * 29 + "1", "1" + "0" * 30]),
        ({"type": "number", "minimum": Decimal("1e-30"), "maximum": Decimal("2e-30")}, [], ["0." + "0" * 29 + "1234"]),
        ({"type": "integer", "minimum": 10**30}, [], ["1" + "0" * 30, "1" + "0" * 45]),
    ],
)
def test_canonical_numbers_end(schema: dict[str, Any], longest: list[str], kept: list[str]) -> None:
    text = json.dumps(schema, default=str)
    found = texts(re.sub(r'"(\dE-30)"', r"\1", text), canonical_numbers=True)
    for text in longest:
        assert text in found
        assert text + "1" not in found
    assert all(text in found for text in kept)


@given(st.integers(0, 400), st.integers(0, 400), st.integers(2, 40), st.booleans(), st.booleans())
def test_few_multiples_are_written_one_by_one(low: int, more: int, step: int, low_open: bool, high_open: bool) -> None:
    high = low + more
    numbers = interval(Fraction(low), Fraction(high), low_open=low_open, high_open=high_open)
    numbers &= multiples(Fraction(step))
    inside = {
        number
        for number in range(0, 900, step)
        if low <= number <= high and not (low_open and number == low) and not (high_open and number == high)
    }
    if not inside:
        assert not numbers
        return
    found = _texts(numbers, canonical=False)
    for number in (*range(max(low - step, 0), high + step), 0):
        for text in (str(number), f"{number}.0", f"{number}.00", f"{number}.01"):
            assert (text in found) == (Fraction(text) in inside), text


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_of_a_bound_that_is_in_and_one_that_is_out_the_narrower_counts(kind: str) -> None:
    for inside, outside in product([1, 2, 2.5, 3], repeat=2):
        for name, exclusive in (("maximum", "exclusiveMaximum"), ("minimum", "exclusiveMinimum")):
            schema = {"type": kind, name: inside, exclusive: outside}
            accepted = texts(schema)
            for value in (0, 1, 1.5, 2, 2.5, 2.75, 3, 4):
                valid = jsonschema.Draft202012Validator(schema).is_valid(value)
                assert (str(value) in accepted) == valid, (schema, value)


def test_a_zero_has_no_digits_whatever_its_exponent() -> None:
    assert "0" in texts('{"const": 0e999999, "title": "not deferred", "not": {"type": "string"}}')
