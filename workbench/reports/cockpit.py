"""Generations as people see them, token by token: what the model wanted, what the grammar left of it, what that cost.

`CockpitView` shows one `CockpitRun`, or several of one prompt side by side: strips of tokens coloured by what
the grammar did to the model, and for one token the likeliest ones before and after the mask, those
refused with the reason.  Probabilities are from 0 to 1, entropies in bits, times in microseconds;
`static` makes tables of the same.  Below it: runs in a page of their own, in a terminal, side by side.

Read on: `frontend/src/cockpit.js` (the browser's side), `workbench/panels/model.py` (the same, live).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import traitlets as t
from rich.table import Table
from rich.text import Text

from kernels_core.inspect.classic import in_common
from visualizers.caches import CacheView, said
from visualizers.glyphs import STOP_TOKEN, clip, glyph, html_escape, many
from visualizers.live_automaton import AutomatonView
from visualizers.live_base import LiveView, Traits, picked, synced, to_page
from visualizers.live_frontier import FrontierView
from visualizers.tables import card, chip, details, dim, pre, table
from workbench.generation.generation import Generation
from workbench.generation.side_by_side import SideBySide
from workbench.generation.step import Alternative, Step
from workbench.record import as_text
from workbench.reports.caches import caches
from workbench.session.trace import Trace

Reasons = Mapping[tuple[int, int], str]
"""Why tokens were refused, by the number of the step and the token's id."""
BITS = 1 / math.log(2)
MAX_STRIP: Final = 2_000  # tokens on a strip: the last ones of a longer run
MAX_TEXT: Final = 40
MAX_STATIC: Final = 400
LIKELY: Final = 0.001  # refused tokens that a table mentions
TEXT_ROWS = 40
STEPS_HEADS = ("step", "token", "p before %", "removed %", "allowed", "bits", "after", "mask µs", "refused favourite")
STEPS_LEGEND = (
    "p before: the model's probability of the token, before the mask; removed: of all refused tokens;\n"
    "bits, after: entropy of its distribution before and after the mask."
)
COLUMNS = 100

CLOCKS: Final = {
    "model": "the model's pass (forward)",
    "mask": "finding or making the mask, alone",
    "apply": "setting forbidden logits to minus infinity",
    "draw": "choosing the token",
    "record": "writing down what is shown here",
}
"""What the time of a token is made of, in the order of `_clocks`."""


@dataclass(frozen=True)
class CockpitRun:
    """One generation: its name among several, and its tokens.  `verdict` is one or two words ("valid", "length").

    `refused_from`: the number of the first token that the grammar refused (a free run that is read along), None where
    it took all.  `reasons`: why others were refused in place of tokens, as far as that is known.
    """

    name: str
    steps: Sequence[Step]
    constrained: bool = True
    verdict: str = ""
    about: str = ""
    refused_from: int | None = None
    reasons: Reasons = field(default_factory=dict)

    def is_refused(self, number: int) -> bool:
        """Whether the grammar refused token `number`."""
        return self.refused_from is not None and number >= self.refused_from


@dataclass(frozen=True)
class CockpitShot:
    """What the view shows: runs of one prompt, the first in detail, and the place one stands at.

    `place` tokens have been taken: the last of them is the one in detail, step `place` as the text numbers its steps,
    and step 1 where none was taken.  `running`: tokens are still being added.  `again`: whether the model can be asked
    again.  `apart`: the number of the first run's first token that is not in the present text, None where all are; the
    text ends there (`cut`) or goes on otherwise, and then `place` goes no further than that token.  `call`: what a cell
    calls for a run, where there is none.
    """

    runs: Sequence[CockpitRun]
    place: int = 0
    vocab_size: int = 0
    running: bool = False
    again: bool = False
    message: str = ""
    apart: int | None = None
    cut: bool = False
    call: str = ""


class CockpitView(LiveView[CockpitShot]):
    """Tokens, probabilities before and after the mask, mass removed, entropy, and where the time goes.

    In the browser a click on step k sends `{"kind": "goto", "index": k}`; the buttons send `{"kind": "stop"}` and
    `{"kind": "beside", "source"}` (the same prompt under another source, or for "" without the grammar).
    """

    _module = "cockpit"
    _height = 400
    _paged = ("place", "detail", "about")

    about = synced(t.Dict())
    runs = synced(t.List())
    detail = synced(t.Dict())
    details = synced(t.List())
    place = synced(t.Int(0))
    tab = synced(t.Unicode("step"))

    def traits_of(self, snapshot: CockpitShot) -> Traits:
        return {
            "about": picked(snapshot, "running", "again", "message", "apart", "cut", "call")
            | {"vocab": snapshot.vocab_size, "clocks": [[name, told] for name, told in CLOCKS.items()]},
            "runs": [_run(run, snapshot.runs[0]) for run in snapshot.runs],
            "detail": _detail_at(snapshot),
            "place": snapshot.place,
        }

    def play_run(self, shot: CockpitShot) -> None:
        """Show a finished run with the details of every token, so that the browser steps by `index` alone."""
        self.show(shot)
        steps = shot.runs[0].steps if shot.runs else ()
        self.details = [_detail(shot.runs[0], number) for number in range(len(steps))]
        self.steps = [{"place": place} for place in range(len(steps) + 1)]
        self.index = 0

    def tables_of(self, snapshot: CockpitShot) -> str:
        return static(snapshot)

    def __repr__(self) -> str:
        runs = self._shown.runs if self._shown else ()
        return f"CockpitView({', '.join(f'{run.name}: {len(run.steps)} tokens' for run in runs)})"


