"""Many texts at once: `Engine.admit` takes a request at any time, `step` writes one token of each, `cancel` ends one.

    engine = Engine.of(model, rows=64)
    row = engine.admit(model.encode_prompt("weather in Lund"), GrammarMatcher(compiled))
    for chunks in engine:
        for chunk in chunks: ...                     # chunk.row, chunk.text

A step: masks that are not known are begun in threads; the model reads the last token of every row, beside them; each
row draws; the tokens come back in the one wait for the device; matchers take them.  Rows have grammars of their own or
none, settings, seeds, limits and stop strings; an error of one row ends that row.

A prompt is read in pieces, one text's after the other's, so that a long one lets those that run go on; a piece that
another text began with is copied.  Pieces are cut by a text's own tokens alone: what it reads depends on nothing that
runs beside it.

A mask is interned, so it says how many ids it allows (`kernels_core.mask_rows`).  Where they are few, the model's head
is asked for their logits alone and one of them is drawn (`sparse`): such a token costs less than one without a grammar.
On a GPU all logits are computed and masks are kept beside them: a step sends a number a row (`device_masks.py`).
With `drafts` a step may write several tokens of a row: guesses are read along with its last token, and each position
draws by the number that it would have drawn by alone, so the text is the same as without.
Nothing is recorded for people here: `loop.py` does that, for one text.
Read on: `slots.py` (the model and its cache), `prefixes.py` (beginnings that are kept), `drawing.py` (the draw),
`forced.py` (text without a choice), `drafts.py` (guesses).
"""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import index
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch

from kernels_core import BatchGrammarMatcher, GrammarMatcher, TokenizerInfo
from kernels_core.batch import apply_masks_inplace
from kernels_core.errors import BudgetExceededError, DeadEndError, MaskscopeError, TokenizerError
from kernels_core.mask_rows import MaskRows
from workbench.generation.cutting import Cut, Cutting, canonical_cut, heal
from workbench.generation.device_masks import DEFAULT_BYTES, DeviceMasks
from workbench.generation.drafts import Drafter, Drafts, DraftTree, LookupDrafter, ModelDrafter, tensors_of
from workbench.generation.drawing import Drawer, TokenLogprob, send
from workbench.generation.forced import Encode, forced_tokens, nothing_follows
from workbench.generation.model import ModelError
from workbench.generation.penalties import Penalty, penalise, penalty_of
from workbench.generation.prefixes import PrefixCache
from workbench.generation.sampling import NOT_A_NUMBER, Sampling, draw_rows, once_more
from workbench.generation.slots import SlotRun
from workbench.generation.trace import FinishReason

if TYPE_CHECKING:
    from workbench.generation.model import LanguageModel

__all__ = ["Chunk", "Engine", "Row"]

FORCED_TOKENS: Final = 256  # that are written at once
FORCED_GUESSES: Final = 16  # that are guessed at once: all rows of the pass are as wide
# Tokens of a prompt that are read between two steps, at most twice as many: a fifth of a second on two processors with
# a small model.
PIECE_ON_CPU: Final = 64
PIECE: Final = 2048
PIECES_ALONE: Final = 8  # in one step, where nobody waits for their next token


