"""Bitmasks as arrays: layout, and putting them on numpy and torch logits."""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    Grammar,
    GrammarMatcher,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from tests.engine.driver import compiled

torch = pytest.importorskip("torch")


def packed(allowed: list[list[bool]]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Rows of booleans as a bitmask, bit by bit."""
    rows = np.zeros(get_bitmask_shape(len(allowed), len(allowed[0])), dtype=np.uint32)
    for row, bits in enumerate(allowed):
        for token, bit in enumerate(bits):
            rows[row, token // 32] |= np.uint32(int(bit) << token % 32)
    return rows.view(np.int32)


rows_of_bits = st.integers(1, 70).flatmap(
    lambda width: st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=4)
)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_chosen_rows_and_part_of_the_vocabulary(kind: str) -> None:
    logits: Any = np.zeros((3, 40), dtype=np.float32)
    logits = torch.from_numpy(logits) if kind == "torch" else logits
    apply_token_bitmask_inplace(logits, packed([[True] * 40, [False] * 40]), vocab_size=35, indices=[1])
    seen = np.isneginf(np.asarray(logits))
    assert seen[1, :35].all()
    assert not seen[1, 35:].any()
    assert not seen[[0, 2]].any()


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_logits_past_the_mask_are_masked_out(kind: str) -> None:
    logits: Any = np.zeros(40, dtype=np.float32)
    logits = torch.from_numpy(logits) if kind == "torch" else logits
    apply_token_bitmask_inplace(logits, packed([[True] * 32])[0])
    assert np.isneginf(np.asarray(logits)).tolist() == [False] * 32 + [True] * 8


def test_what_does_not_fit_is_refused() -> None:
    mask = packed([[True] * 8])
    with pytest.raises(ValueError, match="floating"):
        apply_token_bitmask_inplace(np.zeros((1, 8), dtype=np.int64), mask)
    with pytest.raises(ValueError, match="int32"):
        apply_token_bitmask_inplace(np.zeros((1, 8)), mask.astype(np.int64))
    with pytest.raises(ValueError, match="2 rows of logits"):
        apply_token_bitmask_inplace(np.zeros((2, 8)), mask)
    with pytest.raises(ValueError, match="indices"):
        apply_token_bitmask_inplace(np.zeros((2, 8)), mask, indices=[2])
    with pytest.raises(ValueError, match=r"of logits and bitmask alike, so they must be within 0\.\.0"):
        apply_token_bitmask_inplace(np.zeros((2, 8)), mask, indices=[1])  # there is no such row of the mask
    with pytest.raises(TypeError, match="list"):
        apply_token_bitmask_inplace([0.0] * 8, mask)


def test_filling_a_tensor_writes_its_memory() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a" | "b"'), [b"a", b"c", b"b"]))
    rows = torch.full((2, 2), -1, dtype=torch.int32)
    assert matcher.fill_next_token_bitmask(rows, 1)
    assert rows.tolist() == [[-1, -1], [0b101, 0]], "the other row is untouched, surplus words are cleared"
    reset_token_bitmask(rows)
    assert (rows == -1).all()


@pytest.mark.parametrize(
    "bitmask",
    [
        np.zeros((1, 1), dtype=np.int64),
        np.zeros((1, 0), dtype=np.int32),
        np.zeros((1, 1, 1), dtype=np.int32),
        np.zeros((2, 4), dtype=np.int32)[:, ::2],
        np.zeros((1, 1), dtype=np.uint32),
        np.zeros((1, 1), dtype=np.float32),
        np.zeros((1, 1), dtype=np.dtype(np.int32).newbyteorder()),
        np.zeros((), dtype=np.int32),
        np.broadcast_to(np.zeros((1, 1), dtype=np.int32), (2, 1)),
        torch.zeros((1, 1), dtype=torch.int64),
        torch.zeros((1, 1), dtype=torch.int32, device="meta"),
        b"\0\0\0\0",
        [0],
        None,
        SimpleNamespace(device=0),
    ],
    ids=[
        *("int64", "too short", "three axes", "strided", "unsigned", "floating", "byte-swapped", "no axis"),
        *(
            "read-only array",
            "int64 tensor",
            "not in CPU memory",
            "read-only bytes",
            "a list",
            "nothing",
            "of another library",
        ),
    ],
)
def test_a_bitmask_of_another_layout_is_refused(bitmask: Any) -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a"'), [b"a"]))
    with pytest.raises(ValueError, match="bitmask"):
        matcher.fill_next_token_bitmask(bitmask)


def test_filling_writes_into_whatever_lends_its_memory() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a" | "b"'), [b"a", b"c", b"b"]))
    lent = array("i", [-1, -1])
    assert matcher.fill_next_token_bitmask(lent)
    assert lent.tolist() == [0b101, 0]
    backwards = np.full((2, 2), -1, dtype=np.int32)[::-1]
    assert matcher.fill_next_token_bitmask(backwards, 1)
    assert backwards.base is not None
    assert backwards.base.tolist() == [[0b101, 0], [-1, -1]], "the last row of the view is the array's first"


def test_a_row_that_is_not_there_is_refused() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "a"'), [b"a"]))
    for row in (-1, 2):
        with pytest.raises(ValueError, match=f"row {row}"):
            matcher.fill_next_token_bitmask(allocate_token_bitmask(2, 2), row)


TYPES = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.report(
    "tenstorrent/vllm#328, EricLBuehler/mistral.rs#2212",
    "Logits beyond the vocabulary are masked, in 16 bits as in 32.",
)
@given(
    rows_of_bits,
    st.sampled_from(TYPES),
    st.integers(1, 3),
    st.booleans(),
    st.integers(0, 40),
)
def test_every_type_and_layout_is_masked_alike(
    allowed: list[list[bool]], kind: str, step: int, transposed: bool, extra: int
) -> None:
    """Logits wider than the mask, in every type, with rows and items apart; what is allowed keeps its bits."""
    bits = np.array(allowed)
    rows, width = bits.shape
    memory = torch.randn((rows, (width + extra) * step)).to(getattr(torch, kind))
    if transposed:
        memory = memory.t().contiguous().t()
    logits = memory[:, ::step]
    before = memory.clone()
    apply_token_bitmask_inplace(logits, packed(allowed))
    may = np.zeros(logits.shape, dtype=bool)
    may[:, :width] = bits
    expected = before[:, ::step].masked_fill(~torch.from_numpy(may), -torch.inf)
    assert torch.equal(logits, expected)
    for offset in range(1, step):  # what lies between the items is not touched
        assert torch.equal(memory[:, offset::step], before[:, offset::step])


@given(
    st.integers(1, 5), st.integers(1, 5), st.lists(st.integers(0, 4), max_size=6), st.sampled_from(["numpy", "torch"])
)
def test_indices_are_rows_of_logits_and_bitmask_alike(rows: int, masks: int, chosen: list[int], kind: str) -> None:
    """In any order, each of them once or more; what XGrammar's users know."""
    chosen = [index for index in chosen if index < min(rows, masks)]
    bits = np.arange(masks * 40).reshape(masks, 40) % 7 < np.arange(1, masks + 1)[:, None]
    logits = np.zeros((rows, 40), dtype=np.float32)
    expected = logits.copy()
    for index in chosen:
        expected[index] = np.where(bits[index], 0, -np.inf)
    if kind == "numpy":
        apply_token_bitmask_inplace(logits, packed(bits.tolist()), indices=chosen)
    else:
        mask = torch.from_numpy(packed(bits.tolist()))
        apply_token_bitmask_inplace(torch.from_numpy(logits), mask, indices=torch.tensor(chosen, dtype=torch.int64))
    assert np.array_equal(logits, expected)


def test_indices_mean_the_same_where_autograd_looks_on() -> None:
    logits = torch.zeros((3, 8), requires_grad=True) * 1.0
    apply_token_bitmask_inplace(logits, packed([[True] * 8, [False] * 8]), indices=[1])
    assert logits.isneginf().all(dim=1).tolist() == [False, True, False]


def test_autograd_sees_the_mask() -> None:
    weights = torch.zeros(8, requires_grad=True)
    logits = weights * 1.0
    apply_token_bitmask_inplace(logits, packed([[True] * 4 + [False] * 4])[0])
    logits[:4].sum().backward()
    assert weights.grad.tolist() == [1.0] * 4 + [0.0] * 4


def test_logits_that_cannot_be_written_are_refused() -> None:
    frozen = np.zeros((1, 8), dtype=np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        apply_token_bitmask_inplace(frozen, packed([[True] * 8]))
    with pytest.raises(ValueError, match="16, 32 or 64 bits"):
        apply_token_bitmask_inplace(np.zeros((1, 8), dtype=np.longdouble), packed([[True] * 8]))
