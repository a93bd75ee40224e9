"""A grammar inside somebody else's loop: `model.generate(..., logits_processor=[GrammarLogitsProcessor(compiled)])`.

Works for batches, several return sequences, beam search, and loops that take several tokens at once or take some back
(assisted generation, prompt lookup).  Each call is compared with the last one: a row goes on from the old row with
which it shares the longest beginning.  Going back is a rollback and taking up another row's state is a fork; both cost
the same however long the text is.  With one row for each prompt, rows cannot change places, so the last tokens are
compared and no others: a step's work does not grow with the text.  With beams or several sequences whole rows are.
Our own loop is `engine.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from kernels_core import (
    BatchGrammarMatcher,
    CompiledGrammar,
    GrammarCompiler,
    GrammarMatcher,
    apply_masks_inplace,
)
from kernels_core.errors import DeadEndError, TokenizerError
from kernels_core.mask_rows import MaskRows
from workbench.generation.device_masks import DeviceMasks
from workbench.languages import compile_output

KEPT: Final = 512  # masks on a device: 8 MiB over 131,072 ids
WINDOW: Final = 64
"""Tokens at the end of a row, and of a prompt, that are compared with the last call's; no loop takes more back."""
_Ids: TypeAlias = npt.NDArray[np.int64] | torch.Tensor
"""Token ids, shape (rows, length).  In CPU memory an array: operations of torch take as long as the mask of a row."""
_RESET = "make a new GrammarLogitsProcessor for each generate(), or call reset() in between"


@dataclass
class _Row:
    """A row's matcher, and how many of the row's tokens behind the prompt it has read (none after a stop token).

    dead: a beam that went on with a token of probability 0, since the grammar left fewer tokens than there are beams.
    """

    matcher: GrammarMatcher
    read: int = 0
    dead: bool = False


def _compiled(grammar: object, tokenizer: object) -> CompiledGrammar:
    """What describes an output, compiled for the vocabulary of `tokenizer`."""
    if isinstance(grammar, CompiledGrammar):
        return grammar
    if tokenizer is None:
        raise TypeError(
            f"{shorten(repr(grammar), 60)} is not compiled yet: pass the model's tokenizer, too, as in "
            "GrammarLogitsProcessor(grammar, tokenizer=tokenizer)"
        )
    from workbench.tokenizers import load_tokenizer

    return compile_output(grammar, GrammarCompiler(load_tokenizer(tokenizer).info), for_a_model=True)


