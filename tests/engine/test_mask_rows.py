"""Masks by number: what they list, and what they do to logits, is what the mask of bits says."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    BatchGrammarMatcher,
    CancelToken,
    DeadEndError,
    Grammar,
    GrammarMatcher,
    OperationCancelledError,
    allocate_token_bitmask,
    apply_masks_inplace,
    apply_token_bitmask_inplace,
)
from kernels_core.batch import PendingMasks, _in_threads
from kernels_core.grammar.ir import GrammarIR
from kernels_core.mask_rows import MaskRows
from tests.engine.driver import VARIANTS, compiled, mask
from tests.strategies import grammars, productive, vocabularies

MANY = [b"a", b"b", b"c", *(bytes([65 + i % 26, 97 + i // 26]) for i in range(600))]


def walked(ir: GrammarIR | Grammar, vocab: list[bytes], data: st.DataObject, **options: Any) -> list[GrammarMatcher]:
    """Matchers of one grammar at places along random texts."""
    grammar = compiled(ir, vocab, VARIANTS[data.draw(st.sampled_from(list(VARIANTS)))])
    found = []
    for _ in range(3):
        matcher = GrammarMatcher(grammar, **options)
        for _ in range(data.draw(st.integers(0, 3))):
            allowed = matcher.allowed_token_ids()
            if not allowed or not matcher.accept_token(data.draw(st.sampled_from(allowed))):
                break
        found.append(matcher)
    return found


@given(grammars().map(productive), vocabularies(), st.data())
def test_a_number_lists_the_mask(ir: GrammarIR, vocab: list[bytes], data: st.DataObject) -> None:
    """Stop tokens included, also those of a matcher's own, some of which are text."""
    stops = data.draw(st.one_of(st.none(), st.sets(st.integers(0, len(vocab)), min_size=1, max_size=3).map(sorted)))
    matchers = walked(ir, vocab, data, override_stop_tokens=stops)
    masks = BatchGrammarMatcher().read_masks(matchers)
    by_number: dict[int, set[int]] = {}
    for row, matcher in enumerate(matchers):
        if matcher.is_terminated():
            assert matcher.mask_number() is None
            assert masks.populations()[row] == -1
            continue
        if row in masks.errors:
            assert isinstance(masks.errors[row], DeadEndError)
            assert not matcher.allowed_token_ids()
            continue
        expected = mask(matcher)
        number = matcher.mask_number()
        assert by_number.setdefault(number, expected) == expected
        known = matcher.masks.mask(number)
        ids = set(range(matcher.compiled.tokenizer_info.vocab_size))
        assert (set(known.ids.tolist()) if known.lacking is None else ids - set(known.lacking.tolist())) == expected
        assert known.population == masks.populations()[row] == len(expected)
        width = len(expected) + 2
        assert sorted(expected) == masks.listed(np.array([row]), width)[0, : len(expected)].tolist()
        bits = allocate_token_bitmask(1, len(ids) + 70)
        masks.write(bits, np.array([row]))
        assert set(np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist()) == expected
    assert len(set(map(frozenset, by_number.values()))) == len(by_number)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_masks_on_logits_are_the_bits(dtype: type, threads: int) -> None:
    """Narrow and wide masks, rows without one, wider logits, rows out of order and not in one piece."""
    wide = compiled(Grammar.from_ebnf("root ::= [^b]*"), MANY)
    narrow = compiled(Grammar.from_ebnf('root ::= ("a" | "Aa" | "c") "b"'), MANY)
    size = wide.tokenizer_info.vocab_size
    matchers = [GrammarMatcher(wide if i % 3 else narrow) for i in range(11)]
    ended = GrammarMatcher(narrow)
    for token in (0, 1, size - 1):
        assert ended.accept_token(token)
    rows: list[GrammarMatcher | None] = [*matchers, None, ended]
    masks = BatchGrammarMatcher(2).read_masks(rows)
    assert masks.present().tolist() == [*range(11)] == np.flatnonzero(masks.populations() >= 0).tolist()
    assert masks.absent == 2
    order = [12, 0, 3, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    plain = np.random.default_rng(0).standard_normal((13, size + 40)).astype(dtype)
    for logits in (plain.copy(), np.asfortranarray(plain), np.repeat(plain, 2, axis=1)[:, ::2]):
        apply_masks_inplace(logits, masks, indices=order, max_threads=threads)
        for row, matcher in enumerate(rows):
            expected = plain[order[row]].copy()
            if matcher is not None and not matcher.is_terminated():
                bits = allocate_token_bitmask(1, size)
                matcher.fill_next_token_bitmask(bits)
                apply_token_bitmask_inplace(expected, bits[0])
            assert np.array_equal(logits[order[row]], expected)


def test_bad_rows_are_refused() -> None:
    grammar = compiled(Grammar.from_ebnf('root ::= "a"'), MANY)
    masks = BatchGrammarMatcher().read_masks([GrammarMatcher(grammar), None])
    logits = np.zeros((2, 700), dtype=np.float32)
    with pytest.raises(ValueError, match="row 1 has no mask"):
        masks.listed(np.array([1]), 4)
    with pytest.raises(ValueError, match="allows 1 ids"):
        masks.listed(np.array([0]), 0)
    with pytest.raises(ValueError, match="2 masks for 3 rows"):
        apply_masks_inplace(np.zeros((3, 700), dtype=np.float32), masks)
    with pytest.raises(ValueError, match="indices"):
        apply_masks_inplace(logits, masks, indices=[2, 0])
    with pytest.raises(ValueError, match="floating"):
        apply_masks_inplace(logits.astype(np.int32), masks)
    with pytest.raises(TypeError, match="numpy array"):
        apply_masks_inplace([[0.0]], masks)
    with pytest.raises(ValueError, match="cannot share rows"):
        BatchGrammarMatcher().read_masks([GrammarMatcher(grammar), GrammarMatcher(compiled(grammar.grammar, [b"a"]))])
    with pytest.raises(IndexError, match="number 99"):
        grammar.masks.mask(99)


def test_a_dead_end_is_one_rows_own() -> None:
    good = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a"'), [b"a"]))
    dead = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "b"'), [b"a"]))
    masks = BatchGrammarMatcher().read_masks([dead, good])
    assert masks.populations().tolist() == [-1, 1]
    assert isinstance(masks.errors[0], DeadEndError)
    with pytest.raises(DeadEndError):
        dead.mask_number()


def test_masks_are_computed_beside_the_caller() -> None:
    matchers = [GrammarMatcher(compiled(Grammar.from_ebnf(f'root ::= "{name}"*'), MANY)) for name in "abc"]
    pending = BatchGrammarMatcher(2).start_masks([*matchers, matchers[0].fork(), None])
    assert pending.result().populations().tolist() == [2, 2, 2, 2, -1]


@pytest.mark.parametrize("max_threads", [1, 2])
def test_a_bitmask_is_filled_over_several_vocabularies(max_threads: int) -> None:
    """Each row as its own matcher fills it; only masks that are read together have to be of one vocabulary."""

    def matchers() -> list[GrammarMatcher]:
        made = (compiled(Grammar.from_ebnf('root ::= "a" "b"*'), vocab) for vocab in ([b"a", b"b"], MANY))
        return [GrammarMatcher(grammar) for grammar in made]

    together, alone = (allocate_token_bitmask(2, len(MANY) + 1) for _ in range(2))
    assert BatchGrammarMatcher(max_threads).batch_fill_next_token_bitmask(matchers(), together) == [True, True]
    for row, matcher in enumerate(matchers()):
        matcher.fill_next_token_bitmask(alone, row)
    assert (together == alone).all()


def test_behind_an_interrupt_no_thread_writes() -> None:
    """Ctrl-C in the first of four slices: its caller may let go of the logits that the others write to."""
    begun, written = threading.Semaphore(0), list[int]()

    def work(part: slice) -> None:
        if part.start == 0:
            begun.acquire()
            raise KeyboardInterrupt
        begun.release()
        time.sleep(0.2)
        written.append(part.start)

    with pytest.raises(KeyboardInterrupt):
        _in_threads(8, 4, work)
    soon = written.copy()
    time.sleep(1)
    assert written == soon != []


def test_behind_an_interrupt_matchers_are_their_callers() -> None:
    interrupted: Future[None] = Future()
    interrupted.set_exception(KeyboardInterrupt())
    begun = threading.Event()

    def work() -> None:
        begun.set()
        time.sleep(0.2)

    with ThreadPoolExecutor(1) as pool:
        running, waiting = pool.submit(work), pool.submit(work)
        assert begun.wait(30)
        matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a"'), MANY))
        pending = PendingMasks(MaskRows([matcher]), [interrupted, running, waiting])
        with pytest.raises(KeyboardInterrupt):
            pending.result()
        assert running.done()
        assert waiting.cancelled()
        assert pending.result().populations().tolist() == [1]


def test_rows_that_failed_are_read_again() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a"'), MANY))
    matcher.cancel_token = CancelToken()
    matcher.cancel_token.cancel()
    pending = BatchGrammarMatcher(2).start_masks([matcher])
    assert isinstance(pending.result().errors[0], OperationCancelledError)
    matcher.cancel_token = None
    masks = pending.result()
    assert (masks.errors, masks.populations().tolist()) == ({}, [1])
