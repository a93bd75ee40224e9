"""One core for each trial: which cores there are, and who holds which.

A core is held through a socket in Linux's abstract name space, so that sweeps which run on a machine at the same time,
whoever started them, never share one, and a process that dies gives its core back.  Read on: `workers.py`.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

NAME: Final = "\0maskscope-core-{}"
TOPOLOGY: Final = Path("/sys/devices/system/cpu")


def physical_cores() -> list[int]:
    """The cores that this process may use, one hardware thread of each: two threads of one core slow each other down.

    Empty where the system cannot pin a process (anything but Linux).
    """
    if not hasattr(os, "sched_getaffinity"):
        return []
    allowed = os.sched_getaffinity(0)
    cores, covered = [], set[int]()
    for number in sorted(allowed):
        if number not in covered:
            cores.append(number)
            covered |= _siblings(number)
    return cores


def claim_core() -> tuple[int, socket.socket] | None:
    """A core that nobody holds, by its number, and what is closed to give it back.

    None when there is none, or where processes cannot be pinned.
    """
    if sys.platform != "linux":
        return None
    for number in physical_cores():
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            holder.bind(NAME.format(number))
        except OSError:  # held by somebody
            holder.close()
            continue
        return number, holder
    return None


def _siblings(number: int) -> set[int]:
    """The hardware threads of the core that `number` is one of, itself among them."""
    found = {number}
    with suppress(OSError, ValueError):
        text = (TOPOLOGY / f"cpu{number}" / "topology" / "thread_siblings_list").read_text()
        for part in text.strip().split(","):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found
