"""Many texts at once: `Engine.admit` takes a request at any time, `step` writes one token of each, `cancel` ends one.

    engine = Engine.of(model, rows=64)
    row = engine.admit(model.encode_prompt("weather in Lund"), GrammarMatcher(compiled))
    for chunks in engine:
        for chunk in chunks: ...                     # chunk.row, chunk.text

A step: the model reads the last token of every row; beside it masks that are not known are found; each
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
This is the loop behind `wb.generate` and the server, too: what is recorded for people is seen by a row's `observer`
(`record.py`), and `Engine.alone` writes one text over the cache that any model has.
Read on: `row.py` (a text), `slots.py` (the model and its cache), `prefixes.py` (beginnings that are kept), `drawing.py`
(the draw), `cutting.py` (text without a choice), `drafts.py` (guesses).
"""

from __future__ import annotations

import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import index
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch

from kernels_core import BatchGrammarMatcher, GrammarMatcher, TokenizerInfo
from kernels_core.batch import apply_masks_inplace
from kernels_core.errors import DeadEndError, MaskscopeError, TokenizerError
from kernels_core.mask_rows import MaskRows
from workbench.generation.cutting import Cut, Cutting, Encode, canonical_cut, forced_tokens, heal
from workbench.generation.device_masks import DEFAULT_BYTES, DeviceMasks, send
from workbench.generation.drafts import Drafter, Drafts, DraftTree, LookupDrafter, ModelDrafter, tensors_of
from workbench.generation.drawing import Drawer, TokenLogprob
from workbench.generation.errors import BeginningError, ModelError
from workbench.generation.model import ModelRun, context_of, logit_width
from workbench.generation.prefixes import PrefixCache
from workbench.generation.row import Chunk, DrawnFrom, Observer, Row, Words
from workbench.generation.sampling import NOT_A_NUMBER, Penalty, Sampling, draw_rows, once_more, penalise
from workbench.generation.slots import SlotRun

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from workbench.generation.model import LanguageModel

