"""Executors: serial, and worker processes that may be killed.  All are `concurrent.futures.Executor`s.

`WorkerExecutor` is what `ProcessPoolExecutor` is not: a trial that hangs is stopped at its time limit, one that kills
its process (a segmentation fault, memory) fails alone, and the next trial gets a fresh process.
Read on: `cores.py`, `dask_workers.py` (several machines), `executors.py` (all by name).
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from multiprocessing import spawn
from multiprocessing.connection import Connection, wait
from typing import Any, Final, ParamSpec, TypeVar

from experiments.cores import HeldCore, claim_core
from experiments.machine import describe_machine

__all__ = ["SerialExecutor", "TrialTimeoutError", "WorkerDiedError", "WorkerExecutor"]

P = ParamSpec("P")
T = TypeVar("T")

Job = list[tuple["Future[Any]", bytes]]
IMPORTING_S: Final = 300  # an import in a fresh process is not the trial's own time; on a busy machine it takes a while
BOOT: Final = "import sys; sys.path[:] = sys.argv[2:]; from experiments.workers import work; work(int(sys.argv[1]))"
PR_SET_PDEATHSIG: Final = 1


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
    """`max_workers` fresh processes (nothing is inherited), each with one call at a time, in order of submission.

    timeout_s: wall-clock seconds of one call; longer, and the process is killed (`TrialTimeoutError`) with all that it
    has started.
    memory_gb: address space a process may add to what it needs to start; beyond it allocations fail.
    pin: each process runs on a core of its own (`cores.py`), as far as there are free ones.

    Arguments and results are pickled; functions must be importable.  Safe to use from several threads.  The processes
    end with this one, however it ends.
    """

    def __init__(
        self,
        max_workers: int = 1,
        *,
        timeout_s: float | None = None,
        memory_gb: float | None = None,
        pin: bool = False,
    ) -> None:
        if max_workers < 1:
            raise ValueError(f"max_workers must be at least 1, got {max_workers}")
        self.max_workers = max_workers
        self.timeout_s = timeout_s
        self.restarts = 0  # processes started after another one was lost
        self._memory_gb = memory_gb
        self._pin = pin
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._processes: list[subprocess.Popen[bytes]] = []
        weakref.finalize(self, _kill_all, self._processes)
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(max_workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call."""
        (future,) = self._queue([(fn, args, kwargs)])
        return future

    def submit_together(self, fn: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[Future[T]]:
        """Queue calls that one process makes one after the other: what they measure is compared.

        calls: the arguments of each.  Limits are those of each call; one that loses its process costs itself alone.
        """
        return self._queue([(fn, args, {}) for args in calls])

    def _queue(self, calls: Sequence[tuple[Any, Any, Any]]) -> list[Future[Any]]:
        # Pickled here, so that what cannot be sent fails where it was given.
        job: Job = [(Future(), pickle.dumps(call)) for call in calls]
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor was shut down")
            self._jobs.put(job)
        return [future for future, _ in job]

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
            _kill_all(self._processes)
        for thread in self._threads:
            thread.join()

    def _drop_queued(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            for future, _ in job or ():
                if future.cancel():
                    future.set_running_or_notify_cancel()  # tells those who wait for it

    def _serve(self) -> None:
        """One thread for one process."""
        process: subprocess.Popen[bytes] | None = None
        connection: Connection | None = None
        core = claim_core() if self._pin else None
        lost = False
        for future, call in self._calls():
            if not future.set_running_or_notify_cancel():
                continue
            if process is None or connection is None:
                try:
                    process, connection = self._start(core)
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
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                _kill(process)
        if core is not None:
            core.release()

    def _calls(self) -> Iterator[tuple[Future[Any], bytes]]:
        while (job := self._jobs.get()) is not None:
            yield from job

    def _start(self, core: HeldCore | None) -> tuple[subprocess.Popen[bytes], Connection]:
        # Not a `multiprocessing.Process`: a Dask worker may have none, and of daemons none may start others.
        ours, theirs = multiprocessing.Pipe()
        command = [sys.executable, "-c", BOOT, str(theirs.fileno()), *sys.path]
        with theirs:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True
            )
        with self._lock:
            self._processes[:] = [other for other in self._processes if other.poll() is None] + [process]
        try:
            ours.send((os.getpid(), _preparation(), self._memory_gb, None if core is None else core.number))
            if not ours.poll(IMPORTING_S):
                _kill(process)
                raise WorkerDiedError(f"it did not start within {IMPORTING_S} s", IMPORTING_S)
            ours.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise WorkerDiedError(f"{_ending(process)}, while starting") from None
        return process, ours

    def _call(self, process: subprocess.Popen[bytes], connection: Connection, call: bytes) -> Any:
        started = time.perf_counter()
        if process.poll() is not None:
            raise WorkerDiedError(_ending(process))
        ended = os.pidfd_open(process.pid)
        try:
            connection.send_bytes(call)
            if not wait([connection, ended], self.timeout_s):
                _kill(process)
                raise TrialTimeoutError(time.perf_counter() - started)
            # The process may have answered and died since: the answer counts.
            if not connection.poll():
                raise EOFError
            answer = connection.recv_bytes()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise WorkerDiedError(_ending(process), time.perf_counter() - started) from None
        finally:
            os.close(ended)
        good, value = pickle.loads(answer)
        if not good:
            raise value
        return value


def _preparation() -> dict[str, Any]:
    """What a fresh process needs to find the modules of this one, as `multiprocessing` tells its own."""
    found = spawn.get_preparation_data("worker")
    del found["authkey"]  # which may not be pickled, and is not needed
    return found


def work(descriptor: int) -> None:
    """A worker process: calls in, results out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator decides what an interrupt means
    connection = Connection(descriptor)
    parent, preparation, memory_gb, core = connection.recv()
    _end_with(parent)
    spawn.prepare(preparation)
    describe_machine()  # as it is without the core that is set now
    if memory_gb is not None:
        _limit_memory(memory_gb)
    if core is not None:
        os.sched_setaffinity(0, {core})
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


def _end_with(parent: int) -> None:
    """Let the operating system kill this process when the one that started it ends, in whatever way."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker, and what its trial has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _kill_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            _kill(process)


def _ending(process: subprocess.Popen[bytes]) -> str:
    """How a process ended that has ended, or is about to; what it had started ends too."""
    code = process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if code < 0:
        try:
            return f"signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
