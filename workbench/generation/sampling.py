"""How tokens are drawn: penalties, temperature, top-k, top-p, min-p, and one uniform number for each draw.

Constraints come first: what is not allowed is at -inf or not among the candidates at all, so top-k, top-p and min-p
choose among allowed tokens only and can never leave nothing.  Drawing inverts the cumulative distribution over
ascending ids, so a number from Python's own generator means the same token on CPU and GPU, with all logits masked or
with the allowed ones gathered, and two runs that differ in their masks alone share their luck.

`distribution` is for one row, in float64, for the record.  `draw_rows` is for a batch, in float32 on the logits'
device, without waiting for it: candidates may be the whole vocabulary or the few ids that a mask allows.  In CPU memory
the engine draws, in one pass that reads masks beside the logits (`kernels_core.batch.draw_tokens`); top-k and top-p
order all weights and are torch operations everywhere.

Penalties make what a text has said already less likely, as OpenAI's API and vLLM define it: `repetition_penalty`
divides the logit of a token of the prompt or the answer, or multiplies it where it is negative; then `presence_penalty`
is taken away from a token of the answer, and `frequency_penalty` for each time that it came.  A mask is stronger: minus
infinity stays what it is.
Read on: `drawing.py` (who draws), `record.py` (the record).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from kernels_core.batch import apply_masks_inplace, draw_tokens
from kernels_core.mask_rows import MaskRows

NOTHING: Final = -1
"""What `draw_rows` returns for a row in which every candidate has probability 0."""
NOT_A_NUMBER: Final = -2
"""What it returns for a row whose logits are not all numbers."""
MOST_PENALTY: Final = 2.0  # OpenAI's bounds
MOST_REPETITION: Final = 10.0  # and its inverse: no logit becomes infinite
LOG2_E: Final = math.log2(math.e)
BLOCK: Final = 512  # weights that are summed before a draw looks into them
CHUNK_BYTES: Final = 4 << 20  # rows that are weighed together on a CPU: they stay in its cache


@dataclass(frozen=True)
class Sampling:
    """Settings of the draw.

    `temperature` 0 means greedy (the likeliest allowed token); `top_k` keeps that many of the likeliest; `top_p` keeps
    the smallest set of likeliest tokens that together reach that probability, at least one; `min_p` then keeps those
    that are at least so likely, compared with the likeliest.  The three penalties make what was said less
    likely.  Raises ValueError for values that mean nothing.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a number from 0 up, not {self.temperature!r}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {self.top_k!r}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p!r}")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must be from 0 to 1, not {self.min_p!r}")
        for name in ("frequency_penalty", "presence_penalty"):
            if not abs(getattr(self, name)) <= MOST_PENALTY:
                raise ValueError(
                    f"{name} must be from -{MOST_PENALTY:g} to {MOST_PENALTY:g}, not {getattr(self, name)!r}"
                )
        if not 1 / MOST_REPETITION <= self.repetition_penalty <= MOST_REPETITION:
            most = MOST_REPETITION
            raise ValueError(
                f"repetition_penalty must be from {1 / most:g} to {most:g}, not {self.repetition_penalty!r}"
            )

    @property
    def is_plain(self) -> bool:
        """Whether a token is drawn by the model's own probabilities, penalties aside."""
        return self.temperature == 1 and self.top_k is None and self.top_p in (None, 1.0) and not self.min_p

    @property
    def penalises(self) -> bool:
        """Whether a draw depends on what was said before."""
        return bool(self.frequency_penalty or self.presence_penalty) or self.repetition_penalty != 1

    @property
    def penalties(self) -> dict[str, float]:
        """The penalties that change something."""
        neutral = {"frequency_penalty": 0, "presence_penalty": 0, "repetition_penalty": 1}
        return {name: value for name, none in neutral.items() if (value := getattr(self, name)) != none}

    def orders(self, width: int) -> bool:
        """Whether a draw from `width` candidates has to order them."""
        if self.temperature == 0:
            return False
        return (self.top_k is not None and self.top_k < width) or (self.top_p is not None and self.top_p < 1)


# -- what was said already -----------------------------------------------------------------------------------------


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


# -- one row, for the record ---------------------------------------------------------------------------------------


