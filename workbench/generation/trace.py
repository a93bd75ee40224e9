"""What one generation leaves behind: plain, frozen data that needs no model, no grammar and no torch to be read.

`Generation` is the whole run, `Step` one token of it, `Alternative` a token that could have been drawn instead.
Probabilities are the model's own (before mask, temperature, top-k and top-p) unless a name says otherwise.
A `Generation` shows itself as the model cockpit: what each token's probabilities were before and after the mask.
What needs the model again (`branch`) or the grammar again (`refusals`) goes by its `source`, which stays behind when a
generation is pickled.
Read on: `loop.py`, which makes them, `branch.py`, `refusals.py`, `../cockpit.py` (the displays).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kernels_core.inspect.fills import CacheRecord
from kernels_core.inspect.trace import FillEvent

if TYPE_CHECKING:
    import pandas as pd

    from kernels_core import GrammarMatcher
    from workbench.blame import Blame
    from workbench.generation.branch import Edit
    from workbench.generation.cuts import Cuts
    from workbench.generation.model import LanguageModel
    from workbench.page import Page

__all__ = ["Alternative", "FinishReason", "Generation", "Source", "Step"]

FinishReason = Literal["stop", "length", "grammar_complete", "interrupted"]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the likeliest tokens of a step: its id, bytes, log probability (nats), and whether the mask allowed it."""

    token_id: int
    token: bytes
    logprob: float
    allowed: bool

    @property
    def probability(self) -> float:
        return math.exp(self.logprob)


@dataclass(frozen=True, slots=True)
class Step:
    """One token.

    `logprob`: log probability the model gave to the token; `drawn_logprob`: log probability with which it was drawn,
    after mask and sampling settings (both in nats).  `feasible_mass`: probability the model gave to all allowed tokens
    together, from 0 to 1.  `allowed_count`: how many tokens the mask allowed (the whole vocabulary without a grammar);
    `forced` says it was one.  `alternatives`: the likeliest tokens, likeliest first, allowed or not.  `offset`: bytes
    of text before this token.  `is_special`: a control token, whose bytes are its name and add nothing to the text;
    `is_stop`: it ended the generation.  `given`: it was not drawn but set beforehand (`begin`).

    `choices`: the likeliest tokens that the mask allows, likeliest first.  `entropy`, `masked_entropy`: of the model's
    distribution and of what the mask leaves of it (rescaled to 1), in nats, before temperature, top-k and top-p; None
    when the generation was not recorded.  `fill`: how the engine came by the mask (None without a grammar or record).

    Nanoseconds: `model_ns` the model's pass; `mask_ns` finding or making the mask, alone; `apply_ns` setting forbidden
    logits to minus infinity; `sample_ns` drawing; `record_ns` writing all this down.
    """

    index: int
    token_id: int
    token: bytes
    offset: int
    logprob: float
    drawn_logprob: float
    allowed_count: int
    feasible_mass: float
    forced: bool
    is_special: bool
    is_stop: bool
    alternatives: tuple[Alternative, ...]
    mask_ns: int
    model_ns: int
    sample_ns: int
    choices: tuple[Alternative, ...] = ()
    entropy: float | None = None
    masked_entropy: float | None = None
    given: bool = False
    fill: FillEvent | None = None
    apply_ns: int = 0
    record_ns: int = 0

    @property
    def refused(self) -> tuple[Alternative, ...]:
        """The tokens that the model liked better than any that is allowed, as far as they were recorded."""
        found = []
        for alternative in self.alternatives:
            if alternative.allowed:
                break
            found.append(alternative)
        return tuple(found)

    def masked_probability(self, alternative: Alternative) -> float:
        """What the mask makes of an alternative's probability: 0 if it is refused, else its share of the mass left."""
        if not alternative.allowed or self.feasible_mass <= 0:
            return 0.0
        return min(1.0, alternative.probability / self.feasible_mass)

    @property
    def probability(self) -> float:
        return math.exp(self.logprob)

    @property
    def rejected_favourite(self) -> bool:
        """Whether the model's first choice was forbidden by the grammar: a place where the constraint was felt."""
        return bool(self.alternatives) and not self.alternatives[0].allowed


@dataclass(frozen=True, slots=True)
class Source:
    """What a generation was made with: to go on from one of its steps, and to ask the grammar about it.

    `origin` is the matcher where the text began, None without a grammar.  `prompt`: its tokens before anything of it
    was taken back.
    """

    model: LanguageModel
    origin: GrammarMatcher | None
    prompt: tuple[int, ...]


