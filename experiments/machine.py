"""Where a measurement was made: machine, versions, commit.  Every ledger row points at one such description."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import kernels_core
from workbench.peers.catalogue import PEERS

CHECKOUT = Path(__file__).resolve().parents[1]
# Everything whose version can change a number.
PACKAGES = ("numpy", "torch", "transformers", "tiktoken", *PEERS)
TIMEOUT_S = 20
RECORDED = (":!experiments/results", ":!docs", ":!README.md")
"""As git names paths that do not count: what a recording writes, pages that quote its figures among them."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One computer with what is installed on it.  `versions` are (package, version) pairs, ours first."""

    host: str
    system: str
    processor: str
    cores: int
    memory_gb: float
    python: str
    versions: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, object]:
        """Plain JSON data; `versions` become a mapping."""
        return asdict(self) | {"versions": dict(self.versions)}

    def __str__(self) -> str:
        return f"{self.cores} x {self.processor}, {self.memory_gb:g} GB, {self.system}"


@cache
def describe_machine() -> Machine:
    """This machine, looked at once in a process."""
    return Machine(
        host=platform.node(),
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        python=platform.python_version(),
        versions=_versions(),
    )


@cache
def commit_name() -> str | None:
    """The checkout's commit, with a `+` where tracked files differ from it; None outside a git checkout.

    What recording a run writes (`report.py`) is no difference: it changes nothing that is measured.
    """
    commit = _git("rev-parse", "--short=12", "HEAD")
    if commit is None:
        return None
    return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", ".", *RECORDED) else "")


def system_load() -> float:
    """Runnable processes, averaged over the last minute: far above 1 means that timings were disturbed."""
    return round(os.getloadavg()[0], 2)


def resident_bytes(process: int | str = "self") -> int:
    """Bytes of this process, or of that of a number, that are in memory (Linux)."""
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _versions() -> tuple[tuple[str, str], ...]:
    found = [("maskscope", kernels_core.__version__)]
    for name in PACKAGES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
