"""Executors by name: this process, worker processes of this machine, the workers of a Dask scheduler.

Read on: `workers.py`, `dask_workers.py`.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor

from experiments.cores import physical_cores
from experiments.dask_workers import DaskExecutor
from experiments.workers import SerialExecutor, WorkerExecutor

__all__ = ["make_executor"]


def make_executor(name: str = "serial", *, timeout_s: float | None = None, memory_gb: float | None = None) -> Executor:
    """An executor by name: `serial`, `processes` or `processes:N` (here), `dask:ADDRESS` (`dask_workers.DaskExecutor`).

    Of several processes each has a core of its own; `processes` alone means one for each core.
    `ValueError` for another name; what `DaskExecutor` raises.
    Time and memory limits are for worker processes: a serial executor has none, and asking is a `ValueError`.
    """
    kind, _, rest = name.partition(":")
    if kind == "processes":
        if rest and not rest.isdecimal():
            raise ValueError(f"how many processes? {name!r}; write processes:4")
        count = int(rest) if rest else len(physical_cores()) or os.cpu_count() or 1
        return WorkerExecutor(count, timeout_s=timeout_s, memory_gb=memory_gb, pin=count > 1)
    if kind == "dask" and rest:
        return DaskExecutor(rest, timeout_s=timeout_s, memory_gb=memory_gb)
    if name != "serial":
        raise ValueError(f"unknown executor {name!r}: serial, processes, processes:N or dask:ADDRESS")
    if timeout_s is not None or memory_gb is not None:
        raise ValueError("a serial executor cannot stop a trial: limits need processes:N")
    return SerialExecutor()
