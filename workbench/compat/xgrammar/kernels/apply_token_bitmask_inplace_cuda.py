"""`apply_token_bitmask_inplace_cuda`, which takes no `vocab_size`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import kernel

if TYPE_CHECKING:
    import torch

__all__ = ["apply_token_bitmask_inplace_cuda"]

_apply = kernel("cuda")


def apply_token_bitmask_inplace_cuda(
    logits: torch.Tensor, bitmask: torch.Tensor, indices: Sequence[int] | torch.Tensor | None = None
) -> None:
    """`apply_token_bitmask_inplace` with the backend 'cuda'."""
    _apply(logits, bitmask, None, indices)
