"""Trials on the workers of a Dask scheduler: several machines, a Slurm cluster, machines that are reached by SSH.

A worker of Dask never runs a trial itself: it hands it to a process of its own (`WorkerExecutor`), which has a core, a
time and a memory limit, and may die.  So what is lost with a worker of Dask is what was running there; Dask gives it to
another worker.  How clusters are started, with Dask's own classes: docs/concepts/sweeps.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures import wait as wait_for
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from experiments.trial import NotRunError
from experiments.workers import WorkerDiedError, WorkerExecutor

__all__ = ["DaskExecutor", "needed_resources", "run_together"]

P = ParamSpec("P")
T = TypeVar("T")

CLOSING_S: Final = 10

Answer = tuple[bool, Any]
"""Whether a call returned, and what it returned or raised."""


def needed_resources(call: Sequence[Any]) -> dict[str, float]:
    """What Dask calls the abstract resources of a task: one GPU for a trial whose parameter `device` is a CUDA one."""
    for argument in call:
        if isinstance(argument, Mapping) and str(argument.get("device", "")).startswith("cuda"):
            return {"GPU": 1}
    return {}


class DaskExecutor(Executor):
    """The workers of a running Dask scheduler.

    address: the scheduler's (`tcp://host:8786`), or the scheduler file that it writes (`.json`).
    timeout_s, memory_gb: of one call, as `WorkerExecutor` has them.

    A call that needs what no worker offers (`needed_resources`) fails with `NotRunError`.  A worker that is lost is
    Dask's to replace; calls that took several workers with them fail with `WorkerDiedError`.  When the scheduler is
    lost, every call in flight fails with `BrokenExecutor`.
    `ModuleNotFoundError`, with the command that mends it, where Dask is missing; `OSError` where no scheduler answers.
    """

    def __init__(self, address: str, *, timeout_s: float | None = None, memory_gb: float | None = None) -> None:
        try:
            import distributed
        except ModuleNotFoundError as error:
            message = "dask: needs Dask. Run: pip install '.[distributed]'"
            raise ModuleNotFoundError(message, name=error.name) from None
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        untyped: Any = distributed
        self._client = untyped.Client(**where)
        self._limits = (timeout_s, memory_gb)
        self._running: dict[Any, list[Future[Any]]] = {}  # by the task
        self._lock = threading.Lock()

    @property
    def max_workers(self) -> int:
        """Calls that run at a time, now: workers come and go.  1 while there are none."""
        return max(1, sum(int(worker["nthreads"]) for worker in self._workers()))

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call."""
        (future,) = self.submit_together(partial(fn, **kwargs), [args])
        return future

    def submit_together(self, fn: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[Future[T]]:
        """Queue calls that one process makes one after the other, as `WorkerExecutor` does."""
        futures: list[Future[Any]] = [Future() for _ in calls]
        needed: dict[str, float] = {}
        for call in calls:
            needed |= needed_resources(call)
        missing = [name for name in needed if not any(name in worker["resources"] for worker in self._workers())]
        if missing:
            for future in futures:
                future.set_exception(NotRunError(f"no worker of Dask offers {missing[0]}: start one with --resources"))
            return futures
        # Dask makes calls with equal arguments once unless told that they are not pure.
        task: Any = self._client.submit(
            run_together, fn, list(calls), *self._limits, pure=False, resources=needed or None
        )
        with self._lock:
            self._running[task] = futures
        task.add_done_callback(self._settle)
        return futures

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the scheduler, which goes on running; what is in flight is finished first, or given up."""
        if wait and not cancel_futures:
            with self._lock:
                futures = [future for group in self._running.values() for future in group]
            wait_for(futures)
        self._client.close(CLOSING_S)

    def kill(self) -> None:
        """Give up what is in flight: what no worker has begun is dropped."""
        with self._lock:
            tasks = list(self._running)
        self._client.cancel(tasks)
        self.shutdown(wait=False)

    def _workers(self) -> list[Any]:
        try:
            if self._client.status == "running":
                return list(self._client.scheduler_info(n_workers=-1)["workers"].values())
        except OSError:
            pass
        raise BrokenExecutor("the Dask scheduler was lost")

    def _settle(self, task: Any) -> None:
        """Hand on what came of a task; called by Dask, in a thread of its own, once for each."""
        with self._lock:
            futures = self._running.pop(task)
        if task.status == "finished":
            for future, (good, value) in zip(futures, task.result(), strict=True):
                if good:
                    future.set_result(value)
                else:
                    future.set_exception(value)
            return
        reason = _failure(task)
        for future in futures:
            future.set_exception(reason)


def _failure(task: Any) -> Exception:
    from distributed import KilledWorker

    if task.status != "error":
        return BrokenExecutor("the Dask scheduler was lost, or has dropped the trial")
    error: Exception = task.exception()
    if isinstance(error, KilledWorker):
        return WorkerDiedError("it took several workers of Dask with it")
    return error


# -- on the worker ----------------------------------------------------------------------------------------------------

_executors: dict[tuple[float | None, float | None], WorkerExecutor] = {}
_lock = threading.Lock()


def run_together(
    fn: Callable[..., Any], calls: Sequence[tuple[Any, ...]], timeout_s: float | None, memory_gb: float | None
) -> list[Answer]:
    """Make `calls` one after the other in one process beside this worker of Dask, and tell what came of each."""
    with _lock:
        limits = (timeout_s, memory_gb)
        if limits not in _executors:
            _executors[limits] = WorkerExecutor(_threads(), timeout_s=timeout_s, memory_gb=memory_gb, pin=True)
        futures = _executors[limits].submit_together(fn, calls)
    wait_for(futures)
    return [_answer(future) for future in futures]


def _answer(future: Future[Any]) -> Answer:
    error = future.exception()
    return (True, future.result()) if error is None else (False, error)


def _threads() -> int:
    """How many calls this worker of Dask makes at a time."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)