def distribution(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """The probabilities to draw from: float64, same shape (vocab,) and device as `logits`, which is left alone.

    Forbidden tokens carry -inf in `logits` and get exactly 0.  Ties at the edge of top-k are all kept.
    """
    logits = logits.double()
    if sampling.temperature == 0:
        chosen = torch.zeros_like(logits)
        chosen[logits.argmax()] = 1.0
        return chosen
    weights = logits.clone().unsqueeze(0)
    _weigh(weights, sampling)
    return weights.squeeze(0) / weights.sum()


def once_more(uniform: float) -> float:
    """The number of another draw of the same token, where the first was not taken: the later digits of its number, of
    which its first ones say nothing.  So each token has one number, however often it is drawn."""
    return uniform * (1 << 26) % 1


# -- many rows -----------------------------------------------------------------------------------------------------


def draw_rows(
    logits: torch.Tensor,
    samplings: Sequence[Sampling],
    uniforms: torch.Tensor,
    *,
    masks: MaskRows | None = None,
    rows: npt.NDArray[np.int64] | None = None,
) -> torch.Tensor:
    """Draw one candidate in each row; int64 (rows,) on the logits' device, which is not waited for.

    logits
        Floating, shape (rows, candidates), overwritten or not; -inf where a candidate is not allowed or only fills the
        row.
    samplings
        The settings of each row.
    uniforms
        float64, shape (rows,), on the same device: 0 <= u < 1.
    masks, rows
        In CPU memory: row `i` is drawn under the mask `rows[i]` (None: i) as well, if there is one.

    Returns the place of the candidate in its row, `NOTHING` or `NOT_A_NUMBER`.
    """
    count = len(logits)
    if len(samplings) != count or len(uniforms) != count:
        raise ValueError(f"{len(samplings)} settings and {len(uniforms)} numbers for {count} rows of logits")
    if logits.device.type == "cpu" and logits.dtype == torch.float32 and logits.stride(-1) == 1:
        return _draw_natively(logits, samplings, uniforms, masks, rows)
    if masks is not None:
        apply_masks_inplace(logits, masks, rows=rows)
    return _draw_by_torch(logits, samplings, uniforms)


def _draw_natively(
    logits: torch.Tensor,
    samplings: Sequence[Sampling],
    uniforms: torch.Tensor,
    masks: MaskRows | None,
    rows: npt.NDArray[np.int64] | None,
) -> torch.Tensor:
    """`draw_rows` by the engine, but for rows whose weights have to be ordered: these by torch."""
    if masks is not None and rows is None:
        rows = np.arange(len(masks))
    numbers = uniforms.numpy()
    ordered = np.array([sampling.orders(logits.shape[1]) for sampling in samplings], dtype=np.bool_)
    which = np.flatnonzero(~ordered)
    drawn = np.empty(len(samplings), dtype=np.int64)
    drawn[which] = draw_tokens(
        logits,
        numbers[which],
        [samplings[row].temperature for row in which.tolist()],
        [samplings[row].min_p or 0.0 for row in which.tolist()],
        masks=masks,
        rows=None if rows is None else rows[which],
        indices=which,
        max_threads=torch.get_num_threads(),
    )
    others = np.flatnonzero(ordered)
    if len(others):
        if masks is not None and rows is not None:
            apply_masks_inplace(logits, masks, rows=rows[others], indices=others)
        chosen = torch.from_numpy(others)
        settings = [samplings[row] for row in others.tolist()]
        drawn[others] = _draw_by_torch(logits[chosen], settings, uniforms[chosen]).numpy()
    return torch.from_numpy(drawn)


def _draw_by_torch(logits: torch.Tensor, samplings: Sequence[Sampling], uniforms: torch.Tensor) -> torch.Tensor:
    """`draw_rows` by torch operations: rows with the same settings together."""
    first = samplings[0] if len(logits) else Sampling()
    if all(sampling is first or sampling == first for sampling in samplings):
        return _draw_alike(logits, first, uniforms)
    drawn = torch.empty(len(logits), dtype=torch.int64, device=logits.device)
    kinds: dict[Sampling, list[int]] = {}
    for row, sampling in enumerate(samplings):
        kinds.setdefault(sampling, []).append(row)
    for sampling, members in kinds.items():
        chosen = torch.tensor(members, device=logits.device)
        drawn[chosen] = _draw_alike(logits[chosen], sampling, uniforms[chosen])
    return drawn


def _draw_alike(logits: torch.Tensor, sampling: Sampling, uniforms: torch.Tensor) -> torch.Tensor:
    """A draw for rows with the same settings; on a CPU a few rows at a time."""
    rows, width = logits.shape
    step = rows
    if logits.device.type == "cpu":
        step = max(1, CHUNK_BYTES // max(1, width * logits.element_size()))
    if step >= rows:
        return _draw(logits, sampling, uniforms)
    parts = [_draw(logits[at : at + step], sampling, uniforms[at : at + step]) for at in range(0, rows, step)]
    return torch.cat(parts)


def _draw(logits: torch.Tensor, sampling: Sampling, uniforms: torch.Tensor) -> torch.Tensor:
    if sampling.temperature == 0:
        most, best = logits.max(dim=-1)
        return _flagged(best, most)
    most = _weigh(logits, sampling)
    return _flagged(_pick(logits, uniforms), most)


def _flagged(drawn: torch.Tensor, most: torch.Tensor) -> torch.Tensor:
    """`drawn`, but where the largest logit says that there is nothing to draw; `max` hands NaN on."""
    drawn = torch.where(most == -math.inf, NOTHING, drawn)
    return torch.where(most.isnan() | (most == math.inf), NOT_A_NUMBER, drawn)


def _weigh(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Logits become weights, in place; returns the largest logit of each row."""
    most = logits.amax(dim=-1, keepdim=True)
    # The largest is taken away first, so that a tiny temperature cannot overflow.
    logits.sub_(most.clamp(min=torch.finfo(logits.dtype).min))
    if sampling.temperature != 1:
        # One that the logits' own numbers cannot hold would make 0 / 0 of the likeliest.
        logits.div_(max(sampling.temperature, torch.finfo(logits.dtype).tiny))
    if sampling.top_k is not None and sampling.top_k < logits.shape[-1]:
        edge = logits.topk(sampling.top_k, dim=-1).values[:, -1:]
        logits.masked_fill_(logits < edge, -math.inf)
    # Not `exp_`: on a CPU that takes ten times as long where its result is 0 or denormal, so wherever a mask has been.
    logits.mul_(LOG2_E).exp2_()
    if sampling.top_p is not None and sampling.top_p < 1:
        ordered, order = logits.sort(dim=-1, descending=True, stable=True)
        cumulative = ordered.cumsum(dim=-1, dtype=torch.float64)
        # A token stays while those before it have not yet reached top_p.
        dropped = (cumulative - ordered) >= sampling.top_p * cumulative[:, -1:]
        logits.scatter_(-1, order, ordered.masked_fill_(dropped, 0.0))
    if sampling.min_p:
        logits.masked_fill_(logits < sampling.min_p, 0.0)
    return most.squeeze(-1)


def _pick(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """The place in each row at which the sum of weights passes its share `uniform` of the whole.

    Sums go over blocks first and then into one block, so that a wide row is read once; never a weight of 0.
    """
    width = weights.shape[-1]
    if width <= 2 * BLOCK:
        return _pass(weights, None, uniforms)[0]
    whole = width // BLOCK * BLOCK
    sums = weights[:, :whole].unflatten(-1, (-1, BLOCK)).sum(dim=-1)
    if whole < width:
        sums = torch.cat([sums, weights[:, whole:].sum(dim=-1, keepdim=True)], dim=-1)
    block, left = _pass(sums, None, uniforms)
    places = block.unsqueeze(-1) * BLOCK + torch.arange(BLOCK, device=weights.device)
    inside = weights.gather(-1, places.clamp(max=width - 1)).masked_fill_(places >= width, 0.0)
    return _pass(inside, left, uniforms)[0] + block * BLOCK


def _pass(
    weights: torch.Tensor, target: torch.Tensor | None, uniforms: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Where a row's running sum passes `target` (None: its share `uniforms` of the sum), and what was left then."""
    cumulative = weights.cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[:, -1]
    if target is None:
        target = uniforms * total
    # Sums of blocks are rounded otherwise than sums inside them: the last weight that counts takes what is beyond.
    target = torch.minimum(target, total * (1 - 2**-50)).unsqueeze(-1)
    place = torch.searchsorted(cumulative, target, right=True).clamp_(max=weights.shape[-1] - 1)
    before = torch.where(place > 0, cumulative.gather(-1, (place - 1).clamp(min=0)), 0.0)
    return place.squeeze(-1), (target - before).squeeze(-1)
