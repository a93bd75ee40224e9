"""The kernel that puts masks from slots on logits, in Triton; imported where Triton is installed.

A program takes `WORDS` words of one row's mask, each loaded once, and stores minus infinity at the ids whose bit is 0.
Logits are never read and allowed ones never written, so what moves is the mask and at most what is refused; a row
without a mask ends after loading its slot's number.

Triton decides when this is imported whether it compiles or, with TRITON_INTERPRET=1, interprets on a CPU.
Read on: `device_masks.py`, which has the same in torch operations.
"""

from __future__ import annotations

from typing import Final

import torch
import triton
import triton.language as tl

VERSION: Final[str] = triton.__version__
WORDS: Final = 128  # of a mask in one program: 4,096 logits


@triton.jit  # type: ignore[untyped-decorator]
def _mask_rows(logits, row_step, item_step, bits, words, slots, width, block: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    slot = tl.load(slots + row)
    if slot >= 0:
        word = tl.program_id(1) * block + tl.arange(0, block)
        # Words behind the last allow nothing: logits beyond the vocabulary become minus infinity as well.
        mask = tl.load(bits + slot.to(tl.int64) * words + word, mask=word < words, other=0)
        bit = tl.arange(0, 32)
        token = word[:, None] * 32 + bit[None, :]
        refused = ((mask[:, None] >> bit[None, :]) & 1) == 0
        places = logits + row.to(tl.int64) * row_step + token.to(tl.int64) * item_step
        tl.store(places, float("-inf"), mask=refused & (token < width))


def apply_by_triton(logits: torch.Tensor, bits: torch.Tensor, slots: torch.Tensor) -> None:
    """Row `i` of `logits` gets the mask `bits[slots[i]]`, none where that is below 0; in place.

    `logits`: floating, shape (rows, width).  `bits`: int32, shape (slots, words), contiguous.  `slots`: int32 (rows,).
    """
    rows, width = logits.shape
    grid = (rows, triton.cdiv(triton.cdiv(width, 32), WORDS))
    _mask_rows[grid](logits, logits.stride(0), logits.stride(1), bits, bits.shape[1], slots, width, block=WORDS)
