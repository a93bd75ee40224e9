"""Drafts: tokens that are guessed ahead of the model, as a tree behind the last token of each row.

    engine = Engine.of(model, drafts=Drafts(4, branches=2, model=load_model("smaller")))

A guess is what followed the last two tokens before (`lookup.py`), or what a smaller model draws.  That one draws under
the row's grammar, by the row's settings, and by the very numbers by which the large model will draw, so the two agree
more often than by chance.  With `branches` several tokens are guessed for a place: those that follow the same two
tokens elsewhere; of a smaller model its likeliest ones.

A token that the grammar refuses is cut here, before any model reads it.  `engine.py` has the model read what is left in
one pass, and finds the masks of all nodes beside it.
Read on: `engine.py` (`_step_with_drafts`), `slots.py` (`verify`: a tree in one pass).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import torch

from kernels_core import GrammarMatcher, TokenizerInfo
from kernels_core.errors import MaskscopeError, TokenizerError
from kernels_core.mask_rows import MaskRows
from workbench.generation.device_masks import DeviceMasks, send
from workbench.generation.drawing import Drawer
from workbench.generation.errors import ModelError
from workbench.generation.lookup import Lookup
from workbench.generation.model import LanguageModel, context_of, logit_width
from workbench.generation.row import Row
from workbench.generation.slots import SlotRun, Trees

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WithMasks: TypeAlias = Callable[
    [Sequence[GrammarMatcher | None], Callable[[], torch.Tensor]], tuple[torch.Tensor, MaskRows, int]
]
"""Has a model read, and finds masks beside it (`engine.pass_and_masks`)."""
CATCH_UP: Final = 8  # tokens of a text that the smaller model reads in a pass with all other texts


@dataclass(frozen=True)
class Drafts:
    """How tokens are guessed.

    tokens: so many ahead at most.  branches: so many for one place at most.  model: a smaller causal model over the
    same vocabulary, from `load_model` or of `transformers`; None guesses from the text itself.
    """

    tokens: int = 4
    branches: int = 1
    model: LanguageModel | PreTrainedModel | None = None

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError(f"drafts must be at least 1 token, not {self.tokens}")
        if self.branches < 1:
            raise ValueError(f"branches of drafts must be at least 1, not {self.branches}")


class DraftTree:
    """Guesses behind a row's last token, which is node 0; a node's number is above its parent's.

    tokens, parents, depths, matchers: by node (a matcher stands behind its node's token; None without a grammar).
    refused: how many tokens the grammar did not take.  It has at most `most` nodes beside the first.
    """

    def __init__(self, last: int, matcher: GrammarMatcher | None, most: int) -> None:
        self.tokens = [last]
        self.parents = [-1]
        self.depths = [0]
        self.matchers = [matcher]
        self.refused = 0
        self._most = most
        self._children: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        """Nodes, the first included."""
        return len(self.tokens)

    def add(self, parent: int, token: int) -> int | None:
        """The node of `token` behind `parent`; None where the grammar does not take it, or there is no room."""
        known = self._children.get((parent, token))
        if known is not None:
            return known
        matcher = self.matchers[parent]
        if len(self.tokens) > self._most or (matcher is not None and matcher.is_terminated()):
            return None
        if matcher is not None:
            matcher = matcher.fork()
            try:
                taken = matcher.accept_token(token)
            except MaskscopeError:  # a budget: whoever needs this token will be told
                return None
            if not taken:
                self.refused += 1
                return None
        node = self._children[parent, token] = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        self.matchers.append(matcher)
        return node

    def child(self, parent: int, token: int) -> int | None:
        """The node of `token` behind `parent`, if it was guessed."""
        return self._children.get((parent, token))

    def path(self, node: int) -> list[int]:
        """The guesses that lead to `node`, itself among them; of node 0 there are none."""
        found = []
        while node:
            found.append(self.tokens[node])
            node = self.parents[node]
        return found[::-1]

    @property
    def is_chain(self) -> bool:
        """Whether each node follows the one before it."""
        return self.depths[-1] == len(self.depths) - 1


def tensors_of(trees: Sequence[DraftTree], device: torch.device) -> tuple[torch.Tensor, Trees | None]:
    """What `SlotRun.verify` takes: tokens int64 (rows, widest), filled up with 0, and whom each follows."""
    width = max(map(len, trees))
    tokens = np.zeros((len(trees), width), dtype=np.int64)
    for row, tree in enumerate(trees):
        tokens[row, : len(tree)] = tree.tokens
    if all(tree.is_chain for tree in trees):
        return send(tokens, device), None
    depths = np.zeros((len(trees), width), dtype=np.int64)
    seen = np.tile(np.eye(width, dtype=np.bool_), (len(trees), 1, 1))
    for row, tree in enumerate(trees):
        depths[row, : len(tree)] = tree.depths
        for node in range(1, len(tree)):
            seen[row, node] |= seen[row, tree.parents[node]]
    return send(tokens, device), Trees(send(depths, device), send(seen, device))


class LookupDrafter:
    """Guesses from the text itself; follows the engine's slots."""

    def __init__(self, drafts: Drafts, slots: int) -> None:
        self._branches = drafts.branches
        self._lookups: list[Lookup[int] | None] = [None] * slots

    def guess(self, rows: Sequence[Row], trees: Sequence[DraftTree], depths: Sequence[int]) -> None:
        """Put guesses into the tree of each row, at most `depths` tokens ahead.  The rows stay as they are."""
        for slot, (row, tree, depth) in enumerate(zip(rows, trees, depths, strict=True)):
            lookup = self._lookups[slot]
            if lookup is None:
                lookup = self._lookups[slot] = Lookup(row.prompt, self._branches)
            for token in row.tokens[len(lookup) - len(row.prompt) :]:
                lookup.add(token)
            for found in lookup.drafts(depth):
                node = 0
                for token in found:
                    if (taken := tree.add(node, token)) is None:
                        break
                    node = taken

    def clear(self, slot: int) -> None:
        self._lookups[slot] = None

    def move(self, source: int, target: int) -> None:
        self._lookups[target], self._lookups[source] = self._lookups[source], None


class ModelDrafter:
    """Guesses of a smaller model, asked like a `LookupDrafter`: a chain of draws, and the likeliest others beside each.

    Raises
    ------
    ModelError, TokenizerError
        The model cannot be read in a batch, or does not fit the large one.
    """

    def __init__(
        self,
        drafts: Drafts,
        slots: int,
        max_length: int,
        info: TokenizerInfo,
        device_masks: DeviceMasks | None,
        *,
        sparse: bool,
        device: torch.device,
        with_masks: WithMasks,
    ) -> None:
        assert drafts.model is not None
        model, theirs = drafts.model, info
        if isinstance(model, LanguageModel):
            theirs, model = model.tokenizer.info, model.model
        name = type(model).__name__
        width = logit_width(model)
        if width != info.vocab_size or theirs.decoded_vocab != info.decoded_vocab:
            raise TokenizerError(
                f"the model of drafts, {name} over {width:,} tokens, has another vocabulary than the large one's "
                f"{info.vocab_size:,}"
            )
        context = context_of(model)
        if context is not None and context < max_length:
            raise ModelError(
                f"the model of drafts, {name}, holds {context:,} tokens and the engine's texts {max_length:,}: "
                f"take max_length={context}"
            )
        self._run = SlotRun(model, slots, max_length)
        if self._run.device != device:
            raise ModelError(f"the model of drafts is on {self._run.device}, the large one on {device}")
        self._drawer = Drawer(self._run, info.vocab_size, sparse=sparse, device_masks=device_masks)
        self._best = drafts.branches if drafts.branches > 1 else 0
        self._with_masks = with_masks

    def guess(self, rows: Sequence[Row], trees: Sequence[DraftTree], depths: Sequence[int]) -> None:
        if max(depths) < 1:
            return
        ends: list[int | None] = [0 if depth > 0 else None for depth in depths]  # of the chain of draws
        run, ahead = self._run, 0
        read: list[int] | None = None  # how much of the texts was read

        def read_on() -> torch.Tensor:
            nonlocal read
            if read is None:
                states = self._read_texts(rows)
                read = run.lengths[: len(rows)]
                return states
            last = [0 if end is None else tree.tokens[end] for tree, end in zip(trees, ends, strict=True)]
            return run.decode(send(np.array(last), run.device))

        try:
            while any(end is not None for end in ends):
                here = [None if end is None else tree.matchers[end] for tree, end in zip(trees, ends, strict=True)]
                states, masks, _ = self._with_masks(here, read_on)
                self._draw(rows, trees, ends, states, masks, ahead)
                ahead += 1
                ends = [None if ahead == depth else end for end, depth in zip(ends, depths, strict=True)]
        finally:
            if read is not None:
                run.lengths[: len(rows)] = read  # guesses are not of the texts

    def _draw(
        self,
        rows: Sequence[Row],
        trees: Sequence[DraftTree],
        ends: list[int | None],
        states: torch.Tensor,
        masks: MaskRows,
        ahead: int,
    ) -> None:
        """One more token of each chain, others beside it; a chain ends with its text, or where none can be drawn."""
        for slot, (tree, end) in enumerate(zip(trees, ends, strict=True)):
            matcher = None if end is None else tree.matchers[end]
            if slot in masks.errors or (matcher is not None and matcher.is_terminated()):
                ends[slot] = None
        going = np.array([end is not None for end in ends])
        lucks = [row.luck(ahead) for row in rows]
        drawn = self._drawer.draw(states, masks, [row.sampling for row in rows], lucks, going, best=self._best).tokens
        for slot, (tree, end) in enumerate(zip(trees, ends, strict=True)):
            if end is None:
                continue
            first, *others = drawn[slot].tolist()
            ends[slot] = tree.add(end, first) if first >= 0 else None
            for token in [other for other in others if other not in (first, -1)][: max(0, self._best - 1)]:
                tree.add(end, token)

    def _read_texts(self, rows: Sequence[Row]) -> torch.Tensor:
        """Read what is new of the texts; the hidden states behind their last tokens."""
        run = self._run
        unread: list[list[int]] = []
        for slot, row in enumerate(rows):
            # The last token is read in any case, also again after a step that failed: states are wanted behind it.
            known = run.lengths[slot] = min(run.lengths[slot], len(row.prompt) + len(row.tokens) - 1)
            new = [*row.prompt[known:], *row.tokens[max(0, known - len(row.prompt)) :]]
            if len(new) > CATCH_UP:
                run.read(slot, new[:-1])
                new = new[-1:]
            unread.append(new)
        width = max(map(len, unread))
        longest = run.max_length - max(run.lengths[: len(rows)])
        if width > longest:  # no room to fill up: one after the other
            for slot, new in enumerate(unread):
                if len(new) > 1:
                    run.read(slot, new[:-1])
            unread = [new[-1:] for new in unread]
            width = 1
        tokens = np.zeros((len(rows), width), dtype=np.int64)
        for slot, new in enumerate(unread):
            tokens[slot, : len(new)] = new
        states = run.verify(send(tokens, run.device))
        lasts = send(np.array([len(new) - 1 for new in unread]), run.device)
        run.keep([range(len(new)) for new in unread])
        return states[torch.arange(len(rows), device=run.device), lasts]

    def clear(self, slot: int) -> None:
        self._run.clear(slot)

    def move(self, source: int, target: int) -> None:
        self._run.move(source, target)


Drafter: TypeAlias = LookupDrafter | ModelDrafter
