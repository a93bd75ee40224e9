"""`apply_token_bitmask_inplace_cpu`."""

from __future__ import annotations

from . import kernel

__all__ = ["apply_token_bitmask_inplace_cpu"]

apply_token_bitmask_inplace_cpu = kernel("cpu")
