"""Applying bitmasks by the names of XGrammar's kernels, for servers that import them: a module for each, made here.

All are `xgrammar.apply_token_bitmask_inplace` with that backend; what stands behind a backend is said there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Final

from ..bitmask import Backend, apply_token_bitmask_inplace

if TYPE_CHECKING:
    import torch

BACKENDS: Final[dict[str, Backend]] = {
    "apply_token_bitmask_inplace_cpu": "cpu",
    "apply_token_bitmask_inplace_cuda": "cuda",  # which takes no `vocab_size`
    "apply_token_bitmask_inplace_torch": "torch_native",
    "apply_token_bitmask_inplace_torch_compile": "torch_compile",
    "apply_token_bitmask_inplace_triton": "triton",
}


def _kernel(backend: Backend) -> Callable[..., None]:
    def apply(
        logits: torch.Tensor,
        bitmask: torch.Tensor,
        vocab_size: int | None = None,
        indices: Sequence[int] | torch.Tensor | None = None,
    ) -> None:
        apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices, backend=backend)

    return apply


def _cuda(logits: torch.Tensor, bitmask: torch.Tensor, indices: Sequence[int] | torch.Tensor | None = None) -> None:
    _kernel("cuda")(logits, bitmask, None, indices)


for _name, _backend in BACKENDS.items():
    _module = ModuleType(f"{__name__}.{_name}", f"`{_name}`.")
    _module.__spec__ = ModuleSpec(_module.__name__, None)
    setattr(_module, _name, _cuda if _backend == "cuda" else _kernel(_backend))
    sys.modules[_module.__name__] = globals()[_name] = _module
