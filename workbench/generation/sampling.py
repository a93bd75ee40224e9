"""How a token is drawn from a row of logits: temperature, top-k, top-p, and one uniform number a step.

Constraints come first: a mask has already set what is not allowed to -inf, so top-k and top-p choose among allowed
tokens only and can never leave nothing.  Drawing inverts the cumulative distribution with a number from Python's own
generator, so a seed means the same on CPU and GPU, and two runs that differ in their masks alone share their luck.
Read on: `loop.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

__all__ = ["Sampling", "distribution", "draw"]


@dataclass(frozen=True)
class Sampling:
    """Settings of the draw.

    `temperature` 0 means greedy (the likeliest allowed token); `top_k` keeps that many of the likeliest; `top_p` keeps
    the smallest set of likeliest tokens that together reach that probability, at least one.  Raises ValueError for
    values that mean nothing.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a number from 0 up, not {self.temperature!r}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {self.top_k!r}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p!r}")


def distribution(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """The probabilities to draw from: float64, same shape (vocab,) and device as `logits`, which is left alone.

    Forbidden tokens carry -inf in `logits` and get exactly 0.  Ties at the edge of top-k are all kept.
    """
    logits = logits.double()
    if sampling.temperature == 0:
        chosen = torch.zeros_like(logits)
        chosen[logits.argmax()] = 1.0
        return chosen
    # The largest is taken away first, so that a tiny temperature cannot overflow.
    scaled = (logits - logits.max()) / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < scaled.numel():
        edge = scaled.topk(sampling.top_k).values[-1]
        scaled = scaled.masked_fill(scaled < edge, -math.inf)
    probabilities = scaled.softmax(dim=-1)
    if sampling.top_p is not None and sampling.top_p < 1:
        ordered, order = probabilities.sort(descending=True, stable=True)
        # A token stays while those before it have not yet reached top_p.
        dropped = (ordered.cumsum(dim=-1) - ordered) >= sampling.top_p
        probabilities = probabilities.index_fill(-1, order[dropped], 0.0)
        probabilities /= probabilities.sum()
    return probabilities


def draw(probabilities: torch.Tensor, uniform: float) -> int:
    """The token at which the cumulative distribution passes `uniform` (0 <= uniform < 1).  Never one of probability 0.

    Only tokens with a probability are summed: a parallel sum over all of them may round a forbidden one above its
    neighbour, and a constrained step often has a handful.
    """
    support = probabilities.nonzero().squeeze(-1)
    cumulative = probabilities[support].cumsum(dim=-1)
    place = torch.searchsorted(cumulative, uniform * cumulative[-1].item(), right=True)
    return int(support[place.clamp(max=support.numel() - 1)])
