"""What a replay found: step by step where the grammar would have fought, what masks cost, and which guesses would die.

Read on: `walk.py`, which makes it; `workbench/chrome_trace.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import glyph
from workbench.chrome_trace import PROCESS, complete, instant, named, write_events
from workbench.json_values import Json
from workbench.record import Printed

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, slots=True)
class Guess:
    """Tokens that a draft would have guessed for the next places, from what followed the last two tokens before.

    held: so many of them were written.  allowed: so many the grammar takes; the others never reach a model.
    """

    tokens: tuple[bytes, ...]
    held: int
    allowed: int

    @property
    def dies(self) -> bool:
        """Whether the grammar cuts it."""
        return self.allowed < len(self.tokens)


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One logged token, and what the grammar says of its place.

    `offset`: bytes of text before it.  `refused`: the grammar does not take it, for `reason`; the grammar reads no
    further then.  `favourite`: the likeliest token that was logged, with `favourite_refused` and `favourite_reason`.
    `least_mass`, `most_mass`: bounds of the probability of all tokens that the grammar allows, from those that were
    logged; 0 and 1 where none was.  `allowed_count`: of the tokenizer's tokens.  `mask_us`, `mask_kind`: what finding
    the mask took, and how it was found.  `accept_us`: what taking the token took.  `guess`: None where there was none.
    """

    index: int
    token: bytes
    token_id: int | None
    offset: int
    logprob: float | None
    refused: bool
    reason: str
    favourite: bytes | None
    favourite_refused: bool
    favourite_reason: str
    least_mass: float
    most_mass: float
    allowed_count: int
    mask_us: float
    mask_kind: str
    accept_us: float
    guess: Guess | None = None


