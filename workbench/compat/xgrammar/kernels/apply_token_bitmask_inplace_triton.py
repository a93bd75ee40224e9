"""`apply_token_bitmask_inplace_triton`."""

from __future__ import annotations

from . import kernel

__all__ = ["apply_token_bitmask_inplace_triton"]

apply_token_bitmask_inplace_triton = kernel("triton")
