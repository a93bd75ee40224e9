"""Runs as events of the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome's `about:tracing` open.

Complete events (`X`) have a beginning and a length in microseconds, on a lane (`tid`) each; counters (`C`) are numbers
over time; instants (`i`) mark a place.  Read on: `replayed.py`, `workbench/generation/trace.py` (who has them written).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualizers.glyphs import glyph

if TYPE_CHECKING:
    from workbench.generation.trace import Generation
    from workbench.replaying.replayed import Replayed

__all__ = ["generation_events", "replay_events", "write_events"]

PROCESS = 1


def write_events(path: str | Path, events: Iterable[dict[str, Any]]) -> Path:
    """Write events as one JSON document; `ValueError` for a name that Perfetto would not take for one."""
    target = Path(path)
    if target.suffix != ".json":
        raise ValueError(f"a trace is written as JSON: the name must end in .json, not {target.name!r}")
    target.write_text(json.dumps({"traceEvents": list(events), "displayTimeUnit": "ns"}), encoding="utf-8")
    return target


def replay_events(found: Replayed) -> list[dict[str, Any]]:
    """Masks and steps of a replay one behind the other: there was no model between them."""
    events = _named("replay", ["masks", "steps", "guesses"])
    now = 0.0
    for step in found.steps:
        told = {"step": step.index, "allowed": step.allowed_count, "kind": step.mask_kind}
        events.append(_complete(f"mask of {glyph(step.token)}", "mask", 1, now, step.mask_us, told))
        if found.has_logprobs:
            masses = {"at least": step.least_mass, "at most": step.most_mass}
            events.append({"name": "feasible mass", "ph": "C", "pid": PROCESS, "ts": now, "args": masses})
        now += step.mask_us
        if step.guess is not None:
            name = "guess is cut" if step.guess.dies else "guess"
            shown = {"tokens": [glyph(token) for token in step.guess.tokens], "allowed": step.guess.allowed}
            shown["held"] = step.guess.held
            events.append(_instant(name, "guess", 3, now, shown))
        if step.favourite_refused and step.favourite is not None:
            why = {"favourite": glyph(step.favourite), "reason": step.favourite_reason}
            events.append(_instant("favourite refused", "fight", 2, now, why))
        if step.refused:
            events.append(_instant(f"{glyph(step.token)} refused", "fight", 2, now, {"reason": step.reason}))
        else:
            events.append(_complete(glyph(step.token), "step", 2, now, step.accept_us, {"step": step.index}))
            now += step.accept_us
    return events


def generation_events(made: Generation) -> list[dict[str, Any]]:
    """The parts of each step of a generation: those of the grammar lie beside the model's pass, which they overlap only
    on a GPU; here each begins where the last has ended."""
    events = _named(made.model, ["model", "mask", "apply", "draw", "record"])
    now = 0.0
    for step in made.steps:
        name = glyph(step.token)
        lengths = (step.model_ns, step.mask_ns, step.apply_ns, step.sample_ns, step.record_ns)
        kind = None if step.fill is None else step.fill.kind
        events.append(
            {"name": "feasible mass", "ph": "C", "pid": PROCESS, "ts": now, "args": {"mass": step.feasible_mass}}
        )
        for lane, nanoseconds in enumerate(lengths, 1):
            told = {"step": step.index, "allowed": step.allowed_count, "kind": kind}
            events.append(_complete(name, "step", lane, now, nanoseconds / 1e3, told))
            now += nanoseconds / 1e3
        if step.rejected_favourite:
            why = {"favourite": glyph(step.alternatives[0].token)}
            events.append(_instant("favourite refused", "fight", 2, now, why))
    return events


def _named(process: str, lanes: Sequence[str]) -> list[dict[str, Any]]:
    named = [{"name": "process_name", "ph": "M", "pid": PROCESS, "args": {"name": f"maskscope: {process}"}}]
    return named + [
        {"name": "thread_name", "ph": "M", "pid": PROCESS, "tid": lane, "args": {"name": name}}
        for lane, name in enumerate(lanes, 1)
    ]


def _complete(name: str, kind: str, lane: int, begin: float, length: float, told: dict[str, Any]) -> dict[str, Any]:
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


def _instant(name: str, kind: str, lane: int, at: float, told: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "cat": kind, "ph": "i", "s": "t", "pid": PROCESS, "tid": lane, "ts": at, "args": told}
