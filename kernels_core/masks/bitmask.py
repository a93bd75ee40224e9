"""Bitmasks as arrays: shape, allocation, and putting a mask on logits.

Layout (that of XGrammar's public API): int32, shape (batch, ceil(vocab_size / 32)), token i is bit i % 32 of word
i // 32, least significant bit first, 1 = allowed.  numpy arrays are the native type; torch tensors are taken wherever
an array is, without this module importing torch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeGuard, Union

import numpy as np
import numpy.typing as npt

from kernels_core.masks.apply import write_minus_infinity

if TYPE_CHECKING:
    import torch

bitmask_dtype = np.int32
ALL_ALLOWED = -1

Logits: TypeAlias = Union[npt.NDArray[np.floating], "torch.Tensor"]
Bitmask: TypeAlias = Union[npt.NDArray[np.int32], "torch.Tensor"]


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """`(batch_size, ceil(vocab_size / 32))`."""
    if batch_size < 0 or vocab_size < 0:
        raise ValueError(f"batch_size and vocab_size must not be negative, got {batch_size} and {vocab_size}")
    return batch_size, (vocab_size + 31) // 32


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> npt.NDArray[np.int32]:
    """A bitmask that allows everything (all words -1).  `torch.from_numpy` shares its memory."""
    bitmask = np.empty(get_bitmask_shape(batch_size, vocab_size), dtype=bitmask_dtype)
    bitmask.fill(ALL_ALLOWED)
    return bitmask


def reset_token_bitmask(bitmask: Bitmask) -> None:
    """Allow everything again, in place."""
    bitmask[...] = ALL_ALLOWED


def apply_token_bitmask_inplace(
    logits: Logits, bitmask: Bitmask, *, vocab_size: int | None = None, indices: Sequence[int] | None = None
) -> None:
    """Set the logits of tokens that are not allowed to -inf, in place.

    `logits`: floating numpy array or torch tensor (any device), shape (batch, width) or (width,).  In CPU memory only
        what is not allowed is written, natively and without the GIL.
    `bitmask`: int32 array or tensor, shape (batch, words) or (words,); words for fewer tokens than `width` leave the
    rest of the logits masked out.  `vocab_size`: look at the first `vocab_size` logits only, leave the others alone.
    `indices`: the rows to mask, of logits and bitmask alike (as XGrammar means them), which may then differ in their
    number; without it all, and there are as many of each.
    Raises `ValueError` on shapes or types that do not fit.
    """
    if _is_torch(logits):
        _apply_torch(logits, bitmask, vocab_size, indices)
    elif isinstance(logits, np.ndarray):
        _apply_numpy(logits, bitmask, vocab_size, indices)
    else:
        raise TypeError(f"logits must be a numpy array or a torch tensor, not {type(logits).__name__}")


def _is_torch(value: object) -> TypeGuard[torch.Tensor]:
    torch = sys.modules.get("torch")  # whoever passes a tensor has imported it
    return torch is not None and isinstance(value, torch.Tensor)


def _check(logits: Logits, bitmask: Bitmask, vocab_size: int | None, indices: Sequence[int] | None) -> int:
    """The number of logits to look at; `ValueError` where shapes do not fit."""
    if logits.ndim != 2 or bitmask.ndim != 2:
        raise ValueError(f"logits and bitmask must have 1 or 2 axes, got shapes {logits.shape} and {bitmask.shape}")
    width = int(logits.shape[1])
    if vocab_size is not None and not 0 <= vocab_size <= width:
        raise ValueError(f"vocab_size {vocab_size} does not fit logits of width {width}")
    if indices is None and bitmask.shape[0] != logits.shape[0]:
        raise ValueError(f"{bitmask.shape[0]} rows of bitmask for {logits.shape[0]} rows of logits")
    return width if vocab_size is None else vocab_size


def _chosen(rows: int, indices: Sequence[int] | None) -> npt.NDArray[np.int64]:
    """The rows to mask, of which there are `rows`; `ValueError` for one that is not there."""
    if indices is None:
        return np.arange(rows)
    given = indices.tolist() if hasattr(indices, "tolist") else indices  # a tensor is read in one go
    chosen = np.array([int(index) for index in given], dtype=np.int64)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < rows):
        raise ValueError(
            f"indices are rows of logits and bitmask alike, so they must be within 0..{rows - 1}, got {chosen.tolist()}"
        )
    return chosen


def _apply_numpy(
    logits: npt.NDArray[np.floating], bitmask: Bitmask, vocab_size: int | None, indices: Sequence[int] | None
) -> None:
    rows = logits[None] if logits.ndim == 1 else logits
    layout = logits_layout(rows)
    words = np.asarray(bitmask)
    if words.dtype != np.int32:
        raise ValueError(f"bitmask must be int32, not {words.dtype}")
    words = words[None] if words.ndim == 1 else words
    width = _check(rows, words, vocab_size, indices)
    _write(layout, width, words, _chosen(min(len(rows), len(words)), indices))


def _apply_torch(logits: torch.Tensor, bitmask: Bitmask, vocab_size: int | None, indices: Sequence[int] | None) -> None:
    import torch

    if not logits.is_floating_point():
        raise ValueError(f"logits must be floating, not {logits.dtype}")
    words = torch.as_tensor(bitmask)
    if words.dtype != torch.int32:
        raise ValueError(f"bitmask must be int32, not {words.dtype}")
    rows = logits.unsqueeze(0) if logits.ndim == 1 else logits
    words = words.unsqueeze(0) if words.ndim == 1 else words
    width = _check(rows, words, vocab_size, indices)
    # Autograd and compiled graphs have to see an operation; other devices have no memory of ours.
    native = logits.device.type == words.device.type == "cpu" and not logits.requires_grad
    if native and str(logits.dtype) in _TORCH_KINDS and not torch.compiler.is_compiling():
        _write(logits_layout(rows), width, words.numpy(), _chosen(min(rows.shape[0], words.shape[0]), indices))
        return
    words = words.to(logits.device, non_blocking=True)
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    allowed = ((words.unsqueeze(-1) >> shifts) & 1).bool().flatten(1)[:, :width]
    if allowed.shape[1] < width:
        allowed = torch.nn.functional.pad(allowed, (0, width - allowed.shape[1]))
    if indices is None:
        rows[:, :width].masked_fill_(~allowed, float("-inf"))
        return
    for row in _chosen(min(rows.shape[0], words.shape[0]), indices).tolist():  # views: no row is gathered
        rows[row, :width].masked_fill_(~allowed[row], float("-inf"))


_PATTERNS: Final = {"<f2": 0xFC00, "bfloat16": 0xFF80, "<f4": 0xFF80_0000, "<f8": 0xFFF0_0000_0000_0000}
"""The bits of minus infinity in each type that the native path writes."""
_BYTES: Final = {"<f2": 2, "bfloat16": 2, "<f4": 4, "<f8": 8}
_TORCH_KINDS: Final = {
    "torch.float16": "<f2",
    "torch.bfloat16": "bfloat16",
    "torch.float32": "<f4",
    "torch.float64": "<f8",
}


class Layout(NamedTuple):
    """Where rows of logits lie in CPU memory: steps of rows in bytes, of items in items; `pattern`: minus infinity."""

    address: int
    rows: int
    row_step: int
    item_step: int
    item_bytes: int
    pattern: int
    width: int


@cache
def _kind_of(dtype: torch.dtype) -> str | None:
    """A torch type's name among the native ones; to ask a type for its name takes longer than all the rest."""
    return _TORCH_KINDS.get(str(dtype))