def _run(run: CockpitRun, first: CockpitRun) -> Traits:
    """A run in columns; `parts` is the index of the first token that differs from the first run's."""
    shown = run.steps[-MAX_STRIP:]
    begin = len(run.steps) - len(shown)
    return picked(run, "name", "constrained", "verdict", "about") | {
        "from": begin,
        "parts": None if run is first else _parting(first, run),
        "text": [clip(_shown(step), MAX_TEXT) for step in shown],
        "p": [_round(step.probability) for step in shown],
        "mass": [_round(step.feasible_mass) for step in shown],
        "entropy": [_round(step.entropy, BITS) for step in shown],
        "masked": [_round(step.masked_entropy, BITS) for step in shown],
        "flags": [
            step.forced | step.given << 1 | run.is_refused(number) << 2 | step.rejected_favourite << 3
            for number, step in enumerate(shown, begin)
        ],
        "us": [[round(spent / 1e3, 2) for spent in _clocks(step)] for step in shown],
    }


def _clocks(step: Step) -> tuple[int, ...]:
    """What the time of a token is made of, in nanoseconds."""
    return step.model_ns, step.mask_ns, step.apply_ns, step.sample_ns, step.record_ns


def _round(value: float | None, unit: float = 1.0) -> float | None:
    return None if value is None else float(f"{value * unit:.4g}")


def _parting(one: CockpitRun, other: CockpitRun) -> int:
    return in_common(*([step.token_id for step in run.steps] for run in (one, other)))


def _detail_at(shot: CockpitShot) -> Traits:
    steps = shot.runs[0].steps if shot.runs else ()
    if not steps:
        return {}
    number = max(0, min(shot.place, len(steps)) - 1)
    return {"step": number, **_detail(shot.runs[0], number)}


def _detail(run: CockpitRun, number: int) -> Traits:
    step = run.steps[number]
    return {
        "id": step.token_id,
        "allowed": step.allowed_count,
        "kind": "" if step.fill is None else said(step.fill.kind),
        "options": [
            [
                one.token_id,
                clip(glyph(one.token), MAX_TEXT),
                _round(one.probability),
                _round(step.masked_probability(one)),
                one.allowed,
                clip(run.reasons.get((number, one.token_id), ""), 300),
            ]
            for one in likeliest(step)
        ],
    }


def likeliest(step: Step) -> list[Alternative]:
    """The likeliest tokens before and after the mask, and the one taken, each once, likeliest first."""
    recorded = (*step.alternatives, *step.choices)
    found = {one.token_id: one for one in recorded}
    if recorded and step.token_id not in found:
        found[step.token_id] = Alternative(step.token_id, step.token, step.logprob, True)
    return sorted(found.values(), key=lambda one: -one.logprob)


def removed_share(mass: float) -> str:
    """What a mask that leaves the probability `mass` removed, in percent; never all of it where something is left."""
    return ">99.9 %" if 0 < mass <= 0.0005 else f"{100 * (1 - mass):.1f} %"


def push_kind(step: Step) -> str:
    """The kind whose colour tells what the grammar did to the model: it forced, overruled, pushed or agreed."""
    if step.forced:
        return "rejected"
    return "refused" if step.rejected_favourite else "uncertain" if step.feasible_mass < 0.9 else "accepted"


def static(shot: CockpitShot) -> str:
    """Strips, the run's numbers and one line for each token with its refused favourites, as plain tables."""
    first = shot.runs[0] if shot.runs else None
    return "".join(_static_strip(run, shot.runs[0]) for run in shot.runs) + (
        static_table(first) if first is not None and first.steps else ""
    )


def _static_strip(run: CockpitRun, first: CockpitRun) -> str:
    parts = None if run is first else _parting(first, run)
    chips = []
    for number, step in enumerate(run.steps[:MAX_STATIC]):
        if parts is not None and number == parts:
            chips.append('<b title="here it parts from the first run" style="color:rgb(210,70,60)">≠</b>')
        kind = push_kind(step) if run.constrained else "rejected"
        told = f"p before the mask = {step.probability:.3g}, removed by the mask {removed_share(step.feasible_mass)}"
        refused = run.is_refused(number)
        chips.append(chip(clip(_shown(step), MAX_TEXT), "refused" if refused else kind, told, struck=refused))
    left = len(run.steps) - MAX_STATIC
    chips += [f"and {left:,} more"] if left > 0 else []
    facts = [many(len(run.steps), "token"), html_escape(run.verdict)]
    facts += [] if parts is None else [f"parts at step {parts + 1}"]
    return card(html_escape(run.name), facts, f'<div style="line-height:23px">{" ".join(chips)}</div>')


