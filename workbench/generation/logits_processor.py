"""A grammar inside somebody else's loop: `model.generate(..., logits_processor=[GrammarLogitsProcessor(compiled)])`.

Works for batches, several return sequences and beam search: matchers are found again by the tokens a row has written,
so rows may be reordered or copied between steps, and taking up a parent's state is a fork, which costs nothing.
Our own loop, which also records what happens, is `loop.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kernels_core import (
    CompiledGrammar,
    GrammarMatcher,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
)
from kernels_core.errors import DeadEndError, TokenizerError

__all__ = ["GrammarLogitsProcessor"]

_Key = tuple[int, tuple[int, ...]]


class GrammarLogitsProcessor:
    """Sets the logits of tokens that the grammar forbids to -inf.  For one call of `generate`; `reset` for the next.

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
        self._prompt_length: int | None = None
        self._matchers: dict[_Key, GrammarMatcher] = {}
        self._mask: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """`input_ids` int64 (rows, length), `scores` (rows, vocab) on any device; returns new scores.

        Raises
        ------
        DeadEndError
            No token of the vocabulary can continue a row's text.
        ValueError
            The rows are not those of the last call, one token longer, or do not divide among the grammars.
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
        if self._prompt_length is None:
            self._prompt_length = input_ids.shape[1]
        per_grammar = rows // len(self._grammars)
        written = input_ids[:, self._prompt_length :].tolist()
        keys: list[_Key] = [(row // per_grammar, tuple(tokens)) for row, tokens in enumerate(written)]
        matchers: dict[_Key, GrammarMatcher] = {}
        for key in keys:
            if key not in matchers:
                matchers[key] = self._advanced(key)
        self._matchers = matchers

        mask = self._filled([matchers[key] for key in keys], scores.device)
        masked = scores.clone()
        # Ids that the model scores but the tokenizer does not know are never text.
        masked[:, self._vocab_size :] = -torch.inf
        apply_token_bitmask_inplace(masked, mask.to(scores.device, non_blocking=True), vocab_size=self._vocab_size)
        return masked

    def _advanced(self, key: _Key) -> GrammarMatcher:
        """The matcher that has read `key`'s tokens: its parent's state and one token more."""
        group, tokens = key
        if not tokens:
            return GrammarMatcher(self._grammars[group])
        parent = self._matchers.get((group, tokens[:-1]))
        if parent is None:
            raise ValueError(
                "these rows do not continue those of the last call: make a new GrammarLogitsProcessor for each "
                "generate(), or call reset() in between"
            )
        matcher = parent.fork()
        # A row that has ended is padded by `generate` until the others have; its tokens mean nothing.
        if not matcher.is_terminated() and not matcher.accept_token(tokens[-1]):
            raise ValueError(
                f"token {tokens[-1]} was written although the grammar forbids it: is another processor at work?"
            )
        return matcher

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
