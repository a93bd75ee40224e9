"""The decoding loop: model, mask, draw, accept, one token at a time, and a record of each.

`generate` runs to the end, `stream` yields a `Step` at a time, `astream` does so for `async for` and lets other tasks
run between steps, so that buttons in a notebook work.  All three are one class, `TokenStream`; whatever happens to it
(an interruption, an error), `stream.generation` is the text so far with its steps.
The life of one step: start the model on the last token; fill the mask while it computes; set forbidden logits to -inf;
draw; accept the token in the matcher; write down what happened.  Each has its own clock, and with `record=False` the
last is left out.  Read on: `trace.py` (the records), `sampling.py` (the draw), `branch.py` (going on from any step).
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from operator import index
from random import Random
from typing import Any, TypeAlias

import numpy as np
import torch

from kernels_core import (
    GrammarMatcher,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
)
from kernels_core.errors import DeadEndError, MaskscopeError
from kernels_core.inspect.fills import CacheLog
from kernels_core.inspect.trace import FillEvent
from workbench.generation.cutting import Cutting, canonical_cut, heal
from workbench.generation.forced import nothing_follows
from workbench.generation.loading import model_of
from workbench.generation.model import LanguageModel, ModelError, Prompt
from workbench.generation.penalties import penalise, penalty_of
from workbench.generation.sampling import Sampling, distribution, draw, once_more
from workbench.generation.trace import Alternative, FinishReason, Generation, Source, Step
from workbench.languages import compile_output

__all__ = [
    "BeginningError",
    "Constraint",
    "IncompleteTextWarning",
    "TokenStream",
    "astream",
    "generate",
    "matcher_for",
    "stream",
]

Constraint: TypeAlias = Any
"""What describes an output: a matcher (where its text stands), a `CompiledGrammar`, or what `Source.of` takes."""


class BeginningError(MaskscopeError, ValueError):
    """A text that a generation was to begin with cannot be taken; the message says which token, where and why."""


class IncompleteTextWarning(UserWarning):
    """`generate` ran out of tokens before the text was a whole text of its grammar."""


# These two read `finish_reason` or `complete`, and say themselves what is to be said.
warnings.filterwarnings("ignore", category=IncompleteTextWarning, module=r"workbench\.(cli|comparing)\.")


class TokenStream:
    """A generation in progress: an iterator, and an async iterator, of `Step`.

    Parameters are those of `generate`.  One thread at a time; `interrupt` may be called from any.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: Prompt,
        grammar: Constraint | None = None,
        *,
        max_tokens: int = 256,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        frequency_penalty: float = 0.0,
        presence_penalty: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        alternatives: int = 5,
        chat: bool | None = None,
        record: bool = True,
        begin: Sequence[int | Step] = (),
        complete: bool = False,
        healing: bool = False,
        canonical: bool = False,
        log: CacheLog | None = None,
    ) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {max_tokens!r}")
        if alternatives < 0:
            raise ValueError(f"alternatives must be 0 or more, not {alternatives!r}")
        self._sampling = Sampling(
            temperature,
            top_k,
            top_p,
            min_p,
            frequency_penalty=frequency_penalty,
            presence_penalty=presence_penalty,
            repetition_penalty=repetition_penalty,
        )
        self._stop = tuple(text.encode() for text in ([stop] if isinstance(stop, str) else stop))
        if b"" in self._stop:
            raise ValueError("a stop string must not be empty")
        # A seed is always chosen, so that every run can be repeated from its record.
        self._seed = secrets.randbelow(2**32) if seed is None else seed
        self._random = Random(self._seed)
        self._model = model
        self._info = model.tokenizer.info
        self._special = frozenset(self._info.special_token_ids)
        self._asked = model.encode_prompt(prompt, chat=chat)
        self._prompt, self._healed = heal(self._info, self._asked) if healing else (self._asked, b"")
        self._max_tokens = max_tokens
        self._recording = record
        self._alternatives = min(alternatives, model.vocab_size) if record else 0
        self._given: list[Any] = list(begin)  # token ids and steps
        self._matcher = None if grammar is None else matcher_for(model, grammar)
        self._origin = None if self._matcher is None else self._matcher.fork()
        self._complete = complete
        self._cuts = {"healing": True} if healing else {}
        self._cuts |= {"canonical": True} if canonical else {}
        context = max_tokens if model.context is None else model.context + 1 - len(self._prompt)
        within = max(0, min(max_tokens, context)) if complete and self._matcher is not None else None
        tokenizer = model.tokenizer
        cut = canonical_cut(tokenizer.cut if tokenizer.has_library else None, tokenizer.name) if canonical else None
        self._cutting = Cutting(self._info, healed=self._healed, cut=cut, within=within)
        self._cutting.begin(self._matcher)
        self._log = CacheLog() if log is None else log
        self._heard = len(self._log)
        if self._matcher is not None and record:
            self._log.listen(self._matcher)
        stops = self._info.stop_token_ids if self._matcher is None else self._matcher.stop_token_ids
        self._stop_tokens = frozenset(stops)
        self._mask = _MaskBuffer(model.vocab_size, model.device)
        self._run = model.start()
        self._unread: list[int] = list(self._prompt)
        self._text = bytearray()
        self._steps: list[Step] = []
        self._filled: tuple[int, FillEvent | None] | None = None  # the mask at this place, once it was asked for
        self._interrupted = False
        self.finish_reason: FinishReason | None = None

    def interrupt(self) -> None:
        """End before the next token; `generation` stays usable."""
        self._interrupted = True

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps so far."""
        return tuple(self._steps)

    @property
    def generation(self) -> Generation:
        """The generation so far; its `finish_reason` is "interrupted" as long as the stream has not ended."""
        return Generation(
            model=self._model.name,
            prompt=self._model.tokenizer.decode(self._prompt, skip_special=False),
            prompt_tokens=tuple(self._prompt),
            steps=tuple(self._steps),
            text_bytes=bytes(self._text),
            finish_reason=self.finish_reason or "interrupted",
            constrained=self._origin is not None,
            complete=self._is_complete(),
            settings={
                "temperature": self._sampling.temperature,
                "top_k": self._sampling.top_k,
                "top_p": self._sampling.top_p,
                **({} if self._sampling.min_p is None else {"min_p": self._sampling.min_p}),
                **self._sampling.penalties,
                "seed": self._seed,
                "max_tokens": self._max_tokens,
                "stop": [text.decode() for text in self._stop],
                **({"complete": True} if self._complete else {}),
                **self._cuts,
            },
            healed=self._healed,
            masks=self._log.record(first=self._heard) if self._origin is not None and self._recording else None,
            source=Source(self._model, self._origin, tuple(self._asked), generate),
        )

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        if self.finish_reason is None:
            self._finish_before_step()
        if self.finish_reason is not None:
            raise StopIteration
        kept = self._given[0] if self._given else None
        try:
            step = self._keep(kept) if isinstance(kept, Step) else self._step()
        except StopIteration:
            raise
        except BaseException:
            # The run's cache may hold a token that no step records: this stream cannot go on.
            self.finish_reason = "interrupted"
            raise
        return step

    def __aiter__(self) -> AsyncIterator[Step]:
        return self

    async def __anext__(self) -> Step:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.finish_reason = self.finish_reason or "interrupted"
            raise
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    def __repr__(self) -> str:
        state = self.finish_reason or "in progress"
        return f"<TokenStream of {self._model.name}: {len(self._steps)} tokens, {state}>"

    def _finish_before_step(self) -> None:
        """Set the finish reason when there is to be no further step."""
        context = self._model.context
        matcher = None if self._cutting.rest else self._matcher  # which reads what comes behind what is healed
        if self._interrupted:
            self.finish_reason = "interrupted"
        elif matcher is not None and matcher.is_terminated():
            self.finish_reason = "grammar_complete"
        elif len(self._steps) >= self._max_tokens or (
            context is not None and self._run.length + len(self._unread) > context
        ):
            whole = matcher is not None and nothing_follows(matcher)
            self.finish_reason = "grammar_complete" if whole else "length"
        elif matcher is not None and matcher.is_completed() and self._only_stop_allowed():
            # Asking the model would only make it draw the stop token.
            self.finish_reason = "grammar_complete"

    def _only_stop_allowed(self) -> bool:
        try:
            self._fill()
        except DeadEndError:
            # The text is complete, nothing can follow, and the vocabulary has no token that says so.
            return True
        return self._mask.count == sum(map(self._mask.allows, self._stop_tokens))

    def _keep(self, step: Step) -> Step:
        """Take a step of another generation as it is recorded; the model reads its token with the next one's."""
        del self._given[0]
        if step.index != len(self._steps):
            raise BeginningError(f"step {step.index} of another generation cannot come as number {len(self._steps)}")
        self._take(step.token_id, given=True)
        self._random.random()  # so that the draws that follow are those of the other generation
        unread = self._unread
        self._record(step)
        self._unread = [*unread, step.token_id]
        return step

    def _step(self) -> Step:
        given = index(self._given.pop(0)) if self._given else None
        logits = self._run.advance(self._unread)
        mask_ns, event = self._fill()
        began = time.perf_counter_ns()
        masked = self._constrain(logits)
        apply_ns = time.perf_counter_ns() - began
        model_ns = self._run.wait()

        began = time.perf_counter_ns()
        total, feasible = torch.stack([logits.double().logsumexp(0), masked.double().logsumexp(0)]).tolist()
        if not np.isfinite(total):
            raise ModelError(f"{self._model.name} returned logits that are not numbers at step {len(self._steps) + 1}")
        if feasible == -np.inf and given is None:
            raise DeadEndError(self._where("the model gives probability 0 to every token that the grammar allows"))
        uniform = self._random.random()
        probabilities = distribution(self._penalised(masked), self._sampling)
        token = draw(probabilities, uniform) if given is None else given
        if self._cutting.canonical:
            if given is None:
                token, probabilities = self._draw_canonical(token, probabilities, masked, uniform)
            self._forbid_cuts(logits)
            masked = self._constrain(logits)
            feasible = float(masked.double().logsumexp(0))
        if not self._take(token, given=given is not None, again=self._complete):
            event = self._fill()[1]  # the mask is another one now
            masked = self._constrain(logits)
            feasible = float(masked.double().logsumexp(0))
            probabilities = distribution(self._penalised(masked), self._sampling)
            token = draw(probabilities, once_more(uniform))
            self._take(token, given=False)
        sample_ns = time.perf_counter_ns() - began

        began = time.perf_counter_ns()
        own, drawn = torch.stack([logits[token].double() - total, probabilities[token].log()]).tolist()
        entropy, masked_entropy = self._entropies(logits, masked)
        step = Step(
            index=len(self._steps),
            token_id=token,
            token=self._info.decoded_vocab[token],
            offset=len(self._text),
            logprob=own,
            drawn_logprob=drawn,
            allowed_count=self._mask.count,
            feasible_mass=min(1.0, float(np.exp(feasible - total))),
            forced=self._mask.count == 1,
            is_special=token in self._special,
            is_stop=token in self._stop_tokens,
            alternatives=self._ranked(logits, total, self._alternatives),
            mask_ns=mask_ns,
            model_ns=model_ns,
            sample_ns=sample_ns,
            choices=self._ranked(masked, total, min(self._alternatives, self._mask.count)),
            entropy=entropy,
            masked_entropy=masked_entropy,
            given=given is not None,
            fill=event,
            apply_ns=apply_ns,
            record_ns=time.perf_counter_ns() - began,
        )
        self._record(step)
        return step

    def _draw_canonical(
        self, token: int, probabilities: torch.Tensor, masked: torch.Tensor, uniform: float
    ) -> tuple[int, torch.Tensor]:
        """Draw until a token is cut as the tokenizer cuts; those that were not are forbidden from then on.

        Each draw is from what is left, so the token comes with its probability among all that are cut so.
        """
        more = Random(uniform)
        while not self._cutting.allows(token, self._matcher):
            self._mask.forbid(token)
            masked = masked.index_fill(0, torch.tensor([token], device=masked.device), -math.inf)
            if not bool((masked > -math.inf).any()):
                raise DeadEndError(self._where("the tokenizer cuts no text of the grammar that begins so"))
            probabilities = distribution(self._penalised(masked), self._sampling)
            token = draw(probabilities, more.random())
        return token, probabilities

    def _forbid_cuts(self, logits: torch.Tensor) -> None:
        """Forbid what the tokenizer cuts otherwise among the tokens that the record shows."""
        for ranked in (logits, self._constrain(logits)) if self._alternatives else ():
            for token in ranked.topk(self._alternatives).indices.tolist():
                if self._mask.allows(token) and not self._cutting.allows(token, self._matcher):
                    self._mask.forbid(token)

    def _take(self, token: int, *, given: bool, again: bool = False) -> bool:
        """Take a token in the matcher; `BeginningError` for a given one that it refuses.

        again: False is returned where the matcher refuses a token that was drawn, since the text could not end in time.
        """
        if not 0 <= token < self._model.vocab_size:
            raise BeginningError(f"{token} is not a token id of {self._model.name}")
        self._filled = None
        if self._cutting.take(token, self._matcher):
            return True
        if again and not given:
            return False
        if given:
            shown = bytes(self._info.decoded_vocab[token]).decode(errors="replace")
            late = " or leaves no time for an end behind it" if self._complete else ""
            late += f" or it does not begin with {self._cutting.rest!r}" if self._cutting.rest else ""
            late += " or the tokenizer cuts no such text so" if self._cutting.canonical else ""
            raise BeginningError(self._where(f"the grammar refuses the given token {token} ({shown!r}){late}"))
        raise RuntimeError(self._where(f"the matcher refused token {token}, which its own mask allows"))

    def _fill(self) -> tuple[int, FillEvent | None]:
        """Fill the mask at this place, once; how many nanoseconds finding or making it took, and its event."""
        if self._filled is None and self._cutting.rest:
            began = time.perf_counter_ns()
            self._mask.allow_only(self._cutting.ids(self._matcher))
            self._filled = time.perf_counter_ns() - began, None
        elif self._filled is None and self._matcher is None:
            self._mask.allow_all()
            self._filled = 0, None
        if self._filled is None:
            assert self._matcher is not None
            began = time.perf_counter_ns()
            heard = self._log.heard
            self._mask.fill(self._matcher)
            event = self._log.last if self._log.heard > heard else None
            spent = time.perf_counter_ns() - began if event is None else event.nanoseconds
            self._filled = spent, event
        return self._filled

    def _constrain(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits with forbidden tokens at -inf; the given tensor is left alone."""
        if self._matcher is None and self._mask.count == self._model.vocab_size:
            return logits
        masked = logits.clone().unsqueeze(0)
        apply_token_bitmask_inplace(masked, self._mask.on_device())
        return masked.squeeze(0)

    def _penalised(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits with what was said less likely; the given tensor is left alone."""
        penalty = penalty_of(self._sampling, self._prompt, [step.token_id for step in self._steps])
        if penalty is None:
            return logits
        changed = logits.clone().unsqueeze(0)
        penalise(changed, [(0, penalty)])
        return changed.squeeze(0)

    def _entropies(self, logits: torch.Tensor, masked: torch.Tensor) -> tuple[float | None, float | None]:
        """Entropy in nats of the model's distribution, and of what the mask leaves of it."""
        if not self._recording:
            return None, None
        if self._mask.count == self._model.vocab_size:
            found = float(torch.special.entr(logits.softmax(0)).sum())
            return found, found
        found, left = torch.special.entr(torch.stack([logits, masked]).softmax(1)).sum(1).tolist()
        return found, left if math.isfinite(left) else None

    def _ranked(self, logits: torch.Tensor, total: float, count: int) -> tuple[Alternative, ...]:
        """The `count` likeliest tokens by `logits`; log probabilities are the model's own."""
        if not count:
            return ()
        top = logits.topk(count)
        vocabulary = self._info.decoded_vocab
        return tuple(
            Alternative(token, vocabulary[token], logit - total, self._mask.allows(token))
            for token, logit in zip(top.indices.tolist(), top.values.tolist(), strict=True)
        )

    def _record(self, step: Step) -> None:
        """Keep a step, and end the text where it says so."""
        self._steps.append(step)
        self._unread = [step.token_id]
        if not step.is_special:
            self._text += step.token[self._cutting.hidden :]
        if step.is_stop:
            self.finish_reason = "stop"
            return
        # A stop string may begin in an earlier token, but its last byte is in this one.
        ends = [self._text.find(stop, max(0, step.offset - len(stop) + 1)) for stop in self._stop]
        found = [end for end in ends if end >= 0]
        if found:
            del self._text[min(found) :]
            self.finish_reason = "stop"

    def _is_complete(self) -> bool | None:
        """Whether the text is a whole sentence of the grammar, read afresh: a stop string may have cut it."""
        if self._origin is None:
            return None
        reader = self._origin.fork()
        return bool(reader.accept_string(bytes(self._text)) and reader.is_completed())

    def _where(self, reason: str) -> str:
        """`reason` with the place and the end of the text."""
        tail = bytes(self._text[-40:]).decode("utf-8", errors="replace")
        return f"{reason}, at step {len(self._steps) + 1}, byte {len(self._text)}, after {tail!r}"


class _MaskBuffer:
    """One row of token bitmask: filled on the CPU, counted there, and sent to the model's device once a step."""

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self._vocab_size = vocab_size
        self._device = device
        # Pinned memory lets the copy to a GPU run beside the model's pass.
        self._host = torch.full(
            get_bitmask_shape(1, vocab_size), -1, dtype=torch.int32, pin_memory=device.type == "cuda"
        )
        self._words: Any = self._host.numpy()
        self._count: int | None = vocab_size

    def fill(self, matcher: GrammarMatcher) -> None:
        """Take the matcher's mask."""
        full = not matcher.fill_next_token_bitmask(self._words)
        self._count = self._vocab_size if full else None
        if full:
            self._words.fill(-1)

    def allow_all(self) -> None:
        """Every token may come."""
        if self._count != self._vocab_size:
            self._words.fill(-1)
            self._count = self._vocab_size

    def allow_only(self, ids: Any) -> None:
        """These tokens may come, and no other."""
        bits = np.zeros(self._words.shape[1] * 32, dtype=np.uint8)
        bits[ids] = 1
        self._words[0] = np.packbits(bits, bitorder="little").view(np.int32)
        self._count = len(ids)

    def forbid(self, token: int) -> None:
        """One more token may not come, which could until now."""
        self._count = self.count - 1
        word = int(self._words[0, token >> 5]) & ~(1 << (token & 31)) & 0xFFFFFFFF
        self._words.view(np.uint32)[0, token >> 5] = word

    @property
    def count(self) -> int:
        """How many tokens the mask allows; counted when first asked for."""
        if self._count is None:
            bits = np.unpackbits(self._words[0].view(np.uint8), count=self._vocab_size, bitorder="little")
            self._count = int(np.count_nonzero(bits))
        return self._count

    def allows(self, token: int) -> bool:
        return bool(int(self._words[0, token >> 5]) >> (token & 31) & 1)

    def on_device(self) -> torch.Tensor:
        return self._host.to(self._device, non_blocking=True)


def matcher_for(model: LanguageModel, grammar: Constraint) -> GrammarMatcher:
    """A matcher of its own for this generation, on the model's vocabulary."""
    if isinstance(grammar, GrammarMatcher):
        compile_output(grammar.compiled, model.compiler)  # whether it is of this vocabulary
        return grammar.fork()
    return GrammarMatcher(compile_output(grammar, model.compiler, for_a_model=True))


def stream(
    model: LanguageModel | str, prompt: Prompt, grammar: Constraint | None = None, **options: Any
) -> TokenStream:
    """`for step in stream(...)`: parameters as for `generate`; `.generation` is the result so far at any time."""
    return TokenStream(model_of(model, prompt), prompt, grammar, **options)


def astream(
    model: LanguageModel | str, prompt: Prompt, grammar: Constraint | None = None, **options: Any
) -> TokenStream:
    """`async for step in astream(...)`: as `stream`, giving way to other tasks before each token."""
    return TokenStream(model_of(model, prompt), prompt, grammar, **options)


def generate(
    model: LanguageModel | str,
    prompt: Prompt,
    grammar: Constraint | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    frequency_penalty: float = 0.0,
    presence_penalty: float = 0.0,
    repetition_penalty: float = 1.0,
    seed: int | None = None,
    on_step: Callable[[Step], object] | None = None,
    stop: str | Sequence[str] = (),
    alternatives: int = 5,
    chat: bool | None = None,
    record: bool = True,
    begin: Sequence[int | Step] = (),
    complete: bool = False,
    healing: bool = False,
    canonical: bool = False,
) -> Generation:
    """Generate from `prompt`, under `grammar` if there is one, and return the whole trace.

    Parameters
    ----------
    model
        From `load_model`, or its name, which is loaded once.
    prompt
        A text (a user's turn where the model has a chat template, see `chat`), chat messages, or token ids.  The model
        is told nothing else: a schema that it should know belongs in here.
    grammar
        EBNF text, a `Grammar`, a `CompiledGrammar` for the model's vocabulary, or a `GrammarMatcher` whose present
        state is continued (it is forked: the caller's stays where it is).  Or a dict, a list or a pydantic model that
        is a schema, a structural tag or tools; members of a schema's objects then come in declared order, see `order`
        of `Grammar.from_json_schema`.
    max_tokens
        Budget of tokens; running out gives the finish reason "length", unless nothing could follow anyway.  A text that
        is cut before it is whole under its grammar warns (`IncompleteTextWarning`); see `complete`.
    temperature, top_k, top_p, min_p
        `Sampling`; temperature 0 is greedy, and 1 the model's own distribution, whatever its `generation_config` says.
    frequency_penalty, presence_penalty, repetition_penalty
        What was said becomes less likely, as OpenAI's API (the first two) and vLLM (the third, which counts the prompt,
        too) define it; 0, 0 and 1 change nothing.
    seed
        Of the draws; None takes a random one, kept in the result's `settings`.
    on_step
        Called with each `Step`.
    stop
        A string, or several, that ends the text and is left out of it.
    alternatives
        How many of the likeliest tokens each step records, before and after the mask.
    chat
        True or False: whether a text is a user's turn of a chat; None: if the model has a chat template.
    record
        False leaves out what is written down for people: likeliest tokens, entropies, and how each mask was found.
    begin
        What the text begins with instead of being drawn: token ids, or steps of another generation, from its first on,
        which keep their records.
    complete
        The text is whole under its grammar when `max_tokens` (or the model's context) runs out: near the end the masks
        leave out tokens behind which that could not be.  Without a grammar there is nothing to complete.
    healing
        The prompt's last tokens are taken back where another token could go on from them, and the text begins with
        their bytes, however they are cut (`Generation.healed`).  The grammar describes what comes behind them.
    canonical
        Only the tokens are written that the tokenizer itself gives for the text; `cutting.py` says what is promised.
        A step's `feasible_mass` and `allowed_count` are then upper bounds: without the likeliest tokens and those drawn
        that are cut otherwise, and with others that nobody looked at.

    Raises
    ------
    DeadEndError
        No token can continue the text and the grammar does not allow it to end there.
    TooFewTokensError
        `complete`, and the shortest text that was found takes more than `max_tokens`.
    GrammarError, TokenizerError, ModelError, BeginningError, ValueError
        The grammar, its vocabulary, the prompt, the beginning or a setting is not usable.

    The kernel's stop button (KeyboardInterrupt) ends the loop and returns what there is, as "interrupted".
    """
    model = model_of(model, prompt)
    tokens = TokenStream(
        model,
        prompt,
        grammar,
        max_tokens=max_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        frequency_penalty=frequency_penalty,
        presence_penalty=presence_penalty,
        repetition_penalty=repetition_penalty,
        seed=seed,
        stop=stop,
        alternatives=alternatives,
        chat=chat,
        record=record,
        begin=begin,
        complete=complete,
        healing=healing,
        canonical=canonical,
    )
    try:
        for step in tokens:
            if on_step is not None:
                on_step(step)
    except KeyboardInterrupt:
        tokens.interrupt()
    made = tokens.generation
    if made.finish_reason == "length" and made.complete is False:
        spent = f"max_tokens={max_tokens}" if len(made) >= max_tokens else f"the context of {model.name}"
        warnings.warn(
            f"the text is cut: {spent} ran out before it was whole under the grammar. With complete=True it ends in "
            "time, and a larger max_tokens leaves it more room",
            IncompleteTextWarning,
            stacklevel=2,
        )
    return made
