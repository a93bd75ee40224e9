"""Executors: serial, worker processes that may be killed, Dask.  All are `concurrent.futures.Executor`s.

`WorkerExecutor` is what `ProcessPoolExecutor` is not: a trial that hangs is stopped at its time limit, one that kills
its process (a segmentation fault, memory) fails alone, and the next trial gets a fresh process.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, ParamSpec, TypeVar

__all__ = ["DaskExecutor", "SerialExecutor", "TrialTimeoutError", "WorkerDiedError", "WorkerExecutor", "make_executor"]

P = ParamSpec("P")
T = TypeVar("T")

Job = tuple["Future[Any]", bytes]
IMPORTING_S = 300  # an import in a fresh process is not the trial's own time; on a busy machine it takes a while


class TrialTimeoutError(TimeoutError):
    """The call took longer than its limit, and its process was stopped after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"stopped after {seconds:.3g} s")

    def __reduce__(self) -> tuple[Any, ...]:
        return TrialTimeoutError, (self.seconds,)


class WorkerDiedError(RuntimeError):
    """The process died, `seconds` into the call: a signal, or `os._exit`.  `ending` names which."""

    def __init__(self, ending: str, seconds: float = 0.0) -> None:
        self.ending = ending
        self.seconds = seconds
        super().__init__(f"the worker process died: {ending}")

    def __reduce__(self) -> tuple[Any, ...]:
        return WorkerDiedError, (self.ending, self.seconds)


class SerialExecutor(Executor):
    """Runs each call in `submit`, in this process: the easiest to debug."""

    max_workers = 1

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """A future that is done.  `KeyboardInterrupt` and its kin go through."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class WorkerExecutor(Executor):
    """`max_workers` processes ("spawn": nothing is inherited), each with one call at a time, in order of submission.

    timeout_s: wall-clock seconds of one call; longer, and the process is killed (`TrialTimeoutError`).
    memory_gb: address space a process may add to what it needs to start; beyond it allocations fail.

    Arguments and results are pickled; functions must be importable.  Safe to use from several threads.
    """

    def __init__(self, max_workers: int = 1, *, timeout_s: float | None = None, memory_gb: float | None = None) -> None:
        if max_workers < 1:
            raise ValueError(f"max_workers must be at least 1, got {max_workers}")
        self.max_workers = max_workers
        self.timeout_s = timeout_s
        self.restarts = 0  # processes started after another one was lost
        self._memory_gb = memory_gb
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._processes: list[BaseProcess] = []
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(max_workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call."""
        job = pickle.dumps((fn, args, kwargs))  # here, so that what cannot be sent fails where it was given
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor was shut down")
            self._jobs.put((future, job))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers finish what is queued (or drop it), then end them."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if cancel_futures:
                    self._drop_queued()
                for _ in self._threads:
                    self._jobs.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """Stop at once: calls in progress fail with `WorkerDiedError`, queued ones are cancelled."""
        self.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for process in self._processes:
                process.kill()
        for thread in self._threads:
            thread.join()

    def _drop_queued(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None and job[0].cancel():
                job[0].set_running_or_notify_cancel()  # tells those who wait for it

    def _serve(self) -> None:
        """One thread for one process."""
        process: BaseProcess | None = None
        connection: Connection | None = None
        lost = False
        while (job := self._jobs.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            if process is None or connection is None:
                try:
                    process, connection = self._start()
                except Exception as error:
                    future.set_exception(error)
                    continue
                self.restarts += lost
            try:
                result = self._call(process, connection, call)
            except (TrialTimeoutError, WorkerDiedError) as error:
                connection.close()
                process, connection, lost = None, None, True
                future.set_exception(error)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(result)
        if process is not None and connection is not None:
            connection.close()  # the worker sees the end of its input
            process.join(10)
            if process.is_alive():
                process.kill()

    def _start(self) -> tuple[BaseProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._memory_gb), daemon=True)
        process.start()
        theirs.close()
        if not ours.poll(IMPORTING_S):
            process.kill()
            raise WorkerDiedError(f"it did not start within {IMPORTING_S} s", IMPORTING_S)
        try:
            ours.recv()
        except EOFError:
            process.join()
            raise WorkerDiedError(f"{_ending(process)}, while starting") from None
        with self._lock:
            self._processes = [other for other in self._processes if other.is_alive()] + [process]
        return process, ours

    def _call(self, process: BaseProcess, connection: Connection, call: bytes) -> Any:
        started = time.perf_counter()
        try:
            connection.send_bytes(call)
            ready = wait([connection, process.sentinel], self.timeout_s)
            if not ready:
                process.kill()
                process.join()
                raise TrialTimeoutError(time.perf_counter() - started)
            # The process may have answered and died since: the answer counts.
            if not connection.poll():
                raise EOFError
            answer = connection.recv_bytes()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            process.join()
            raise WorkerDiedError(_ending(process), time.perf_counter() - started) from None
        good, value = pickle.loads(answer)
        if not good:
            raise value
        return value


def _work(connection: Connection, memory_gb: float | None) -> None:
    """A worker process: calls in, results out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator decides what an interrupt means
    if memory_gb is not None:
        _limit_memory(memory_gb)
    connection.send(True)
    while True:
        try:
            call = connection.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            fn, args, kwargs = pickle.loads(call)
            answer = pickle.dumps((True, fn(*args, **kwargs)))
        except Exception as error:
            try:
                answer = pickle.dumps((False, error))
                pickle.loads(answer)
            except Exception:  # an exception that cannot travel
                answer = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        try:
            connection.send_bytes(answer)
        except OSError:
            return


def _limit_memory(gigabytes: float) -> None:
    import resource

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limit = used + int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _ending(process: BaseProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        try:
            return f"signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"


class DaskExecutor(Executor):
    """The workers of a running Dask scheduler.  A worker that is lost there is Dask's to replace.

    `ModuleNotFoundError`, with the command that mends it, where Dask is missing; `OSError` where no scheduler answers.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("dask: needs Dask. Run: pip install distributed", name=error.name) from None
        self._client = Client(address)
        # Dask runs calls with equal arguments once unless told that they are not pure.
        self._inner = self._client.get_executor(pure=False)
        self.max_workers = max(1, sum(self._client.nthreads().values()))

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call."""
        future: Future[T] = self._inner.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the scheduler, which goes on running."""
        self._inner.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def make_executor(name: str = "serial", *, timeout_s: float | None = None, memory_gb: float | None = None) -> Executor:
    """An executor by name: `serial`, `processes` or `processes:N` (here), `dask:ADDRESS` (a Dask scheduler).

    `ValueError` for another name; what `DaskExecutor` raises.
    Time and memory limits are for worker processes: serial and Dask executors have none, and asking is a `ValueError`.
    """
    kind, _, rest = name.partition(":")
    if kind == "processes":
        if rest and not rest.isdecimal():
            raise ValueError(f"how many processes? {name!r}; write processes:4")
        return WorkerExecutor(int(rest) if rest else os.cpu_count() or 1, timeout_s=timeout_s, memory_gb=memory_gb)
    if timeout_s is not None or memory_gb is not None:
        raise ValueError(f"a {kind} executor cannot stop a trial: limits need processes:N")
    if name == "serial":
        return SerialExecutor()
    if kind == "dask" and rest:
        return DaskExecutor(rest)
    raise ValueError(f"unknown executor {name!r}: serial, processes, processes:N or dask:ADDRESS")
