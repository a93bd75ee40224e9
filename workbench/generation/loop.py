"""The decoding loop: model, mask, draw, accept, one token at a time, and a record of each.

`generate` runs to the end, `stream` yields a `Step` at a time, `astream` does so for `async for` and lets other tasks
run between steps, so that buttons in a notebook work.  All three are one class, `TokenStream`; whatever happens to it
(an interruption, an error), `stream.generation` is the text so far with its steps.
The life of one step: start the model on the last token; fill the mask while it computes; set forbidden logits to -inf;
draw; accept the token in the matcher.  Read on: `trace.py` (the records), `sampling.py` (the draw).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from random import Random
from typing import Any, TypeAlias

import numpy as np
import torch

from kernels_core import (
    CompiledGrammar,
    Grammar,
    GrammarMatcher,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
)
from kernels_core.errors import DeadEndError, TokenizerError
from workbench.generation.model import LanguageModel, ModelError, Prompt
from workbench.generation.sampling import Sampling, distribution, draw
from workbench.generation.trace import Alternative, FinishReason, Generation, Step

__all__ = ["Constraint", "TokenStream", "astream", "generate", "stream"]

Constraint: TypeAlias = CompiledGrammar | GrammarMatcher | Grammar | str


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
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        alternatives: int = 5,
        chat: bool | None = None,
    ) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {max_tokens!r}")
        if alternatives < 0:
            raise ValueError(f"alternatives must be 0 or more, not {alternatives!r}")
        self._sampling = Sampling(temperature, top_k, top_p)
        self._stop = tuple(text.encode() for text in ([stop] if isinstance(stop, str) else stop))
        if b"" in self._stop:
            raise ValueError("a stop string must not be empty")
        # A seed is always chosen, so that every run can be repeated from its record.
        self._seed = secrets.randbelow(2**32) if seed is None else seed
        self._random = Random(self._seed)
        self._model = model
        self._info = model.tokenizer.info
        self._special = frozenset(self._info.special_token_ids)
        self._prompt = model.encode_prompt(prompt, chat=chat)
        self._max_tokens = max_tokens
        self._alternatives = min(alternatives, model.vocab_size)
        self._matcher = None if grammar is None else _matcher(model, grammar)
        self._origin = None if self._matcher is None else self._matcher.fork()
        stops = self._info.stop_token_ids if self._matcher is None else self._matcher.stop_token_ids
        self._stop_tokens = frozenset(stops)
        self._mask = _MaskBuffer(model.vocab_size, model.device)
        self._run = model.start()
        self._unread: Sequence[int] = self._prompt
        self._text = bytearray()
        self._steps: list[Step] = []
        self._interrupted = False
        self.finish_reason: FinishReason | None = None

    def interrupt(self) -> None:
        """End before the next token; `generation` stays usable."""
        self._interrupted = True

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
                "seed": self._seed,
                "max_tokens": self._max_tokens,
                "stop": [text.decode() for text in self._stop],
            },
        )

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        if self.finish_reason is None:
            self._finish_before_step()
        if self.finish_reason is not None:
            raise StopIteration
        try:
            step = self._step()
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
        if self._interrupted:
            self.finish_reason = "interrupted"
        elif self._matcher is not None and self._matcher.is_terminated():
            self.finish_reason = "grammar_complete"
        elif self._matcher is not None and self._matcher.is_completed() and self._only_stop_allowed():
            # Asking the model would only make it draw the stop token.
            self.finish_reason = "grammar_complete"
        elif len(self._steps) >= self._max_tokens or (
            context is not None and self._run.length + len(self._unread) > context
        ):
            self.finish_reason = "length"

    def _only_stop_allowed(self) -> bool:
        assert self._matcher is not None
        try:
            self._mask.fill(self._matcher)
        except DeadEndError:
            # The text is complete, nothing can follow, and the vocabulary has no token that says so.
            return True
        return self._mask.count == sum(map(self._mask.allows, self._stop_tokens))

    def _step(self) -> Step:
        logits = self._run.advance(self._unread)
        began = time.perf_counter_ns()
        masked = self._constrain(logits)
        mask_ns = time.perf_counter_ns() - began
        model_ns = self._run.wait()

        began = time.perf_counter_ns()
        total, feasible = torch.stack([logits.double().logsumexp(0), masked.double().logsumexp(0)]).tolist()
        if not np.isfinite(total):
            raise ModelError(f"{self._model.name} returned logits that are not numbers at token {self._run.length}")
        if feasible == -np.inf:
            raise DeadEndError(self._where("the model gives probability 0 to every token that the grammar allows"))
        probabilities = distribution(masked, self._sampling)
        token = draw(probabilities, self._random.random())
        own, drawn = torch.stack([logits[token].double() - total, probabilities[token].log()]).tolist()
        ranked = self._ranked(logits, total)

        if self._matcher is not None and not self._matcher.accept_token(token):
            raise RuntimeError(self._where(f"the matcher refused token {token}, which its own mask allows"))
        spelling = self._info.decoded_vocab[token]
        is_stop = token in self._stop_tokens
        step = Step(
            index=len(self._steps),
            token_id=token,
            token=spelling,
            offset=len(self._text),
            logprob=own,
            drawn_logprob=drawn,
            allowed_count=self._mask.count,
            feasible_mass=min(1.0, float(np.exp(feasible - total))),
            forced=self._mask.count == 1,
            is_special=token in self._special,
            is_stop=is_stop,
            alternatives=ranked,
            mask_ns=mask_ns,
            model_ns=model_ns,
            sample_ns=time.perf_counter_ns() - began,
        )
        self._record(step)
        return step

    def _constrain(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits with forbidden tokens at -inf; the given tensor is left alone."""
        if self._matcher is None:
            return logits
        self._mask.fill(self._matcher)
        masked = logits.clone().unsqueeze(0)
        apply_token_bitmask_inplace(masked, self._mask.on_device())
        return masked.squeeze(0)

    def _ranked(self, logits: torch.Tensor, total: float) -> tuple[Alternative, ...]:
        if not self._alternatives:
            return ()
        top = logits.topk(self._alternatives)
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
            self._text += step.token
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
        return f"{reason}, at token {len(self._steps)}, byte {len(self._text)}, after {tail!r}"


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
        self.count = vocab_size

    def fill(self, matcher: GrammarMatcher) -> None:
        """Take the matcher's mask; `count` becomes the number of allowed tokens."""
        if not matcher.fill_next_token_bitmask(self._words):
            self._words.fill(-1)
            self.count = self._vocab_size
            return
        bits = np.unpackbits(self._words[0].view(np.uint8), count=self._vocab_size, bitorder="little")
        self.count = int(np.count_nonzero(bits))

    def allows(self, token: int) -> bool:
        return bool(int(self._words[0, token >> 5]) >> (token & 31) & 1)

    def on_device(self) -> torch.Tensor:
        return self._host.to(self._device, non_blocking=True)


