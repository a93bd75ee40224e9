"""Sweeps: only what is missing is run, nothing is lost, and where trials run makes no difference."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from experiments.executors import make_executor
from experiments.ledger import Ledger
from experiments.sweep import SweepError, groups, run_sweep
from experiments.trial import Params
from experiments.workers import SerialExecutor, WorkerExecutor
from tests.experiments import trials

ROOT = Path(__file__).resolve().parents[2]
OF_THE_MOMENT = ["seconds", "started", "load", "git"]
GRID: list[Params] = [{"x": x} for x in range(6)]


def test_rows_are_the_grid_in_its_order(ledger: Ledger) -> None:
    frame = run_sweep(trials.square, GRID[::-1], ledger=ledger, sweep="s")
    assert list(frame["x"]) == [5, 4, 3, 2, 1, 0]
    assert list(frame["square"]) == [25, 16, 9, 4, 1, 0]
    assert set(frame["status"]) == {"ok"}


def test_a_rerun_runs_only_what_is_missing(ledger: Ledger, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    grid = [{"x": x, "log": str(log)} for x in range(5)]
    run_sweep(trials.logged_square, grid[:3], ledger=ledger, sweep="s")
    frame = run_sweep(trials.logged_square, grid, ledger=ledger, sweep="s")
    assert log.read_text().split() == ["0", "1", "2", "3", "4"]
    assert list(frame["square"]) == [0, 1, 4, 9, 16]


def test_serial_and_processes_give_equal_frames(tmp_path: Path) -> None:
    def frame(name: str, executor: Executor | None) -> pd.DataFrame:
        with Ledger(tmp_path / name) as book:
            return run_sweep(trials.square, GRID, ledger=book, sweep="s", executor=executor).drop(columns=OF_THE_MOMENT)

    serial = frame("serial", None)
    with WorkerExecutor(2) as workers:
        pd.testing.assert_frame_equal(serial, frame("workers", workers))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        pd.testing.assert_frame_equal(serial, frame("pool", pool))
    with ThreadPoolExecutor(2) as threads:
        pd.testing.assert_frame_equal(serial, frame("threads", threads))


def test_errors_are_rows_and_are_tried_again_on_request(ledger: Ledger) -> None:
    grid = [{"kind": kind} for kind in ("raise", "not run", "nan", "clash", "fine")]
    frame = run_sweep(trials.trouble, grid, ledger=ledger, sweep="s").set_index("kind")
    assert frame["status"].to_dict() == {
        "raise": "error", "not run": "not run", "nan": "error", "clash": "error", "fine": "ok",
    }  # fmt: skip
    assert frame["error"]["raise"].startswith("ValueError: no good")
    assert "trials.py" in frame["error"]["raise"]  # where it happened
    assert frame["error"]["not run"] == "not installed"
    assert "both parameter and metric: kind" in frame["error"]["clash"]

    again = run_sweep(trials.process_id, grid, ledger=ledger, sweep="s").set_index("kind")
    assert list(again.index[again["pid"].notna()]) == ["not run"]
    again = run_sweep(trials.process_id, grid, ledger=ledger, sweep="s", retry_errors=True).set_index("kind")
    assert list(again.index[again["pid"].isna()]) == ["fine"]


def test_the_same_trial_twice_is_a_mistake(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="twice"):
        run_sweep(trials.square, [{"x": 1}, {"x": 2}, {"x": 1}], ledger=ledger, sweep="s")


def test_dying_and_hanging_trials_cost_themselves_alone(ledger: Ledger) -> None:
    grid = [{"kind": kind} for kind in ("a", "die", "b", "hang", "c")]
    with WorkerExecutor(1, timeout_s=4) as workers:
        frame = run_sweep(trials.trouble, grid, ledger=ledger, sweep="s", executor=workers)
    assert list(frame["status"]) == ["ok", "error", "ok", "error", "ok"]
    assert "SIGKILL" in frame["error"][1]
    assert frame["error"][3].startswith("TrialTimeoutError")
    assert frame["seconds"][3] >= 3


def test_a_broken_pool_blames_nobody(ledger: Ledger) -> None:
    grid = [{"kind": "a"}, {"kind": "die"}, {"kind": "b"}]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(SweepError, match="run again"):
        run_sweep(trials.trouble, grid, ledger=ledger, sweep="s", executor=pool)
    assert "error" not in set(ledger.statuses("s").values())


def test_trials_that_end_together_are_recorded_in_order(ledger: Ledger) -> None:
    class AllAtOnce(Executor):
        """Not a `SerialExecutor`, of which a sweep asks one trial at a time."""

        max_workers = len(GRID)

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return SerialExecutor().submit(fn, *args, **kwargs)

    run_sweep(trials.square, GRID, ledger=ledger, sweep="s", executor=AllAtOnce())
    assert list(ledger.frame("s")["x"]) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("executor", ["serial", "processes:1"])
def test_a_killed_sweep_goes_on_from_where_it_was(tmp_path: Path, executor: str) -> None:
    """The coordinator is killed without warning while its third trial runs."""
    began, until, path = tmp_path / "began", tmp_path / "until", tmp_path / "ledger.sqlite"
    code = f"""
