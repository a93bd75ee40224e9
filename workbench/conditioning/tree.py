"""The tree of token prefixes behind a prompt: the model reads each prefix once, whoever asks for it and how often.

    tree = PrefixTree(model, model.encode_prompt("yes or no?"))
    tree.read([tree.root])                            # a pass of the model for all that are new, side by side
    tree.log_probs(tree.root)                         # of the next token: float64 (vocab,)
    child = tree.child(tree.root, 42)

All keys and values lie in one slot of a `SlotRun`, and each prefix looks at its own ancestors there, so two texts share
what they have in common, and a copy of a text costs nothing.  Of each prefix the model's hidden state is kept, and the
log probabilities of those that were asked for last.
Read on: `language.py` (what a grammar makes of the tree).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from workbench.conditioning.drawing import FloatArray
from workbench.generation.errors import ModelError
from workbench.generation.model import fit_threads
from workbench.generation.slots import SlotRun

if TYPE_CHECKING:
    from kernels_core import GrammarMatcher
    from workbench.generation.model import LanguageModel

ROWS: Final = 64  # prefixes that one pass reads
FEWEST: Final = 8  # tokens that a slot has room for: it tries itself with a few
KEPT_BYTES: Final = 1 << 27  # of log probabilities


class OutOfForwardsError(Exception):
    """The tree may read no more prefixes; whoever walks it ends with what there is."""


class Prefix:
    """Tokens behind the prompt.  Attributes are for reading.

    depth: how many tokens.  log_prob: of all of them, given the prompt (nats).  ended: the last is a stop token, and is
    no text.  children: by token, those that were asked for; None where a language refuses the token.
    value: what a method knows of it (`attempts.py`).
    """

    __slots__ = (
        "branch",
        "children",
        "depth",
        "ended",
        "log_prob",
        "matcher",
        "number",
        "parent",
        "state",
        "token",
        "value",
    )

    def __init__(self, parent: Prefix | None, token: int, log_prob: float, *, ended: bool = False) -> None:
        self.parent = parent
        self.token = token
        self.log_prob = log_prob
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.ended = ended
        self.children: dict[int, Prefix | None] = {}
        self.matcher: GrammarMatcher | None = None
        self.value: float | None = None
        self.number = -1  # where the slot holds its last token; -1: it was not read
        self.branch: tuple[int, ...] = ()  # where it holds the tokens from the prompt's last one to the one before
        self.state: torch.Tensor | None = None

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens, a stop token at the end included."""
        found = []
        here = self
        while here.parent is not None:
            found.append(here.token)
            here = here.parent
        return tuple(reversed(found))

    def __repr__(self) -> str:
        return f"<Prefix {self.tokens}{', ended' if self.ended else ''}>"


