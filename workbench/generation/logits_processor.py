"""A grammar inside somebody else's loop: `model.generate(..., logits_processor=[GrammarLogitsProcessor(compiled)])`.

Works for batches, several return sequences, beam search, and loops that take several tokens at once or take some back
(assisted generation, prompt lookup).  Each call is compared with the last one: a row goes on from the old row with
which it shares the longest beginning.  Going back is a rollback and taking up another row's state is a fork; both cost
the same however long the text is, so what grows with it is one comparison of two tensors, as large as the copy that
`transformers` itself makes at every step.
Our own loop, which also records what happens, is `loop.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernels_core import (
    CompiledGrammar,
    GrammarMatcher,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
)
from kernels_core.errors import DeadEndError, TokenizerError

__all__ = ["GrammarLogitsProcessor"]

_RESET = "make a new GrammarLogitsProcessor for each generate(), or call reset() in between"


@dataclass
class _Row:
    """A row's matcher, and how many of the row's tokens behind the prompt it has read (none after a stop token)."""

    matcher: GrammarMatcher
    read: int = 0


class GrammarLogitsProcessor:
    """Sets the logits of tokens that the grammar forbids to -inf.  One object serves one `generate` at a time.

    A prompt that is no longer than the last one, or that begins otherwise, begins a new generation by itself.  Before a
    prompt that goes on from the last text call `reset`: it cannot be told from a continuation by the model.

    Parameters
    ----------
    compiled
        One compiled grammar for all rows, or one for each prompt of the batch, in order (with beams or several return
        sequences the rows of one prompt follow each other, as `transformers` lays them out).

    Raises
    ------
    TokenizerError
        A grammar's vocabulary has no stop token (the generation could never end), or grammars of one batch were
        compiled for different vocabularies.
    """

    def __init__(self, compiled: CompiledGrammar | Sequence[CompiledGrammar]) -> None:
        self._grammars = [compiled] if isinstance(compiled, CompiledGrammar) else list(compiled)
        if not self._grammars:
            raise ValueError("no grammar given")
        infos = [grammar.tokenizer_info for grammar in self._grammars]
        if not infos[0].stop_token_ids:
            raise TokenizerError("the vocabulary has no stop token, so a constrained generation could never end")
        if any(info.fingerprint != infos[0].fingerprint for info in infos):
            raise TokenizerError("the grammars of one batch must be compiled for one vocabulary")
        self._vocab_size = infos[0].vocab_size
        self._stop_ids = list(infos[0].stop_token_ids)
        self.reset()

    def reset(self) -> None:
        """Forget the text so far: the next call begins a new generation."""
        self._prompt_length = 0
        self._seen: torch.Tensor | None = None  # the last call's `input_ids`
        self._rows: list[_Row] = []
        self._mask: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """`input_ids` int64 (rows, length), `scores` (rows, vocab) on any device; returns new scores.

        Raises
        ------
        DeadEndError
            No token of the vocabulary can continue a row's text.
        ValueError
            A row holds a token that the grammar forbids, or rows do not divide among the grammars.
        TokenizerError
            The scores are narrower than the vocabulary of the grammar.
        """
        rows, width = scores.shape
        if rows % len(self._grammars):
            raise ValueError(f"{rows} rows do not divide among {len(self._grammars)} grammars")
        if width < self._vocab_size:
            raise TokenizerError(
                f"the model scores {width:,} tokens, the grammar was compiled for {self._vocab_size:,}: "
                f"make the TokenizerInfo with vocab_size={width}"
            )
        self._follow(input_ids)
        mask = self._filled([row.matcher for row in self._rows], scores.device)
        masked = scores.clone()
        # Ids that the model scores but the tokenizer does not know are never text.
        masked[:, self._vocab_size :] = -torch.inf
        apply_token_bitmask_inplace(masked, mask.to(scores.device, non_blocking=True), vocab_size=self._vocab_size)
        return masked

    def _follow(self, input_ids: torch.Tensor) -> None:
        """Bring a matcher for each row to the end of that row; nothing is changed if one cannot get there."""
        count, length = input_ids.shape
        seen, rows = self._seen, self._rows
        if seen is None or length <= self._prompt_length:
            self._begin(input_ids)
            return
        prompts = min(count, len(rows))
        shared = _shared(seen[:prompts], input_ids[:prompts])
        if max(shared) < self._prompt_length:
            self._begin(input_ids)
            return
        if count != len(rows):
            raise ValueError(f"{len(rows)} rows in the last call, {count} in this one: {_RESET}")
        behind = min(shared)
        # What a row has beyond what it shares with its old self is short: it is read in one transfer.
        tail: list[list[int]] = input_ids[:, behind:].tolist()
        group = count // len(self._grammars)
        followed: list[_Row] = []
        for number, common in enumerate(shared):
            parent = number
            if common < seen.shape[1]:
                first = number - number % group
                common, parent = self._closest(input_ids[number], first, group)
            if common < self._prompt_length:
                raise ValueError(f"row {number} begins with another prompt than in the last call: {_RESET}")
            tokens = tail[number][common - behind :] if common >= behind else input_ids[number, common:].tolist()
            followed.append(self._advanced(rows[parent], common - self._prompt_length, tokens))
        self._rows, self._seen = followed, input_ids

    def _begin(self, input_ids: torch.Tensor) -> None:
        group = len(input_ids) // len(self._grammars)
        self._prompt_length, self._seen = input_ids.shape[1], input_ids
        self._rows = [_Row(GrammarMatcher(self._grammars[row // group])) for row in range(len(input_ids))]

    def _closest(self, row: torch.Tensor, first: int, group: int) -> tuple[int, int]:
        """The longest beginning that `row` shares with a row of its grammar in the last call, and that row's number."""
        assert self._seen is not None
        shared = _shared(self._seen[first : first + group], row.expand(group, -1))
        best = max(range(group), key=shared.__getitem__)
        return shared[best], first + best

    def _advanced(self, parent: _Row, common: int, tokens: list[int]) -> _Row:
        """A fork of `parent`, taken back to its first `common` tokens and on by `tokens`; errors change nothing."""
        matcher = parent.matcher.fork()
        read = parent.read
        if common < read:
            matcher.rollback(read - common)
            read = common
        for token in tokens:
            # A row that has ended is padded by `generate` until the others have; its tokens mean nothing.
            if matcher.is_terminated():
                break
            if not matcher.accept_token(token):
                raise ValueError(
                    f"token {token} was written although the grammar forbids it: is another processor at work? "
                    f"Or does a new prompt continue the last text? Then {_RESET}"
                )
            read += 1
        return _Row(matcher, read)

    def _filled(self, matchers: list[GrammarMatcher], device: torch.device) -> torch.Tensor:
        """The bitmask of all rows, int32 on the CPU, pinned where it will go to a GPU."""
        shape = get_bitmask_shape(len(matchers), self._vocab_size)
        if self._mask is None or self._mask.shape != shape:
            self._mask = torch.empty(shape, dtype=torch.int32, pin_memory=device.type == "cuda")
        words = self._mask.numpy()
        for row, matcher in enumerate(matchers):
            if matcher.is_terminated():
                # Whatever is drawn here is thrown away; the stop token keeps it a distribution.
                words[row] = 0
                for stop in self._stop_ids:
                    self._mask[row, stop >> 5] |= torch.tensor(1 << (stop & 31)).to(torch.int32)
                continue
            try:
                matcher.fill_next_token_bitmask(words, row)
            except DeadEndError as error:
                error.add_note(f"in row {row} of the batch, after {matcher.text[-40:]!r}")
                raise
        return self._mask


def _shared(old: torch.Tensor, new: torch.Tensor) -> list[int]:
    """How many tokens each row of `new` shares with the same row of `old`, from the beginning; one transfer."""
    length = min(old.shape[1], new.shape[1])
    same = old[:, :length] == new[:, :length].to(old.device)
    if bool(same.all()):
        return [length] * len(new)
    lengths: list[int] = torch.where(same.all(dim=1), length, (~same).int().argmax(dim=1)).tolist()
    return lengths
