"""The record of one text: a `Recorder` observes its row, and writes a `Step` for each token.

What a step tells of the model's distribution is in float64, from all logits and the mask beside them; it never draws.
Read on: `step.py` (what is recorded), `row.py` (`Observer`), `loop.py` (who asks for it).
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from kernels_core.inspect.fills import CacheLog
from kernels_core.inspect.trace import FillEvent
from kernels_core.mask_rows import MaskRows
from workbench.generation.model import LanguageModel, ModelRun
from workbench.generation.row import DrawnFrom, Row
from workbench.generation.sampling import distribution, penalise
from workbench.generation.step import Alternative, Step


class Recorder:
    """Observes a row that is written alone.

    alternatives: how many of the likeliest tokens are recorded.  people: with entropies, and how masks were found, of
    which `log` hears.
    """

    def __init__(self, model: LanguageModel, run: ModelRun, alternatives: int, *, people: bool, log: CacheLog) -> None:
        self.steps: list[Step] = []
        self._run = run
        self._vocabulary = model.tokenizer.info.decoded_vocab
        self._special = frozenset(model.tokenizer.info.special_token_ids)
        self._alternatives = min(alternatives, model.vocab_size) if people else 0
        self._people = people
        self._log = log
        self._masks_before = log.asked
        self._allowed = np.ones(model.vocab_size, dtype=np.bool_)  # at the step that is recorded
        self._drawn: dict[str, Any] = {}  # of the token that is about to be taken
        self._took_ns = 0

    def draws(self, row: Row, token: int, logits: torch.Tensor, seen: DrawnFrom) -> None:
        cutting = row.cutting
        ids = None if cutting is None else cutting.ids(row.matcher)
        arrived, model_ns = time.perf_counter_ns(), self._run.wait()
        event: FillEvent | None = None
        mask_ns, listed_ns = 0 if row.matcher is None else seen.masks_ns, 0
        if cutting is not None and ids is not None:
            allowed = np.zeros_like(self._allowed)
            allowed[ids] = True
            mask_ns = listed_ns = cutting.listed_ns
        else:
            allowed = _allowed_by(seen.masks, seen.number, len(self._allowed))
            if self._log.asked > self._masks_before:
                event = self._log.last
                mask_ns = 0 if event is None else event.nanoseconds
        allowed[list(seen.refused)] = False
        self._allowed = allowed
        began = time.perf_counter_ns()
        masked = self._constrained(logits)
        apply_ns = time.perf_counter_ns() - began
        drawn = _drawn_logprob(row, masked, token)
        if cutting is not None and cutting.canonical:
            asked, likeliest = set[int](), self._likeliest(logits, self._alternatives)
            while new := [one for one in likeliest if one not in asked]:
                asked.update(new)
                for one in new:
                    allowed[one] = allowed[one] and cutting.allows(one, row.matcher)
                masked = self._constrained(logits)
                likeliest = self._likeliest(masked, min(self._alternatives, int(allowed.sum())))
        count = int(allowed.sum())
        own, left = logits.double(), masked.double()
        told = torch.stack([own.logsumexp(0), left.logsumexp(0), own[token], left[token] if drawn is None else drawn])
        total, feasible, logit, drawn_logprob = told.tolist()
        entropy, masked_entropy = self._entropies(logits, masked)
        self._drawn = {
            "offset": len(row.text),
            "logprob": logit - total,
            "drawn_logprob": drawn_logprob - feasible if drawn is None else drawn_logprob,
            "allowed_count": count,
            "feasible_mass": min(1.0, math.exp(feasible - total)),
            "forced": count == 1,
            "alternatives": self._ranked(logits, total, self._alternatives),
            "choices": self._ranked(masked, total, min(self._alternatives, count)),
            "entropy": entropy,
            "masked_entropy": masked_entropy,
            "given": seen.given,
            "fill": event if self._people else None,
            "mask_ns": mask_ns,
            "model_ns": model_ns,
            "apply_ns": apply_ns,
            "sample_ns": arrived - seen.began - listed_ns,
        }
        self._took_ns = time.perf_counter_ns()
        self._drawn["record_ns"] = self._took_ns - arrived - apply_ns

    def takes(self, row: Row, token: int) -> None:
        self._masks_before = self._log.asked
        self._drawn["sample_ns"] += time.perf_counter_ns() - self._took_ns
        self.steps.append(
            Step(
                index=len(self.steps),
                token_id=token,
                token=self._vocabulary[token],
                is_special=token in self._special,
                is_stop=row.finish_reason == "stop" and row.stopped_by is None,
                **self._drawn,
            )
        )

    def _constrained(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits with forbidden tokens at -inf; the given tensor is left alone."""
        if self._allowed.all():
            return logits
        return logits.masked_fill(torch.from_numpy(~self._allowed).to(logits.device), -torch.inf)

    def _likeliest(self, logits: torch.Tensor, count: int) -> list[int]:
        return logits.topk(count).indices.tolist() if count else []

    def _entropies(self, logits: torch.Tensor, masked: torch.Tensor) -> tuple[float | None, float | None]:
        """Entropy in nats of the model's distribution, and of what the mask leaves of it."""
        if not self._people:
            return None, None
        if masked is logits:
            found = float(torch.special.entr(logits.softmax(0)).sum())
            return found, found
        found, left = torch.special.entr(torch.stack([logits, masked]).softmax(1)).sum(1).tolist()
        return found, left if math.isfinite(left) else None

    def _ranked(self, logits: torch.Tensor, total: float, count: int) -> tuple[Alternative, ...]:
        """The `count` likeliest tokens by `logits`; log probabilities are the model's own."""
        if not count:
            return ()
        top = logits.topk(count)
        return tuple(
            Alternative(token, self._vocabulary[token], logit - total, bool(self._allowed[token]))
            for token, logit in zip(top.indices.tolist(), top.values.tolist(), strict=True)
        )


def _allowed_by(masks: MaskRows, number: int, vocab_size: int) -> npt.NDArray[np.bool_]:
    """Which tokens the mask of this number allows; all where there is none."""
    if masks.populations()[number] < 0:
        return np.ones(vocab_size, dtype=np.bool_)
    words = np.empty((1, (vocab_size + 31) // 32), dtype=np.int32)
    masks.write(words, np.array([number]))
    return np.unpackbits(words.view(np.uint8), bitorder="little", count=vocab_size).view(np.bool_)


def _drawn_logprob(row: Row, masked: torch.Tensor, token: int) -> torch.Tensor | None:
    """The log probability with which `token` is drawn from what the mask leaves; None: its share of that."""
    penalty = row.penalty()
    if penalty is None and row.sampling.is_plain and not (row.cutting is not None and row.cutting.canonical):
        return None
    if penalty is not None:
        changed = masked.clone().unsqueeze(0)
        penalise(changed, [(0, penalty)])
        masked = changed.squeeze(0)
    return distribution(masked, row.sampling)[token].log()
