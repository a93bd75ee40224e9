"""Executors: serial, and worker processes that may be killed.  All are `concurrent.futures.Executor`s.

`WorkerExecutor` is what `ProcessPoolExecutor` is not: a trial that hangs is stopped at its time limit, one that kills
its process (a segmentation fault, memory) fails alone, and the next trial gets a fresh process.
Read on: `cores.py`, `executors.py` (all by name, and several machines).
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import spawn
from multiprocessing.connection import Connection, wait
from typing import Final, ParamSpec, TypeVar

from experiments.cores import claim_core
from experiments.machine import describe_machine

P = ParamSpec("P")
T = TypeVar("T")

IMPORTING_S: Final = 300  # an import in a fresh process is not the trial's own time; on a busy machine it takes a while
BOOT: Final = "import sys; sys.path[:] = sys.argv[2:]; from experiments.workers import work; work(int(sys.argv[1]))"
PR_SET_PDEATHSIG: Final = 1


class TrialTimeoutError(TimeoutError):
    """The call took longer than its limit, and its process was stopped after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"stopped after {seconds:.3g} s")

    def __reduce__(self) -> tuple[object, ...]:
        return TrialTimeoutError, (self.seconds,)


class WorkerDiedError(RuntimeError):
    """The process died, `seconds` into the call: a signal, or `os._exit`.  `ending` names which."""

    def __init__(self, ending: str, seconds: float = 0.0) -> None:
        self.ending = ending
        self.seconds = seconds
        super().__init__(f"the worker process died: {ending}")

    def __reduce__(self) -> tuple[object, ...]:
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


class Worker:
    """One fresh process (nothing is inherited), which makes one call at a time; begun again where it was lost.

    timeout_s: wall-clock seconds of one call; longer, and the process is killed (`TrialTimeoutError`) with all that it
    has started.
    memory_gb: address space the process may add to what it needs to start; beyond it allocations fail.
    pin: it runs on a core of its own (`cores.py`), where there is a free one.

    Arguments and results are pickled; functions must be importable.  The process ends with the thread that began it.
    """

    def __init__(self, timeout_s: float | None = None, memory_gb: float | None = None, *, pin: bool = False) -> None:
        self._timeout_s, self._memory_gb = timeout_s, memory_gb
        self._core = claim_core() if pin else None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._stopped = False

    def call(self, fn: Callable[..., T], *args: object) -> T:
        """What `fn` returns; what it raises, or that its process was lost."""
        call = pickle.dumps((fn, args))
        if self._process is None or self._connection is None:
            self._process, self._connection = self._start()
        try:
            good, value = pickle.loads(self._ask(self._process, self._connection, call))
        except (TrialTimeoutError, WorkerDiedError):
            self._connection.close()
            self._process = self._connection = None
            raise
        if not good:
            raise value
        answer: T = value
        return answer

    def close(self) -> None:
        """End the process, which sees the end of its input, and give the core back."""
        if self._process is not None and self._connection is not None:
            self._connection.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                _kill(self._process)
        if self._core is not None:
            self._core[1].close()

    def kill(self) -> None:
        """Stop at once, from another thread: the call in progress fails with `WorkerDiedError`, and no other begins."""
        self._stopped = True
        if (process := self._process) is not None and process.poll() is None:
            _kill(process)

    def _start(self) -> tuple[subprocess.Popen[bytes], Connection]:
        # Not a `multiprocessing.Process`: a Dask worker may have none, and of daemons none may start others.
        ours, theirs = multiprocessing.Pipe()
        command = [sys.executable, "-c", BOOT, str(theirs.fileno()), *sys.path]
        with theirs:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True
            )
        self._process = process
        if self._stopped:
            _kill(process)
        try:
            core = None if self._core is None else self._core[0]
            ours.send((os.getpid(), _preparation(), self._memory_gb, core))
            if not ours.poll(IMPORTING_S):
                _kill(process)
                raise WorkerDiedError(f"it did not start within {IMPORTING_S} s", IMPORTING_S)
            ours.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise WorkerDiedError(f"{_ending(process)}, while starting") from None
        return process, ours

    def _ask(self, process: subprocess.Popen[bytes], connection: Connection, call: bytes) -> bytes:
        started = time.perf_counter()
        if process.poll() is not None:
            raise WorkerDiedError(_ending(process))
        ended = os.pidfd_open(process.pid)
        try:
            connection.send_bytes(call)
            if not wait([connection, ended], self._timeout_s):
                _kill(process)
                raise TrialTimeoutError(time.perf_counter() - started)
            # The process may have answered and died since: the answer counts.
            if not connection.poll():
                raise EOFError
            return connection.recv_bytes()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise WorkerDiedError(_ending(process), time.perf_counter() - started) from None
        finally:
            os.close(ended)


def together(worker: Worker, fn: Callable[..., T], calls: Sequence[tuple[object, ...]]) -> list[T | Exception]:
    """What came of calls that one process makes one after the other; one that loses its process costs itself alone."""
    found: list[T | Exception] = []
    for args in calls:
        try:
            found.append(worker.call(fn, *args))
        except Exception as error:
            found.append(error)
    return found


class WorkerExecutor(ThreadPoolExecutor):
    """`max_workers` threads, each of which has calls made by a `Worker` of its own, with its limits."""

    def __init__(
        self,
        max_workers: int = 1,
        *,
        timeout_s: float | None = None,
        memory_gb: float | None = None,
        pin: bool = False,
    ) -> None:
        super().__init__(max_workers)
        self.max_workers = max_workers
        self._make = partial(Worker, timeout_s, memory_gb, pin=pin)
        self._own = threading.local()
        self._workers: list[Worker] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call."""
        return super().submit(lambda: self._worker().call(partial(fn, **kwargs), *args))

    def submit_together(self, fn: Callable[..., T], calls: Sequence[tuple[object, ...]]) -> Future[list[T | Exception]]:
        """Queue calls that one process makes one after the other: what they measure is compared.

        calls: the arguments of each.  Limits are those of each call.
        """
        return super().submit(lambda: together(self._worker(), fn, calls))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers finish what is queued (or drop it), then end them."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            for worker in self._workers:
                worker.close()

    def kill(self) -> None:
        """Stop at once: calls in progress fail with `WorkerDiedError`, queued ones are cancelled."""
        super().shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.kill()

    def _worker(self) -> Worker:
        """This thread's."""
        if not hasattr(self._own, "worker"):
            self._own.worker = self._make()
            self._workers.append(self._own.worker)
        worker: Worker = self._own.worker
        return worker


def _preparation() -> dict[str, object]:
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
            fn, args = pickle.loads(call)
            answer = pickle.dumps((True, fn(*args)))
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
