"""The oracle is checked first: the recogniser against sets of strings, and both against cases worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

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
)
from tests.reference import LanguageTooLargeError, Recogniser, TokenTrie, TrieScan, language, naive_mask, prefixes
from tests.reference.terminals import code_points_starting
from tests.strategies import ALPHABET, World, grammars, texts, worlds

A, B, C = Literal(b"a"), Literal(b"b"), Literal(b"c")
ROOT = RuleRef("root")


def grammar(root: Node, **rules: Node) -> GrammarIR:
    return GrammarIR({name: Rule(name, body) for name, body in {"root": root, **rules}.items()}, "root")


def seq(*items: Node) -> Seq:
    return Seq(items)


def alt(*items: Node) -> Choice:
    return Choice(items)


# Each: a name, the grammar, all its texts over "abc" up to three bytes, and a prefix that must be dead.
BY_HAND: list[tuple[str, GrammarIR, str, bytes]] = [
    ("left recursion", grammar(alt(seq(ROOT, A), B)), "b ba baa", b"a"),
    ("right recursion", grammar(alt(seq(A, ROOT), B)), "b ab aab", b"ba"),
    ("middle recursion", grammar(alt(seq(A, ROOT, C), Empty())), "ε ac", b"c"),
    ("nullable cycle", grammar(alt(ROOT, A, Empty())), "ε a", b"aa"),
    ("mutual cycle", grammar(alt(RuleRef("x"), A), x=alt(ROOT, B)), "a b", b"ab"),
    (
        "hidden left recursion",
        grammar(alt(seq(RuleRef("n"), ROOT, A), B), n=alt(Empty(), C)),
        "b ba baa cba",
        b"a",
    ),
    ("hidden left recursion, no growth", grammar(alt(seq(RuleRef("n"), ROOT), B), n=alt(Empty(), C)), "b cb ccb", b"a"),
    ("ambiguous", grammar(alt(seq(ROOT, ROOT), A)), "a aa aaa", b"b"),
    ("ambiguous and nullable", grammar(alt(seq(ROOT, ROOT), A, Empty())), "ε a aa aaa", b"b"),
    ("never in a choice", grammar(alt(seq(A, Never()), B)), "b", b"a"),
    ("never alone", grammar(Never()), "", b""),
    ("unproductive rule", grammar(alt(RuleRef("x"), B), x=seq(A, RuleRef("x"))), "b", b"a"),
    ("unproductive root", grammar(seq(A, ROOT)), "", b""),
    ("unproductive iteration", grammar(Repeat(seq(A, Never()), 0, 5)), "ε", b"a"),
    ("unproductive iterations required", grammar(alt(Repeat(seq(A, Never()), 1, 5), C)), "c", b"a"),
    ("a repeat of nothing", grammar(alt(Repeat(A, 0, 0), B)), "ε b", b"a"),
    ("exact", grammar(Repeat(A, 2, 2)), "aa", b"aaa"),
    ("nullable iteration, exact", grammar(Repeat(Repeat(A, 0, 1), 2, 2)), "ε a aa", b"aaa"),
    ("empty iterations without number", grammar(Repeat(Empty(), 10**9, None)), "ε", b"a"),
    ("nullable iterations without number", grammar(Repeat(alt(A, Empty()), 2**31 - 1, None)), "ε a aa aaa", b"b"),
    ("nested counts", grammar(Repeat(Repeat(A, 2, 2), 0, 1)), "ε aa", b"aaa"),
    ("nested counts, overlapping", grammar(Repeat(Repeat(A, 2, 3), 1, 1)), "aa aaa", b"aaaa"),
    ("star of star", grammar(Repeat(Repeat(A, 0, None), 0, None)), "ε a aa aaa", b"b"),
    ("iterations of two lengths", grammar(Repeat(alt(A, Literal(b"aa")), 2, 2)), "aa aaa", b"aaaaa"),
    ("far bound", grammar(alt(Repeat(A, 10**6, 2**31 - 1), B)), "b", b"ab"),
    ("recursion in a count", grammar(alt(seq(Literal(b"a"), Repeat(ROOT, 0, 2), C), B)), "b ac abc", b"aab" + b"bb"),
    ("surrogates alone", grammar(alt(CharSet(((0xD800, 0xDFFF),)), B)), "b", b"\xed"),
]


@pytest.mark.parametrize(("ir", "texts_", "dead"), [case[1:] for case in BY_HAND], ids=[case[0] for case in BY_HAND])
def test_by_hand(ir: GrammarIR, texts_: str, dead: bytes) -> None:
    expected = {b"" if word == "ε" else word.encode() for word in texts_.split()}
    recogniser = Recogniser(ir)
    words = [bytes(word) for size in range(4) for word in itertools.product(b"abc", repeat=size)]
    assert {word for word in words if recogniser.accepts(word)} == expected
    assert {word for word in language(ir, 3) if set(word) <= set(b"abc")} == expected
    assert not recogniser.prefix_ok(dead)
    assert dead not in prefixes(ir, len(dead))
    for word in expected:
        assert all(recogniser.prefix_ok(word[:end]) for end in range(len(word) + 1))


@given(grammars(large=False))
def test_recogniser_agrees_with_sets_of_strings(ir: GrammarIR) -> None:
    """Every string over the alphabet up to a length: accepted iff in the language, viable iff a prefix of it."""
    length = 3
    try:
        words, beginnings = language(ir, length, limit=3000), prefixes(ir, length, limit=3000)
    except LanguageTooLargeError:
        reject()
    recogniser = Recogniser(ir)
    assert recogniser.prefix_ok(b"") == (b"" in beginnings)
    # All strings whose beginning is viable, and all their extensions by one byte: beyond that all is dead.
    agenda = [(b"", recogniser.start())]
    while agenda:
        text, state = agenda.pop()
        assert state.completed == (text in words), text
        assert state.alive == (text in beginnings), text
        assert state.position == len(text)
        if state.alive and len(text) < length:
            for byte in ALPHABET:
                following = recogniser.advance(state, byte)
                assert recogniser.reads(state, byte) == following.alive
                agenda.append((text + bytes((byte,)), following))


@given(worlds(), st.data())
def test_trie_scan_equals_the_naive_mask(world: World, data: st.DataObject) -> None:
    ir, vocab = world
    recogniser = Recogniser(ir)
    text = data.draw(texts(recogniser))
    scan = TrieScan(ir, TokenTrie(vocab))
    for end in range(len(text) + 1):
        state = scan.run(text[:end])
        assert {*np.flatnonzero(scan.mask(state)).tolist()} == naive_mask(ir, vocab, text[:end])
        assert state.completed == recogniser.accepts(text[:end])


def test_trie_scan_finds_equal_sets() -> None:
    """Inside a string body every byte leads to the same set; this is what makes a large vocabulary bearable."""
    ir = grammar(seq(Literal(b'"'), Repeat(CharSet(((0x23, 0x10FFFF),)), 0, None), Literal(b'"')))
    scan = TrieScan(ir, TokenTrie([]))
    assert scan.run(b'"ab') is scan.run(b'"abcdefgh')


def test_naive_mask_leaves_out_tokens_without_bytes() -> None:
    assert naive_mask(grammar(Repeat(A, 0, None)), [b"", b"a", b"ab", b"aa"], b"a") == {1, 3}


def test_every_code_point_by_its_bytes() -> None:
    """The progressive decoder against Python's own, at all boundaries, and on all two-byte beginnings."""
    edges = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF, 0x61, 0xE9, 0x4E2D, 0x1F600]
    for point in edges:
        spelling = chr(point).encode()
        assert code_points_starting(spelling) == (point, point)
        for end in range(len(spelling)):
            span = code_points_starting(spelling[:end])
            assert span is not None
            assert span[0] <= point <= span[1]
    every = [chr(point).encode()[:2] for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    viable = {text for spelling in every for text in (spelling[:1], spelling)}
    surrogate = {bytes((0xED, second)) for second in range(0xA0, 0xC0)}
    for text in [bytes((one,)) for one in range(256)] + [bytes(two) for two in itertools.product(range(256), repeat=2)]:
        if len(text) == 1 or text not in surrogate:
            assert (code_points_starting(text) is not None) == (text in viable), text


def test_raw_bytes_are_not_characters() -> None:
    raw = Recogniser(grammar(ByteSet(((0x80, 0xFF),))))
    assert raw.accepts(b"\xff")
    character = Recogniser(grammar(CharSet(((0x80, 0xFF),))))
    assert not character.prefix_ok(b"\xff")
    assert character.accepts("ÿ".encode())


def test_a_set_can_be_returned_to() -> None:
    recogniser = Recogniser(grammar(alt(seq(A, ROOT, B), C)))
    early = recogniser.run(b"aa")
    assert recogniser.advance(early, ord("c")).alive
    assert not recogniser.advance(early, ord("b")).alive
    assert recogniser.advance(recogniser.advance(recogniser.advance(early, ord("c")), ord("b")), ord("b")).completed
