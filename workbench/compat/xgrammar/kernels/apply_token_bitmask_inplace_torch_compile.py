"""`apply_token_bitmask_inplace_torch_compile`."""

from __future__ import annotations

from . import kernel

__all__ = ["apply_token_bitmask_inplace_torch_compile"]

apply_token_bitmask_inplace_torch_compile = kernel("torch_compile")
