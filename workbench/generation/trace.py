"""What one generation leaves behind: plain, frozen data that needs no model, no grammar and no torch to be read.

`Generation` is the whole run, `Step` one token of it, `Alternative` a token that could have been drawn instead.
Probabilities are the model's own (before mask, temperature, top-k and top-p) unless a name says otherwise.
Read on: `loop.py`, which makes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Alternative", "FinishReason", "Generation", "Step"]

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
    `is_stop`: it ended the generation.  `mask_ns`, `model_ns`, `sample_ns`: nanoseconds for filling and applying the
    mask, for the model's pass, and for choosing and recording.
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

    @property
    def probability(self) -> float:
        return math.exp(self.logprob)

    @property
    def rejected_favourite(self) -> bool:
        """Whether the model's first choice was forbidden by the grammar: a place where the constraint was felt."""
        return bool(self.alternatives) and not self.alternatives[0].allowed


@dataclass(frozen=True)
class Generation:
    """A finished (or interrupted) generation.

    `finish_reason`: "stop" (the model drew a stop token, or a stop string appeared), "length" (`max_tokens` or the
    model's context ran out), "grammar_complete" (the grammar allows nothing more), "interrupted".
    `complete`: whether `text` is a whole sentence of the grammar; None without a grammar.  `constrained` says whether
    there was one.  `text_bytes` is what was written, up to a stop string if one ended it, `tokens` all token ids drawn,
    a stop token included.
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

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(step.token_id for step in self.steps)

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
        return f"<Generation {text!r}: {len(self)} tokens, {kind}, {self.finish_reason}{verdict}>"

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each step, without the alternatives; times in microseconds."""
        return [
            {
                "token_id": step.token_id,
                "token": step.token,
                "probability": step.probability,
                "drawn_probability": math.exp(step.drawn_logprob),
                "feasible_mass": step.feasible_mass,
                "allowed_count": step.allowed_count,
                "forced": step.forced,
                "favourite": step.alternatives[0].token if step.alternatives else None,
                "favourite_allowed": not step.rejected_favourite,
                "mask_us": step.mask_ns / 1e3,
                "model_us": step.model_ns / 1e3,
                "sample_us": step.sample_ns / 1e3,
            }
            for step in self.steps
        ]

    def to_frame(self) -> pd.DataFrame:
        """The steps as a `pandas.DataFrame`, one row for each token."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        frame.index.name = "step"
        return frame
