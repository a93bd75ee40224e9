"""Since when each claim has its bound: `bounds.toml`, which a change of a bound has to change as well.

A bound that was chosen after the numbers were seen proves nothing.  So every bound is written down with a day before
its experiment is run, the bounds that it had before stay there, and pages of results tell what moved and when.
"""

from __future__ import annotations

import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

__all__ = ["BOUNDS_FILE", "bounds_of", "history_of"]

BOUNDS_FILE: Final = Path(__file__).with_name("bounds.toml")


@cache
def _read() -> dict[str, dict[str, list[list[str]]]]:
    return tomllib.loads(BOUNDS_FILE.read_text())


def bounds_of(experiment: str) -> dict[str, list[tuple[str, str]]]:
    """By the text of each claim: the day and the bound (`Claim.bound`), the newest last."""
    known = _read().get(experiment, {})
    return {text: [(day, bound) for day, bound in entries] for text, entries in known.items()}


def history_of(experiment: str, text: str, measured: str) -> str:
    """What a reader must know of a claim's bound beside a measurement of that day; "" where there is nothing."""
    entries = bounds_of(experiment).get(text, [])
    if not entries:
        return "The bound is not registered"
    told = [f"the bound was {bound} until {after[0]}" for (_, bound), after in pairwise(entries)]
    since = entries[-1][0]
    told += [f"the bound is younger than the measurement, of {since}"] if since > measured else []
    return "; ".join(told).capitalize()
