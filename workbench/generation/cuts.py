"""The other cuts of a text: in which tokens it could have been written, and how likely each is to the model.

    made = wb.generate(model, "The capital of France is", grammar)
    made.cuts()                     # a table: each cut with its probability, the chosen one and the tokenizer's marked

One pass of the model over a whole cut gives the probabilities of every token that could have stood at each of its
places, so it opens all cuts that part from it.  The likeliest beginning that was opened is gone on with next, as the
tokenizer cuts what is left.  A beginning is at least as likely as all cuts that go on from it, so what was opened and
not followed bounds from above what was not seen: after `passes` passes the probability of the text, over all its cuts,
lies between `least` and `most`.

Probabilities are the model's own, of the text behind its prompt and without an end behind it; no grammar takes part.
Read on: `cutting.py`, for texts that have one cut only.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import clip, html_escape
from workbench.generation.model import LanguageModel
from workbench.tokenizers.lexicon import lexicon


@dataclass(frozen=True, slots=True)
class CutOfText:
    """A text cut into tokens: their ids and bytes, and the log probability (nats) of the whole.

    chosen: it is how the text was written.  canonical: it is how the tokenizer cuts it.
    """

    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]
    logprob: float
    chosen: bool
    canonical: bool


@dataclass(frozen=True, repr=False)
class Cuts(Table):
    """The cuts of a text that were found, likeliest first; a text is as likely as all its cuts together.

    log_least, log_most: bounds of the log probability of the text over all its cuts, seen or not.  passes: how often
    the model was asked.
    """

    text: bytes
    found: tuple[CutOfText, ...]
    log_least: float
    log_most: float
    passes: int

    @property
    def least(self) -> float:
        """The probability of all cuts that were found."""
        return math.exp(self.log_least)

    @property
    def most(self) -> float:
        """The text is at most so likely."""
        return math.exp(self.log_most)

    @property
    def chosen(self) -> CutOfText:
        """The one that was written."""
        return next(one for one in self.found if one.chosen)

    @property
    def others(self) -> tuple[float, float]:
        """The share of the text's probability that lies on cuts other than the chosen one, between two bounds.

        Of all that is not seen nothing may exist, or everything.
        """
        seen = sum(math.exp(one.logprob - self.log_least) for one in self.found if not one.chosen)
        return seen, max(seen, 1.0 - math.exp(self.chosen.logprob - self.log_most))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each cut; `share` is of what was found."""
        return [
            {
                "tokens": " ".join(repr(token.decode(errors="replace"))[1:-1] or "''" for token in one.tokens),
                "count": len(one.ids),
                "logprob": one.logprob,
                "share": math.exp(one.logprob - self.log_least),
                "chosen": one.chosen,
                "canonical": one.canonical,
            }
            for one in self.found
        ]

    def _repr_html_(self) -> str:
        table: str = self.to_frame().to_html(index=False, float_format="%.4g", border=0)
        table = table.replace(' class="dataframe"', "", 1)
        return f"<p>{html_escape(repr(self))}</p>{table}"

    def __repr__(self) -> str:
        shown = clip(self.text.decode(errors="replace"), 60)
        low, high = self.others
        return (
            f"<Cuts of {shown!r}: {len(self.found)} found in {self.passes} passes, "
            f"{100 * low:.2g} % to {100 * high:.2g} % of its probability on others than the chosen one>"
        )


def find_cuts(model: LanguageModel, prompt: Sequence[int], tokens: Sequence[int], *, passes: int = 16) -> Cuts:
    """The cuts of the text that `tokens` write behind `prompt`, by at most so many passes of the model.

    Control tokens stay where they are.  `ValueError` without a token, or without a pass.
    """
    if not tokens or passes < 1:
        raise ValueError(
            f"a text of at least one token and at least one pass are needed, not {tokens!r} and {passes!r}"
        )
    return _Search(model, prompt, tokens).run(passes)


