"""Random masks on random logits by a kernel of `DeviceMasks`, compared with the engine's own path on a CPU.

`python -m tests.generation.mask_kernels triton cpu` does so in a process of its own: Triton reads TRITON_INTERPRET when
it is imported.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from kernels_core import apply_token_bitmask_inplace
from workbench.generation.device_masks import DeviceMasks

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
# ids of the vocabulary, logits of a row
SIZES = ((1, 1), (31, 31), (32, 32), (33, 40), (1000, 1000), (1000, 1017), (1000, 1024), (1000, 1500), (5000, 4100))
ROWS = 7


def compare(kernel: str, device: str) -> int:
    """How many cases were compared; `AssertionError` where one differs."""
    random = np.random.default_rng(0)
    count = 0
    for vocab_size, width in SIZES:
        there = DeviceMasks(vocab_size, device, kernel=kernel)  # type: ignore[arg-type]
        assert there.kernel == kernel, there
        words = (vocab_size + 31) // 32
        bits = random.integers(-(2**31), 2**31, (ROWS, words), dtype=np.int64).astype(np.int32)
        bits[0], bits[1] = -1, 0
        bits[2, random.random(words) < 0.9] = -1
        bits[3, random.random(words) < 0.9] = 0
        if vocab_size % 32:
            bits[:, -1] &= (1 << vocab_size % 32) - 1
        there._bits[:ROWS] = torch.from_numpy(bits).to(device)
        for dtype in TYPES:
            for layout in ("plain", "part of wider rows", "every second"):
                rows = random.integers(-1, ROWS, size=9).astype(np.int32)  # masks are shared, and some rows have none
                logits = torch.from_numpy(random.normal(size=(len(rows), width))).to(dtype)
                expected = logits.clone()
                for row, slot in enumerate(rows):
                    if slot >= 0:
                        apply_token_bitmask_inplace(expected[row], bits[slot])
                wide = torch.zeros(len(rows), 2 * width + 3, dtype=dtype, device=device)
                views = {"part of wider rows": wide[:, 3 : 3 + width], "every second": wide[:, 1 : 1 + 2 * width : 2]}
                found = views.get(layout, torch.empty(len(rows), width, dtype=dtype, device=device))
                found.copy_(logits)
                there.apply(found, torch.from_numpy(rows).to(device))
                assert torch.equal(found.cpu(), expected), (vocab_size, width, dtype, layout)
                if layout != "plain":  # nothing beside the view was written
                    outside = float(wide.double().isneginf().sum()) - float(found.double().isneginf().sum())
                    assert outside == 0, (vocab_size, width, dtype, layout)
                count += 1
    return count


if __name__ == "__main__":
    print(compare(sys.argv[1], sys.argv[2]), "cases are equal")
