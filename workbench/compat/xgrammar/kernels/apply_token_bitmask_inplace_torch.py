"""`apply_token_bitmask_inplace_torch`."""

from __future__ import annotations

from . import kernel

__all__ = ["apply_token_bitmask_inplace_torch"]

apply_token_bitmask_inplace_torch = kernel("torch_native")