from experiments.ledger import Ledger
from experiments.sweep import run_sweep
from experiments.executors import make_executor
from tests.experiments.trials import slow_grid, slow_trial

if __name__ == "__main__":
    grid = slow_grid({str(began)!r}, {str(until)!r})
    with Ledger({str(path)!r}) as book, make_executor({executor!r}) as workers:
        run_sweep(slow_trial, grid, ledger=book, sweep="s", executor=workers)
"""
    script = tmp_path / "coordinate.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, str(script)], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

    def recorded() -> int:
        with Ledger(path) as book:
            return len(book.frame("s"))

    try:
        deadline = time.monotonic() + 300
        # The third trial may begin before the coordinator has written down what came of the second.
        while not began.exists() or recorded() < 2:
            assert process.poll() is None, "the sweep ended by itself"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    until.touch()  # lets an orphaned worker end as well
    with Ledger(path) as book:
        assert list(book.frame("s")["x"]) == [0, 1]
        grid = trials.slow_grid(str(began), str(until))
        frame = run_sweep(trials.slow_trial, grid, ledger=book, sweep="s")
        assert list(frame["x"]) == [0, 1, 2, 3]
        assert len(set(frame["pid"][:2]) & set(frame["pid"][2:])) == 0  # the first two were not run again


def test_executors_by_name() -> None:
    with make_executor("processes:2", timeout_s=60) as workers:
        assert isinstance(workers, WorkerExecutor)
        assert workers.submit(pow, 2, 5).result() == 32
    for name in ("", "threads", "processes:many", "dask:", "serial:2"):
        with pytest.raises(ValueError):
            make_executor(name)
    with pytest.raises(ValueError, match="cannot stop"):
        make_executor("serial", timeout_s=1)


def test_trials_that_are_compared_share_a_process(ledger: Ledger) -> None:
    grid: list[Params] = [{"engine": engine, "x": x} for engine in ("a", "b", "c") for x in range(4)]
    assert [[params["engine"] for params in group] for group in groups(grid)] == [["a", "b", "c"]] * 4
    with WorkerExecutor(2) as workers:
        frame = run_sweep(trials.process_id, grid, ledger=ledger, sweep="s", executor=workers)
        assert set(frame.groupby("x")["pid"].nunique()) == {1}
    # One process takes the grid as it stands.
    order = [{"engine": engine, "x": x, "again": True} for engine in "ab" for x in range(2)]
    with WorkerExecutor(1) as worker:
        run_sweep(trials.process_id, order, ledger=ledger, sweep="t", executor=worker)
    assert list(ledger.frame("t")["x"]) == [0, 1, 0, 1]


def test_of_a_group_only_the_dying_trial_is_lost(ledger: Ledger) -> None:
    grid = [{"engine": name, "dies": "b"} for name in ("a", "b", "c")]
    with WorkerExecutor(2) as workers:
        frame = run_sweep(trials.dies_by_engine, grid, ledger=ledger, sweep="s", executor=workers)
    assert list(frame["status"]) == ["ok", "error", "ok"]


def test_nothing_else_runs_during_a_trial_of_this_process(ledger: Ledger) -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    frame = run_sweep(trials.count_threads, [{"x": x} for x in range(3)], ledger=ledger, sweep="s", console=console)
    assert set(frame["threads"]) == {threading.active_count()}


@pytest.mark.parametrize("executor", [SerialExecutor, lambda: WorkerExecutor(1)], ids=["serial", "one worker"])
def test_of_trials_one_by_one_none_begins_before_the_last_is_recorded(
    ledger: Ledger, executor: Callable[[], Executor]
) -> None:
    grid = [{"x": x, "ledger": str(ledger.path)} for x in range(4)]
    with executor() as running:
        frame = run_sweep(trials.count_recorded, grid, ledger=ledger, sweep="s", executor=running)
    assert list(frame["recorded"]) == [0, 1, 2, 3]