@dataclass(eq=False)
class Row:
    """A text being written.  Attributes are for reading; `Engine.cancel` ends it.

    tokens: ids so far, a stop token included.  text: bytes so far, up to a stop string if one ended it.
    finish_reason: None while it goes on; "error" with `error`, otherwise as `Generation.finish_reason`.
    stopped_by: the stop string that ended it.  logprobs: of each of `tokens`, if they were asked for.
    cached, kept: how many tokens of its prompt were copied from another text's, and are kept for the next.
    forced: how many tokens were written without asking the model.  drawn_from_list: how many were drawn from a list of
    few ids.  refused: how many guesses the grammar cut before the model read them; drafted: how many the model read;
    accepted: how many of those were drawn, and so became text.
    """

    number: int
    prompt: tuple[int, ...]
    matcher: GrammarMatcher | None
    sampling: Sampling
    seed: int
    max_tokens: int
    stop: tuple[bytes, ...]
    likeliest: int | None = None  # how many of each step are told in `logprobs`; None: nothing is
    tokens: list[int] = field(default_factory=list)
    text: bytearray = field(default_factory=bytearray)
    finish_reason: FinishReason | Literal["error"] | None = None
    error: Exception | None = None
    stopped_by: str | None = None
    logprobs: list[TokenLogprob] = field(default_factory=list, repr=False)
    cached: int = 0
    kept: int = 0
    forced: int = 0
    drawn_from_list: int = 0
    refused: int = 0
    drafted: int = 0
    accepted: int = 0
    _unread: list[int] = field(default_factory=list, repr=False)
    _block: int | None = field(default=0, repr=False)  # the last kept piece of its prompt; None: it is in no cache
    _cutting: Cutting | None = field(default=None, repr=False)
    _random: Random = field(default_factory=Random, repr=False)
    _lucks: list[float] = field(default_factory=list, repr=False)  # of the next draws
    _logprob: TokenLogprob | None = field(default=None, repr=False)  # of the token that is about to be taken
    _shown: int = field(default=0, repr=False)  # bytes that chunks have held
    _told: int = field(default=0, repr=False)  # tokens that chunks have held
    _cancelled: bool = field(default=False, repr=False)
    _closed: bool = field(default=False, repr=False)  # its last chunk was given

    @property
    def forced_from(self) -> int | None:
        """How many tokens it has in front of the first place where only a shortest end was left to it, by `complete`;
        None where that never came, and where tokens are cut in another way than any (`healing`, `canonical`)."""
        if self.matcher is None or self.matcher.tokens_left is None or self._cutting is not None:
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

    @property
    def rejected(self) -> int:
        """How many guesses the model read in vain."""
        return self.drafted - self.accepted

    def _accepts(self, token: int) -> bool:
        """Take a token in the matcher, if there is one and it is allowed."""
        if self._cutting is not None:
            return self._cutting.take(token, self.matcher)
        return self.matcher is None or self.matcher.accept_token(token)

    @property
    def _heals(self) -> bool:
        """Whether its next token begins with what was taken back of its prompt, before the grammar is asked."""
        return self._cutting is not None and bool(self._cutting.rest)

    def luck(self, ahead: int) -> float:
        """The number, from 0 to 1, of the draw after `ahead` others."""
        while len(self._lucks) <= ahead:
            self._lucks.append(self._random.random())
        return self._lucks[ahead]


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one step gave a row: new `tokens`, and `text` that is certain now (what may begin a stop string is held
    back).  `finish_reason` is None unless this is the row's last chunk.  `logprobs`: of each of `tokens`, if asked
    for."""

    row: Row
    tokens: tuple[int, ...]
    text: bytes
    finish_reason: FinishReason | Literal["error"] | None
    logprobs: tuple[TokenLogprob, ...] = ()


class Engine:
    """Generates for up to `rows` texts side by side; more wait.  For one thread, but for `cancel`.

    Parameters
    ----------
    model
        A causal language model of `transformers`, on any device (`slots.SlotRun` says which cannot).
    info
        Its vocabulary, as wide as its logits.
    rows
        Texts in one pass.
    max_length
        Tokens of a text, prompt included; the cache grows up to it.
    sparse
        False: all logits are computed and masked, however few ids a mask allows.
    device_masks
        Keep masks on the model's device, and compute all logits (`sparse` has no effect then).  None: where that is not
        the CPU.  `Engine.device_masks` says what is kept and sent.
    jump
        What becomes of text that a grammar forces; needs `encode`.  True: it is written without asking the model, cut
        as the tokenizer cuts it; what is drawn behind it may differ, since the model might have cut it otherwise.
        "guess": it is guessed like drafts, so it costs one pass, and the text stays the same token by token.
    cut
        The tokenizer's own cut of a text, for texts that are to be `canonical`.
    prompt_piece
        Tokens of prompts that are read between two steps.  None: 64 on a CPU, 2,048 elsewhere.
    prompts_together
        Read the prompts of texts that come together in one pass, where each is shorter than a piece.  Fewer passes, of
        which each is wider; the model's numbers may differ in their last bits from those of a prompt that is read
        alone.
    prefix_bytes
        Of keys and values that are kept of prompts, for texts that begin alike; 0 keeps none.
    drafts
        How tokens are guessed ahead (`Drafts`: how many, in how many branches, by which model); a number: so many, from
        the row's own text.  The text stays the same.
    threads
        How many masks may be computed at once.

    Raises
    ------
    ModelError, TokenizerError, ValueError
        The model, its vocabulary or a setting cannot be used.
    """

    def __init__(
        self,
        model: Any,
        info: TokenizerInfo,
        *,
        rows: int = 16,
        max_length: int = 2048,
        sparse: bool = True,
        device_masks: bool | None = None,
        jump: bool | Literal["guess"] = False,
        encode: Encode | None = None,
        cut: Cut | None = None,
        drafts: Drafts | int = 0,
        prompt_piece: int | None = None,
        prompts_together: bool = False,
        prefix_bytes: int = 1 << 27,
        threads: int | Literal["auto"] = "auto",
    ) -> None:
        if jump not in (True, False, "guess"):
            raise ValueError(f'jump is True, False or "guess", not {jump!r}')
        if jump and encode is None:
            raise ValueError("to write forced text the engine has to cut it into tokens: pass `encode`")
        width = int(model.get_output_embeddings().weight.shape[0])
        if info.vocab_size != width:
            raise TokenizerError(f"the model scores {width:,} tokens, the vocabulary has {info.vocab_size:,}")
        context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.max_length = min(max_length, context) if isinstance(context, int) and context > 0 else max_length
        self.rows = rows
        self.info = info
        self.sparse = sparse
        self._encode = encode
        self._cut = cut
        self._jump = jump
        self._batch = BatchGrammarMatcher(threads)
        self._run = SlotRun(model, rows, self.max_length)
        self._device = self._run.device
        piece = prompt_piece or (PIECE_ON_CPU if self._device.type == "cpu" else PIECE)
        if piece < 1 or prefix_bytes < 0:
            raise ValueError(f"prompt_piece is at least 1 and prefix_bytes 0, not {prompt_piece} and {prefix_bytes}")
        self._prefixes = PrefixCache(piece, prefix_bytes)
        self._together = prompts_together and not jump
        kept = self._device.type != "cpu" if device_masks is None else device_masks
        self._drafts = Drafts(drafts) if isinstance(drafts, int) and drafts else drafts or None
        self._most_guesses = 0 if self._drafts is None else self._drafts.tokens * self._drafts.branches
        if jump == "guess":
            self._most_guesses = max(self._most_guesses, FORCED_GUESSES)
        nodes = 1 + self._most_guesses
        # A step needs at most one mask a position, so the default budget is only too small for thousands of them.
        room = max(DEFAULT_BYTES, 2 * rows * nodes * 4 * ((info.vocab_size + 31) // 32))
        self.device_masks = DeviceMasks(info.vocab_size, self._device, max_bytes=room) if kept else None
        self._drawer = Drawer(self._run, info.vocab_size, sparse=sparse, device_masks=self.device_masks)
        self._drafter = self._make_drafter()
        self._stops = frozenset(info.stop_token_ids)
        self._special = frozenset(info.special_token_ids)
        self._vocabulary = info.decoded_vocab
        self._active: list[Row] = []  # by slot
        self._reading: Row | None = None  # the last of these, while its prompt is being read
        self._waiting: deque[Row] = deque()
        self._count = 0

    @classmethod
    def of(cls, model: LanguageModel, **options: Any) -> Engine:
        """For a model that `load_model` loaded; its tokenizer cuts forced text, and says what is canonical."""
        tokenizer = model.tokenizer
        cut = tokenizer.cut if tokenizer.has_library else None
        return cls(model.model, tokenizer.info, encode=tokenizer.encode, cut=cut, **options)

    def _make_drafter(self) -> Drafter | None:
        if self._drafts is None:
            return None
        if self._drafts.model is None:
            return LookupDrafter(self._drafts, self.rows)
        return ModelDrafter(
            self._drafts,
            self.rows,
            self.max_length,
            self.info,
            self.device_masks,
            sparse=self.sparse,
            device=self._device,
            batch=self._batch,
        )

    # -- the three verbs --------------------------------------------------------------------------------------------

    def admit(
        self,
        prompt: Sequence[int],
        matcher: GrammarMatcher | None = None,
        *,
        max_tokens: int = 256,
        sampling: Sampling | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        complete: bool = False,
        healing: bool = False,
        canonical: bool = False,
        logprobs: int | None = None,
    ) -> Row:
        """Take a request: it gets its first token in the next step in which a row is free.

        `prompt`: token ids.  `matcher`: where its text stands under its grammar; the engine moves it from now on.
        `seed`: of the draws (None: a random one).  `stop`: texts that end it, and are left out.
        `complete`: it is whole under its grammar when `max_tokens`, or the room for a text, runs out;
        `TooFewTokensError` where that is not certain.
        `healing`: its prompt's end is taken back, as far as another token could go on from it, and the row's tokens
        begin with these bytes; `canonical`: it is cut as the tokenizer cuts it (`cutting.py`).  Such rows are drawn
        one by one, and nothing is guessed for them.
        `logprobs`: keep the log probability of each token under its mask, with so many of the likeliest.
        Raises `ModelError` for a prompt that is empty or too long, `TokenizerError` for a grammar of another
        vocabulary, `ValueError` for settings that mean nothing.
        """
        ids = tuple(index(token) for token in prompt)
        if not ids:
            raise ModelError("the prompt has no tokens: a model needs at least one to start from")
        if len(ids) >= self.max_length:
            raise ModelError(f"the prompt has {len(ids):,} tokens; a text has at most {self.max_length:,} in all")
        if not all(0 <= token < self.info.vocab_size for token in ids):
            raise ModelError(f"a token of the prompt is not in the vocabulary of {self.info.vocab_size:,} ids")
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {max_tokens!r}")
        if logprobs is not None and logprobs < 0:
            raise ValueError(f"logprobs must be at least 0, not {logprobs!r}")
        if logprobs is not None and self._jump is True:
            raise ValueError(
                'forced text is written without asking the model, so there are no logprobs; take jump="guess"'
            )
        stops = tuple(text.encode() for text in ([stop] if isinstance(stop, str) else stop))
        if b"" in stops:
            raise ValueError("a stop string must not be empty")
        if matcher is not None and matcher.compiled.tokenizer_info is not self.info:
            theirs = matcher.compiled.tokenizer_info
            if theirs.fingerprint != self.info.fingerprint and theirs.decoded_vocab != self.info.decoded_vocab:
                raise TokenizerError(f"the grammar was compiled for another vocabulary ({theirs!r})")
        cutting: Cutting | None = None
        if healing or canonical:
            kept, healed = heal(self.info, ids) if healing else (ids, b"")
            ids = tuple(kept)
            cut = canonical_cut(self._cut, "this engine's vocabulary") if canonical else None
            within = min(max_tokens, self.max_length - len(ids)) if complete and matcher is not None else None
            cutting = Cutting(self.info, healed=healed, cut=cut, within=within)
            cutting.begin(matcher)
        elif matcher is not None and complete:
            matcher.complete_within(min(max_tokens, self.max_length - len(ids)), redraws=True)
        seed = secrets.randbelow(2**32) if seed is None else seed
        row = Row(self._count, ids, matcher, sampling or Sampling(), seed, max_tokens, stops, logprobs)
        row._unread, row._random, row._cutting = list(ids), Random(seed), cutting
        self._count += 1
        self._waiting.append(row)
        return row

    def cancel(self, row: Row) -> None:
        """End a row before its next token, as "interrupted"; from any thread.  One that has ended stays as it is."""
        row._cancelled = True

    def step(self) -> list[Chunk]:
        """One token, forced text behind it and drafts that hold, for every row; [] when there is nothing to tell.

        An error of the model (no memory, an interruption) leaves all rows as they were before the step.
        """
        ended = self._leave()
        self._enter()
        rows = self._active[: self._ready]
        if not rows:
            return ended
        trees = self._guess(rows) if self._most_guesses else []
        if any(len(tree) > 1 for tree in trees):
            self._step_with_drafts(rows, trees)
        else:
            self._step_by_one(rows)
        for row, tree in zip(rows, trees, strict=False):
            row.refused += tree.refused
        chunks = ended + [chunk for row in rows if (chunk := self._chunk(row)) is not None]
        if not self.active:
            self._leave()  # what they held is given back before anybody comes
        return chunks

    def _step_by_one(self, rows: list[Row]) -> None:
        """One token of each row, and forced text behind it."""
        pending = self._batch.start_masks([row.matcher for row in rows])
        try:
            self._read_all_but_last(rows)
            last = send(np.array([row._unread[0] for row in rows], dtype=np.int64), self._device)
            states = self._run.decode(last)
        finally:
            masks = pending.result()
        try:
            populations = masks.populations()
            for number, row in enumerate(rows):
                self._end_without_a_draw(row, number, masks, populations)
            tokens = self.choose(rows, states, masks)
        except BaseException:
            for slot in range(len(rows)):  # the tokens that the pass read are read again
                self._run.lengths[slot] -= 1
            raise
        for slot, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            if row.finish_reason is None:
                self._take(row, token, states[slot : slot + 1])

    def __iter__(self) -> Iterator[list[Chunk]]:
        """Steps until no row is left and none waits."""
        while self.active or self.waiting:
            yield self.step()

    @property
    def active(self) -> int:
        """Rows being written."""
        return sum(row.finish_reason is None for row in self._active)

    @property
    def waiting(self) -> int:
        """Rows that wait for a place."""
        return len(self._waiting)

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values, of texts and of beginnings that are kept."""
        return self._run.nbytes + self._prefixes.nbytes

    # -- rows come and go -------------------------------------------------------------------------------------------

    @property
    def _ready(self) -> int:
        """How many rows have read their prompts; they are the first."""
        return len(self._active) - (self._reading is not None)

    def _leave(self) -> list[Chunk]:
        """Rows that have ended give their slots to the last ones, since a pass is over the first slots."""
        ended = []
        for row in [*self._active, *self._waiting]:
            if row._cancelled and row.finish_reason is None:
                row.finish_reason = "interrupted"
            if row.finish_reason is not None and not row._closed:
                ended.append(self._last_chunk(row))
        if any(row.finish_reason for row in self._waiting):
            self._waiting = deque(row for row in self._waiting if row.finish_reason is None)
        if self._reading is not None and self._reading.finish_reason is not None:
            self._reading = None  # it is as ready to leave as any
        slot = 0
        while slot < len(self._active):
            if self._active[slot].finish_reason is None:
                slot += 1
                continue
            for kept in (self._run, self._drafter):
                if kept is not None:
                    kept.clear(slot)
            last = self._ready - 1
            self._move(last, slot)
            self._move(len(self._active) - 1, last)  # the row that reads, which is the last of all
            self._active.pop()
            self._run.give_back()
        return ended

    def _move(self, source: int, target: int) -> None:
        """The row of slot `source` goes on in `target`, which is empty."""
        if source > target:
            for kept in (self._run, self._drafter):
                if kept is not None:
                    kept.move(source, target)
            self._active[target] = self._active[source]

    def _enter(self) -> None:
        """Read a piece of a prompt, or some, where nobody waits for a token; rows that wait come in one by one."""
        left = self._prefixes.width * (1 if self._ready else PIECES_ALONE)
        if self._together:
            left -= self._read_together(left)
        while left > 0:
            row = self._reading
            if row is None:
                if not self._waiting or len(self._active) == self.rows:
                    return
                row = self._reading = self._waiting.popleft()
                self._active.append(row)
                for block in self._prefixes.find(row._unread):
                    self._run.put(len(self._active) - 1, block.states)
                    del row._unread[: self._prefixes.width]
                    row._block = block.number
                    row.cached += self._prefixes.width
                if self._jump is True:  # behind the prompt
                    self._write_forced(row)
            left -= self._read_piece(row, len(self._active) - 1)
            if len(row._unread) == 1:
                self._reading = None

    def _read_together(self, most: int) -> int:
        """Read the whole prompts of the next rows in one pass, of `most` tokens at most, fillers counted; how many that
        were.  Nothing where fewer than two can be read so."""
        rows: list[Row] = []
        width = 0
        for row in islice(self._waiting, self.rows - len(self._active) if self._reading is None else 0):
            wider = max(width, len(row._unread) - 1)
            whole = 0 < len(row._unread) - 1 < self._prefixes.width
            if not whole or wider * (len(rows) + 1) > most:
                break
            rows.append(row)
            width = wider
        if len(rows) < 2:
            return 0
        self._run.read_together(len(self._active), [row._unread[:-1] for row in rows])
        for row in rows:
            self._active.append(self._waiting.popleft())
            del row._unread[:-1]
        return width * len(rows)

    def read_prompts(self) -> None:
        """Read the prompts of all rows that have a place now, and not piece by piece between steps."""
        while self._reading is not None or (self._waiting and len(self._active) < self.rows):
            self._enter()

    def _read_piece(self, row: Row, slot: int) -> int:
        """Read the next piece of what a row has not read, all but its last token, which joins the pass over all rows;
        how many tokens that were."""
        width, start = self._prefixes.width, self._run.lengths[slot]
        count = min(width - start % width, len(row._unread) - 1)
        if count:
            self._run.read(slot, row._unread[:count])
            past = start + count
            if count == width and past < len(row.prompt) and row._block is not None and self._prefixes.max_bytes:
                states = self._run.taken(slot, start, past)
                row._block = self._prefixes.add(row._block, row._unread[:count], states)
                row.kept += 0 if row._block is None else count
            del row._unread[:count]
        return max(count, 1)

    def _read_all_but_last(self, rows: list[Row]) -> None:
        """What a row has not read but for its last token, which joins the pass over all rows."""
        for slot, row in enumerate(rows):
            if len(row._unread) > 1:
                self._run.read(slot, row._unread[:-1])
                del row._unread[:-1]

    def _end_without_a_draw(self, row: Row, number: int, masks: MaskRows, populations: npt.NDArray[np.int32]) -> None:
        """End a row in trouble (its mask is the one at `number`), and a text that is complete: the model could only be
        asked for a stop token."""
        if row.matcher is None or row._heals:
            return
        completed = row.matcher.is_completed()
        error = masks.errors.get(number)
        if row.matcher.is_terminated() or (completed and isinstance(error, DeadEndError)):
            row.finish_reason = "grammar_complete"
        elif error is not None:
            row.finish_reason, row.error = "error", error
        elif completed and populations[number] <= len(row.matcher.stop_token_ids):
            allowed = masks.listed(np.array([number]), int(populations[number]))[0].tolist()
            if set(allowed) <= set(row.matcher.stop_token_ids):
                row.finish_reason = "grammar_complete"

    # -- drafts -----------------------------------------------------------------------------------------------------

    def _guess(self, rows: list[Row]) -> list[DraftTree]:
        """Guesses for each row; all rows of a pass are as wide, so the longest text limits them."""
        room = self.max_length - max(len(row.prompt) + len(row.tokens) for row in rows)
        trees = [DraftTree(row._unread[-1], row.matcher, min(room, self._most_guesses)) for row in rows]
        left = [min(room, row.max_tokens - len(row.tokens) - 1) if row._cutting is None else 0 for row in rows]
        if self._jump == "guess":
            for row, tree, most in zip(rows, trees, left, strict=True):
                for token in self._forced(row, min(most, FORCED_GUESSES)):
                    tree.add(len(tree) - 1, token)
        if self._drafter is not None and self._drafts is not None:
            ahead = self._drafts.tokens
            depths = [min(ahead, most) if len(tree) == 1 else 0 for tree, most in zip(trees, left, strict=True)]
            self._drafter.guess(rows, trees, depths)
        return trees

    def _step_with_drafts(self, rows: list[Row], trees: list[DraftTree]) -> None:
        """One pass over the last token of every row and its guesses; each node draws by the number of its depth, and a
        guess that the node before it draws stays.  The same draws as one by one, so the same text."""
        firsts = np.cumsum([0, *map(len, trees)]).tolist()  # of each tree's nodes among all
        pending = self._batch.start_masks([matcher for tree in trees for matcher in tree.matchers])
        try:
            self._read_all_but_last(rows)
            tokens, followed = tensors_of(trees, self._device)
            states = self._run.verify(tokens, followed).flatten(0, 1)
        finally:
            masks = pending.result()
        populations = masks.populations()
        for row, first in zip(rows, firsts, strict=False):
            self._end_without_a_draw(row, first, masks, populations)
        width = tokens.shape[1]
        places = np.concatenate([number * width + np.arange(len(tree)) for number, tree in enumerate(trees)])
        nodes = [(row, tree.path(node)) for row, tree in zip(rows, trees, strict=True) for node in range(len(tree))]
        drawn, listed, told = self._drawer.draw(
            states[send(places, self._device)],  # a copy
            masks,
            [row.sampling for row, _ in nodes],
            [row.luck(len(path)) for row, path in nodes],
            np.array([row.finish_reason is None for row, _ in nodes]),
            penalties=_penalties(nodes),
            logprobs=_wanted([row for row, _ in nodes]),
        )
        kept = [[0] for _ in rows]  # nodes that are text, and that the pass has read
        for row, tree, first, path in zip(rows, trees, firsts, kept, strict=False):
            row.drafted += len(tree) - 1
            node: int | None = 0
            while node is not None:
                if node:
                    path.append(node)
                    row.accepted += 1
                    self._end_without_a_draw(row, first + node, masks, populations)
                if row.finish_reason is not None:
                    break
                token, forced = int(drawn[first + node, 0]), row.forced
                row.drawn_from_list += bool(listed[first + node])
                row._logprob = told.get(first + node)
                place = int(places[first + node])
                token = self._take(row, token, states[place : place + 1])
                node = tree.child(node, token) if row.finish_reason is None and row.forced == forced else None
        self._run.keep(kept)

    # -- drawing ----------------------------------------------------------------------------------------------------

    def choose(self, rows: list[Row], states: torch.Tensor, masks: MaskRows) -> list[int]:
        """A token for each row that has not ended; one wait for the device."""
        going = np.array([row.finish_reason is None for row in rows])
        samplings, lucks = [row.sampling for row in rows], [row.luck(0) for row in rows]
        penalties = _penalties([(row, ()) for row in rows])
        again = [row._cutting or (row.matcher is not None and row.matcher.tokens_left) for row in rows]
        if not self._run.splits and any(again):
            states = states.clone()  # they are logits, which a draw may overwrite, and another draw may follow
        drawn = self._drawer.draw(states, masks, samplings, lucks, going, penalties=penalties, logprobs=_wanted(rows))
        for number in np.flatnonzero(drawn.listed):
            rows[number].drawn_from_list += 1
        for place, told in drawn.logprobs.items():
            rows[place]._logprob = told
        found: list[int] = drawn.tokens[:, 0].tolist()
        return found

    def _drawn_again(self, row: Row, state: torch.Tensor) -> int:
        """A token instead of one behind which the row's text could not end in time: the mask is exact now."""
        masks = self._batch.read_masks([row.matcher])
        luck, going = once_more(row.luck(0)), np.array([0 not in masks.errors])
        drawn = self._drawer.draw(
            state,
            masks,
            [row.sampling],
            [luck],
            going,
            penalties=_penalties([(row, ())]),
            logprobs=_wanted([row]),
        )
        row._logprob = drawn.logprobs.get(0)
        return int(drawn.tokens[0, 0])

    def _drawn_by_cuts(self, row: Row, token: int, state: torch.Tensor) -> int:
        """The token of a row whose cuts matter: `token` was drawn by its grammar alone, from `state`."""
        cutting, luck = row._cutting, row.luck(0)
        assert cutting is not None
        ids = cutting.ids(row.matcher)
        if token == NOT_A_NUMBER or (ids is None and (token < 0 or cutting.allows(token, row.matcher))):
            return token
        logits = self._run.logits(state).float().cpu().clone()
        if ids is not None:
            allowed = torch.from_numpy(ids)
            kept = torch.full_like(logits, -torch.inf)
            kept[:, allowed] = logits[:, allowed]
            logits = kept
        elif row.matcher is not None:
            masks = self._batch.read_masks([row.matcher])
            apply_masks_inplace(logits, masks)
        penalty = penalty_of(row.sampling, row.prompt, row.tokens) if row.sampling.penalises else None
        more, refused = Random(luck), [] if ids is not None else [token]
        while True:
            logits[:, refused] = -torch.inf
            changed = logits.clone()
            penalise(changed, [] if penalty is None else [(0, penalty)])
            number = luck if ids is not None and not refused else more.random()
            token = int(draw_rows(changed, [row.sampling], torch.tensor([number], dtype=torch.float64))[0])
            if token < 0 or cutting.allows(token, row.matcher):
                break
            refused.append(token)
        if row.likeliest is not None and token >= 0:
            known = logits[0].log_softmax(-1)
            top = known.topk(row.likeliest)
            told = [(one, value) for one, value in zip(top.indices.tolist(), top.values.tolist(), strict=True)]
            row._logprob = TokenLogprob(float(known[token]), tuple(pair for pair in told if pair[1] > -math.inf))
        return token

    # -- taking -----------------------------------------------------------------------------------------------------

    def _take(self, row: Row, token: int, state: torch.Tensor) -> int:
        """A token that was drawn from `state`, and the text that its grammar forces behind it; which one was taken."""
        if row._cutting is not None:
            try:
                token = self._drawn_by_cuts(row, token, state)
            except MaskscopeError as error:  # a budget of the grammar, which is this row's affair
                row.finish_reason, row.error = "error", error
                return token
        taken = token >= 0 and row._accepts(token)
        if token >= 0 and not taken and row.matcher is not None and row.matcher.tokens_left is not None:
            token = self._drawn_again(row, state)
            taken = token >= 0 and row._accepts(token)
        if token < 0:
            row.finish_reason = "error"
            row.error = (
                ModelError(f"the model returned logits that are not numbers at step {len(row.tokens) + 1}")
                if token == NOT_A_NUMBER
                else DeadEndError("the model gives probability 0 to every token that the grammar allows")
            )
            return token
        if not taken:
            row.finish_reason = "error"
            row.error = RuntimeError(f"the matcher refused token {token}, which its own mask allows")
            return token
        row._unread = []
        del row._lucks[:1]
        self._append(row, token)
        if self._jump is True and row.finish_reason is None:
            self._write_forced(row)
        return token

    def _write_forced(self, row: Row) -> None:
        """Write the text that the grammar forces here."""
        for token in self._forced(row, FORCED_TOKENS):
            if row.finish_reason is not None:
                break
            if not row._accepts(token):
                break
            row.forced += 1
            self._append(row, token)

    def _forced(self, row: Row, most: int) -> list[int]:
        """At most `most` tokens of forced text; its errors are those of the row's next mask, which tells them."""
        if self._encode is None or row.matcher is None or most < 1 or row._heals:
            return []
        try:
            return forced_tokens(row.matcher, self._encode, self._vocabulary, bytes(row.text[-32:]), limit=most)
        except MaskscopeError:
            return []

    def _append(self, row: Row, token: int) -> None:
        """Write a token down, and end the row where it says so."""
        start = len(row.text)
        row.tokens.append(token)
        if row.likeliest is not None:
            assert row._logprob is not None  # where text is written without a draw, nobody may ask
            row.logprobs.append(row._logprob)
        row._unread.append(token)
        if token not in self._special:
            row.text += self._vocabulary[token][0 if row._cutting is None else row._cutting.hidden :]
        stops = self._stops if row.matcher is None else row.matcher.stop_token_ids
        if token in stops and (row.matcher is None or row.matcher.is_terminated()):
            row.finish_reason = "stop"
            return
        if row.stop:
            # A stop string may begin in an earlier token, but its last byte is in this one.
            ends = [(row.text.find(stop, max(0, start - len(stop) + 1)), stop) for stop in row.stop]
            if found := [one for one in ends if one[0] >= 0]:
                end, stop = min(found)
                del row.text[end:]
                row.finish_reason, row.stopped_by = "stop", stop.decode()
                return
        matcher = None if row._heals else row.matcher
        if matcher is not None and matcher.is_terminated():
            row.finish_reason = "grammar_complete"
        elif len(row.tokens) >= row.max_tokens or len(row.prompt) + len(row.tokens) >= self.max_length:
            row.finish_reason = "grammar_complete" if matcher is not None and nothing_follows(matcher) else "length"

    def _chunk(self, row: Row) -> Chunk | None:
        """What is new of a row."""
        if row.finish_reason is not None:
            return self._last_chunk(row)
        certain = len(row.text) - _held_back(row.text, row.stop) if row.stop else len(row.text)
        text, row._shown = bytes(row.text[row._shown : certain]), max(row._shown, certain)
        return Chunk(row, *self._new(row, text, None))

    def _last_chunk(self, row: Row) -> Chunk:
        row._closed = True
        return Chunk(row, *self._new(row, bytes(row.text[row._shown :]), row.finish_reason))

    def _new(self, row: Row, text: bytes, reason: Any) -> tuple[tuple[int, ...], bytes, Any, tuple[TokenLogprob, ...]]:
        """The rest of a chunk, once."""
        told, row._told = row._told, len(row.tokens)
        return tuple(row.tokens[told:]), text, reason, tuple(row.logprobs[told:])

    def __repr__(self) -> str:
        return f"<Engine of {self.rows} rows on {self._device}: {self.active} active, {self.waiting} waiting>"


def _penalties(nodes: Sequence[tuple[Row, Sequence[int]]]) -> dict[int, Penalty]:
    """Of each row, behind its text and the guesses beside it, if it has one."""
    found = {}
    for number, (row, guesses) in enumerate(nodes):
        penalty = penalty_of(row.sampling, row.prompt, [*row.tokens, *guesses]) if row.sampling.penalises else None
        if penalty is not None:
            found[number] = penalty
    return found


def _wanted(rows: Sequence[Row]) -> dict[int, int]:
    """How many of the likeliest are told of each row, if any."""
    return {number: row.likeliest for number, row in enumerate(rows) if row.likeliest is not None}


def _held_back(text: bytearray, stops: tuple[bytes, ...]) -> int:
    """Bytes at the end of `text` that may be the beginning of a stop string."""
    longest = min(len(text), max(len(stop) for stop in stops) - 1)
    for count in range(longest, 0, -1):
        if any(stop.startswith(text[-count:]) for stop in stops):
            return count
    return 0
