"""Run the trials of a grid that the ledger does not hold yet.

    with Ledger("experiments.sqlite") as ledger:
        frame = run_sweep(trial, grid("quick"), ledger=ledger, sweep="ablation")

Any `concurrent.futures.Executor` does the work; only this process writes.  Interrupt or kill it whenever: what was
recorded stays, and the next run goes on from there.  A trial that raises is a row with status "error"; one that raises
`NotRunError` (an engine that is not installed, a switch that does not exist) is a row "not run", and tried again next
time.  Read on: `trial.py`, `workers.py`, `registry.py`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import replace

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from experiments.ledger import Ledger, LedgerError, params_hash
from experiments.trial import Params, Trial, TrialFunction, attempt, lost_trial
from experiments.workers import SerialExecutor, TrialTimeoutError, WorkerDiedError, WorkerExecutor

__all__ = ["SweepError", "run_sweep"]


class SweepError(RuntimeError):
    """A sweep had to stop.  What was measured is in the ledger."""


def run_sweep(
    trial: TrialFunction,
    grid: Sequence[Params],
    *,
    ledger: Ledger,
    sweep: str,
    executor: Executor | None = None,
    retry_errors: bool = False,
    console: Console | None = None,
) -> pd.DataFrame:
    """Run what is missing of `grid` and return all its rows, in the grid's order (`Ledger.frame`).

    trial: a module-level function from parameters to metrics, JSON values by name.
    executor: default serial; started and shut down by the caller.
    retry_errors: run trials again that ended in an error.
    console: where to show progress; None shows nothing.

    `ValueError` when two entries of the grid are equal.  `SweepError` when the executor breaks.
    """
    keys = [params_hash(params) for params in grid]
    if len(set(keys)) != len(keys):
        double = next(params for params, key in zip(grid, keys, strict=True) if keys.count(key) > 1)
        raise ValueError(f"the grid holds this twice: {dict(double)}")
    redo = {"not run", "error"} if retry_errors else {"not run"}
    settled = {key for key, status in ledger.statuses(sweep).items() if status not in redo}
    waiting = deque(params for params, key in zip(grid, keys, strict=True) if key not in settled)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=console is None, transient=True) as progress:
        task = progress.add_task(sweep, total=len(grid), completed=len(grid) - len(waiting))
        for result in _results(trial, waiting, executor or SerialExecutor()):
            _record(ledger, sweep, result)
            progress.advance(task)
    return ledger.frame(sweep, keys)


def _results(trial: TrialFunction, waiting: deque[Params], executor: Executor) -> Iterator[Trial]:
    """Outcomes as they come.  Few calls are in flight at a time: an interrupt should not find a long queue."""
    workers = getattr(executor, "max_workers", None) or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    window = 1 if isinstance(executor, SerialExecutor) else 2 * workers
    running: dict[Future[Trial], Params] = {}
    try:
        while waiting or running:
            while waiting and len(running) < window:
                params = waiting.popleft()
                try:
                    running[executor.submit(attempt, trial, params)] = params
                except BrokenExecutor as reason:
                    raise _broken(reason, 1 + len(waiting) + len(running)) from reason
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in [future for future in running if future in done]:  # in order of submission: a set has none
                yield _outcome(future, running.pop(future), 1 + len(waiting) + len(running))
    except BaseException:
        for future in running:
            future.cancel()
        if isinstance(executor, WorkerExecutor):
            executor.kill()
        raise


def _outcome(future: Future[Trial], params: Params, left: int) -> Trial:
    try:
        return future.result()
    except (WorkerDiedError, TrialTimeoutError) as reason:
        return lost_trial(params, reason, reason.seconds)
    except BrokenExecutor as reason:
        raise _broken(reason, left) from reason


def _broken(reason: BrokenExecutor, left: int) -> SweepError:
    """Whose fault it was is not known, so nobody gets an error row."""
    return SweepError(f"the executor broke with {left} trials to go ({reason}); run again to go on")


def _record(ledger: Ledger, sweep: str, result: Trial) -> None:
    try:
        ledger.record(sweep, result)
    except LedgerError as reason:
        if result.metrics is None:
            raise
        ledger.record(sweep, replace(result, status="error", metrics=None, error=f"LedgerError: {reason}"))