def logits_layout(logits: Logits) -> Layout:
    """The layout of a floating numpy array or torch tensor in CPU memory, shape (rows, width); else `ValueError`."""
    if _is_torch(logits):
        kind = _kind_of(logits.dtype)
        if logits.device.type != "cpu" or logits.requires_grad:
            raise ValueError("logits must be in CPU memory and without a gradient")
        step, item_step = logits.stride() if logits.ndim == 2 else (0, 1)
        row_step, address = step * logits.element_size(), logits.data_ptr()
    elif isinstance(logits, np.ndarray):
        kind = logits.dtype.str
        if not logits.flags.writeable or any(step % logits.itemsize for step in logits.strides):
            raise ValueError("logits must be writable, and not lie across items of their own type")
        address = logits.__array_interface__["data"][0]
        row_step, item_step = (logits.strides[0], logits.strides[1] // logits.itemsize) if logits.ndim == 2 else (0, 1)
    else:
        raise TypeError(f"logits must be a numpy array or a torch tensor, not {type(logits).__name__}")
    if kind not in _PATTERNS:
        raise ValueError(f"logits must be floating (16, 32 or 64 bits), not {logits.dtype}")
    if logits.ndim != 2:
        raise ValueError(f"logits must have shape (rows, width), got {tuple(logits.shape)}")
    rows, width = logits.shape
    return Layout(address, rows, row_step, item_step, _BYTES[kind], _PATTERNS[kind], width)


def _write(layout: Layout, width: int, words: npt.NDArray[np.int32], chosen: npt.NDArray[np.int64]) -> None:
    """The first `width` logits of the `chosen` rows, masked natively."""
    if words.shape[1] and words.strides[1] != words.itemsize:
        words = np.ascontiguousarray(words)
    mask = words.__array_interface__["data"][0]
    steps = words.strides[0], words.shape[1]
    place = layout.address, layout.row_step, layout.item_step, layout.item_bytes, layout.pattern
    write_minus_infinity(*place, width, mask, *steps, chosen)