def _matcher(model: LanguageModel, grammar: Constraint) -> GrammarMatcher:
    """A matcher of its own for this generation, on the model's vocabulary."""
    if isinstance(grammar, str | Grammar):
        return GrammarMatcher(model.compiler.compile_grammar(grammar))
    compiled = grammar.compiled if isinstance(grammar, GrammarMatcher) else grammar
    if not isinstance(compiled, CompiledGrammar):
        raise TypeError(f"a grammar is EBNF text, a Grammar, a CompiledGrammar or a GrammarMatcher, not {grammar!r}")
    theirs, ours = compiled.tokenizer_info, model.tokenizer.info
    if theirs.fingerprint != ours.fingerprint and theirs.decoded_vocab != ours.decoded_vocab:
        raise TokenizerError(
            f"the grammar was compiled for another vocabulary ({theirs!r}) than {model.name}'s ({ours!r}); "
            "compile it for `model.tokenizer.info`, or pass the Grammar itself"
        )
    return grammar.fork() if isinstance(grammar, GrammarMatcher) else GrammarMatcher(compiled)


def stream(model: LanguageModel, prompt: Prompt, grammar: Constraint | None = None, **options: Any) -> TokenStream:
    """`for step in stream(...)`: parameters as for `generate`; `.generation` is the result so far at any time."""
    return TokenStream(model, prompt, grammar, **options)


def astream(model: LanguageModel, prompt: Prompt, grammar: Constraint | None = None, **options: Any) -> TokenStream:
    """`async for step in astream(...)`: as `stream`, giving way to other tasks before each token."""
    return TokenStream(model, prompt, grammar, **options)


def generate(
    model: LanguageModel,
    prompt: Prompt,
    grammar: Constraint | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    on_step: Callable[[Step], object] | None = None,
    stop: str | Sequence[str] = (),
    alternatives: int = 5,
    chat: bool | None = None,
) -> Generation:
    """Generate from `prompt`, under `grammar` if there is one, and return the whole trace.

    Parameters
    ----------
    model
        From `load_model`.
    prompt
        A text (a user's turn where the model has a chat template, see `chat`), chat messages, or token ids.
    grammar
        EBNF text, a `Grammar`, a `CompiledGrammar` for the model's vocabulary, or a `GrammarMatcher` whose present
        state is continued (it is forked: the caller's stays where it is).
    max_tokens
        Budget of tokens; running out gives the finish reason "length".
    temperature, top_k, top_p
        `Sampling`; temperature 0 is greedy.
    seed
        Of the draws; None takes a random one, kept in the result's `settings`.
    on_step
        Called with each `Step`.
    stop
        A string, or several, that ends the text and is left out of it.
    alternatives
        How many of the likeliest tokens each step records.
    chat
        True or False: whether a text is a user's turn of a chat; None: if the model has a chat template.

    Raises
    ------
    DeadEndError
        No token can continue the text and the grammar does not allow it to end there.
    GrammarError, TokenizerError, ModelError, ValueError
        The grammar, its vocabulary, the prompt or a setting is not usable.

    The kernel's stop button (KeyboardInterrupt) ends the loop and returns what there is, as "interrupted".
    """
    tokens = TokenStream(
        model,
        prompt,
        grammar,
        max_tokens=max_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        stop=stop,
        alternatives=alternatives,
        chat=chat,
    )
    try:
        for step in tokens:
            if on_step is not None:
                on_step(step)
    except KeyboardInterrupt:
        tokens.interrupt()
    return tokens.generation
