"""From hidden states and masks to tokens: of few allowed ids the model's head computes those logits and no others.

`Drawer.draw` groups rows by how many ids their masks allow, draws for a group together, and waits for the device once.
Log probabilities that are asked for are those under the mask, before penalties and the settings of the draw.
Read on: `sampling.py` (the draw of one group), `slots.py` (logits of states), `device_masks.py` (masks
on a GPU).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from kernels_core import apply_token_bitmask_inplace
from kernels_core.batch import apply_masks_inplace
from kernels_core.mask_rows import MaskRows
from workbench.generation.device_masks import DeviceMasks, send
from workbench.generation.sampling import Penalty, Sampling, draw_rows, penalise

if TYPE_CHECKING:
    from workbench.generation.model import ModelRun
    from workbench.generation.slots import SlotRun

WIDTHS: Final = (16, 192, 2048)
"""Masks of at most so many ids are drawn from by a list, those of one class together; wider ones by all logits."""
FIRST: Final = np.zeros(1, dtype=np.int64)


class TokenLogprob(NamedTuple):
    """Log probability (nats) of a token under its mask; `top`: the likeliest ids there with theirs, likeliest first."""

    logprob: float
    top: tuple[tuple[int, float], ...] = ()


class Drawn(NamedTuple):
    """What `Drawer.draw` found.

    tokens: int64 (rows, 1 + best), the token drawn and behind it the likeliest that are allowed (-1 where there are
    fewer).  A drawn token below 0 is what `draw_rows` says it is.  listed: which rows were drawn from a list.
    logprobs: by row, where they were asked for.
    """

    tokens: npt.NDArray[np.int64]
    listed: npt.NDArray[np.bool_]
    logprobs: dict[int, TokenLogprob]


class Drawer:
    """Draws tokens from what `run` returned.

    sparse: False computes and masks all logits, however few ids a mask allows.  device_masks: masks that are kept on
    the model's device; all logits are computed then.
    """

    def __init__(
        self, run: SlotRun | ModelRun, vocab_size: int, *, sparse: bool, device_masks: DeviceMasks | None
    ) -> None:
        self._run = run
        self._device = run.device
        self._vocab_size = vocab_size
        self._widths = WIDTHS if sparse and device_masks is None else ()
        self._device_masks = device_masks
        self._reads_masks = not self._widths and device_masks is None and run.device.type == "cpu"

    @torch.inference_mode()
    def draw(
        self,
        states: torch.Tensor,
        masks: MaskRows,
        samplings: Sequence[Sampling],
        lucks: Sequence[float],
        going: npt.NDArray[np.bool_],
        *,
        best: int = 0,
        penalties: Mapping[int, Penalty] = MappingProxyType({}),
        logprobs: Mapping[int, int] = MappingProxyType({}),
    ) -> Drawn:
        """A token for each row of `states` that is `going`, by its number from `lucks`; one wait for the device.

        penalties: of rows that have one; these are drawn from all logits.  logprobs: of rows whose log probabilities
        are asked for, how many of the likeliest.
        """
        rows = len(going)
        listed = np.zeros(rows, dtype=np.bool_)
        if not going.any():
            return Drawn(np.zeros((rows, 1 + best), dtype=np.int64), listed, {})
        if rows == 1 and self._reads_masks and not (best or penalties or logprobs):  # one text: arrays would cost more
            luck = torch.tensor(lucks, dtype=torch.float64)
            drawn = draw_rows(self._run.logits(states), samplings, luck, masks=masks, rows=FIRST)
            return Drawn(drawn.unsqueeze(-1).numpy(), listed, {})
        told: list[tuple[list[int], tuple[torch.Tensor, ...]]] = []
        populations = masks.populations()
        uniforms = send(np.array(lucks, dtype=np.float64), self._device)
        tokens = torch.full((rows, 1 + best), -1, dtype=torch.int64, device=self._device)
        for members, few in self._groups(going, populations, penalties):
            which = None if len(members) == rows else send(members, self._device)
            here = states if which is None else states[which]
            ids: torch.Tensor | None = None
            under: MaskRows | None = None  # masks that the draw itself puts on the logits
            asked = [place for place, member in enumerate(members.tolist()) if member in logprobs]
            if few:
                logits, ids = self._listed(members, here, masks, populations)
            else:
                logits = self._run.logits(here)
                if self._device_masks is None and self._device.type == "cpu" and not best and not asked:
                    under = masks
                else:
                    self._mask(logits, members, masks, populations)
            count = min(best, logits.shape[1])
            likeliest = logits.topk(count) if count else None  # before the draw, which overwrites them
            kept = logits[asked].float().log_softmax(-1) if asked else None
            if not few:
                penalise(logits, [(at, penalties[row]) for at, row in enumerate(members.tolist()) if row in penalties])
            luck = uniforms if which is None else uniforms[which]
            settings = [samplings[member] for member in members]
            drawn = draw_rows(logits, settings, luck, masks=under, rows=members).unsqueeze(-1)
            if likeliest is not None:
                places = torch.where(likeliest.values == -torch.inf, -1, likeliest.indices)
                drawn = torch.cat([drawn, places], dim=-1)
            if kept is not None:
                own = kept.gather(-1, drawn[asked, :1].clamp(min=0))
                top = kept.topk(min(kept.shape[1], max(logprobs[row] for row in members[asked].tolist())))
                likely = top.indices if ids is None else ids[asked].gather(-1, top.indices)
                told.append((members[asked].tolist(), (own, top.values, likely)))
            if ids is not None:
                drawn = torch.where(drawn < 0, drawn, ids.gather(-1, drawn.clamp(min=0)))
                listed[members] = True
            if which is None:
                tokens[:, : 1 + count] = drawn
            else:
                tokens[which, : 1 + count] = drawn
        return Drawn(tokens.cpu().numpy(), listed, _logprobs(told, logprobs))

    def _groups(
        self, going: npt.NDArray[np.bool_], populations: npt.NDArray[np.int32], penalties: Mapping[int, Penalty]
    ) -> Iterator[tuple[npt.NDArray[np.int64], bool]]:
        """Rows that are drawn together, and whether their masks allow so few ids that these are listed."""
        left = going.copy()
        may_be_listed = going.copy()
        may_be_listed[list(penalties)] = False
        low = 0
        for high in self._widths:
            few = may_be_listed & (populations > low) & (populations <= high)
            low = high
            if few.any():
                yield np.flatnonzero(few), True
                left &= ~few
        if left.any():
            yield np.flatnonzero(left), False

    def _listed(
        self,
        members: npt.NDArray[np.int64],
        states: torch.Tensor,
        masks: MaskRows,
        populations: npt.NDArray[np.int32],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows that allow few ids: the logits of those alone, minus infinity behind the last, and the ids."""
        counts = populations[members]
        width = int(counts.max())
        ids = send(masks.listed(members, width), self._device)
        logits = self._run.logits_of(states, ids)
        if counts.min() < width:
            logits.masked_fill_(send(np.arange(width) >= counts[:, None], self._device), -torch.inf)
        return logits, ids

    def _mask(
        self,
        logits: torch.Tensor,
        members: npt.NDArray[np.int64],
        masks: MaskRows,
        populations: npt.NDArray[np.int32],
    ) -> None:
        """Minus infinity into the logits of `members` where something is not allowed."""
        masked = np.flatnonzero(populations[members] >= 0)
        if len(masked) and self._device_masks is not None:
            self._device_masks.apply(logits, self._device_masks.slots(masks, members))
        elif len(masked) and self._device.type == "cpu":
            apply_masks_inplace(logits, masks, rows=members[masked], indices=masked)
        elif len(masked):
            rows = np.empty((len(masked), (self._vocab_size + 31) // 32), dtype=np.int32)
            masks.write(rows, members[masked])
            bits = np.zeros((len(members), rows.shape[1]), dtype=np.int32)
            bits[masked] = rows
            apply_token_bitmask_inplace(logits, send(bits, self._device), indices=masked.tolist())


def _logprobs(
    told: list[tuple[list[int], tuple[torch.Tensor, ...]]], asked: Mapping[int, int]
) -> dict[int, TokenLogprob]:
    """What was kept of the groups, by row; what the mask forbids is none of the likeliest."""
    found = {}
    for members, tensors in told:
        own, values, ids = (tensor.tolist() for tensor in tensors)
        for place, row in enumerate(members):
            top = list(zip(ids[place], values[place], strict=True))[: asked[row]]
            found[row] = TokenLogprob(own[place][0], tuple((one, value) for one, value in top if value > -math.inf))
    return found
