"""Penalties: what a text has said already becomes less likely, as OpenAI's API and vLLM define it.

`repetition_penalty` divides the logit of a token of the prompt or the answer, or multiplies it where it is negative;
then `presence_penalty` is taken away from a token of the answer, and `frequency_penalty` for each time that it came.
A mask is stronger: minus infinity stays what it is.
Read on: `sampling.py` (the settings), `drawing.py` (who takes them off).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from workbench.generation.sampling import Sampling


class Penalty(NamedTuple):
    """Which ids of one row are less likely; float64 factors to divide by, and amounts to take away."""

    ids: npt.NDArray[np.int64]
    factors: npt.NDArray[np.float64]
    amounts: npt.NDArray[np.float64]


def penalty_of(sampling: Sampling, prompt: Sequence[int], tokens: Sequence[int]) -> Penalty | None:
    """The penalty behind `tokens`, which answer `prompt`; None where there is none."""
    if not sampling.penalises:
        return None
    said, counts = np.unique(np.array(tokens, dtype=np.int64), return_counts=True)
    amounts = sampling.presence_penalty + sampling.frequency_penalty * counts.astype(np.float64)
    if sampling.repetition_penalty == 1:
        return Penalty(said, np.ones(len(said)), amounts) if tokens else None
    ids = np.union1d(said, np.array(prompt, dtype=np.int64))
    spread = np.zeros(len(ids))
    spread[np.searchsorted(ids, said)] = amounts
    return Penalty(ids, np.full(len(ids), float(sampling.repetition_penalty)), spread)


def penalise(logits: torch.Tensor, penalties: Sequence[tuple[int, Penalty]]) -> None:
    """Change `logits` (rows, vocab) in place, by penalties of some of its rows."""
    if not penalties:
        return

    def flat(arrays: list[npt.NDArray[np.generic]]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(arrays)).to(logits.device)

    rows = flat([np.full(len(one.ids), row) for row, one in penalties])
    ids, factors, amounts = (flat(list(some)) for some in zip(*(one for _, one in penalties), strict=True))
    values = logits[rows, ids].double()
    values = torch.where(values > 0, values / factors, values * factors) - amounts
    logits[rows, ids] = values.to(logits.dtype)
