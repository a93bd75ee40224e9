"""Forced text and tokens, batches and explanations, against the plain matcher."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import BatchGrammarMatcher, Grammar, GrammarMatcher, allocate_token_bitmask
from kernels_core.grammar.ir import GrammarIR, Literal, Rule, Seq, TokenSet
from tests.engine.driver import compiled, mask
from tests.strategies import grammars, productive, vocabularies

WORDS = [b"a", b"b", b"ab", b"\xc3", b"\xa9", b"c"]


@given(grammars().map(productive), st.binary(max_size=3))
def test_forced_text_is_forced(ir: GrammarIR, prefix: bytes) -> None:
    """Every byte of it is the only one possible, the text may not end on the way, and it is as long as it can be."""
    matcher = GrammarMatcher(compiled(ir, WORDS))
    if not matcher.accept_string(prefix):
        return
    text = matcher.find_jump_forward_string().encode()
    probe = matcher.fork()
    for byte in text:
        assert not probe.is_completed()
        assert probe.possible_bytes() == ((byte, byte),)
        assert probe.accept_string(bytes([byte]))
    rest = probe.fork()
    tail = b""
    while len(tail) < 4 and not rest.is_completed():
        possible = rest.possible_bytes()
        if len(possible) != 1 or possible[0][0] != possible[0][1]:
            break
        tail += bytes([possible[0][0]])
        rest.accept_string(tail[-1:])
    # What is left over is no character: neither complete nor the beginning of more.
    if tail:
        with pytest.raises(UnicodeDecodeError):
            tail.decode()


def test_forced_text_stops_at_tokens_and_incomplete_characters() -> None:
    def forced(body: object) -> str:
        ir = GrammarIR({"root": Rule("root", body)}, "root")  # type: ignore[arg-type]
        return GrammarMatcher(compiled(ir, WORDS)).find_jump_forward_string()

    assert forced(Literal("né".encode())) == "né"
    assert forced(Seq((Literal(b"n\xc3"), TokenSet((0,))))) == "n"
    assert forced(Seq((Literal(b"ab"), TokenSet((0,)), Literal(b"c")))) == "ab"
    grammar = Grammar.from_ebnf('root ::= "n" ("é" | "è")')
    assert GrammarMatcher(compiled(grammar, WORDS)).find_jump_forward_string() == "n"


def test_forced_tokens() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "c" "a" ("a" | "b")'), [b"a", b"b", b"c"]))
    assert matcher.find_forced_tokens() == [2, 0]
    assert matcher.find_forced_tokens(1) == [2]
    assert matcher.num_steps == 0


@given(grammars().map(productive), vocabularies(), st.data())
def test_forced_tokens_are_those_of_the_masks(ir: GrammarIR, vocab: list[bytes], data: st.DataObject) -> None:
    """Each is alone in its mask, and behind the last one there is a choice, an end or nothing at all."""
    matcher = GrammarMatcher(compiled(ir, vocab))
    for _ in range(data.draw(st.integers(0, 3))):
        if allowed := matcher.allowed_token_ids():
            matcher.accept_token(data.draw(st.sampled_from(allowed)))
    forced = matcher.find_forced_tokens(6)
    probe = matcher.fork()
    for token in forced:
        assert mask(probe) == {token}
        assert probe.accept_token(token)
    assert len(forced) == 6 or probe.is_terminated() or len(mask(probe)) != 1


@given(st.lists(grammars().map(productive), min_size=1, max_size=4), vocabularies(), st.integers(1, 4))
def test_batches_equal_single_matchers(irs: list[GrammarIR], vocab: list[bytes], threads: int) -> None:
    fresh = [compiled(ir, [*vocab, b"a"]) for ir in irs]
    matchers = [GrammarMatcher(grammar) for grammar in (*fresh, *fresh)]
    expected = [mask(GrammarMatcher(compiled(ir, [*vocab, b"a"]))) for ir in (*irs, *irs)]
    if not all(expected):
        return  # a dead end: raised for a single matcher too
    size = fresh[0].tokenizer_info.vocab_size
    rows = allocate_token_bitmask(len(matchers) + 1, size)
    order = list(range(len(matchers), 0, -1))
    BatchGrammarMatcher(threads).batch_fill_next_token_bitmask(matchers, rows, order)
    for row, allowed in zip(order, expected, strict=True):
        bits = np.unpackbits(rows[row].view(np.uint8), bitorder="little")[:size]
        assert set(np.flatnonzero(bits).tolist()) == allowed
    assert (rows[0] == -1).all()


def test_counts_and_ids_of_batches_are_whole_numbers() -> None:
    grammar = compiled(Grammar.from_ebnf('root ::= "a"*'), [b"a"])
    matchers: list[GrammarMatcher] = [GrammarMatcher(grammar), GrammarMatcher(grammar)]
    ids: Any = np.array([0, 0])
    assert BatchGrammarMatcher.batch_accept_token(matchers, ids) == [True, True]
    BatchGrammarMatcher.batch_rollback(matchers, ids[0] + 1)
    half: Any = [0, 0.9]
    for batched in (BatchGrammarMatcher.batch_accept_token, BatchGrammarMatcher.batch_rollback):
        with pytest.raises(TypeError, match="float"):
            batched(matchers, half)
    assert [matcher.num_steps for matcher in matchers] == [0, 0]


def test_batch_rollback_is_all_or_nothing() -> None:
    grammar = compiled(Grammar.from_ebnf('root ::= "a"*'), [b"a"])
    matchers = [GrammarMatcher(grammar), GrammarMatcher(grammar)]
    assert BatchGrammarMatcher.batch_accept_token(matchers, [0, 1]) == [True, True]
    with pytest.raises(ValueError, match="only 1"):
        BatchGrammarMatcher.batch_rollback(matchers, [1, 2])
    assert [matcher.num_steps for matcher in matchers] == [1, 1]
    BatchGrammarMatcher.batch_rollback(matchers)
    assert [matcher.num_steps for matcher in matchers] == [0, 0]


def test_explanations_name_the_byte_and_who_waited() -> None:
    grammar = Grammar.from_ebnf('root ::= "{" key ":" [0-9]+ "}"\nkey ::= "name" | "note"')
    matcher = GrammarMatcher(compiled(grammar, [b"{na", b"nmae", b"name", b"no", b"n", b"{n"]))
    matcher.accept_string("{")
    verdict = matcher.explain(1)
    assert not verdict.accepted
    assert verdict.read == 1
    assert verdict.expected == ((0x61, 0x61), (0x6F, 0x6F))
    assert [token for token, _ in verdict.nearest] == [4, 3, 2]
    assert any("key" in item.dot for item in verdict.waiting)
    assert verdict.waiting[0].span is not None
    assert "nmae" in str(verdict)
    assert matcher.explain("name:1").accepted
    assert matcher.explain(matcher.stop_token_ids[0]).reason.startswith("a stop token")
    assert matcher.num_steps == 1


@given(grammars().map(productive), vocabularies(), st.binary(max_size=4))
def test_explanations_agree_with_the_mask(ir: GrammarIR, vocab: list[bytes], prefix: bytes) -> None:
    matcher = GrammarMatcher(compiled(ir, vocab))
    if not matcher.accept_string(prefix):
        return
    allowed = set(matcher.allowed_token_ids())
    for token, text in enumerate(vocab):
        verdict = matcher.explain(token)
        assert verdict.accepted == (token in allowed)
        if not verdict.accepted and text:
            probe = matcher.fork()
            assert probe.accept_string(text[: verdict.read])
            assert not probe.accept_string(text[verdict.read : verdict.read + 1])
            assert probe.possible_bytes() == verdict.expected
