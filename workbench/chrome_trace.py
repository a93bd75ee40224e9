"""Runs as events of the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome's `about:tracing` open.

Complete events (`X`) have a beginning and a length in microseconds, on a lane (`tid`) each; counters (`C`) are numbers
over time; instants (`i`) mark a place.  Read on: `replaying/replayed.py`, `generation/generation.py`, which have them
written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from visualizers.glyphs import glyph
from workbench.generation.step import Step
from workbench.json_values import Json

PROCESS: Final = 1


def write_events(path: str | Path, events: Iterable[Mapping[str, Json]]) -> Path:
    """Write events as one JSON document; `ValueError` for a name that Perfetto would not take for one."""
    target = Path(path)
    if target.suffix != ".json":
        raise ValueError(f"a trace is written as JSON: the name must end in .json, not {target.name!r}")
    target.write_text(json.dumps({"traceEvents": list(events), "displayTimeUnit": "ns"}), encoding="utf-8")
    return target


def run_events(model: str, steps: Iterable[Step]) -> list[dict[str, Json]]:
    """The parts of each step of a run of `model`.

    Those of the grammar lie beside the model's pass, which they overlap only on a GPU; here each begins where the last
    has ended.
    """
    events = named(model, ["model", "mask", "apply", "draw", "record"])
    now = 0.0
    for step in steps:
        name = glyph(step.token)
        lengths = (step.model_ns, step.mask_ns, step.apply_ns, step.sample_ns, step.record_ns)
        kind = None if step.fill is None else step.fill.kind
        events.append(
            {"name": "feasible mass", "ph": "C", "pid": PROCESS, "ts": now, "args": {"mass": step.feasible_mass}}
        )
        for lane, nanoseconds in enumerate(lengths, 1):
            told = {"step": step.index, "allowed": step.allowed_count, "kind": kind}
            events.append(complete(name, "step", lane, now, nanoseconds / 1e3, told))
            now += nanoseconds / 1e3
        if step.rejected_favourite:
            why = {"favourite": glyph(step.alternatives[0].token)}
            events.append(instant("favourite refused", "fight", 2, now, why))
    return events


def named(process: str, lanes: Sequence[str]) -> list[dict[str, Json]]:
    """The names of a process and of its lanes, from 1."""
    told: list[dict[str, Json]] = [
        {"name": "process_name", "ph": "M", "pid": PROCESS, "args": {"name": f"maskscope: {process}"}}
    ]
    return told + [
        {"name": "thread_name", "ph": "M", "pid": PROCESS, "tid": lane, "args": {"name": name}}
        for lane, name in enumerate(lanes, 1)
    ]


def complete(name: str, kind: str, lane: int, begin: float, length: float, told: Mapping[str, Json]) -> dict[str, Json]:
    """Something that took `length` microseconds."""
    return {
        "name": name,
        "cat": kind,
        "ph": "X",
        "pid": PROCESS,
        "tid": lane,
        "ts": begin,
        "dur": length,
        "args": told,
    }


def instant(name: str, kind: str, lane: int, at: float, told: Mapping[str, Json]) -> dict[str, Json]:
    """A place in time."""
    return {"name": name, "cat": kind, "ph": "i", "s": "t", "pid": PROCESS, "tid": lane, "ts": at, "args": told}
