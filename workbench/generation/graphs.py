"""Passes that are recorded once and then started by one call: CUDA graphs.

A step of a large model is about a thousand kernels.  Python needs several times as long to start them one by one as a
GPU to run them, so a pass that comes again (as many rows, as long a view of the cache) is recorded, and started whole.
Read on: `slots.py`, which records its passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch

Recorder: TypeAlias = Callable[[Callable[[], torch.Tensor]], tuple[Callable[[], object], torch.Tensor]]
"""Takes a call, and gives what starts it again, and the tensor that each start writes.

The call reads and writes the same memory whenever it is started; its first result is there after the first start.
"""


class CudaRecorder:
    """Records CUDA graphs.  They share their working memory, so one is started when the last one's result is used."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()
        # The memory goes with the last graph that uses it, and nothing can be recorded there any more: this one stays.
        self._kept = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._kept, pool=self._pool):
            torch.zeros(1, device="cuda")

    def __call__(self, call: Callable[[], torch.Tensor]) -> tuple[Callable[[], object], torch.Tensor]:
        # Once without recording: libraries choose their kernels and take their memory then.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            call()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        # Threads that compute masks may go on; what they do is none of the recording's business.
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            found = call()
        return graph.replay, found


def rows_recorded(rows: int, most: int) -> int:
    """For how many rows a pass over `rows` of `most` is recorded: 1, 2, 3, 4, 6, 8, 12, 16, 24 ... so that few are."""
    size = 1
    while size < rows:
        half = size + size // 2
        size = half if size > 1 and half >= rows else 2 * size
    return min(size, most)
