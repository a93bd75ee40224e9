"""Executors by name: this process, worker processes of this machine, the workers of a Dask scheduler.

A worker of Dask never runs a trial itself: each of its threads has a process for that (`workers.Worker`), with a core,
a time and a memory limit, which may die.  What is lost with a worker of Dask is what was running there; Dask gives it
to another one.  How clusters are started, with Dask's own classes: docs/concepts/sweeps.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from typing import ParamSpec, TypeAlias, TypeVar

from experiments.cores import physical_cores
from experiments.workers import SerialExecutor, Worker, WorkerExecutor, together

P = ParamSpec("P")
T = TypeVar("T")
Limits: TypeAlias = tuple[float | None, float | None]
"""Seconds and gigabytes of one call."""


def make_executor(name: str = "serial", *, timeout_s: float | None = None, memory_gb: float | None = None) -> Executor:
    """An executor by name: `serial`, `processes` or `processes:N` (here), `dask:ADDRESS` (`DaskExecutor`).

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


class DaskExecutor(Executor):
    """The workers of a running Dask scheduler, by Dask's own client.

    address: the scheduler's (`tcp://host:8786`), or the scheduler file that it writes (`.json`).
    `ModuleNotFoundError`, with the command that mends it, where Dask is missing; `OSError` where no scheduler answers.
    """

    def __init__(self, address: str, *, timeout_s: float | None = None, memory_gb: float | None = None) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            message = "dask: needs Dask. Run: pip install '.[distributed]'"
            raise ModuleNotFoundError(message, name=error.name) from None
        self._client = Client(**({"scheduler_file": address} if address.endswith(".json") else {"address": address}))
        # Dask makes calls with equal arguments once unless told that they are not pure.
        self._calls: Executor = self._client.get_executor(pure=False)
        self._limits = (timeout_s, memory_gb)

    @property
    def max_workers(self) -> int:
        """Calls that run at a time, now: workers come and go.  1 while there are none."""
        try:
            if self._client.status == "running":
                return max(1, int(sum(self._client.nthreads().values())))
        except OSError:
            pass
        raise BrokenExecutor("the Dask scheduler was lost")

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call."""
        return self._calls.submit(_one, self._limits, partial(fn, **kwargs), args)

    def submit_together(self, fn: Callable[..., T], calls: Sequence[tuple[object, ...]]) -> Future[list[T | Exception]]:
        """Queue calls that one process makes one after the other, as `WorkerExecutor` does."""
        return self._calls.submit(_together, self._limits, fn, list(calls))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the scheduler, which goes on running; what is in flight is finished first, or given up."""
        if self._client.status == "running":
            self._calls.shutdown(wait and not cancel_futures)
        self._client.close()

    def kill(self) -> None:
        """Give up what is in flight: what no worker has begun is dropped."""
        self.shutdown(wait=False)


# -- on a worker of Dask -----------------------------------------------------------------------------------------------

_here = threading.local()


def _worker(limits: Limits) -> Worker:
    """The process beside this thread."""
    if getattr(_here, "limits", None) != limits:
        _here.limits, _here.worker = limits, Worker(*limits, pin=True)
    worker: Worker = _here.worker
    return worker


def _one(limits: Limits, fn: Callable[..., T], args: tuple[object, ...]) -> T:
    return _worker(limits).call(fn, *args)


def _together(limits: Limits, fn: Callable[..., T], calls: Sequence[tuple[object, ...]]) -> list[T | Exception]:
    return together(_worker(limits), fn, calls)
