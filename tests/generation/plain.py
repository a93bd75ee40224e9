"""Draws written down plainly, which those of the engine are checked against."""

from __future__ import annotations

import torch

from workbench.generation.sampling import Sampling, _weigh


def draw(probabilities: torch.Tensor, uniform: float) -> int:
    """The token at which the cumulative distribution passes `uniform` (0 <= uniform < 1).  Never one of probability 0.

    Only tokens with a probability are summed: a parallel sum over all of them may round a forbidden one above its
    neighbour, and a constrained step often has a handful.
    """
    support = probabilities.nonzero().squeeze(-1)
    cumulative = probabilities[support].cumsum(dim=-1)
    place = torch.searchsorted(cumulative, uniform * cumulative[-1].item(), right=True)
    return int(support[place.clamp(max=support.numel() - 1)])


def weigh_rows(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """What torch draws from: `logits`, overwritten by weights from 0 to 1, of which 1 is a row's likeliest."""
    if sampling.temperature == 0:
        best = logits.argmax(dim=-1, keepdim=True)
        return logits.zero_().scatter_(-1, best, 1.0)
    _weigh(logits, sampling)
    return logits
