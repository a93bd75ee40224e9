"""One text that is being written: what it has read and written, what it may take next, and when it ends.

`Engine` moves rows, and whoever asked for one reads it.  An `Observer` sees each draw of its row: `record.py`.
Read on: `engine.py` (the loop), `cutting.py` (where tokens may be cut).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple, Protocol

import torch

from kernels_core import GrammarMatcher, TokenizerInfo
from kernels_core.errors import BudgetExceededError
from kernels_core.mask_rows import MaskRows
from workbench.generation.cutting import Cutting, nothing_follows
from workbench.generation.drawing import TokenLogprob
from workbench.generation.generation import FinishReason
from workbench.generation.sampling import Penalty, Sampling, penalty_of
from workbench.provenance.prefix import held_back


class Words(NamedTuple):
    """What a row knows of its vocabulary: tokens' bytes by id, those that add nothing to a text, those that end it."""

    spelled: Sequence[bytes]
    special: frozenset[int]
    stops: frozenset[int]

    @classmethod
    def of(cls, info: TokenizerInfo) -> Words:
        return cls(info.decoded_vocab, frozenset(info.special_token_ids), frozenset(info.stop_token_ids))


@dataclass(frozen=True, slots=True)
class DrawnFrom:
    """What one token of a row is drawn from.

    states, place: what the model's pass returned, and the row's place in it.  masks, number: its mask is that of this
    number.  began: when the draw began, by `time.perf_counter_ns`.  masks_ns: how long the step waited for its masks.
    refused: tokens that the mask allows and the tokenizer cuts otherwise.  given: the token was set beforehand.
    """

    states: torch.Tensor
    place: int
    masks: MaskRows
    number: int
    began: int
    masks_ns: int
    refused: Sequence[int] = ()
    given: bool = False

    @property
    def state(self) -> torch.Tensor:
        """The row by itself: cut out where it is needed, since each cut is work for every token of every row."""
        return self.states[self.place : self.place + 1]


class Observer(Protocol):
    """Sees how a row is written, and changes nothing."""

    def draws(self, row: Row, token: int, logits: torch.Tensor, seen: DrawnFrom) -> None:
        """`token` is about to be taken.  Called once more where the matcher refuses it and another is drawn.

        logits: all of them, the model's own, (vocab,), valid during the call.
        """

    def takes(self, row: Row, token: int) -> None:
        """`token` was written."""