class PrefixTree:
    """The prefixes behind `prompt` (token ids), read by `model`.  Not thread-safe.

    temperature
        The model's logits are divided by it: its probabilities at that temperature are what everything is measured by.
    max_forwards
        Prefixes that may be read; `OutOfForwardsError` beyond.

    Raises `ModelError` for a model that cannot read texts of different lengths in one pass, and a prompt that fills its
    context, `ValueError` for a setting that means nothing.
    """

    def __init__(
        self, model: LanguageModel, prompt: Sequence[int], *, temperature: float = 1.0, max_forwards: int = 10_000
    ) -> None:
        if not (math.isfinite(temperature) and temperature > 0):
            raise ValueError(
                f"temperature must be a number above 0, not {temperature!r}: at 0 there is one text and nothing to draw"
            )
        if max_forwards < 1:
            raise ValueError(f"max_forwards must be at least 1, not {max_forwards!r}")
        if model.device.type == "cpu":
            fit_threads(model)
        self.model = model
        self.temperature = temperature
        self.max_forwards = max_forwards
        self.prompt = tuple(prompt)
        self.forwards = 0  # prefixes that were read
        self.passes = 0  # of the model, with several prefixes in each
        self.most_tokens = math.inf if model.context is None else model.context - len(self.prompt)
        if self.most_tokens < 1:
            raise ModelError(f"the prompt has {len(self.prompt):,} tokens, which leaves {model.name} no room to write")
        self._trunk = len(self.prompt) - 1
        try:
            self._run = SlotRun(model.model, 1, max(FEWEST, len(self.prompt) + max_forwards))
        except ModelError as error:
            if "max_length" not in str(error):
                raise
            raise ModelError(f"{error} (here that is the prompt's tokens and max_forwards together)") from error
        self._vocabulary = model.tokenizer.info.decoded_vocab
        self._special = frozenset(model.tokenizer.info.special_token_ids)
        self._kept: OrderedDict[Prefix, FloatArray] = OrderedDict()
        self._most_kept = max(2, KEPT_BYTES // (8 * model.vocab_size))
        self.root = Prefix(None, self.prompt[-1], 0.0)

    def child(self, prefix: Prefix, token: int, *, ended: bool = False) -> Prefix:
        """The prefix with one token more, always the same one; `prefix` must have been read."""
        known = prefix.children.get(token)
        if known is None:
            log_prob = prefix.log_prob + float(self.log_probs(prefix)[token])
            known = prefix.children[token] = Prefix(prefix, token, log_prob, ended=ended)
        return known

    def read(self, prefixes: Iterable[Prefix]) -> None:
        """Let the model read those that it has not read, whose parents it has: as few passes as possible."""
        new = [prefix for prefix in dict.fromkeys(prefixes) if prefix.number < 0]
        for first in range(0, len(new), ROWS):
            self._read(new[first : first + ROWS])

    def _read(self, prefixes: list[Prefix]) -> None:
        if self.forwards + len(prefixes) > self.max_forwards:
            raise OutOfForwardsError
        if not self.passes and self._trunk:
            self._run.clear(0)
            self._run.read(0, self.prompt[:-1])
        for prefix in prefixes:
            parent = prefix.parent
            prefix.branch = () if parent is None else (*parent.branch, parent.number)
        start = self._run.lengths[0]
        states = self._run.graft(
            0, [prefix.token for prefix in prefixes], self._trunk, [prefix.branch for prefix in prefixes]
        )
        for row, prefix in enumerate(prefixes):
            prefix.state = states[row].clone()
            prefix.number = start + row
        self.forwards += len(prefixes)
        self.passes += 1
        for first in range(0, len(prefixes), self._most_kept):
            self._weigh(prefixes[first : first + self._most_kept])

    def log_probs(self, prefix: Prefix) -> FloatArray:
        """Log probabilities (nats) of the next token: float64 (vocab,), not to be written to."""
        found = self._kept.get(prefix)
        if found is None:
            self._weigh([prefix])
            found = self._kept[prefix]
        self._kept.move_to_end(prefix)
        return found

    @torch.inference_mode()
    def _weigh(self, prefixes: list[Prefix]) -> None:
        """Compute and keep log probabilities, from hidden states."""
        states = []
        for prefix in prefixes:
            if prefix.state is None:
                raise ValueError(f"{prefix!r} was not read")
            states.append(prefix.state)
        logits = self._run.logits(torch.stack(states))
        found = (logits.double() / self.temperature).log_softmax(-1).cpu().numpy()
        if np.isnan(found).any():
            raise ModelError(f"{self.model.name} returned logits that are not numbers")
        for row, prefix in enumerate(prefixes):
            self._kept[prefix] = found[row].copy()
        while len(self._kept) > self._most_kept:
            self._kept.popitem(last=False)

    def text(self, prefix: Prefix) -> bytes:
        """The bytes written, without those of control tokens."""
        tokens = prefix.tokens[:-1] if prefix.ended else prefix.tokens
        return b"".join(self._vocabulary[token] for token in tokens if token not in self._special)