FORCED_TOKENS: Final = 256  # that are written at once
FORCED_GUESSES: Final = 16  # that are guessed at once: all rows of the pass are as wide
# Tokens of a prompt that are read between two steps, at most twice as many: a fifth of a second on two processors with
# a small model.
PIECE_ON_CPU: Final = 64
PIECE: Final = 2048
PIECES_ALONE: Final = 8  # in one step, where nobody waits for their next token
UNBOUNDED: Final = 1 << 40  # tokens of a text of a model that says of none how many it holds


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
        How many masks may be computed at once, beside the model's pass; 0: in this thread, behind `read`.
    run
        What the model reads by, instead of slots of a cache (`alone`).

    Raises
    ------
    ModelError, TokenizerError, ValueError
        The model, its vocabulary or a setting cannot be used.
    """

    def __init__(
        self,
        model: PreTrainedModel,
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
        run: ModelRun | None = None,
    ) -> None:
        if jump not in (True, False, "guess"):
            raise ValueError(f'jump is True, False or "guess", not {jump!r}')
        if jump and encode is None:
            raise ValueError("to write forced text the engine has to cut it into tokens: pass `encode`")
        self.max_length = min(max_length, context_of(model) or max_length)
        if run is None and info.vocab_size != (width := logit_width(model)):
            raise TokenizerError(f"the model scores {width:,} tokens, the vocabulary has {info.vocab_size:,}")
        self.rows = rows
        self.info = info
        self.sparse = sparse
        self._encode = encode
        self._cut = cut
        self._jump = jump
        self._batch = BatchGrammarMatcher(threads or 1)
        self._run: SlotRun | ModelRun = SlotRun(model, rows, self.max_length) if run is None else run
        self._device = self._run.device
        self._blocks = threads != 0 and self._device.type == "cpu"
        piece = prompt_piece or (PIECE_ON_CPU if self._device.type == "cpu" else PIECE)
        if piece < 1 or prefix_bytes < 0:
            raise ValueError(f"prompt_piece is at least 1 and prefix_bytes 0, not {prompt_piece} and {prefix_bytes}")
        self._prefixes = PrefixCache(piece, prefix_bytes)
        self._together = prompts_together and not jump and run is None
        kept = self._device.type != "cpu" if device_masks is None else device_masks
        self._drafts = Drafts(drafts) if isinstance(drafts, int) and drafts else drafts or None
        self._most_guesses = 0 if self._drafts is None else self._drafts.tokens * self._drafts.branches
        if jump == "guess":
            self._most_guesses = max(self._most_guesses, FORCED_GUESSES)
        nodes = 1 + self._most_guesses
        # A step needs at most one mask a position, so the default budget is only too small for thousands of them.
        room = max(DEFAULT_BYTES, 2 * rows * nodes * 4 * ((info.vocab_size + 31) // 32))
        self.device_masks = DeviceMasks(info.vocab_size, self._device, max_bytes=room) if kept else None
        if self.device_masks is not None:
            self.device_masks.warm_up(torch.float32, model.dtype)
        self._drawer = Drawer(self._run, info.vocab_size, sparse=sparse, device_masks=self.device_masks)
        self._drafter = self._make_drafter()
        self._words = Words.of(info)
        self._active: list[Row] = []  # by slot
        self._reading: Row | None = None  # the last of these, while its prompt is being read
        self._waiting: deque[Row] = deque()
        self._count = 0
        self._masks_ns = 0

    @classmethod
    def of(cls, model: LanguageModel, **options: Any) -> Engine:
        """For a model that `load_model` loaded; its tokenizer cuts forced text, and says what is canonical."""
        tokenizer = model.tokenizer
        cut = tokenizer.cut if tokenizer.has_library else None
        return cls(model.model, tokenizer.info, encode=tokenizer.encode, cut=cut, **options)

    @classmethod
    def alone(cls, model: LanguageModel) -> tuple[Engine, ModelRun]:
        """For one text, over the cache that any model has, and what reads it: nothing is copied or guessed."""
        run = model.start()
        options = {"rows": 1, "sparse": False, "device_masks": False, "prefix_bytes": 0, "threads": 0}
        return cls.of(model, max_length=UNBOUNDED, run=run, **options), run

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
            with_masks=partial(pass_and_masks, self._batch, self._blocks),
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
        observer: Observer | None = None,
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
        `observer`: sees each draw; for it all logits of the row are computed.
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
        settings = sampling or Sampling(), seed, max_tokens, stops, logprobs
        row = Row(self._count, ids, matcher, *settings, self._words, self.max_length, cutting, observer)
        row.end_if_whole()
        self._count += 1
        self._waiting.append(row)
        return row

    def cancel(self, row: Row) -> None:
        """End a row before its next token, as "interrupted"; from any thread.  One that has ended stays as it is."""
        row.cancelled = True

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
        chunks = ended + [row.chunk() for row in rows]
        if not self.active:
            chunks += self._leave()  # what they held is given back before anybody comes
        return chunks

    def _step_by_one(self, rows: list[Row]) -> None:
        """One token of each row, and forced text behind it."""

        def read() -> torch.Tensor:
            self._read_all_but_last(rows)
            return self._run.decode(send(np.array([row.unread[0] for row in rows], dtype=np.int64), self._device))

        try:
            states, masks = self._with_masks([row.reader for row in rows], read)
            populations = masks.populations()
            for number, row in enumerate(rows):
                self._end_without_a_draw(row, number, masks, populations)
            began = time.perf_counter_ns()
            tokens = self.choose(rows, states, masks)
        except BaseException:
            for slot, row in enumerate(rows):  # the tokens that the pass read are read again
                self._run.lengths[slot] = len(row.prompt) + len(row.tokens) - len(row.unread)
            raise
        for slot, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            if row.finish_reason is None:
                self._take(row, token, DrawnFrom(states, slot, masks, slot, began, self._masks_ns))

    def _with_masks(
        self, matchers: Sequence[GrammarMatcher | None], read: Callable[[], torch.Tensor]
    ) -> tuple[torch.Tensor, MaskRows]:
        states, masks, self._masks_ns = pass_and_masks(self._batch, self._blocks, matchers, read)
        return states, masks

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

    @property
    def _slots(self) -> SlotRun:
        """The slots of the cache, of an engine that copies prompts or guesses."""
        assert isinstance(self._run, SlotRun)
        return self._run

    # -- rows come and go -------------------------------------------------------------------------------------------

    @property
    def _ready(self) -> int:
        """How many rows have read their prompts; they are the first."""
        return len(self._active) - (self._reading is not None)

    def _leave(self) -> list[Chunk]:
        """Rows that have ended give their slots to the last ones, since a pass is over the first slots."""
        ended = []
        for row in [*self._active, *self._waiting]:
            if row.cancelled and row.finish_reason is None:
                row.finish_reason = "interrupted"
            if row.finish_reason is not None and not row.closed:
                ended.append(row.chunk())
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
                for block in self._prefixes.find(row.unread):
                    self._slots.put(len(self._active) - 1, block.states)
                    del row.unread[: self._prefixes.width]
                    row.block = block.number
                    row.cached += self._prefixes.width
                if self._jump is True:  # behind the prompt
                    self._write_forced(row)
            left -= self._read_piece(row, len(self._active) - 1)
            if len(row.unread) == 1:
                self._reading = None

    def _read_together(self, most: int) -> int:
        """Read the whole prompts of the next rows in one pass, of `most` tokens at most, fillers counted; how many that
        were.  Nothing where fewer than two can be read so."""
        rows: list[Row] = []
        width = 0
        for row in islice(self._waiting, self.rows - len(self._active) if self._reading is None else 0):
            wider = max(width, len(row.unread) - 1)
            whole = 0 < len(row.unread) - 1 < self._prefixes.width
            if not whole or wider * (len(rows) + 1) > most:
                break
            rows.append(row)
            width = wider
        if len(rows) < 2:
            return 0
        self._slots.read(len(self._active), *(row.unread[:-1] for row in rows))
        for row in rows:
            self._active.append(self._waiting.popleft())
            del row.unread[:-1]
        return width * len(rows)

    def read_prompts(self) -> None:
        """Read the prompts of all rows that have a place now, and not piece by piece between steps."""
        while self._reading is not None or (self._waiting and len(self._active) < self.rows):
            self._enter()

    def _read_piece(self, row: Row, slot: int) -> int:
        """Read the next piece of what a row has not read, all but its last token, which joins the pass over all rows;
        how many tokens that were."""
        width, start = self._prefixes.width, self._run.lengths[slot]
        count = min(width - start % width, len(row.unread) - 1)
        if count:
            self._run.read(slot, row.unread[:count])
            past = start + count
            if count == width and past < len(row.prompt) and row.block is not None and self._prefixes.max_bytes:
                states = self._slots.taken(slot, start, past)
                row.block = self._prefixes.add(row.block, row.unread[:count], states)
                row.kept += 0 if row.block is None else count
            del row.unread[:count]
        return max(count, 1)

    def _read_all_but_last(self, rows: list[Row]) -> None:
        """What a row has not read but for its last token, which joins the pass over all rows."""
        for slot, row in enumerate(rows):
            if len(row.unread) > 1:
                self._run.read(slot, row.unread[:-1])
                del row.unread[:-1]

    def _end_without_a_draw(self, row: Row, number: int, masks: MaskRows, populations: npt.NDArray[np.int32]) -> None:
        """End a row in trouble (its mask is the one at `number`), and a text that is complete: the model could only be
        asked for a stop token."""
        if (matcher := row.reader) is None:
            return
        completed = matcher.is_completed()
        error = masks.errors.get(number)
        if matcher.is_terminated() or (completed and isinstance(error, DeadEndError)):
            row.finish_reason = "grammar_complete"
        elif error is not None:
            row.fail(error)
        elif completed and populations[number] <= len(matcher.stop_token_ids):
            allowed = masks.listed(np.array([number]), int(populations[number]))[0].tolist()
            if set(allowed) <= set(matcher.stop_token_ids):
                row.finish_reason = "grammar_complete"

    # -- drafts -----------------------------------------------------------------------------------------------------

    def _guess(self, rows: list[Row]) -> list[DraftTree]:
        """Guesses for each row; all rows of a pass are as wide, so the longest text limits them."""
        room = self.max_length - max(len(row.prompt) + len(row.tokens) for row in rows)
        trees = [DraftTree(row.unread[-1], row.matcher, min(room, self._most_guesses)) for row in rows]
        left = [min(room, row.max_tokens - len(row.tokens) - 1) if row.cutting is None else 0 for row in rows]
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
        tokens, followed = tensors_of(trees, self._device)

        def read() -> torch.Tensor:
            self._read_all_but_last(rows)
            return self._slots.verify(tokens, followed).flatten(0, 1)

        states, masks = self._with_masks([matcher for tree in trees for matcher in tree.matchers], read)
        began = time.perf_counter_ns()
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
                row.logprob = told.get(first + node)
                seen = DrawnFrom(states, int(places[first + node]), masks, first + node, began, self._masks_ns)
                token = self._take(row, token, seen)
                node = tree.child(node, token) if row.finish_reason is None and row.forced == forced else None
        self._slots.keep(kept)

    # -- drawing ----------------------------------------------------------------------------------------------------

    def choose(self, rows: list[Row], states: torch.Tensor, masks: MaskRows) -> list[int]:
        """A token for each row that has not ended; one wait for the device."""
        going = np.array([row.finish_reason is None for row in rows])
        samplings, lucks = [row.sampling for row in rows], [row.luck() for row in rows]
        penalties = _penalties([(row, ()) for row in rows])
        if not self._run.splits and any(row.may_draw_again or row.observer is not None for row in rows):
            states = states.clone()  # they are logits, which a draw may overwrite, and somebody wants them afterwards
        drawn = self._drawer.draw(states, masks, samplings, lucks, going, penalties=penalties, logprobs=_wanted(rows))
        for number in np.flatnonzero(drawn.listed):
            rows[number].drawn_from_list += 1
        for place, told in drawn.logprobs.items():
            rows[place].logprob = told
        found: list[int] = drawn.tokens[:, 0].tolist()
        return found

    def _drawn_again(self, row: Row, state: torch.Tensor, masks: MaskRows) -> int:
        """A token instead of one behind which the row's text could not end in time: its mask, of `masks`, is exact."""
        luck, going = once_more(row.luck()), np.array([0 not in masks.errors])
        if not self._run.splits:
            state = state.clone()
        penalties, wanted = _penalties([(row, ())]), _wanted([row])
        drawn = self._drawer.draw(state, masks, [row.sampling], [luck], going, penalties=penalties, logprobs=wanted)
        row.logprob = drawn.logprobs.get(0)
        return int(drawn.tokens[0, 0])

    def _drawn_by_cuts(self, row: Row, token: int, seen: DrawnFrom) -> tuple[int, list[int]]:
        """The token of a row whose cuts matter, and those that were drawn and are cut otherwise: `token` was drawn by
        its grammar alone."""
        cutting, luck = row.cutting, row.luck()
        assert cutting is not None
        ids = cutting.ids(row.matcher)
        if token == NOT_A_NUMBER or (ids is None and (token < 0 or cutting.allows(token, row.matcher))):
            return token, []
        logits = self._run.logits(seen.state).float().cpu().clone()
        if ids is not None:
            allowed = torch.from_numpy(ids)
            kept = torch.full_like(logits, -torch.inf)
            kept[:, allowed] = logits[:, allowed]
            logits = kept
        else:
            apply_masks_inplace(logits, seen.masks, rows=[seen.number])
        penalty = row.penalty()
        more, refused = Random(luck), [] if ids is not None else [token]
        while True:
            logits[:, refused] = -torch.inf
            changed = logits.clone()
            penalise(changed, [] if penalty is None else [(0, penalty)])
            share = luck if ids is not None and not refused else more.random()
            token = int(draw_rows(changed, [row.sampling], torch.tensor([share], dtype=torch.float64))[0])
            if token < 0 and refused:
                raise DeadEndError(row.where("the tokenizer cuts no text of the grammar that begins so"))
            if token < 0 or cutting.allows(token, row.matcher):
                break
            refused.append(token)
        if row.likeliest is not None and token >= 0:
            known = logits[0].log_softmax(-1)
            top = known.topk(row.likeliest)
            told = [(one, value) for one, value in zip(top.indices.tolist(), top.values.tolist(), strict=True)]
            row.logprob = TokenLogprob(float(known[token]), tuple(pair for pair in told if pair[1] > -math.inf))
        return token, refused

    # -- taking -----------------------------------------------------------------------------------------------------

    def _take(self, row: Row, token: int, seen: DrawnFrom) -> int:
        """A token that was drawn, or the one that is given in its place, and the text that its grammar forces behind
        it; which one was taken."""
        try:
            return self._taken(row, token, seen)
        except MaskscopeError as error:  # a budget of the grammar, or what is given: this row's affair
            row.fail(error)
            return token

    def _taken(self, row: Row, token: int, seen: DrawnFrom) -> int:
        given = bool(row.given) and token != NOT_A_NUMBER
        if given:
            token, seen = row.given.popleft(), replace(seen, given=True)
        elif row.cutting is not None:
            token, refused = self._drawn_by_cuts(row, token, seen)
            seen = replace(seen, refused=refused)
        self._show(row, token, seen)
        taken = token >= 0 and row.take(token)
        if not taken and not given and token >= 0 and row.matcher is not None and row.matcher.tokens_left is not None:
            seen = replace(seen, masks=self._batch.read_masks([row.matcher]), number=0, refused=())
            token = self._drawn_again(row, seen.state, seen.masks)
            self._show(row, token, seen)
            taken = token >= 0 and row.take(token)
        if token == NOT_A_NUMBER:
            raise ModelError(f"the model returned logits that are not numbers at step {len(row.tokens) + 1}")
        if token < 0:
            raise DeadEndError(row.where("the model gives probability 0 to every token that the grammar allows"))
        if not taken and given:
            raise BeginningError(row.refusal_of(token))
        if not taken:
            row.fail(RuntimeError(row.where(f"the matcher refused token {token}, which its own mask allows")))
            return token
        row.unread = []
        row.write(token)
        if row.observer is not None:
            row.observer.takes(row, token)
        if self._jump is True and row.finish_reason is None:
            self._write_forced(row)
        return token

    def _show(self, row: Row, token: int, seen: DrawnFrom) -> None:
        """Show a draw to the row's observer, with all logits."""
        if row.observer is not None and token >= 0:
            row.observer.draws(row, token, self._run.logits(seen.state)[0], seen)

    def _write_forced(self, row: Row) -> None:
        """Write the text that the grammar forces here."""
        for token in self._forced(row, FORCED_TOKENS):
            if row.finish_reason is not None or not row.take(token):
                break
            row.forced += 1
            row.write(token, drawn=False)

    def _forced(self, row: Row, most: int) -> list[int]:
        """At most `most` tokens of forced text; its errors are those of the row's next mask, which tells them."""
        if self._encode is None or row.reader is None or most < 1 or row.given:
            return []
        try:
            return forced_tokens(row.reader, self._encode, self._words.spelled, bytes(row.text[-32:]), limit=most)
        except MaskscopeError:
            return []

    def __repr__(self) -> str:
        return f"<Engine of {self.rows} rows on {self._device}: {self.active} active, {self.waiting} waiting>"


