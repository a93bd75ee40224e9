"""Generations as people see them: in a notebook, in a page of its own, in a terminal, side by side.

Turns the records of `workbench.generation` into what `visualizers.cockpit` draws, with reasons for what was refused.
Read on: `visualizers/cockpit.py`, `workbench/panels/model.py` (the same, live).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.table import Table
from rich.text import Text

from visualizers.caches import CacheView, said
from visualizers.cockpit import (
    CockpitRun,
    CockpitShot,
    CockpitStep,
    CockpitView,
    Option,
    removed_share,
    static,
)
from visualizers.glyphs import STOP_TOKEN, clip, glyph, html_escape
from visualizers.live import AutomatonView, FrontierView
from visualizers.live_base import LiveView, to_page
from visualizers.tables import dim, pre
from workbench.generation.side_by_side import SideBySide
from workbench.generation.step import Alternative, Step
from workbench.generation.trace import Generation
from workbench.reports.caches import caches
from workbench.reports.record import as_text
from workbench.session.trace import Trace

Reasons = Mapping[tuple[int, int], str]
BITS = 1 / math.log(2)
TEXT_ROWS = 40
STEPS_HEADS = ("step", "token", "p before %", "removed %", "allowed", "bits", "after", "mask µs", "refused favourite")
STEPS_LEGEND = (
    "p before: the model's probability of the token, before the mask; removed: of all refused tokens;\n"
    "bits, after: entropy of its distribution before and after the mask."
)
COLUMNS = 100


def cockpit_steps(steps: Iterable[Step], reasons: Reasons | None = None) -> list[CockpitStep]:
    """Recorded steps for the view, with the reasons for what was refused, where they are known."""
    return [_step(step, reasons or {}) for step in steps]


def cockpit_run(
    generation: Generation,
    *,
    name: str = "",
    reasons: Reasons | None = None,
    refused_from: int | None = None,
    steps: Sequence[CockpitStep] | None = None,
) -> CockpitRun:
    """One generation for the view; tokens from number `refused_from` on are shown as refused by the grammar.

    `steps` are its steps where they are there already.
    """
    steps = cockpit_steps(generation.steps, reasons) if steps is None else steps
    settings = generation.settings
    about = ", ".join(f"{key} {value}" for key, value in settings.items() if value not in (None, []))
    named = name or ("under the grammar" if generation.constrained else "without a grammar")
    if generation.random:
        named += f", {generation.model}"
    run = CockpitRun(named, steps, generation.constrained, _verdict(generation), f"{generation.model}: {about}")
    return run if refused_from is None else run.refused(refused_from)


def _verdict(generation: Generation) -> str:
    if generation.complete is None:
        return generation.finish_reason
    return f"{'complete' if generation.complete else 'incomplete'}, {generation.finish_reason}"


def _step(step: Step, why: Reasons) -> CockpitStep:
    return CockpitStep(
        token_id=step.token_id,
        token=step.token,
        probability=step.probability,
        mass=step.feasible_mass,
        allowed=step.allowed_count,
        entropy=None if step.entropy is None else step.entropy * BITS,
        masked_entropy=None if step.masked_entropy is None else step.masked_entropy * BITS,
        options=_options(step, why),
        microseconds=tuple(
            spent / 1e3 for spent in (step.model_ns, step.mask_ns, step.apply_ns, step.sample_ns, step.record_ns)
        ),
        mask_kind="" if step.fill is None else said(step.fill.kind),
        forced=step.forced,
        given=step.given,
        stop=step.is_stop,
    )


def _options(step: Step, why: Reasons) -> tuple[Option, ...]:
    """The likeliest tokens before and after the mask, and the one taken, each once, likeliest first."""
    recorded = (*step.alternatives, *step.choices)
    found: dict[int, Alternative] = {one.token_id: one for one in recorded}
    if recorded and step.token_id not in found:
        found[step.token_id] = Alternative(step.token_id, step.token, step.logprob, True)
    ordered = sorted(found.values(), key=lambda one: -one.logprob)
    return tuple(
        Option(
            one.token_id,
            one.token,
            one.probability,
            step.masked_probability(one),
            one.allowed,
            why.get((step.index, one.token_id), ""),
        )
        for one in ordered
    )


def cockpit_shot(
    generation: Generation,
    *,
    reasons: Reasons | None = None,
    refused_from: int | None = None,
) -> CockpitShot:
    """A finished generation, at its first token."""
    run = cockpit_run(generation, reasons=reasons, refused_from=refused_from)
    vocab_size = 0 if generation.source is None else generation.source.model.vocab_size
    return CockpitShot((run,), vocab_size=vocab_size)


def generation_html(generation: Generation) -> str:
    """What a notebook shows of a generation: strip, numbers, and a table to open."""
    return static(cockpit_shot(generation, reasons=generation.refusals))


def generation_page(generation: Generation, *, title: str = "", heading: bool = True) -> str:
    """A page without Python: the cockpit, and the caches if masks were recorded."""
    title = (title or "Maskscope generation") + (f", {generation.model}" if generation.random else "")
    views = generation_views(generation)
    labels = ["before the first token", *(step_label(step) for step in generation.steps)]
    return to_page(views, title=title, labels=labels, heading=heading)


def generation_views(
    generation: Generation, *, places: int | None = None, refused_from: int | None = None
) -> list[LiveView[Any]]:
    """The cockpit, and the caches if masks were recorded, loaded with the whole run: views of a page without Python.

    `places` is how many places one can step through: all, and one after the last token, where it is None.
    """
    cockpit = CockpitView()
    cockpit.play_run(cockpit_shot(generation, reasons=generation.refusals, refused_from=refused_from))
    cockpit.steps = cockpit.steps[:places]
    views: list[LiveView[Any]] = [cockpit]
    if generation.masks is not None and len(generation.masks):
        view = CacheView()
        view.play_steps(caches(generation).shot, len(generation))
        view.steps = view.steps[:places]
        views.append(view)
    return views


def trace_page(trace: Trace, *, title: str = "", heading: bool = True) -> str:
    """A page without Python: the cockpit, the automaton, the frontier and the caches."""
    automaton, frontier = AutomatonView(trace.automaton), FrontierView()
    automaton.play(trace.frontiers)
    frontier.play(trace.frontiers)
    cockpit, *caches = generation_views(trace.generation, places=len(trace.frontiers), refused_from=trace.refused_from)
    labels = ["before the first token", *map(step_label, trace.steps[: trace.followed])]
    views = [cockpit, automaton, frontier, *caches]
    document = to_page(views, title=title or "Maskscope trace", labels=labels, heading=heading)
    automaton.close()
    frontier.close()
    return document


def trace_text(trace: Trace) -> str:
    """What a terminal shows."""
    return f"{trace!r}\n{generation_text(trace.generation)}"


def trace_html(trace: Trace) -> str:
    """As a generation is shown, with tokens that the grammar refused, and where the text died."""
    generation = trace.generation
    run = cockpit_run(generation, reasons=generation.refusals, refused_from=trace.refused_from)
    shown = static(CockpitShot((replace(run, verdict=f"{trace.verdict}, {generation.finish_reason}"),)))
    return shown + pre(str(trace.died or trace.reason)) if trace.reason else shown


def step_label(step: Step) -> str:
    """What a bar that steps through a run says behind `step`."""
    removed = removed_share(step.feasible_mass)
    return f"after {_shown(step)}   p before the mask = {step.probability:.3g}, removed by the mask {removed}"


def _shown(step: Step) -> str:
    return STOP_TOKEN if step.is_stop else glyph(step.token)


def generation_text(generation: Generation) -> str:
    """What a terminal shows: the text, and a line for each of the first tokens, in 100 columns; steps count from 1."""
    lines = [repr(generation), as_text(steps_table(generation.steps[:TEXT_ROWS]))]
    more = len(generation) - TEXT_ROWS
    if more > 0:
        lines.append(f"... and {more:,} more: .to_frame() has all")
    return "\n".join(lines + ([STEPS_LEGEND] if len(generation) else []))


def steps_table(steps: Iterable[Step]) -> Table:
    """A line for each step, for a terminal."""
    table = Table(box=None, pad_edge=False)
    for head in STEPS_HEADS:
        is_text = head in ("token", "refused favourite")
        table.add_column(head, justify="left" if is_text else "right", no_wrap=True, max_width=24 if is_text else None)
    for step in steps:
        refused = step.refused[0] if step.refused else None
        table.add_row(
            str(step.index + 1),
            Text(_shown(step)),
            f"{100 * step.probability:.1f}",
            f"{100 * (1 - step.feasible_mass):.1f}",
            f"{step.allowed_count:,}",
            "" if step.entropy is None else f"{step.entropy * BITS:.2f}",
            "" if step.masked_entropy is None else f"{step.masked_entropy * BITS:.2f}",
            f"{step.mask_ns / 1e3:.1f}",
            Text("" if refused is None else f"{glyph(refused.token)} ({100 * refused.probability:.1f} %)"),
        )
    return table


def side_by_side_html(side: SideBySide) -> str:
    """Strips under each other, with the place where each parts from the first."""
    runs = [cockpit_run(run, name=name) for name, run in side.runs.items()]
    return static(CockpitShot(runs)) + dim(html_escape(" ".join(_partings(side))))


def _partings(side: SideBySide) -> list[str]:
    """One sentence for each run that parts from the first: what each drew there."""
    names = list(side.runs)
    first = side.runs[names[0]]
    told = []
    for name in names[1:]:
        at, other = side.parts_at(name), side.runs[name]
        if at >= len(first) and at >= len(other):
            told.append(f"{name} writes the same as {names[0]}.")
            continue
        mine, theirs = (_drawn(run, at) for run in (first, other))
        told.append(f"At step {at + 1}, {names[0]} {mine}, {name} {theirs}.")
    return told


def _drawn(run: Generation, at: int) -> str:
    if at >= len(run):
        return "has ended"
    step = run.steps[at]
    refused = f", its favourite {glyph(step.refused[0].token)} was refused" if step.refused else ""
    taken = f"the {STOP_TOKEN}" if step.is_stop else glyph(step.token)
    return f"took {taken} (p before the mask = {step.probability:.3g}{refused})"


def side_by_side_text(side: SideBySide) -> str:
    """The texts under each other, with a mark where each parts from the first, in 100 columns."""
    width = max(len(name) for name in side.runs)
    lines = []
    for name in side.runs:
        run, at = side.runs[name], side.parts_at(name)
        head = "".join("" if step.is_special else glyph(step.token) for step in run.steps[:at])
        tail = "".join("" if step.is_special else glyph(step.token) for step in run.steps[at:])
        first = name == next(iter(side.runs))
        lines.append(
            f"{name.rjust(width)}  {clip(head + ('' if first or not tail else '≠') + tail, COLUMNS - width - 2)}"
        )
    return "\n".join([*lines, *_partings(side)])