@dataclass(frozen=True, repr=False)
class Replayed(Printed, Table):
    """A logged answer that was read again under a grammar.

    `steps`: those that the grammar read, a refused one as the last.  `tokens`: how many were logged; `skipped`: of
    these, how many came before the place at which the grammar began.  `complete`: the text is whole under the grammar.
    `compile_ms`: of the grammar.  `kind`: the format of the log.  `foreign`: tokens that the vocabulary does not have;
    they were read by their bytes.
    """

    steps: tuple[ReplayedStep, ...]
    tokens: int
    skipped: int
    complete: bool
    compile_ms: float
    kind: str
    has_logprobs: bool
    foreign: int
    grammar: str = field(default="")

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[ReplayedStep]:
        return iter(self.steps)

    @property
    def died(self) -> ReplayedStep | None:
        """The step whose token the grammar refuses; None where it takes all."""
        return self.steps[-1] if self.steps and self.steps[-1].refused else None

    @property
    def fights(self) -> tuple[ReplayedStep, ...]:
        """The steps at which the grammar refuses the token or the model's favourite."""
        return tuple(step for step in self.steps if step.refused or step.favourite_refused)

    @property
    def dead_guesses(self) -> tuple[ReplayedStep, ...]:
        """The steps whose guesses the grammar cuts."""
        return tuple(step for step in self.steps if step.guess is not None and step.guess.dies)

    @property
    def mask_us(self) -> float:
        """Microseconds of all masks."""
        return sum(step.mask_us for step in self.steps)

    @property
    def log_mass(self) -> tuple[float, float]:
        """Bounds of the sum of log feasible mass: how hard the grammar would have pushed in all (nats)."""
        bounds = ([step.least_mass for step in self.steps], [step.most_mass for step in self.steps])
        least, most = (sum(math.log(mass) if mass > 0 else -math.inf for mass in some) for some in bounds)
        return least, most

    def rows(self) -> list[dict[str, Any]]:
        """One row for each step."""
        return [
            {
                "token": step.token,
                "probability": None if step.logprob is None else math.exp(step.logprob),
                "refused": step.refused,
                "favourite": step.favourite,
                "favourite_refused": step.favourite_refused,
                "least_mass": step.least_mass,
                "most_mass": step.most_mass,
                "allowed_count": step.allowed_count,
                "mask_us": step.mask_us,
                "mask_kind": step.mask_kind,
                "guessed": 0 if step.guess is None else len(step.guess.tokens),
                "guess_held": 0 if step.guess is None else step.guess.held,
                "guess_allowed": 0 if step.guess is None else step.guess.allowed,
                "reason": step.reason or step.favourite_reason,
            }
            for step in self.steps
        ]

    def to_frame(self) -> pd.DataFrame:
        """The steps as a `pandas.DataFrame`."""
        return super().to_frame().rename_axis("step")

    def summary(self) -> dict[str, Any]:
        """The whole in one row."""
        guesses = [step.guess for step in self.steps if step.guess is not None]
        least, most = self.log_mass
        return {
            "tokens": self.tokens,
            "read": len(self.steps),
            "died": None if self.died is None else self.died.index,
            "complete": self.complete,
            "refused_favourites": sum(step.favourite_refused for step in self.steps),
            "log_mass_least": least if self.has_logprobs else None,
            "log_mass_most": most if self.has_logprobs else None,
            "mask_us": self.mask_us,
            "largest_mask_us": max((step.mask_us for step in self.steps), default=0.0),
            "compile_ms": self.compile_ms,
            "guesses": len(guesses),
            "dead_guesses": len(self.dead_guesses),
            "guessed_tokens_cut": sum(len(one.tokens) - one.allowed for one in guesses),
            "guessed_tokens_held": sum(one.held for one in guesses),
        }

    def figure(self) -> go.Figure:
        """What is left of the probability at each step, between its bounds, and what its mask cost."""
        from plotly.subplots import make_subplots

        drawn = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
        places = [step.index for step in self.steps]
        most = [step.most_mass for step in self.steps]
        least = [step.least_mass for step in self.steps]
        band: dict[str, Any] = {"line": {"width": 0}, "hoverinfo": "skip", "line_shape": "hvh", "showlegend": False}
        if self.has_logprobs:
            drawn.add_scatter(x=places, y=most, row=1, col=1, **band)
            band |= {"fill": "tonexty", "name": "left by the grammar", "showlegend": True}
            drawn.add_scatter(x=places, y=least, row=1, col=1, **band)
        for name, colour, refused in (("favourite refused", "#c79a00", False), ("token refused", "#b3261e", True)):
            some = [step for step in self.fights if step.refused == refused]
            drawn.add_scatter(
                x=[step.index for step in some],
                y=[step.most_mass for step in some],
                mode="markers",
                marker={"color": colour, "size": 9},
                name=name,
                text=[f"{glyph(step.token)}<br>{escape(step.reason or step.favourite_reason)}" for step in some],
                hoverinfo="text",
                row=1,
                col=1,
            )
        for kind in sorted({step.mask_kind for step in self.steps}):
            some = [step for step in self.steps if step.mask_kind == kind]
            texts = [glyph(step.token) for step in some]
            x, y = [step.index for step in some], [step.mask_us for step in some]
            drawn.add_bar(x=x, y=y, text=texts, textposition="none", name=f"mask: {kind}", row=2, col=1)
        drawn.update_yaxes(title_text="probability", range=[-0.02, 1.05], row=1, col=1)
        drawn.update_yaxes(title_text="µs", type="log", row=2, col=1)
        drawn.update_xaxes(title_text="token", row=2, col=1)
        drawn.update_layout(template="plotly_white", height=460, margin={"t": 40}, title={"text": repr(self)[1:-1]})
        return drawn

    def to_chrome_trace(self, path: str | Path) -> Path:
        """Write the masks, steps and guesses as events that Perfetto and Chrome's `about:tracing` open; the path."""
        return write_events(path, _events(self))

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p><p>{_strip(self.steps)}</p>"

    def __str__(self) -> str:
        lines = [repr(self)]
        for step in self.fights[:20]:
            what = "refused" if step.refused else f"favourite {glyph(step.favourite or b'')} refused"
            lines.append(f"  step {step.index}, {glyph(step.token)}: {what}: {step.reason or step.favourite_reason}")
        if len(self.fights) > 20:
            lines.append(f"  and {len(self.fights) - 20} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        died = self.died
        end = (
            f"refused at token {died.index}"
            if died is not None
            else "taken to its end, which is whole"
            if self.complete
            else "taken, but not whole"
        )
        favourites = sum(step.favourite_refused for step in self.steps)
        fought = f", {favourites} favourites refused" if self.has_logprobs else ""
        return (
            f"<Replayed {self.kind} of {self.tokens} tokens: {end}{fought}, "
            f"{self.mask_us:,.0f} µs of masks, {len(self.dead_guesses)} guesses cut>"
        )


def _strip(steps: Sequence[ReplayedStep]) -> str:
    """The tokens, those red that were refused and those amber whose place refused a favourite."""
    parts = []
    for step in steps:
        colour = "#f6c6c2" if step.refused else "#fbe7b2" if step.favourite_refused else "none"
        told = step.reason or step.favourite_reason or f"{step.allowed_count:,} allowed, {step.mask_us:.1f} µs"
        style = f"background:{colour};white-space:pre-wrap;font-family:monospace;border-right:1px solid #bbb"
        parts.append(f'<span style="{style}" title="{escape(told, quote=True)}">{escape(glyph(step.token))}</span>')
    return "".join(parts)


def _events(found: Replayed) -> list[dict[str, Json]]:
    """Masks and steps of a replay one behind the other: there was no model between them."""
    events = named("replay", ["masks", "steps", "guesses"])
    now = 0.0
    for step in found.steps:
        told: dict[str, Json] = {"step": step.index, "allowed": step.allowed_count, "kind": step.mask_kind}
        events.append(complete(f"mask of {glyph(step.token)}", "mask", 1, now, step.mask_us, told))
        if found.has_logprobs:
            masses = {"at least": step.least_mass, "at most": step.most_mass}
            events.append({"name": "feasible mass", "ph": "C", "pid": PROCESS, "ts": now, "args": masses})
        now += step.mask_us
        if step.guess is not None:
            name = "guess is cut" if step.guess.dies else "guess"
            shown: dict[str, Json] = {
                "tokens": [glyph(token) for token in step.guess.tokens],
                "allowed": step.guess.allowed,
            }
            shown["held"] = step.guess.held
            events.append(instant(name, "guess", 3, now, shown))
        if step.favourite_refused and step.favourite is not None:
            why = {"favourite": glyph(step.favourite), "reason": step.favourite_reason}
            events.append(instant("favourite refused", "fight", 2, now, why))
        if step.refused:
            events.append(instant(f"{glyph(step.token)} refused", "fight", 2, now, {"reason": step.reason}))
        else:
            events.append(complete(glyph(step.token), "step", 2, now, step.accept_us, {"step": step.index}))
            now += step.accept_us
    return events
