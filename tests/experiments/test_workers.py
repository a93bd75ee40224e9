"""`WorkerExecutor` as an executor: results, exceptions, cancelling, memory, shutting down."""

from __future__ import annotations

import os
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from experiments.cores import claim_core, physical_cores
from experiments.workers import SerialExecutor, TrialTimeoutError, WorkerDiedError, WorkerExecutor
from tests.experiments import trials


def test_calls_run_in_other_processes_in_order() -> None:
    with WorkerExecutor(1) as workers:
        assert list(workers.map(divmod, [7, 8, 9], [4, 4, 4])) == [(1, 3), (2, 0), (2, 1)]
        pids = {workers.submit(os.getpid).result() for _ in range(3)}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_exceptions_come_back() -> None:
    with WorkerExecutor(1) as workers:
        with pytest.raises(ValueError, match="invalid literal"):
            workers.submit(int, "x").result()
        with pytest.raises(RuntimeError, match="CannotTravel"):
            workers.submit(trials.raise_stubborn).result()
        assert workers.submit(int, "5").result() == 5


def test_what_cannot_be_sent_is_an_error() -> None:
    with WorkerExecutor(1) as workers, pytest.raises(Exception, match=r"pickle|local"):
        workers.submit(lambda: 1).result()


def test_memory_limit() -> None:
    with WorkerExecutor(1, memory_gb=0.5) as workers:
        assert workers.submit(trials.eat, 0.1).result() == 10**8
        with pytest.raises(MemoryError):
            workers.submit(trials.eat, 1.0).result()


@pytest.mark.skipif(not physical_cores(), reason="processes cannot be pinned here")
def test_pinned_processes_have_a_core_each() -> None:
    count = len(physical_cores())
    with WorkerExecutor(count, pin=True) as workers:
        meeting = [workers.submit(trials.cores_after, 1.0) for _ in range(count)]
        held = [tuple(future.result()) for future in meeting]
        assert all(len(cores) == 1 for cores in held)
        assert claim_core() is None or len(set(held)) < count  # another sweep here may hold one
    free = claim_core()
    assert free is not None
    free[1].close()


def test_what_a_stopped_trial_has_started_ends_too(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    with WorkerExecutor(1, timeout_s=5) as workers, pytest.raises(TrialTimeoutError):
        workers.submit(trials.started_child, str(path)).result()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{path.read_text()}").exists() and "Z" not in state_of(path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def state_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_a_trial_may_fork() -> None:
    with WorkerExecutor(1) as workers:
        assert workers.submit(trials.forked, -3).result() == 3


def test_killing_ends_everything_at_once() -> None:
    workers = WorkerExecutor(1)
    assert workers.submit(int, "1").result() == 1
    running, queued = workers.submit(time.sleep, 600), workers.submit(int, "2")
    while not running.running():
        time.sleep(0.01)
    workers.kill()
    assert isinstance(running.exception(30), WorkerDiedError)
    with pytest.raises(CancelledError):
        queued.result(0)
    with pytest.raises(RuntimeError, match="after shutdown"):
        workers.submit(int, "3")


def test_serial_executor_is_done_when_it_returns() -> None:
    with SerialExecutor() as serial:
        assert serial.submit(int, "3").done()
        with pytest.raises(ValueError):
            serial.submit(int, "x").result()
        with pytest.raises(KeyboardInterrupt):
            serial.submit(_interrupt)


def _interrupt() -> None:
    raise KeyboardInterrupt
