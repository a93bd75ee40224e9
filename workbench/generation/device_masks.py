"""Masks that stay on a model's device: a step sends one number a row, and a row of bits only when it is met first.

    masks_there = DeviceMasks(info.vocab_size, "cuda")
    slots = masks_there.slots(BatchGrammarMatcher().read_masks(matchers))    # int32 (rows,), on the device
    masks_there.apply(logits, slots)                                         # minus infinity where it is needed

Masks are interned, so what a batch needs at a step has mostly been there before: of 131,072 ids a mask is 16 KB, its
slot's number 4 bytes.  Slots are found by `MaskRows.keys`, which no other mask of the process ever had, so neither a
grammar that was forgotten nor one whose parser states were renewed can leave a wrong mask behind.  When all slots are
taken the mask that was used longest ago gives its own away.

The kernel is Triton's (`triton_masks.py`) or the same in torch operations, by what is installed; `kernel` says which,
and `reason` why.  Read on: `engine.py`, which drives it; `kernels_core/mask_rows.pyx`, where masks come from.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import torch

from kernels_core.mask_rows import MaskRows

DEFAULT_BYTES: Final = 64 << 20
"""Device memory for masks: 4,096 of them over 131,072 ids."""
WORKING_BYTES: Final = 64 << 20  # what `apply_by_torch` may take at once
NUMBER_BYTES: Final = 4  # of a slot's number
INDEX_BYTES: Final = 8  # of the place to which a new mask goes

Kernel = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]
"""`kernel(logits, bits, slots)`: row `i` of `logits` gets the mask `bits[slots[i]]`, none where that is below 0."""


@dataclass(frozen=True, slots=True)
class MaskTraffic:
    """What went to the device so far, and what lies there.

    steps, rows: calls of `slots`, and rows in all of them.  number_bytes: sent for slots' numbers.  fills: masks that
    were sent because they were not there; mask_bytes: what these took, their places included.  last_bytes: the last
    step's, of both kinds.  evictions: masks that gave their slot away.  held, capacity: slots in use, and in all.
    nbytes: device memory.
    """

    steps: int = 0
    rows: int = 0
    number_bytes: int = 0
    fills: int = 0
    mask_bytes: int = 0
    last_bytes: int = 0
    evictions: int = 0
    held: int = 0
    capacity: int = 0
    nbytes: int = 0


class DeviceMasks:
    """Interned masks over `vocab_size` ids in the memory of `device`.  For one thread.

    Parameters
    ----------
    vocab_size
        Ids of the vocabulary; a mask takes `4 * ceil(vocab_size / 32)` bytes.
    device
        Where the logits are; "cpu" works and moves nothing, for tests.
    max_bytes
        Device memory for masks, taken at once; at least one mask.
    kernel
        "triton", "torch", or "auto": Triton on a GPU where it is installed.

    Raises
    ------
    ValueError
        A size is not positive, or Triton is asked for on a CPU without its interpreter (`TRITON_INTERPRET=1`).
    ModuleNotFoundError
        Triton is asked for and not installed.
    """

    def __init__(
        self,
        vocab_size: int,
        device: torch.device | str,
        *,
        max_bytes: int = DEFAULT_BYTES,
        kernel: Literal["auto", "triton", "torch"] = "auto",
    ) -> None:
        if vocab_size < 1:
            raise ValueError(f"vocab_size must be at least 1, not {vocab_size}")
        self.vocab_size = vocab_size
        self.device = torch.device(device)
        self.words = (vocab_size + 31) // 32
        self.capacity = max_bytes // (4 * self.words)
        if self.capacity < 1:
            raise ValueError(f"max_bytes must have room for a mask of {4 * self.words:,} bytes, not be {max_bytes:,}")
        self.kernel, self.reason, self._apply = _find_kernel(kernel, self.device)
        self._bits = torch.zeros(self.capacity, self.words, dtype=torch.int32, device=self.device)
        self._slots: dict[int, int] = {}  # by key of the mask
        self._keys: list[int] = []  # by slot
        self._used = np.zeros(self.capacity, dtype=np.int64)  # by slot: the step that used it last
        self._steps = self._rows = self._fills = self._evictions = self._last = 0

    def slots(self, masks: MaskRows, rows: Sequence[int] | npt.NDArray[np.int64] | None = None) -> torch.Tensor:
        """Where the masks of `rows` (None: all) lie: int32 (rows,) on the device, -1 for a row without a mask.

        Masks that are not there are sent.  On a GPU nothing is waited for.  The slots hold until the next call.
        `ValueError`, and nothing has changed, where `masks` are over another vocabulary or are more than there is room
        for.
        """
        if masks.vocab_size not in (-1, self.vocab_size):
            raise ValueError(f"masks over {masks.vocab_size:,} ids, where {self.vocab_size:,} are kept")
        chosen = np.arange(len(masks)) if rows is None else np.asarray(rows, dtype=np.int64)
        keys: list[int] = masks.keys()[chosen].tolist()
        found = [-1 if key < 0 else self._slots.get(key, -2) for key in keys]
        step = self._steps + 1
        fills = 0
        if -2 in found:
            fills = self._fill(masks, chosen, keys, found)
        slots = np.array(found, dtype=np.int32)
        self._used[slots[slots >= 0]] = step
        sent = send(slots, self.device)
        self._steps, self._rows, self._fills = step, self._rows + len(found), self._fills + fills
        self._last = NUMBER_BYTES * len(found) + fills * self._fill_bytes
        return sent

    def apply(self, logits: torch.Tensor, slots: torch.Tensor) -> None:
        """Minus infinity where the mask of row `i`, in slot `slots[i]`, does not allow an id; in place, nothing else.

        `logits`: floating, shape (rows, width), on the device.  Rows with slot -1 are left alone; in all others logits
        beyond the vocabulary become minus infinity.  `ValueError` for shapes, types and devices that do not fit.
        """
        if logits.ndim != 2 or not logits.is_floating_point():
            raise ValueError(f"logits must be floating and have 2 axes, not {logits.dtype} and {tuple(logits.shape)}")
        if slots.dtype != torch.int32 or slots.shape != logits.shape[:1]:
            raise ValueError(f"{tuple(slots.shape)} slots, {slots.dtype}, for {logits.shape[0]} rows: int32 (rows,)")
        if logits.device != self._bits.device or slots.device != self._bits.device:
            raise ValueError(f"logits on {logits.device} and slots on {slots.device}; masks are on {self._bits.device}")
        if logits.numel():
            self._apply(logits, self._bits, slots)

    def warm_up(self, *types: torch.dtype) -> None:
        """Have the kernel compiled for logits of these types, so that no step waits for that: Triton takes 2 s."""
        for dtype in types:
            logits = torch.zeros(1, self.vocab_size, dtype=dtype, device=self.device)
            self.apply(logits, torch.full((1,), -1, dtype=torch.int32, device=self.device))

    def stats(self) -> MaskTraffic:
        """What was sent so far, and what is held."""
        return MaskTraffic(
            steps=self._steps,
            rows=self._rows,
            number_bytes=NUMBER_BYTES * self._rows,
            fills=self._fills,
            mask_bytes=self._fills * self._fill_bytes,
            last_bytes=self._last,
            evictions=self._evictions,
            held=len(self._keys),
            capacity=self.capacity,
            nbytes=self._bits.nbytes,
        )

    # -- within -----------------------------------------------------------------------------------------------------

    @property
    def _fill_bytes(self) -> int:
        return 4 * self.words + INDEX_BYTES

    def _fill(self, masks: MaskRows, rows: npt.NDArray[np.int64], keys: list[int], found: list[int]) -> int:
        """Send the masks that `found` has not (-2), and write their slots there; returns how many were sent."""
        new: dict[int, int] = {}  # key -> the first of the rows with it
        for place, slot in enumerate(found):
            if slot == -2:
                new.setdefault(keys[place], place)
        kept = {slot for slot in found if slot >= 0}
        if len(kept) + len(new) > self.capacity:
            raise ValueError(
                f"{len(kept) + len(new):,} different masks in one step, and room for {self.capacity:,}: raise max_bytes"
            )
        fresh = list(range(len(self._keys), min(self.capacity, len(self._keys) + len(new))))
        free = np.array(fresh + self._longest_unused(len(new) - len(fresh), [*kept, *fresh]), dtype=np.int64)
        bits = torch.empty(len(new), self.words, dtype=torch.int32, pin_memory=self.device.type == "cuda")
        masks.write(bits.numpy(), rows[list(new.values())])
        places = send(free, self.device)
        self._bits.index_copy_(0, places, bits.to(self.device, non_blocking=True))
        for key, slot in zip(new, free.tolist(), strict=True):
            if slot < len(self._keys):
                del self._slots[self._keys[slot]]
                self._keys[slot] = key
                self._evictions += 1
            else:
                self._keys.append(key)
            self._slots[key] = slot
        for place, slot in enumerate(found):
            if slot == -2:
                found[place] = self._slots[keys[place]]
        return len(new)

    def _longest_unused(self, count: int, kept: list[int]) -> list[int]:
        """The `count` slots that were used longest ago, none of `kept` among them."""
        if not count:
            return []
        used = self._used.copy()
        used[kept] = np.iinfo(np.int64).max
        found: list[int] = np.argpartition(used, count - 1)[:count].tolist()
        return found

    def __repr__(self) -> str:
        return f"<DeviceMasks of {len(self._keys):,} of {self.capacity:,} slots on {self.device}, by {self.reason}>"


def send(array: npt.NDArray[np.generic], device: torch.device) -> torch.Tensor:
    """An array on `device`; the copy to a GPU is not waited for."""
    tensor = torch.from_numpy(array)
    if device.type == "cpu":
        return tensor
    # Pinned memory is not given to anybody else before the copy is done.
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


def apply_by_torch(logits: torch.Tensor, bits: torch.Tensor, slots: torch.Tensor) -> None:
    """The kernel in torch operations: a few rows at a time, so that bits do not become gigabytes of words."""
    words, width = bits.shape[1], logits.shape[1]
    known = min(width, 32 * words)
    shifts = torch.arange(32, dtype=torch.int32, device=bits.device)
    step = max(1, WORKING_BYTES // (128 * words))
    for at in range(0, len(logits), step):
        rows, chosen = logits[at : at + step], slots[at : at + step]
        masked = (chosen >= 0).unsqueeze(-1)
        there = bits.index_select(0, chosen.clamp(min=0))
        allowed = ((there.unsqueeze(-1) >> shifts) & 1).bool().flatten(1)[:, :known]
        rows[:, :known].masked_fill_(masked & ~allowed, -torch.inf)
        if known < width:
            rows[:, known:].masked_fill_(masked, -torch.inf)


def apply_rows(logits: torch.Tensor, bits: torch.Tensor) -> None:
    """Minus infinity where row `i` of `bits` (int32, contiguous) forbids an id of row `i` of `logits`; in place, by the
    kernel for their device.  Logits beyond the words become minus infinity."""
    _kernel_of(logits.device.type)(logits, bits, torch.arange(len(bits), dtype=torch.int32, device=bits.device))


@cache
def _kernel_of(device_type: str) -> Kernel:
    return _find_kernel("auto", torch.device(device_type))[2]


def _find_kernel(asked: str, device: torch.device) -> tuple[Literal["triton", "torch"], str, Kernel]:
    """The kernel's name, what it is in words, and itself."""
    if asked not in ("auto", "triton", "torch"):
        raise ValueError(f'kernel must be "auto", "triton" or "torch", not {asked!r}')
    if asked == "torch":
        return "torch", "torch operations, as asked", apply_by_torch
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if asked == "auto" and device.type != "cuda":
        return "torch", f"torch operations, since {device.type} is no GPU that Triton compiles for", apply_by_torch
    if asked == "triton" and device.type != "cuda" and not interpreted:
        raise ValueError(f"Triton compiles nothing for {device.type}; TRITON_INTERPRET=1 interprets its kernels there")
    if importlib.util.find_spec("triton") is None:
        if asked == "triton":
            raise ModuleNotFoundError("triton is not installed: pip install 'maskscope[gpu]'", name="triton")
        return "torch", "torch operations, since triton is not installed", apply_by_torch
    module = importlib.import_module("workbench.generation.triton_masks")
    name = f"Triton {module.VERSION}" + (", interpreted" if interpreted else "")
    apply: Kernel = module.apply_by_triton
    return "triton", name, apply
