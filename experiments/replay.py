"""Whole steps of generation along texts that are given: the model reads, masks are found and applied, a token is drawn,
and then the text's own token is taken, so that every engine sees the same text and the same logits at every step.

`Replay` is `workbench.generation.Engine` that does so; `PeerReplay` the same with another engine's masks and its own
kernel for putting them on logits, through the calls that engine offers for batches.
Read on: `replay_cases.py` (what is replayed), `gpu.py`.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from experiments.trial import NotRunError
from kernels_core import GrammarMatcher, TokenizerInfo
from workbench.generation import Engine, Row
from workbench.generation.device_masks import send
from workbench.generation.sampling import Sampling, draw_rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kernels_core.mask_rows import MaskRows

ROOM = 256


@dataclass(frozen=True)
class Text:
    """A text to replay: all its tokens, and how many of them are read before the first step."""

    tokens: tuple[int, ...]
    before: int


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


class Replay(Engine):
    """Our engine along `texts`, one a row; `start` begins a pass over all of them."""

    def __init__(
        self,
        model: PreTrainedModel,
        info: TokenizerInfo,
        texts: Sequence[Text],
        *,
        sparse: bool = True,
        device_masks: bool | None = None,
    ) -> None:
        super().__init__(model, info, rows=len(texts), max_length=ROOM, sparse=sparse, device_masks=device_masks)
        self.texts = texts
        self.replayed: list[Row] = []

    def start(self, matchers: Sequence[GrammarMatcher | None]) -> None:
        """Admit every text, behind what is read before the first step; prompts are read now, and not timed."""
        for row in self.replayed:
            self.cancel(row)
        self.step()
        self.replayed = []
        for number, (text, matcher) in enumerate(zip(self.texts, matchers, strict=True)):
            for token in text.tokens[: text.before]:
                if matcher is not None and not matcher.accept_token(token):
                    raise RuntimeError(f"text {number}: token {token} was refused")
            prompt = [1, *text.tokens[: text.before]]
            self.replayed.append(self.admit(prompt, matcher, sampling=Sampling(), seed=number, max_tokens=ROOM))
        self.read_prompts()
        # On a GPU the first pass of a batch is recorded, and no part of a text's first step.
        self.read_again(torch.tensor([row.unread[0] for row in self.replayed], device=self._device))

    def read_again(self, tokens: torch.Tensor) -> None:
        """The model's pass of a step over `tokens`, int64 (rows,) on its device, and nothing around it."""
        self._run.decode(tokens)
        for slot in range(len(tokens)):
            self._run.lengths[slot] -= 1

    def read_prompts(self) -> None:
        """All prompts in one pass: one after the other they would take longer than the steps that are measured."""
        rows = [self._waiting.popleft() for _ in range(len(self._waiting))]
        self._active += rows
        width = max(len(row.unread) for row in rows) - 1
        if width:
            ids = [row.unread[:-1] + [0] * (width + 1 - len(row.unread)) for row in rows]
            self._slots.verify(torch.tensor(ids, device=self._device))
            self._slots.keep([range(len(row.unread) - 1) for row in rows])
        for row in rows:
            del row.unread[:-1]

    def choose(self, rows: list[Row], states: torch.Tensor, masks: MaskRows) -> list[int]:
        super().choose(rows, states, masks)
        return self.given()

    def given(self) -> list[int]:
        """The texts' own tokens."""
        return [text.tokens[text.before + len(row.tokens)] for text, row in zip(self.texts, self.replayed, strict=True)]


class PeerReplay(Replay):
    """The same loop with masks of another engine: `constraints`, one a row, are those of `workbench.peers`."""

    def __init__(self, name: str, model: PreTrainedModel, info: TokenizerInfo, texts: Sequence[Text]) -> None:
        super().__init__(model, info, texts, sparse=False)
        self.name = name
        self.constraints: list[Any] = []
        words, pinned = (info.vocab_size + 31) // 32, self._device.type == "cuda"
        self._bits = torch.full((len(texts), words), -1, dtype=torch.int32, pin_memory=pinned)
        self._kernel = peer_kernel(name)
        self._fill_all = batch_fill(name)

    def start_with(self, constraints: Sequence[Any]) -> None:
        """`start`, with fresh constraints; those that are equal objects are forks of one."""
        self.constraints = list(constraints)
        for text, constraint in zip(self.texts, constraints, strict=True):
            for token in text.tokens[: text.before]:
                if not constraint.accept(token):
                    raise RuntimeError(f"{self.name} refused token {token}")
        self.start([None] * len(self.texts))

    @torch.inference_mode()
    def choose(self, rows: list[Row], states: torch.Tensor, masks: object) -> list[int]:
        logits = self._run.logits(states)
        self._fill_all([constraint.matcher for constraint in self.constraints], self._bits)
        self._kernel(logits, self._bits.to(self._device, non_blocking=True))
        uniforms = send(np.array([row.luck() for row in rows]), self._device)
        draw_rows(logits, [row.sampling for row in rows], uniforms).tolist()
        given = self.given()
        for constraint, token in zip(self.constraints, given, strict=True):
            if not constraint.accept(token):
                raise RuntimeError(f"{self.name} refused token {token}")
        return given


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
