"""Trials for the tests of sweeps; worker processes import this module."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from experiments.trial import NotRunError, Params


def square(params: Params) -> dict[str, Any]:
    return {"square": params["x"] ** 2, "nested": {"digits": [int(digit) for digit in str(params["x"])]}}


def logged_square(params: Params) -> dict[str, Any]:
    """Leaves a line for each call in the file `log`."""
    with open(params["log"], "a") as log:
        log.write(f"{params['x']}\n")
    return square({"x": params["x"]})


def trouble(params: Params) -> dict[str, Any]:
    """What `kind` says."""
    match params["kind"]:
        case "raise":
            raise ValueError("no good")
        case "not run":
            raise NotRunError("not installed")
        case "nan":
            return {"value": float("nan")}
        case "clash":
            return {"kind": "again"}
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(600)
    return {"value": 1}


def count_threads(params: Params) -> dict[str, Any]:
    return {"threads": threading.active_count()}


def count_recorded(params: Params) -> dict[str, Any]:
    """How many trials the ledger in the file `ledger` holds meanwhile."""
    with closing(sqlite3.connect(params["ledger"])) as database:
        return {"recorded": database.execute("SELECT COUNT(*) FROM trial").fetchone()[0]}


def process_id(params: Params) -> dict[str, Any]:
    return {"pid": os.getpid()}


def dies_by_engine(params: Params) -> dict[str, Any]:
    """The engine that `dies` names takes its process with it."""
    return trouble({"kind": "die" if params["engine"] == params["dies"] else "live"})


def kills(params: Params) -> dict[str, Any]:
    """Where `victim` is "parent" or a process id, kills it the first time and waits; the file `done` remembers."""
    if params["victim"] and not Path(params["done"]).exists():
        Path(params["done"]).touch()
        os.kill(os.getppid() if params["victim"] == "parent" else params["victim"], signal.SIGKILL)
        time.sleep(3)
    return {"value": 1}


def started_child(path: str) -> None:
    """Starts a process that would outlive this one, writes its id to `path`, and hangs."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(path).write_text(str(child.pid))
    time.sleep(600)


def forked(number: int) -> int:
    """What a child of this process says."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(abs, (number,))


def slow_grid(began: str, until: str) -> list[Params]:
    return [{"x": x, "began": began, "until": until} for x in range(4)]


def slow_trial(params: Params) -> dict[str, Any]:
    """The third one leaves the file `began`, and ends when the file `until` is there."""
    if params["x"] == 2:
        Path(params["began"]).touch()
        while not Path(params["until"]).exists():
            time.sleep(0.01)
    return {"pid": os.getpid()}


def eat(gigabytes: float) -> int:
    """Allocate; returns the bytes it got."""
    return len(bytearray(int(gigabytes * 1e9)))


class CannotTravel(Exception):
    """Pickled, but not unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)


def raise_stubborn() -> None:
    raise CannotTravel(1, 2)


def cores_after(seconds: float) -> list[int]:
    """The cores of this process, told after a while, so that calls made at once meet different processes."""
    time.sleep(seconds)
    return sorted(os.sched_getaffinity(0))


def not_installed(params: Params) -> dict[str, Any]:
    raise NotRunError("not installed")
