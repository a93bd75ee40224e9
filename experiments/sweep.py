"""Run the trials of a grid that the ledger does not hold yet.

    with Ledger("experiments.sqlite") as ledger:
        frame = run_sweep(trial, grid("quick"), ledger=ledger, sweep="ablation")

Any `concurrent.futures.Executor` does the work; only this process writes.  Interrupt or kill it whenever: what was
recorded stays, and the next run goes on from there.  A trial that raises is a row with status "error"; one that raises
`NotRunError` (an engine that is not installed, a switch that does not exist) is a row "not run", and tried again next
time.  Read on: `trial.py`, `workers.py`, `executors.py`, `registry.py`.

Where several processes work at a time, trials that will be compared (`COMPARED`) are made by one of them, one right
after the other, as they are in one process: what happens on that core meanwhile hits all of them; their ratio stays.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import replace
from typing import Final

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from experiments.ledger import Ledger, LedgerError, params_hash
from experiments.trial import Params, Trial, TrialFunction, attempt, lost_trial
from experiments.workers import SerialExecutor, TrialTimeoutError, WorkerDiedError, WorkerExecutor

COMPARED: Final = "engine"
"""The parameter whose values are compared with each other, all else being equal."""
KILLED: Final = "KilledWorker"  # of Dask, which need not be installed
BETWEEN_DRAWINGS_S: Final = 0.5


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
    until: Callable[[], bool] | None = None,
) -> pd.DataFrame:
    """Run what is missing of `grid` and return its rows, in the grid's order (`Ledger.frame`).

    trial: a module-level function from parameters to metrics, JSON values by name.
    executor: default serial; started and shut down by the caller.
    retry_errors: run trials again that ended in an error.
    console: where to show progress; None shows nothing.
    until: asked before trials are begun; once it holds, no more are, and the rows are those of the trials that were.

    `ValueError` when two entries of the grid are equal.  `SweepError` when the executor breaks.
    """
    keys = [params_hash(params) for params in grid]
    if len(set(keys)) != len(keys):
        double = next(params for params, key in zip(grid, keys, strict=True) if keys.count(key) > 1)
        raise ValueError(f"the grid holds this twice: {dict(double)}")
    redo = {"not run", "error"} if retry_errors else {"not run"}
    settled = {key for key, status in ledger.statuses(sweep).items() if status not in redo}
    waiting = deque(params for params, key in zip(grid, keys, strict=True) if key not in settled)
    executor = executor or SerialExecutor()
    # A thread that draws would wait for the GIL, get it where a timed call gives it up, and its time would count there;
    # with one worker the two processes may share a core.
    alone = _is_alone(executor)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, disable=console is None, transient=True, auto_refresh=not alone
    ) as progress:
        task = progress.add_task(sweep, total=len(grid), completed=len(grid) - len(waiting))
        drawn = time.monotonic()
        for result in _results(trial, waiting, executor, until or (lambda: False)):
            _record(ledger, sweep, result)
            progress.advance(task)
            if alone and time.monotonic() - drawn > BETWEEN_DRAWINGS_S:
                progress.refresh()
                drawn = time.monotonic()
    recorded = ledger.statuses(sweep)
    return ledger.frame(sweep, [key for key in keys if key in recorded])


def groups(grid: Sequence[Params]) -> list[list[Params]]:
    """Trials that differ in `COMPARED` alone are one group; groups and trials stay in the grid's order."""
    found: dict[str, list[Params]] = {}
    for params in grid:
        shared = {name: value for name, value in params.items() if name != COMPARED}
        found.setdefault(params_hash(shared), []).append(params)
    return list(found.values())


def _results(
    trial: TrialFunction, waiting: Sequence[Params], executor: Executor, over: Callable[[], bool]
) -> Iterator[Trial]:
    """Outcomes as they come.  Few calls are in flight at a time: an interrupt should not find a long queue."""
    queue = deque([[params] for params in waiting] if _is_alone(executor) else groups(waiting))
    running: dict[Future[list[Trial | Exception]], list[Params]] = {}
    try:
        while queue or running:
            if queue and len(running) < _window(executor) and over():
                queue.clear()
                continue
            left = sum(map(len, [*running.values(), *queue]))
            try:
                while queue and len(running) < _window(executor):
                    running[_submit(executor, trial, queue[0])] = queue[0]
                    queue.popleft()
            except BrokenExecutor as reason:
                raise _broken(reason, left) from reason
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in [future for future in running if future in done]:  # in order of submission: a set has none
                group = running.pop(future)
                for params, result in zip(group, _told(future, len(group), left), strict=True):
                    yield _outcome(result, params)
                left -= len(group)
    except BaseException:
        for future in running:
            future.cancel()
        if hasattr(executor, "kill"):
            executor.kill()
        raise


def _submit(executor: Executor, trial: TrialFunction, group: Sequence[Params]) -> Future[list[Trial | Exception]]:
    if hasattr(executor, "submit_together"):
        calls = [(trial, params) for params in group]
        future: Future[list[Trial | Exception]] = executor.submit_together(attempt, calls)
        return future
    return executor.submit(_attempts, trial, group)


def _attempts(trial: TrialFunction, group: Sequence[Params]) -> list[Trial | Exception]:
    return [attempt(trial, params) for params in group]


def _told(future: Future[list[Trial | Exception]], count: int, left: int) -> list[Trial | Exception]:
    """What came of a group; of one that took several workers of Dask with it, the reason for each of its trials."""
    try:
        return future.result()
    except CancelledError as reason:
        raise _broken(BrokenExecutor("a trial was cancelled"), left) from reason
    except BrokenExecutor as reason:
        raise _broken(reason, left) from reason
    except Exception as reason:
        if type(reason).__name__ != KILLED:
            raise
        return [WorkerDiedError("it took several workers of Dask with it")] * count


def _window(executor: Executor) -> int:
    """How many groups are in flight at a time.  Of trials that run one by one, none begins before the last is recorded:
    else the first calls of each would be timed while its predecessor is written down."""
    if _is_alone(executor):
        return 1
    workers = getattr(executor, "max_workers", None) or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    return 2 * workers


def _is_alone(executor: Executor) -> bool:
    """Whether trials run one by one on this machine."""
    return isinstance(executor, SerialExecutor) or (isinstance(executor, WorkerExecutor) and executor.max_workers == 1)


def _outcome(result: Trial | Exception, params: Params) -> Trial:
    if isinstance(result, WorkerDiedError | TrialTimeoutError):
        return lost_trial(params, result, result.seconds)
    if isinstance(result, Exception):
        raise result
    return result


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
