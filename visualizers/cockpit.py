"""The model cockpit: token by token, what the model wanted, what the grammar left of it, and what that cost.

`CockpitView` shows one `CockpitRun`, or several of one prompt side by side: strips of tokens coloured by what
the grammar did to the model, and for one token the likeliest ones before and after the mask, those
refused with the reason.  Probabilities are from 0 to 1, entropies in bits, times in microseconds;
`static` makes tables of the same.

Read on: `frontend/src/cockpit.js` (the browser's side), `workbench/reports/cockpit.py` (makes runs of generations).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import traitlets as t

from visualizers.glyphs import STOP_TOKEN, clip, glyph, html_escape, many
from visualizers.live_base import LiveView, Traits, picked, synced
from visualizers.tables import card, chip, details, table

MAX_STRIP: Final = 2_000  # tokens on a strip: the last ones of a longer run
MAX_TEXT: Final = 40
MAX_STATIC: Final = 400
LIKELY: Final = 0.001  # refused tokens that a table mentions

CLOCKS: Final = {
    "model": "the model's pass (forward)",
    "mask": "finding or making the mask, alone",
    "apply": "setting forbidden logits to minus infinity",
    "draw": "choosing the token",
    "record": "writing down what is shown here",
}
"""What the time of a token is made of, in the order of `CockpitStep.microseconds`."""


@dataclass(frozen=True, slots=True)
class Option:
    """One of the likeliest tokens of a step: its probability `before` the mask and `after` it (0: refused, `why`)."""

    token_id: int
    token: bytes
    before: float
    after: float
    allowed: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class CockpitStep:
    """One token of a run.  `mass`: the probability that the model gave to allowed tokens (feasible mass).

    `entropy` and `masked_entropy` in bits, None where not recorded.  `options`: the likeliest before and after the
    mask, by `before`.  `microseconds`: one for each of `CLOCKS`.  `mask_kind`: how the mask was come by.
    `refused`: the grammar refused this token (a free run that is read along).
    """

    token_id: int
    token: bytes
    probability: float
    mass: float
    allowed: int
    entropy: float | None
    masked_entropy: float | None
    options: tuple[Option, ...]
    microseconds: tuple[float, ...]
    mask_kind: str = ""
    forced: bool = False
    given: bool = False
    stop: bool = False
    refused: bool = False


@dataclass(frozen=True)
class CockpitRun:
    """One generation: its name among several, and its tokens.  `verdict` is one or two words ("valid", "length")."""

    name: str
    steps: Sequence[CockpitStep]
    constrained: bool = True
    verdict: str = ""
    about: str = ""

    def refused(self, first: int) -> CockpitRun:
        """The same with the tokens from number `first` on marked as refused by the grammar."""
        marked = (replace(step, refused=number >= first) for number, step in enumerate(self.steps))
        return replace(self, steps=tuple(marked))

    def explained(self, number: int, why: Mapping[int, str]) -> CockpitRun:
        """The same with reasons, by token id, for what was refused in place of token `number`."""
        step = self.steps[number]
        options = tuple(replace(one, why=why.get(one.token_id, one.why)) for one in step.options)
        steps = list(self.steps)
        steps[number] = replace(step, options=options)
        return replace(self, steps=steps)


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
        self.details = [_detail(step) for step in steps]
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
    flags = [step.forced | step.given << 1 | step.refused << 2 | _wish(step) << 3 for step in shown]
    return picked(run, "name", "constrained", "verdict", "about") | {
        "from": len(run.steps) - len(shown),
        "parts": None if run is first else _parting(first, run),
        "text": [_text(step) for step in shown],
        "p": [_round(step.probability) for step in shown],
        "mass": [_round(step.mass) for step in shown],
        "entropy": [_round(step.entropy) for step in shown],
        "masked": [_round(step.masked_entropy) for step in shown],
        "flags": flags,
        "us": [[round(value, 2) for value in step.microseconds] for step in shown],
    }


def _wish(step: CockpitStep) -> bool:
    """Whether the model's favourite was refused."""
    return bool(step.options) and not step.options[0].allowed


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _parting(one: CockpitRun, other: CockpitRun) -> int:
    pairs = zip(one.steps, other.steps, strict=False)
    same = next((i for i, (mine, theirs) in enumerate(pairs) if mine.token_id != theirs.token_id), None)
    return min(len(one.steps), len(other.steps)) if same is None else same


def _detail_at(shot: CockpitShot) -> Traits:
    steps = shot.runs[0].steps if shot.runs else ()
    if not steps:
        return {}
    number = max(0, min(shot.place, len(steps)) - 1)
    return {"step": number, **_detail(steps[number])}


def _detail(step: CockpitStep) -> Traits:
    return {
        "id": step.token_id,
        "allowed": step.allowed,
        "kind": step.mask_kind,
        "options": [
            [
                option.token_id,
                clip(glyph(option.token), MAX_TEXT),
                _round(option.before),
                _round(option.after),
                option.allowed,
                clip(option.why, 300),
            ]
            for option in step.options
        ],
    }


def removed_share(mass: float) -> str:
    """What a mask that leaves the probability `mass` removed, in percent; never all of it where something is left."""
    return ">99.9 %" if 0 < mass <= 0.0005 else f"{100 * (1 - mass):.1f} %"


def push_kind(step: CockpitStep) -> str:
    """The kind whose colour tells what the grammar did to the model: it forced, overruled, pushed or agreed."""
    if step.forced:
        return "rejected"
    return "refused" if _wish(step) else "uncertain" if step.mass < 0.9 else "accepted"


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
        told = f"p before the mask = {step.probability:.3g}, removed by the mask {removed_share(step.mass)}"
        chips.append(chip(_text(step), "refused" if step.refused else kind, told, struck=step.refused))
    left = len(run.steps) - MAX_STATIC
    chips += [f"and {left:,} more"] if left > 0 else []
    facts = [many(len(run.steps), "token"), html_escape(run.verdict)]
    facts += [] if parts is None else [f"parts at step {parts + 1}"]
    return card(html_escape(run.name), facts, f'<div style="line-height:23px">{" ".join(chips)}</div>')


def _text(step: CockpitStep) -> str:
    return STOP_TOKEN if step.stop else clip(glyph(step.token), MAX_TEXT)


def static_table(run: CockpitRun) -> str:
    """One line for each token, to be opened: probabilities, entropies, refused favourites, times."""
    rows = []
    for number, step in enumerate(run.steps[:MAX_STATIC], 1):
        refused = [option for option in step.options if not option.allowed and option.before >= LIKELY][:2]
        wanted = ", ".join(f"{glyph(option.token)} {100 * option.before:.1f} %" for option in refused)
        why = next((option.why for option in refused if option.why), "")
        bits = ["" if value is None else f"{value:.2f}" for value in (step.entropy, step.masked_entropy)]
        model, mask = (step.microseconds[:2] + (0.0, 0.0))[:2]
        told = f'<span title="{html_escape(clip(why, 200))}">{html_escape(wanted)}</span>'
        shares = [f"{100 * step.probability:.1f} %", removed_share(step.mass)]
        rows.append([str(number), html_escape(_text(step)), *shares, *bits, told, f"{mask:,.1f}", f"{model:,.0f}"])
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