@dataclass(frozen=True)
class Generation:
    """A finished (or interrupted) generation.

    `finish_reason`: "stop" (the model drew a stop token, or a stop string appeared), "length" (`max_tokens` or the
    model's context ran out), "grammar_complete" (the grammar allows nothing more), "interrupted".
    `complete`: whether `text` is a whole sentence of the grammar; None without a grammar.  `constrained` says whether
    there was one.  `text_bytes` is what was written, up to a stop string if one ended it, `tokens` all token ids drawn,
    a stop token included.  `healed`: the end of the prompt that was taken back, with whose bytes the first tokens
    begin; it is no part of `prompt` nor of the text.  `masks`: how every mask was found and what the caches held (None
    when not recorded, or without a grammar).
    """

    model: str
    prompt: str
    prompt_tokens: tuple[int, ...] = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    text_bytes: bytes
    finish_reason: FinishReason
    constrained: bool
    complete: bool | None
    settings: dict[str, Any] = field(default_factory=dict)
    healed: bytes = b""
    masks: CacheRecord | None = field(default=None, repr=False, compare=False)
    source: Source | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """A model and a matcher stay behind."""
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return kept | {"source": None} | {name: self.__dict__[name] for name in ("refusals",) if name in self.__dict__}

    @cached_property
    def refusals(self) -> Mapping[tuple[int, int], str]:
        """Why the grammar refused the model's favourites, by (step, token id); {} when the grammar is not at hand."""
        from workbench.generation.refusals import refusals

        return refusals(self)

    def branch(self, step: int, edit: Edit = None, **options: Any) -> Generation:
        """Go on from before token `step`, with `edit` in its place: a text, bytes, a token id or several, or nothing.

        The steps before keep their records.  `options` are those of `generate`; the others are as they were, the seed
        too, so that without an edit and with the same seed the same text comes again.  Raises `BeginningError` for an
        edit that the grammar refuses, `ValueError` without a `source` (a pickled generation).
        """
        from workbench.generation.branch import branch

        return branch(self, step, edit, **options)

    def cuts(self, *, passes: int = 16) -> Cuts:
        """In which other tokens the text could have been written, and how likely each cut is to the model.

        By at most so many passes of the model; bounds say what they leave out.  `ValueError` without a `source`.
        """
        from workbench.generation.cuts import cuts_of

        return cuts_of(self, passes=passes)

    def blame(self, *, seconds: float = 10.0) -> Blame:
        """Which parts of the grammar took how much probability, from the refused tokens that were recorded.

        At most so many seconds are spent on reasons.  `ValueError` without a grammar.
        """
        from workbench.blame import blame

        return blame(self, seconds=seconds)

    def to_chrome_trace(self, path: str | Path) -> Path:
        """Write what each step took as events that Perfetto and Chrome's `about:tracing` open; the path."""
        from workbench.replaying.chrome import generation_events, write_events

        return write_events(path, generation_events(self))

    def to_html(self, *, title: str = "Maskscope generation", heading: bool = True) -> str:
        """The run as one HTML document: the model cockpit and the caches, stepped by the arrow keys, without Python."""
        from workbench.cockpit import generation_page

        label = f", {self.model}" if self.random else ""
        return generation_page(self, title=title + label, heading=heading)

    def save(self, path: str | Path, *, title: str = "Maskscope generation") -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        from workbench.strip import save_html

        return save_html(path, self.to_html(title=title))

    def show(self, *, height: int = 640) -> Page:
        """The same page in a frame, `height` pixels high, for the notebook: step with the arrow keys."""
        from visualizers.standalone import iframe
        from workbench.page import Page

        return Page(iframe(self.to_html(heading=False), height=height), str(self))

    def _repr_html_(self) -> str:
        from workbench.cockpit import generation_html

        return generation_html(self)

    def __str__(self) -> str:
        from workbench.cockpit import generation_text

        return generation_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In IPython's terminal: as `print` shows it."""
        printer.text(repr(self) if cycle else str(self))

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(step.token_id for step in self.steps)

    @property
    def random(self) -> bool:
        """Whether the model had random weights: its times mean something, its text and probabilities nothing."""
        return self.model.startswith("random:")

    @property
    def text(self) -> str:
        """`text_bytes` as UTF-8; bytes that are no character (a cut at `max_tokens`) become U+FFFD."""
        return self.text_bytes.decode("utf-8", errors="replace")

    @property
    def log_feasible_mass(self) -> float:
        """Sum over steps of log feasible mass (nats, 0 or less): how hard the constraint pushed in all."""
        return sum(math.log(step.feasible_mass) if step.feasible_mass > 0 else -math.inf for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        kind = "constrained" if self.constrained else "unconstrained"
        verdict = "" if self.complete is None else ", complete" if self.complete else ", incomplete"
        text = self.text if len(self.text) <= 80 else self.text[:79] + "…"
        random = f", {self.model}" if self.random else ""
        return f"<Generation {text!r}: {len(self)} tokens, {kind}, {self.finish_reason}{verdict}{random}>"

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each step, without the alternatives; times in microseconds.  Each names a random model."""
        label = {"model": self.model} if self.random else {}
        return [
            label
            | {
                "token_id": step.token_id,
                "token": step.token,
                "probability": step.probability,
                "drawn_probability": math.exp(step.drawn_logprob),
                "feasible_mass": step.feasible_mass,
                "allowed_count": step.allowed_count,
                "forced": step.forced,
                "favourite": step.alternatives[0].token if step.alternatives else None,
                "favourite_allowed": not step.rejected_favourite,
                "entropy": step.entropy,
                "masked_entropy": step.masked_entropy,
                "mask_kind": None if step.fill is None else step.fill.kind,
                "mask_us": step.mask_ns / 1e3,
                "model_us": step.model_ns / 1e3,
                "apply_us": step.apply_ns / 1e3,
                "sample_us": step.sample_ns / 1e3,
                "record_us": step.record_ns / 1e3,
            }
            for step in self.steps
        ]

    def to_frame(self) -> pd.DataFrame:
        """The steps as a `pandas.DataFrame`, one row for each token."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        frame.index.name = "step"
        return frame