def _penalties(nodes: Sequence[tuple[Row, Sequence[int]]]) -> dict[int, Penalty]:
    """Of each row, behind its text and the guesses beside it, if it has one."""
    found = ((number, row.penalty(guesses)) for number, (row, guesses) in enumerate(nodes))
    return {number: penalty for number, penalty in found if penalty is not None}


def _wanted(rows: Sequence[Row]) -> dict[int, int]:
    """How many of the likeliest are told of each row, if any."""
    return {number: row.likeliest for number, row in enumerate(rows) if row.likeliest is not None}


def pass_and_masks(
    batch: BatchGrammarMatcher,
    blocks: bool,
    matchers: Sequence[GrammarMatcher | None],
    read: Callable[[], torch.Tensor],
) -> tuple[torch.Tensor, MaskRows, int]:
    """What a model's pass gives, the masks that are found beside it, and the nanoseconds that these were waited for.

    On a CPU (`blocks`) the pass is over when `read` returns, so masks are begun in threads before.  On a GPU it is only
    started then and runs by itself: masks are found behind that, or their threads would hold up the start (by 0.9 ms of
    an 11 ms step, at 16 rows that were not met before).
    """
    if blocks:
        pending = batch.start_masks(matchers)
        try:
            states = read()
        finally:
            began = time.perf_counter_ns()
            masks = pending.result()
    else:
        states, began = read(), time.perf_counter_ns()
        masks = batch.read_masks(matchers)
    return states, masks, time.perf_counter_ns() - began
