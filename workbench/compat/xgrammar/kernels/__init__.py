"""Applying bitmasks by the names of XGrammar's kernels, for servers that import them: one module for each.

All are `xgrammar.apply_token_bitmask_inplace` with that backend; what stands behind a backend is said there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..bitmask import Backend, apply_token_bitmask_inplace

if TYPE_CHECKING:
    import torch

__all__ = ["Kernel", "kernel"]

Kernel = Callable[..., None]


def kernel(backend: Backend) -> Kernel:
    """`f(logits, bitmask, vocab_size=None, indices=None)` with this backend."""

    def apply(
        logits: torch.Tensor,
        bitmask: torch.Tensor,
        vocab_size: int | None = None,
        indices: Sequence[int] | torch.Tensor | None = None,
    ) -> None:
        apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices, backend=backend)

    apply.__doc__ = f"`apply_token_bitmask_inplace` with the backend {backend!r}."
    return apply
