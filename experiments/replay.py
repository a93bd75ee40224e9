"""Whole steps of generation along texts that are given: the model reads, masks are found and applied, a token is drawn,
and then the text's own token is taken, so that every engine sees the same text and the same logits at every step.

`GivenTexts` is `workbench.generation.Engine` that does so, with its own masks or with another engine's, which are put
on logits by that engine's own kernel, through the calls that it offers for batches.
Read on: `replay_cases.py` (what is replayed), `gpu.py` (texts in step), `serving.py` (texts that come and go).
"""

from __future__ import annotations

import copy
import importlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from experiments.replay_cases import PEERS, Text
from experiments.trial import NotRunError
from kernels_core import GrammarMatcher, TokenizerInfo
from workbench.generation import Engine, Row
from workbench.generation.device_masks import send
from workbench.generation.sampling import Sampling, draw_rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kernels_core.mask_rows import MaskRows

ROOM = 256


def tiny_llama(vocab_size: int, stop: int) -> Any:
    """A Llama of hidden size 128 with random weights, the same every time."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=16_384,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=stop,
    )
    return LlamaForCausalLM(config).eval()


class GivenTexts(Engine):
    """Our engine, whose rows take the tokens that are given them, whatever is drawn.

    `given`: of each row its tokens, and the constraint that it is under.  `drawn_at`: when the last step had drawn, and
    nobody had taken the tokens yet (`time.perf_counter`).
    """

    def __init__(self, model: PreTrainedModel, info: TokenizerInfo, rows: int, max_length: int, **options: Any) -> None:
        super().__init__(
            model, info, rows=rows, max_length=max_length, prefix_bytes=0, prompts_together=True, **options
        )
        self.given: dict[Row, tuple[Sequence[int], Any]] = {}
        self.peer = ""
        self.drawn_at = 0.0
        words, pinned = (info.vocab_size + 31) // 32, self._device.type == "cuda"
        self.bits = torch.full((rows, words), -1, dtype=torch.int32, pin_memory=pinned)

    def use(self, name: str) -> None:
        """Take the masks of the engine `name` from now on: of a peer, or ours under any other name."""
        self.peer = name if name in PEERS else ""
        if self.peer:
            self.fill_all, self.kernel = batch_fill(name), peer_kernel(name)

    def give(
        self,
        prompt: Sequence[int],
        tokens: Sequence[int],
        constraint: Any,
        *,
        before: Sequence[int] = (),
        seed: int = 0,
    ) -> Row:
        """Admit a text of `tokens` behind a prompt, under a constraint of the engine in use, None for a free one.

        before: tokens of the text that were written already, and are read with the prompt.
        """
        matcher, takes = None, None if constraint is None else constraint.accept
        if constraint is not None and not self.peer:
            matcher = GrammarMatcher(constraint.compiled)
            takes = matcher.accept_token
        for token in before:
            if takes is not None and not takes(token):
                raise RuntimeError(f"{self.peer or 'ours'} refused token {token}")
        row = self.admit([*prompt, *before], matcher, sampling=Sampling(), seed=seed, max_tokens=len(tokens))
        self.given[row] = tokens, constraint
        return row

    def choose(self, rows: list[Row], states: torch.Tensor, masks: MaskRows) -> list[int]:
        texts = [self.given[row] for row in rows]
        if self.peer:
            logits, bits = self._run.logits(states), self.bits[: len(rows)]
            self.fill_all([constraint.matcher for _, constraint in texts], bits)
            self.kernel(logits, bits.to(self._device, non_blocking=True))
            uniforms = send(np.array([row.luck() for row in rows]), self._device)
            draw_rows(logits, [row.sampling for row in rows], uniforms).tolist()
        else:
            super().choose(rows, states, masks)
        self.drawn_at = time.perf_counter()
        chosen = [tokens[len(row.tokens)] for row, (tokens, _) in zip(rows, texts, strict=True)]
        for token, (_, constraint) in zip(chosen, texts, strict=True):
            if self.peer and not constraint.accept(token):
                raise RuntimeError(f"{self.peer} refused token {token}")
        return chosen


class Replay(GivenTexts):
    """All of `texts` in step, one a row, under the engine `name`; `start` begins a pass over them."""

    def __init__(
        self, name: str, model: PreTrainedModel, info: TokenizerInfo, texts: Sequence[Text], **options: Any
    ) -> None:
        super().__init__(model, info, len(texts), ROOM, **options)
        self.texts = texts
        self.use(name)

    def start(self, constraints: Sequence[Any]) -> None:
        """Admit every text, behind what is read before the first step; prompts are read now, and not timed.

        Of a peer each constraint is a fresh one; None: a free text.
        """
        for row in self.given:
            self.cancel(row)
        self.step()
        self.given = {}
        for number, (text, constraint) in enumerate(zip(self.texts, constraints, strict=True)):
            before, tokens = text.tokens[: text.before], text.tokens[text.before :]
            self.give([1], tokens, constraint, before=before, seed=number)
        self.read_prompts()
        # On a GPU the first pass of a batch is recorded, and no part of a text's first step.
        self.read_again(torch.tensor([row.unread[0] for row in self.given], device=self._device))

    def read_again(self, tokens: torch.Tensor) -> None:
        """The model's pass of a step over `tokens`, int64 (rows,) on its device, and nothing around it."""
        self._run.decode(tokens)
        for slot in range(len(tokens)):
            self._run.lengths[slot] -= 1


def afresh(name: str, made: Any) -> Any:
    """A constraint at the beginning, over what `made` has compiled."""
    twin = copy.copy(made)
    if name == "xgrammar":
        twin.matcher = made.matcher.fork()
        twin.matcher.reset()
    else:
        twin.reset()
    twin.accept = twin.matcher.accept_token if name == "xgrammar" else twin.matcher.consume_token
    return twin


def peer_kernel(name: str) -> Callable[[torch.Tensor, torch.Tensor], object]:
    """The function with which the engine `name` puts a bitmask on logits, both on one device."""
    module = {"xgrammar": "xgrammar", "llguidance": "llguidance.torch"}[name]
    try:
        kernel: Callable[[torch.Tensor, torch.Tensor], object] = importlib.import_module(
            module
        ).apply_token_bitmask_inplace
    except ModuleNotFoundError as error:
        raise NotRunError(f"{name} is not installed ({error.name} is missing)") from None
    return kernel


def batch_fill(name: str) -> Callable[[list[Any], torch.Tensor], object]:
    """Fills all rows of a bitmask, by the call that the engine has for batches, with as many threads as it takes."""
    if name == "xgrammar":
        import xgrammar

        batch = xgrammar.BatchGrammarMatcher()
        return lambda matchers, bits: batch.batch_fill_next_token_bitmask(matchers, bits)
    import llguidance.torch as kernels
    from llguidance import LLExecutor

    executor = LLExecutor()
    return lambda matchers, bits: kernels.fill_next_token_bitmask_par(
        executor, [(matcher, row) for row, matcher in enumerate(matchers)], bits
    )