@dataclass(eq=False)
class Row:
    """A text being written.  Attributes are for reading; `Engine.cancel` ends it.

    tokens: ids so far, a stop token included.  widths: how many bytes of text each of them wrote, which a stop string
    may have cut.  text: bytes so far, up to a stop string if one ended it.
    room: tokens that it may have, prompt included.
    finish_reason: None while it goes on; "error" with `error`, otherwise as `Generation.finish_reason`.
    stopped_by: the stop string that ended it.  logprobs: of each of `tokens`, if they were asked for.
    given: what is taken instead of the tokens that are drawn next.
    cached, kept: how many tokens of its prompt were copied from another text's, and are kept for the next.
    forced: how many tokens were written without asking the model.  drawn_from_list: how many were drawn from a list of
    few ids.  refused: how many guesses the grammar cut before the model read them; drafted: how many the model read;
    accepted: how many of those were drawn, and so became text.
    unread: tokens that the model has not read; block: the last kept piece of its prompt (None: it is in no cache);
    logprob: of the token that is about to be taken; cancelled: it ends before its next token; closed: its last chunk
    was given.
    """

    number: int
    prompt: tuple[int, ...]
    matcher: GrammarMatcher | None
    sampling: Sampling
    seed: int
    max_tokens: int
    stop: tuple[bytes, ...]
    likeliest: int | None  # how many of each step are told in `logprobs`; None: nothing is
    words: Words = field(repr=False)
    room: int
    cutting: Cutting | None = field(default=None, repr=False)
    observer: Observer | None = field(default=None, repr=False)
    tokens: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list, repr=False)
    text: bytearray = field(default_factory=bytearray)
    finish_reason: FinishReason | Literal["error"] | None = None
    error: Exception | None = None
    stopped_by: str | None = None
    logprobs: list[TokenLogprob] = field(default_factory=list, repr=False)
    given: deque[int] = field(default_factory=deque)
    cached: int = 0
    kept: int = 0
    forced: int = 0
    drawn_from_list: int = 0
    refused: int = 0
    drafted: int = 0
    accepted: int = 0
    unread: list[int] = field(default_factory=list, repr=False)
    block: int | None = field(default=0, repr=False)
    logprob: TokenLogprob | None = field(default=None, repr=False)
    cancelled: bool = field(default=False, repr=False)
    closed: bool = field(default=False, repr=False)
    _lucks: list[float] = field(default_factory=list, repr=False)  # of the next draws
    _shown: int = field(default=0, repr=False)  # bytes that chunks have held
    _told: int = field(default=0, repr=False)  # tokens that chunks have held

    def __post_init__(self) -> None:
        self.unread = list(self.prompt)
        self.random = Random(self.seed if self.seed >= 0 else str(self.seed))  # of a number it takes the amount alone

    # -- what may come ----------------------------------------------------------------------------------------------

    @property
    def reader(self) -> GrammarMatcher | None:
        """The matcher whose mask its next token has: none while the token begins with what was taken back of its
        prompt, which the grammar does not describe."""
        return None if self.cutting is not None and self.cutting.rest else self.matcher

    @property
    def may_draw_again(self) -> bool:
        """Whether its next token may have to be drawn more than once, from the same logits."""
        return self.cutting is not None or (self.matcher is not None and self.matcher.tokens_left is not None)

    def luck(self, ahead: int = 0) -> float:
        """The number, from 0 to 1, of the draw after `ahead` others."""
        while len(self._lucks) <= ahead:
            self._lucks.append(self.random.random())
        return self._lucks[ahead]

    def penalty(self, guesses: Sequence[int] = ()) -> Penalty | None:
        """What is less likely behind its text and the guesses beside it, if anything is."""
        return penalty_of(self.sampling, self.prompt, [*self.tokens, *guesses]) if self.sampling.penalises else None

    @property
    def forced_from(self) -> int | None:
        """How many tokens it has in front of the first place where only a shortest end was left to it, by `complete`;
        None where that never came, and where tokens are cut in another way than any (`healing`, `canonical`)."""
        if self.matcher is None or self.matcher.tokens_left is None or self.cutting is not None:
            return None
        probe, first = self.matcher.fork(), None
        for number in range(len(self.tokens) - 1, -1, -1):
            probe.rollback(1)
            try:
                needed, left = probe.tokens_to_end(), probe.tokens_left
            except BudgetExceededError:  # states were given back meanwhile; the text is whole all the same
                return first
            if needed is not None and left is not None and needed >= left:
                first = number
        return first

    # -- taking -----------------------------------------------------------------------------------------------------

    def take(self, token: int) -> bool:
        """Take a token in the matcher, if there is one and it is allowed."""
        if self.cutting is not None:
            return self.cutting.take(token, self.matcher)
        return self.matcher is None or self.matcher.accept_token(token)

    def write(self, token: int, *, drawn: bool = True) -> None:
        """Write down a token that was taken, and end the text where it says so; drawn: one number was its luck."""
        if drawn:
            self.luck()
            del self._lucks[0]
        start = len(self.text)
        self.tokens.append(token)
        if self.likeliest is not None:
            assert self.logprob is not None  # where text is written without a draw, nobody may ask
            self.logprobs.append(self.logprob)
        self.unread.append(token)
        written = b""
        if token not in self.words.special:
            written = self.words.spelled[token][0 if self.cutting is None else self.cutting.hidden :]
        self.text += written
        self.widths.append(len(written))
        stops = self.words.stops if self.matcher is None else self.matcher.stop_token_ids
        if token in stops and (self.matcher is None or self.matcher.is_terminated()):
            self.finish_reason = "stop"
            return
        if self.stop:
            # A stop string may begin in an earlier token, but its last byte is in this one.
            ends = [(self.text.find(stop, max(0, start - len(stop) + 1)), stop) for stop in self.stop]
            if found := [one for one in ends if one[0] >= 0]:
                end, stop = min(found)
                del self.text[end:]
                self.finish_reason, self.stopped_by = "stop", stop.decode()
                return
        self.end_if_whole()
        if self.finish_reason is None and (
            len(self.tokens) >= self.max_tokens or len(self.prompt) + len(self.tokens) >= self.room
        ):
            self.finish_reason = "length"

    def end_if_whole(self) -> None:
        """End the text where nothing but a stop token may follow: the model need not be asked for one."""
        matcher = self.reader
        if matcher is not None and (matcher.is_terminated() or nothing_follows(matcher)):
            self.finish_reason = "grammar_complete"

    def fail(self, error: Exception) -> None:
        """End the text by an error."""
        self.finish_reason, self.error = "error", error

    def where(self, reason: str) -> str:
        """`reason` with the place and the end of the text."""
        tail = bytes(self.text[-40:]).decode("utf-8", errors="replace")
        return f"{reason}, at step {len(self.tokens) + 1}, byte {len(self.text)}, after {tail!r}"

    def refusal_of(self, token: int) -> str:
        """Why a token that was given cannot be taken."""
        shown = bytes(self.words.spelled[token]).decode(errors="replace")
        said = f"the grammar refuses the given token {token} ({shown!r})"
        if self.matcher is not None and self.matcher.tokens_left is not None:
            said += " or leaves no time for an end behind it"
        if self.cutting is not None:
            said += f" or it does not begin with {self.cutting.rest!r}" if self.cutting.rest else ""
            said += " or the tokenizer cuts no such text so" if self.cutting.canonical else ""
        return self.where(said)

    # -- telling ----------------------------------------------------------------------------------------------------

    def chunk(self) -> Chunk:
        """What is new of it, each once."""
        certain = len(self.text)
        if self.finish_reason is not None:
            self.closed = True
        elif self.stop:
            certain -= held_back(bytes(self.text[-max(map(len, self.stop)) :]), self.stop)
        text, self._shown = bytes(self.text[self._shown : certain]), max(self._shown, certain)
        told, self._told = self._told, len(self.tokens)
        tokens, widths = tuple(self.tokens[told:]), tuple(self.widths[told:])
        return Chunk(self, tokens, widths, text, self.finish_reason, tuple(self.logprobs[told:]))


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one step gave a row: new `tokens` with their `widths`, and `text` that is certain now (what may begin a stop
    string is held back).  `finish_reason` is None unless this is the row's last chunk.  `logprobs`: of each of
    `tokens`, if asked for."""

    row: Row
    tokens: tuple[int, ...]
    widths: tuple[int, ...]
    text: bytes
    finish_reason: FinishReason | Literal["error"] | None
    logprobs: tuple[TokenLogprob, ...] = ()