def static_table(run: CockpitRun) -> str:
    """One line for each token, to be opened: probabilities, entropies, refused favourites, times."""
    rows = []
    for number, step in enumerate(run.steps[:MAX_STATIC]):
        refused = [one for one in likeliest(step) if not one.allowed and one.probability >= LIKELY][:2]
        wanted = ", ".join(f"{glyph(one.token)} {100 * one.probability:.1f} %" for one in refused)
        why = next(filter(None, (run.reasons.get((number, one.token_id)) for one in refused)), "")
        told = f'<span title="{html_escape(clip(why, 200))}">{html_escape(wanted)}</span>'
        shares = [f"{100 * step.probability:.1f} %", removed_share(step.feasible_mass)]
        bits = [_hundredths(step.entropy), _hundredths(step.masked_entropy)]
        times = [f"{step.mask_ns / 1e3:,.1f}", f"{step.model_ns / 1e3:,.0f}"]
        rows.append([str(number + 1), html_escape(clip(_shown(step), MAX_TEXT)), *shares, *bits, told, *times])
    heads = {
        "step": "",
        "token": "",
        "p before the mask": "probability that the model gave to it, of all tokens",
        "removed": "probability that the model gave to tokens which the mask refuses",
        "bits before": "entropy of the model's distribution",
        "bits after": "entropy of what the mask leaves of it",
        "refused favourites": "likelier than any allowed token, or among the likeliest",
        "mask, µs": CLOCKS["mask"],
        "model, µs": CLOCKS["model"],
    }
    told_heads = [f'<span title="{html_escape(told)}">{name}</span>' for name, told in heads.items()]
    return details("token by token", table(told_heads, rows, align="rlrrrrlrr", mono=(0, 1, 2, 3, 4, 5, 7, 8)))


def _hundredths(nats: float | None) -> str:
    """An entropy in bits; "" where it was not recorded."""
    return "" if nats is None else f"{nats * BITS:.2f}"


# -- runs ---------------------------------------------------------------------------------------------------------


def cockpit_run(
    generation: Generation,
    *,
    name: str = "",
    reasons: Reasons | None = None,
    refused_from: int | None = None,
) -> CockpitRun:
    """One generation for the view; tokens from number `refused_from` on are shown as refused by the grammar."""
    settings = generation.settings
    about = ", ".join(f"{key} {value}" for key, value in settings.items() if value not in (None, []))
    named = name or ("under the grammar" if generation.constrained else "without a grammar")
    if generation.random:
        named += f", {generation.model}"
    return CockpitRun(
        named,
        generation.steps,
        generation.constrained,
        _verdict(generation),
        f"{generation.model}: {about}",
        refused_from,
        reasons or {},
    )


def _verdict(generation: Generation) -> str:
    if generation.complete is None:
        return generation.finish_reason
    return f"{'complete' if generation.complete else 'incomplete'}, {generation.finish_reason}"


def cockpit_shot(generation: Generation, *, refused_from: int | None = None) -> CockpitShot:
    """A finished generation, at its first token, with all that is known of why tokens were refused."""
    run = cockpit_run(generation, reasons=generation.refusals, refused_from=refused_from)
    vocab_size = 0 if generation.source is None else generation.source.model.vocab_size
    return CockpitShot((run,), vocab_size=vocab_size)


def generation_html(generation: Generation) -> str:
    """What a notebook shows of a generation: strip, numbers, and a table to open."""
    return static(cockpit_shot(generation))


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
    cockpit.play_run(cockpit_shot(generation, refused_from=refused_from))
    cockpit.steps = cockpit.steps[:places]
    views: list[LiveView[Any]] = [cockpit]
    if generation.masks is not None and len(generation.masks):
        view = CacheView()
        view.play_steps(caches(generation), len(generation))
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
    found = Table(box=None, pad_edge=False)
    for head in STEPS_HEADS:
        is_text = head in ("token", "refused favourite")
        found.add_column(head, justify="left" if is_text else "right", no_wrap=True, max_width=24 if is_text else None)
    for step in steps:
        refused = step.refused[0] if step.refused else None
        found.add_row(
            str(step.index + 1),
            Text(_shown(step)),
            f"{100 * step.probability:.1f}",
            f"{100 * (1 - step.feasible_mass):.1f}",
            f"{step.allowed_count:,}",
            _hundredths(step.entropy),
            _hundredths(step.masked_entropy),
            f"{step.mask_ns / 1e3:.1f}",
            Text("" if refused is None else f"{glyph(refused.token)} ({100 * refused.probability:.1f} %)"),
        )
    return found


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