class _Search:
    def __init__(self, model: LanguageModel, prompt: Sequence[int], tokens: Sequence[int]) -> None:
        self._model, self._prompt, self._chosen = model, list(prompt), tuple(tokens)
        info = model.tokenizer.info
        self._vocabulary = info.decoded_vocab
        self._silent = frozenset(info.special_token_ids) | frozenset(info.stop_token_ids)
        self._words = lexicon(info)
        # The text in pieces: bytes that may be cut, and control tokens, which may not.
        self._pieces: list[bytes | int] = []
        for token in tokens:
            if token in self._silent:
                self._pieces.append(token)
            elif self._pieces and isinstance(self._pieces[-1], bytes):
                self._pieces[-1] += self._vocabulary[token]
            else:
                self._pieces.append(self._vocabulary[token])
        self._canonical = tuple(self._finish(()))

    def run(self, passes: int) -> Cuts:
        found: list[CutOfText] = []
        beginnings: list[tuple[float, tuple[int, ...]]] = []  # a heap of (-log probability, tokens)
        following: tuple[int, ...] = ()
        done = 0
        while done < passes:
            whole = (*following, *self._finish(following)) if done else self._chosen
            logprob, opened = self._follow(whole, len(following))
            done += 1
            found.append(self._cut(whole, logprob))
            for below, ids in opened:
                if self._rest(ids):
                    heapq.heappush(beginnings, (below, ids))
                else:
                    found.append(self._cut(ids, -below))
            if not beginnings or done == passes:
                break
            _, following = heapq.heappop(beginnings)
        found.sort(key=lambda one: -one.logprob)
        least = float(np.logaddexp.reduce([one.logprob for one in found]))
        most = min(0.0, float(np.logaddexp.reduce([least, *(-below for below, _ in beginnings)])))
        return Cuts(b"".join(self._written(self._chosen)), tuple(found), least, most, done)

    def _cut(self, ids: tuple[int, ...], logprob: float) -> CutOfText:
        tokens = tuple(self._vocabulary[token] for token in ids)
        return CutOfText(ids, tokens, logprob, ids == self._chosen, ids == self._canonical)

    def _written(self, ids: Iterable[int]) -> list[bytes]:
        return [b"" if token in self._silent else self._vocabulary[token] for token in ids]

    def _rest(self, ids: Sequence[int]) -> list[bytes | int]:
        """The pieces that `ids` leave to be written."""
        left: list[bytes | int] = list(self._pieces)
        for token in ids:
            head = left[0]
            if isinstance(head, int):
                del left[0]
                continue
            head = head[len(self._vocabulary[token]) :]
            left[:1] = [head] if head else []
        return left

    def _finish(self, ids: Sequence[int]) -> list[int]:
        """The rest as the tokenizer cuts it."""
        found: list[int] = []
        for piece in self._rest(ids):
            found += [piece] if isinstance(piece, int) else self._model.tokenizer.encode(piece)
        return found

    def _follow(self, whole: tuple[int, ...], new: int) -> tuple[float, list[tuple[float, tuple[int, ...]]]]:
        """The log probability of a cut, and the beginnings that part from it behind its first `new` tokens."""
        logprobs = self._pass(whole)
        opened: list[tuple[float, tuple[int, ...]]] = []
        total = 0.0
        for place, token in enumerate(whole):
            head = self._rest(whole[:place])[0]
            if place >= new and isinstance(head, bytes):
                runs = self._words.inside(head)
                others = (int(one) for first, last in runs for one in self._words.ids[first:last])
                opened += [
                    (-(total + float(logprobs[place, other])), (*whole[:place], other))
                    for other in others
                    if other != token
                ]
            total += float(logprobs[place, token])
        return total, opened

    @torch.inference_mode()
    def _pass(self, whole: tuple[int, ...]) -> torch.Tensor:
        """Log probabilities at each place of a cut, float64 (tokens, vocabulary)."""
        ids = torch.tensor([[*self._prompt, *whole[:-1]]], device=self._model.device)
        logits = self._model.model(input_ids=ids, use_cache=False).logits[0, len(self._prompt) - 1 :]
        found: torch.Tensor = logits.double().log_softmax(-1).cpu()
        return found
