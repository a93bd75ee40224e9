"""Sweeps over Dask: the same rows, and nothing is lost with a worker, the scheduler or the coordinator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from experiments.executors import make_executor
from experiments.ledger import Ledger
from experiments.sweep import SweepError, run_sweep
from experiments.trial import Params
from tests.experiments import trials

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install '.[distributed]'", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers here, as different processes."""
    from distributed import LocalCluster  # which takes seconds, in the worker that runs these tests alone

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as made:
        yield made


@pytest.fixture
def address(cluster: Any) -> str:
    return f"dask:{cluster.scheduler_address}"


def test_the_same_sweep(ledger: Ledger, address: str) -> None:
    grid: list[Params] = [{"engine": engine, "x": x} for engine in "ab" for x in range(5)]
    with make_executor(address) as executor:
        assert executor.max_workers == 2  # type: ignore[attr-defined]
        frame = run_sweep(trials.square, grid, ledger=ledger, sweep="s", executor=executor)
        pids = run_sweep(trials.process_id, grid, ledger=ledger, sweep="t", executor=executor)
        assert executor.submit(pow, 2, 5).result() == 32
        with pytest.raises(ValueError, match="invalid literal"):
            executor.submit(int, "x").result()
    assert list(frame["square"]) == [0, 1, 4, 9, 16] * 2
    assert set(pids.groupby("x")["pid"].nunique()) == {1}


def test_dying_and_hanging_trials_cost_themselves_alone(ledger: Ledger, address: str) -> None:
    grid = [{"kind": kind} for kind in ("a", "die", "b", "hang", "not run")]
    with make_executor(address, timeout_s=4) as executor:
        frame = run_sweep(trials.trouble, grid, ledger=ledger, sweep="s", executor=executor)
    assert list(frame["status"]) == ["ok", "error", "ok", "error", "not run"]
    assert "SIGKILL" in frame["error"][1]
    assert frame["error"][3].startswith("TrialTimeoutError")


def test_memory_is_limited(address: str) -> None:
    with make_executor(address, memory_gb=0.5) as executor, pytest.raises(MemoryError):
        executor.submit(trials.eat, 1.0).result()


def test_a_dead_worker_loses_nothing(ledger: Ledger, address: str, tmp_path: Path) -> None:
    """The second trial kills the worker of Dask that its process belongs to."""
    grid = [{"x": x, "victim": "parent" if x == 1 else None, "done": str(tmp_path / "done")} for x in range(5)]
    with make_executor(address) as executor:
        frame = run_sweep(trials.kills, grid, ledger=ledger, sweep="s", executor=executor)
    assert (tmp_path / "done").exists()
    assert list(frame["status"]) == ["ok"] * 5


@pytest.mark.long
def test_a_lost_scheduler_loses_only_what_was_running(ledger: Ledger, tmp_path: Path) -> None:
    """Scheduler and worker as they are started by hand, with a scheduler file."""
    file = tmp_path / "scheduler.json"
    with ExitStack() as stack:
        scheduler = stack.enter_context(started("scheduler", "--port", "0", "--scheduler-file", str(file)))
        stack.enter_context(started("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny"))
        grid = [{"x": x, "victim": scheduler.pid if x == 1 else None, "done": str(tmp_path / "done")} for x in range(9)]
        with make_executor(f"dask:{file}") as executor, pytest.raises(SweepError, match="run again to go on"):
            run_sweep(trials.kills, grid, ledger=ledger, sweep="s", executor=executor)
    assert "error" not in set(ledger.statuses("s").values())
    frame = run_sweep(trials.kills, grid, ledger=ledger, sweep="s")
    assert list(frame["status"]) == ["ok"] * 9


class started:  # noqa: N801
    """`dask scheduler` or `dask worker`, killed in the end; waits for the scheduler's file."""

    def __init__(self, kind: str, *words: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1", "--no-dashboard"]
        self.process = subprocess.Popen([*command, *words], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        if kind == "scheduler":
            file, deadline = Path(words[-1]), time.monotonic() + 300
            while not (file.is_file() and file.read_text().strip().endswith("}")):
                assert time.monotonic() < deadline
                assert self.process.poll() is None
                time.sleep(0.05)

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


@pytest.mark.long
def test_a_killed_coordinator_loses_only_what_was_running(address: str, tmp_path: Path) -> None:
    path, marker = tmp_path / "ledger.sqlite", tmp_path / "done"
    code = f"""
import os
from experiments.ledger import Ledger
from experiments.sweep import run_sweep
from experiments.executors import make_executor
from tests.experiments.trials import kills

if __name__ == "__main__":
    grid = [{{"x": x, "victim": os.getpid() if x == 4 else None, "done": {str(marker)!r}}} for x in range(5)]
    with Ledger({str(path)!r}) as book, make_executor({address!r}) as workers:
        run_sweep(kills, grid, ledger=book, sweep="s", executor=workers)
"""
    script = tmp_path / "coordinate.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT, env=ENVIRONMENT, timeout=120)
    assert done.returncode == -signal.SIGKILL
    with Ledger(path) as book:
        before = book.statuses("s")
        assert before
        assert set(before.values()) == {"ok"}
        grid = [{"x": x, "victim": None, "done": str(marker)} for x in range(5)]
        with make_executor(address) as executor:
            frame = run_sweep(trials.kills, grid, ledger=book, sweep="s", executor=executor)
    assert list(frame["status"]) == ["ok"] * 5