class GrammarLogitsProcessor:
    """Sets the logits of tokens that the grammar forbids to -inf.  One object serves one `generate` at a time.

    A prompt that is no longer than the last one, or that begins otherwise, begins a new generation by itself.  Before a
    prompt that goes on from the last text call `reset`: it cannot be told from a continuation by the model.

    Parameters
    ----------
    grammar
        One grammar for all rows, or a list of compiled ones, one for each prompt of the batch, in order (with beams or
        several return sequences the rows of one prompt follow each other, as `transformers` lays them out).  What is
        not compiled is whatever describes an output (`Source.of`): a schema, a pydantic model, tools, a text; it needs
        `tokenizer`.
    tokenizer
        The model's, of `transformers` or of this package, for a grammar that is not compiled.
    max_new_tokens
        What `generate` is given: every text is whole under its grammar within so many tokens.  Near the end tokens are
        forbidden behind which that could not be.  None: texts may be cut.
    in_place
        True: the scores that are handed in are changed and returned, which spares a copy of them.  Where `generate` is
        asked for `output_logits`, those are then the masked ones.

    Raises
    ------
    TokenizerError
        A grammar's vocabulary has no stop token (the generation could never end), or grammars of one batch were
        compiled for different vocabularies.
    TooFewTokensError
        At the first call: the shortest text that was found takes more than `max_new_tokens`.
    """

    def __init__(
        self,
        grammar: object,
        *,
        tokenizer: object = None,
        max_new_tokens: int | None = None,
        in_place: bool = False,
    ) -> None:
        if isinstance(grammar, Sequence) and all(isinstance(one, CompiledGrammar) for one in grammar):
            self._grammars = list(grammar)
        else:
            self._grammars = [_compiled(grammar, tokenizer)]
        if not self._grammars:
            raise ValueError("no grammar given")
        infos = [grammar.tokenizer_info for grammar in self._grammars]
        if not infos[0].stop_token_ids:
            raise TokenizerError("the vocabulary has no stop token, so a constrained generation could never end")
        if any(info.fingerprint != infos[0].fingerprint for info in infos):
            raise TokenizerError("the grammars of one batch must be compiled for one vocabulary")
        self._vocab_size = infos[0].vocab_size
        self._stop_ids = list(infos[0].stop_token_ids)
        self._most = max_new_tokens
        self._in_place = in_place
        self._batch = BatchGrammarMatcher()
        self._kept: DeviceMasks | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the text so far: the next call begins a new generation."""
        self._prompt_length = 0
        self._seen: _Ids | None = None  # the last call's
        self._rows: list[_Row] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """`input_ids` int64 (rows, length), `scores` (rows, vocab) on any device; returns new ones, unless `in_place`.

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
        self._follow(input_ids.numpy() if input_ids.device.type == "cpu" else input_ids)
        masks = self._masks()
        masked = scores if self._in_place else scores.clone()
        ended = [*np.flatnonzero(masks.populations() < 0)] if masks.absent else []
        ended += [number for number, row in enumerate(self._rows) if row.dead]
        if scores.device.type == "cpu" and not scores.requires_grad:
            apply_masks_inplace(masked, masks)
            for row in ended:
                self._end(masked[row])
            return masked
        kept = self._kept_on(scores.device, rows)
        kept.apply(masked, kept.slots(masks))
        for row in ended:
            self._end(masked[row])
        return masked

    def _kept_on(self, device: torch.device, rows: int) -> DeviceMasks:
        """Masks in the memory of `device`: a step sends a number a row once they are there."""
        room = max(KEPT, 2 * rows)
        if self._kept is None or self._kept.device != device or self._kept.capacity < rows:
            self._kept = DeviceMasks(self._vocab_size, device, max_bytes=room * 4 * ((self._vocab_size + 31) // 32))
        return self._kept

    def _end(self, scores: torch.Tensor) -> None:
        """Whatever is drawn for a row that has ended is thrown away; the stop tokens keep it a distribution."""
        kept = scores[self._stop_ids].clone()
        scores.fill_(-torch.inf)
        scores[self._stop_ids] = kept

    def _follow(self, input_ids: _Ids) -> None:
        """Bring a matcher for each row to the end of that row; nothing is changed if one cannot get there."""
        count, length = input_ids.shape
        seen, rows = self._seen, self._rows
        if seen is None or length <= self._prompt_length:
            self._begin(input_ids)
            return
        prompts = min(count, len(rows))
        group = max(1, count // len(self._grammars))
        shared = _shared(seen[:prompts], input_ids[:prompts], alone=group == 1)
        if max(shared) < self._prompt_length:
            self._begin(input_ids)
            return
        if count != len(rows):
            raise ValueError(f"{len(rows)} rows in the last call, {count} in this one: {_RESET}")
        behind = min(shared)
        # What a row has beyond what it shares with its old self is short: it is read in one transfer.
        tail: list[list[int]] = input_ids[:, behind:].tolist()
        if group == 1 and behind == seen.shape[1]:
            self._grow(tail)
            self._seen = input_ids
            return
        followed: list[_Row] = []
        for number, common in enumerate(shared):
            parent = number
            if common < seen.shape[1] and group > 1:
                first = number - number % group
                common, parent = self._closest(input_ids[number : number + 1], first, group)
            if common < self._prompt_length:
                raise ValueError(f"row {number} begins with another prompt than in the last call: {_RESET}")
            tokens = tail[number][common - behind :] if common >= behind else input_ids[number, common:].tolist()
            followed.append(self._advanced(rows[parent], common - self._prompt_length, tokens, beams=group > 1))
        self._rows, self._seen = followed, input_ids

    def _grow(self, tokens: list[list[int]]) -> None:
        """Each row by some tokens; if one cannot be taken, no row has moved."""
        moved: list[tuple[GrammarMatcher, int]] = []
        try:
            for row, new in zip(self._rows, tokens, strict=True):
                moved.append((row.matcher, row.matcher.num_steps))
                _advance(row.matcher, new)
        except BaseException:
            for matcher, steps in moved:
                matcher.rollback(matcher.num_steps - steps)
            raise
        for row, (matcher, steps) in zip(self._rows, moved, strict=True):
            row.read += matcher.num_steps - steps

    def _begin(self, input_ids: _Ids) -> None:
        group = len(input_ids) // len(self._grammars)
        rows = [_Row(GrammarMatcher(self._grammars[row // group])) for row in range(len(input_ids))]
        for row in rows:
            row.matcher.complete_within(self._most)
        self._prompt_length, self._seen = input_ids.shape[1], input_ids
        self._rows = rows

    def _closest(self, row: _Ids, first: int, group: int) -> tuple[int, int]:
        """The longest beginning that `row` shares with a row of its grammar in the last call, and that row's number."""
        assert self._seen is not None
        shared = _shared(self._seen[first : first + group], row, alone=False)
        best = max(range(group), key=shared.__getitem__)
        return shared[best], first + best

    def _advanced(self, parent: _Row, common: int, tokens: list[int], *, beams: bool) -> _Row:
        """A fork of `parent`, taken back to its first `common` tokens and on by `tokens`; errors change nothing."""
        matcher = parent.matcher.fork()
        read = parent.read
        if common < read:
            matcher.rollback(read - common)
            read = common
        elif parent.dead and common > read:
            return _Row(matcher, read, dead=True)
        steps = matcher.num_steps
        try:
            _advance(matcher, tokens)
        except ValueError:
            if not beams:
                raise
            return _Row(matcher, read + matcher.num_steps - steps, dead=True)
        return _Row(matcher, read + matcher.num_steps - steps)

    def _masks(self) -> MaskRows:
        """The masks of all rows; rows that have ended have none."""
        masks = self._batch.read_masks([None if row.dead else row.matcher for row in self._rows])
        for row, error in masks.errors.items():
            if isinstance(error, DeadEndError):
                error.add_note(f"in row {row} of the batch, after {self._rows[row].matcher.text[-40:]!r}")
            raise error
        return masks


def _advance(matcher: GrammarMatcher, tokens: list[int]) -> None:
    """Take `tokens`, up to the end of the text: `generate` pads a row that has ended until the others have."""
    for token in tokens:
        if matcher.is_terminated():
            return
        if not matcher.accept_token(token):
            raise ValueError(
                f"token {token} was written although the grammar forbids it: is another processor at work? "
                f"Or does a new prompt continue the last text? Then {_RESET}"
            )


def _shared(old: _Ids, new: _Ids, *, alone: bool) -> list[int]:
    """How many tokens each row of `new` (or its only one) shares with the same row of `old`, from the beginning.

    `alone`: rows have not changed places, so their beginnings are taken to be equal if the last tokens are (and the
    first, which tell another prompt).
    """
    length = min(old.shape[1], new.shape[1])
    behind = max(0, length - WINDOW) if alone else 0
    if behind:
        first = min(behind, WINDOW)
        last = _equal(old[:, behind:length], new[:, behind:length])
        if min(last) > 0 and min(_equal(old[:, :first], new[:, :first])) == first:
            return [behind + count for count in last]
    return _equal(old[:, :length], new[:, :length])


def _equal(old: _Ids, new: _Ids) -> list[int]:
    """In how many tokens each row begins alike."""
    one, other = (ids if isinstance(ids, np.ndarray) else ids.cpu().numpy() for ids in (old, new))
    if one.tobytes() == other.tobytes():
        return [one.shape[1]] * len(one)
    apart = one != other
    lengths: list[int] = np.where(apart.any(axis=1), apart.argmax(axis=1), one.shape[1]).tolist()
    return lengths
