"""One token of a generation, and those that could have been drawn in its place.

Probabilities are the model's own (before mask, temperature, top-k and top-p) unless a name says otherwise.

Read on: `generation.py` (the whole run).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernels_core.inspect.trace import FillEvent


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
    together, from 0 to 1.  `allowed_count`: how many tokens the mask allowed (the whole vocabulary without a grammar;
    of a canonical text an upper bound, as only the likeliest are looked at); `forced` says it was one.
    `alternatives`: the likeliest tokens, likeliest first, allowed or not.  `offset`: bytes of text before this token.
    `is_special`: a control token, whose bytes are its name and add nothing to the text; `is_stop`: it ended the
    generation.  `given`: it was not drawn but set beforehand (`begin`).

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
