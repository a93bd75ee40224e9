"""The normal form: which spellings become the same node, and that the language never changes on the way."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernels_core.grammar import nodes
from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Never,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    Span,
)
from tests.reference.language import LanguageTooLargeError, language
from tests.strategies import grammars

A, B, R = Literal(b"a"), Literal(b"b"), RuleRef("r")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (nodes.seq([]), Empty()),
        (nodes.seq([A]), A),
        (nodes.seq([A, Empty(), B]), Literal(b"ab")),
        (nodes.seq([R, A, B, R]), Seq((R, Literal(b"ab"), R))),
        (nodes.seq([Seq((R, A)), Seq((B, R))]), Seq((R, Literal(b"ab"), R))),
        (nodes.seq([R, Never()]), Never()),
        (nodes.choice([]), Never()),
        (nodes.choice([A, Never()]), A),
        (nodes.choice([A, B, A]), Choice((A, B))),
        (nodes.choice([Choice((A, B)), R]), Choice((A, B, R))),
        (nodes.choice([A, Empty()]), Repeat(A, 0, 1)),
        (nodes.choice([Empty(), A, B]), Repeat(Choice((A, B)), 0, 1)),
        (nodes.choice([Empty(), Repeat(A, 0, None)]), Repeat(A, 0, None)),
        (nodes.choice([Empty(), Empty()]), Empty()),
        (nodes.repeat(A, 0, 0), Empty()),
        (nodes.repeat(A, 1, 1), A),
        (nodes.repeat(Empty(), 3, 7), Empty()),
        (nodes.repeat(Never(), 0, 7), Empty()),
        (nodes.repeat(Never(), 1, 7), Never()),
        (nodes.char_set(((0x61, 0x61),)), A),
        (nodes.char_set(((0xD800, 0xDFFF),)), Never()),
        (nodes.byte_set(((0x80, 0x80),)), Literal(b"\x80")),
        (nodes.byte_set(((0x30, 0x39),)), CharSet(((0x30, 0x39),))),
        (nodes.byte_set(((0x30, 0x80),)), ByteSet(((0x30, 0x80),))),
    ],
)
def test_normal_form(made: Node, expected: Node) -> None:
    assert made == expected


@given(*[st.integers(0, 4)] * 4, st.booleans(), st.booleans())
def test_repeats_of_repeats_collapse_exactly_when_the_counts_have_no_holes(
    low: int, more: int, fewest: int, many: int, endless: bool, forever: bool
) -> None:
    """Against the set of counts itself, up to a bound above all finite ones."""
    limit = 70
    high, most = (None if endless else low + more), (None if forever else fewest + many)
    inner = set(range(low, limit if high is None else high + 1))
    counts: set[int] = set()
    sums = {0}
    for rounds in range(limit + 1 if most is None else most + 1):
        if rounds >= fewest:
            counts |= sums
        sums = {a + b for a in sums for b in inner if a + b < limit}
    made = nodes.repeat(nodes.repeat(A, low, high), fewest, most)
    contiguous = counts == set(range(min(counts), max(counts) + 1))
    match made:
        case Empty():
            assert counts == {0}
        case Literal(b"a"):
            assert counts == {1}
        case Repeat(Literal(b"a"), minimum, maximum):
            top = limit - 1 if maximum is None else maximum
            assert counts == set(range(minimum, top + 1))
            assert contiguous
        case _:
            assert isinstance(made, Repeat)
            assert isinstance(made.item, Repeat)
            assert not contiguous


@pytest.mark.parametrize("bounds", [(-1, 2), (3, 2), (0, 2**31), (2**31, None)])
def test_impossible_bounds_are_an_error(bounds: tuple[int, int | None]) -> None:
    with pytest.raises(ValueError, match="repeat bounds"):
        nodes.repeat(A, *bounds)


def test_bounds_that_multiply_beyond_the_largest_stay_nested() -> None:
    inner = nodes.repeat(A, 0, 2**20)
    assert nodes.repeat(inner, 0, 2**20) == Repeat(inner, 0, 2**20)


def test_fused_literals_cover_both_spans() -> None:
    fused = nodes.seq([Literal(b"a", span=Span(2, 5)), Literal(b"b", span=Span(6, 9))])
    assert fused.span == Span(2, 9)


def test_fold_visits_children_left_to_right_and_any_depth() -> None:
    tree: Node = R
    for _ in range(50_000):
        tree = Repeat(tree, 0, 2)
    assert nodes.fold(tree, lambda _, below: 1 + sum(below)) == 50_001
    nested = Seq((A, Choice((B, R)), Repeat(A, 2, 3)))
    shown = nodes.fold(nested, lambda node, below: type(node).__name__[0] + "".join(below))
    assert shown == "SLCLRRL"


@given(grammars(large=False))
def test_rebuilding_keeps_the_language_and_is_idempotent(ir: GrammarIR) -> None:
    once = {name: nodes.fold(rule.body, nodes.rebuild) for name, rule in ir.rules.items()}
    rebuilt = GrammarIR({name: Rule(name, body) for name, body in once.items()}, ir.root)
    try:
        # The limit is on what is made on the way, too, and flat sequences make other pieces on the way.
        expected, found = language(ir, 3, limit=3000), language(rebuilt, 3, limit=30_000)
    except LanguageTooLargeError:
        assume(False)
    assert found == expected
    assert {name: nodes.fold(body, nodes.rebuild) for name, body in once.items()} == once
