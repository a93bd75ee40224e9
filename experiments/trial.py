"""One trial: what went in, what came out.  Light to import, because every worker process does.

A trial function takes parameters and returns metrics, both JSON values by name.  Read on: `sweep.py`, `ledger.py`.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from experiments.machine import Machine, commit_name, describe_machine, system_load
from workbench.peers.errors import NotRunError

__all__ = ["Metrics", "NotRunError", "Params", "Status", "Trial", "TrialFunction", "attempt", "lost_trial"]

Params: TypeAlias = Mapping[str, Any]
"""Parameters of one trial: JSON values by name."""
Metrics: TypeAlias = Mapping[str, object]
"""What a trial measured: JSON values by name."""
TrialFunction: TypeAlias = Callable[[Params], Metrics]
Status = Literal["ok", "error", "not run"]

TRACE_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Trial:
    """One finished trial.  `metrics` is None unless `status` is "ok"; `error` says why it is not.

    `started`: ISO 8601, UTC.  `seconds`: wall clock.  `load`: the machine's load average when it ended.  `git`: the
    commit.  `machine`: the one that ran it.
    """

    params: Params
    status: Status
    metrics: Metrics | None
    error: str | None
    started: str
    seconds: float
    load: float
    git: str | None
    machine: Machine


def attempt(trial: TrialFunction, params: Params) -> Trial:
    """Run one trial and describe what came of it; raises nothing but what is no `Exception`."""
    status: Status = "ok"
    metrics: Metrics | None = None
    error: str | None = None
    started = datetime.now(UTC)
    clock = time.perf_counter()
    try:
        metrics = dict(trial(params))
    except NotRunError as reason:
        status, error = "not run", str(reason)
    except Exception as reason:
        trace = "".join(traceback.format_exception(reason))
        status, error = "error", f"{type(reason).__name__}: {reason}\n\n{trace[-TRACE_CHARACTERS:]}"
    return _finished(params, status, metrics, error, started, time.perf_counter() - clock)


def lost_trial(params: Params, reason: Exception, seconds: float) -> Trial:
    """A trial whose process was lost after `seconds`."""
    started = datetime.now(UTC) - timedelta(seconds=seconds)
    return _finished(params, "error", None, f"{type(reason).__name__}: {reason}", started, seconds)


def _finished(
    params: Params,
    status: Status,
    metrics: Metrics | None,
    error: str | None,
    started: datetime,
    seconds: float,
) -> Trial:
    when = started.isoformat(timespec="seconds")
    machine = describe_machine()
    return Trial(params, status, metrics, error, when, round(seconds, 6), system_load(), commit_name(), machine)
