"""Bitmasks as torch tensors, and applying them to logits.

The layout is `kernels_core.masks.bitmask`'s.  One thing is XGrammar's own: logits past the bitmask's last word stay as
they are, with a warning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from kernels_core import apply_token_bitmask_inplace as apply_inplace
from kernels_core import get_bitmask_shape as engine_shape

from .exception import InvalidArgumentError, runtime_errors

if TYPE_CHECKING:
    import torch

    bitmask_dtype: torch.dtype

__all__ = [
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "get_bitmask_shape",
    "reset_token_bitmask",
]

Backend = Literal["auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"]
_BACKENDS = get_args(Backend)


def _torch() -> ModuleType:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ImportError(
            "this needs torch: pip install 'maskscope[generate]'. Without it use kernels_core.allocate_token_bitmask: "
            "the matchers take numpy arrays too"
        ) from error
    return torch


def __getattr__(name: str) -> Any:
    if name == "bitmask_dtype":  # torch is imported when it is asked for
        return _torch().int32
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_LAST: tuple[torch.Tensor | None, int, npt.NDArray[np.int32]] = (None, 0, np.empty(0, dtype=np.int32))
"""The tensor looked at last, where its memory was, and its memory as an array."""


def as_array(bitmask: object) -> object:
    """The memory of a torch tensor on the CPU as a numpy array; anything else as it is.

    A decoding loop asks for masks in one tensor over and over, and making the array takes longer than the mask.
    """
    global _LAST
    tensor, place, array = _LAST
    if tensor is not None and bitmask is tensor and tensor.data_ptr() == place and tensor.shape == array.shape:
        return array
    torch = sys.modules.get("torch")  # whoever passes a tensor has imported it
    if torch is None or not isinstance(bitmask, torch.Tensor) or bitmask.device.type != "cpu":
        return bitmask
    array = bitmask.numpy()
    _LAST = (bitmask, bitmask.data_ptr(), array)
    return array


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """`(batch_size, ceil(vocab_size / 32))`."""
    with runtime_errors():
        return engine_shape(batch_size, vocab_size)


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> torch.Tensor:
    """An int32 tensor in CPU memory that allows everything (all words -1)."""
    library = _torch()
    mask: torch.Tensor = library.full(get_bitmask_shape(batch_size, vocab_size), -1, dtype=library.int32)
    return mask


def reset_token_bitmask(bitmask: torch.Tensor) -> None:
    """Allow everything again, in place."""
    bitmask[...] = -1


def apply_token_bitmask_inplace(
    logits: torch.Tensor,
    bitmask: torch.Tensor,
    *,
    vocab_size: int | None = None,
    indices: Sequence[int] | torch.Tensor | None = None,
    backend: Backend = "auto",
) -> None:
    """Set the logits of forbidden tokens to -inf, in place.

    logits: floating tensor (or numpy array), shape (batch, width) or (width,).
    bitmask: int32, shape (batch, words) or (words,), on the same device.
    vocab_size: how many logits to look at; by default as many as both have, with a warning when that leaves logits out.
    indices: the rows to mask, of logits and bitmask alike.  A tensor on a device is used there: nothing is read back,
        so nothing waits for the device, and what is out of range is the device's to find.
    backend: one implementation serves all names: in CPU memory a native loop, elsewhere torch operations, which
        "torch_compile" compiles.  "cpu" takes tensors in CPU memory alone, "cuda" and "triton" tensors elsewhere alone.

    Raises `InvalidArgumentError`, which is a `ValueError` and a `RuntimeError`, on shapes, types or devices that do not
    fit.
    """
    if backend not in _BACKENDS:
        raise InvalidArgumentError(f"there is no backend {backend!r}; there are {', '.join(_BACKENDS)}")
    _check_devices(logits, bitmask, backend)
    width, covered = int(logits.shape[-1]), 32 * int(bitmask.shape[-1])
    if vocab_size is None:
        vocab_size = min(width, covered)
        if vocab_size < width:
            warnings.warn(
                f"the bitmask has bits for {covered:,} tokens and there are {width:,} logits: the rest are left "
                "unmasked. Allocate it for the model's vocabulary, or say vocab_size",
                UserWarning,
                stacklevel=2,
            )
    elif not 0 <= vocab_size <= min(width, covered):
        raise InvalidArgumentError(f"vocab_size {vocab_size:,}: {width:,} logits, bits for {covered:,} tokens")
    torch = sys.modules.get("torch")  # whoever passes a tensor has imported it
    if torch is not None and isinstance(indices, torch.Tensor) and indices.device.type != "cpu":
        _apply_on_device(logits, bitmask, vocab_size, indices)
        return
    if indices is not None:
        indices = indices.tolist() if hasattr(indices, "tolist") else [int(index) for index in indices]
    with runtime_errors():
        apply = _compiled() if backend == "torch_compile" else apply_inplace
        apply(logits, bitmask, vocab_size=vocab_size, indices=indices)


def _check_devices(logits: object, bitmask: object, backend: str) -> None:
    torch = sys.modules.get("torch")  # whoever passes a tensor has imported it
    devices = [item.device for item in (logits, bitmask) if torch is not None and isinstance(item, torch.Tensor)]
    if len({(device.type, device.index) for device in devices}) > 1:
        raise InvalidArgumentError(f"the logits are on {devices[0]} and the bitmask on {devices[1]}")
    if backend == "cpu" and any(device.type != "cpu" for device in devices):
        raise InvalidArgumentError(f"backend 'cpu' takes tensors in CPU memory, not on {devices[0]}")
    if backend in ("cuda", "triton") and not any(device.type != "cpu" for device in devices):
        raise InvalidArgumentError(f"backend {backend!r} takes tensors on a device, not in CPU memory; see 'auto'")


def _apply_on_device(logits: torch.Tensor, bitmask: torch.Tensor, vocab_size: int, indices: torch.Tensor) -> None:
    """The rows in `indices`, chosen on the device: the same operations whatever they are."""
    from workbench.generation.device_masks import apply_by_torch

    torch = _torch()
    if logits.ndim != 2 or bitmask.ndim != 2 or indices.ndim != 1:
        raise InvalidArgumentError(
            f"rows are chosen among logits and bitmask with two axes by a list, not {tuple(logits.shape)}, "
            f"{tuple(bitmask.shape)} by {tuple(indices.shape)}"
        )
    if not logits.is_floating_point() or bitmask.dtype != torch.int32:
        raise InvalidArgumentError(f"logits are floating and the bitmask is int32, not {logits.dtype}, {bitmask.dtype}")
    rows = min(logits.shape[0], bitmask.shape[0])
    slots = torch.full((rows,), -1, device=logits.device).scatter_(0, indices.long(), indices.long())
    apply_by_torch(logits[:rows, :vocab_size], bitmask, slots)


@cache
def _compiled() -> Callable[..., None]:
    """The engine's function through `torch.compile`, made once."""
    made: Callable[..., None] = _torch().compile(apply_inplace, dynamic=True)
    return made
