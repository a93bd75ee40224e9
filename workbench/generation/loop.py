"""One text from a model, a token at a time, and a record of each.

`generate` runs to the end, `stream` yields a `Step` at a time, `astream` does so for `async for` and lets other tasks
run between steps, so that buttons in a notebook work.  All three are one class, `TokenStream`; whatever happens to it
(an interruption, an error), `stream.generation` is the text so far with its steps.
The loop itself is the engine's (`engine.py`), with a `Recorder` (`record.py`) that observes the one row.
Read on: `generation.py` (the records), `sampling.py` (the draw).
"""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from operator import index
from typing import Any, SupportsIndex, TypeAlias

from kernels_core import GrammarMatcher
from kernels_core.compiler import outside
from kernels_core.inspect.fills import CacheLog
from workbench.generation.engine import Engine
from workbench.generation.errors import BeginningError
from workbench.generation.generation import FinishReason, Generation, Source
from workbench.generation.loading import model_of
from workbench.generation.model import LanguageModel, Prompt
from workbench.generation.record import Recorder
from workbench.generation.step import Step
from workbench.languages import compile_output

Constraint: TypeAlias = Any
"""What describes an output: a matcher (where its text stands), a `CompiledGrammar`, or what `Source.of` takes."""


class IncompleteTextWarning(UserWarning):
    """`generate` ran out of tokens before the text was a whole text of its grammar."""


class TokenStream:
    """A generation in progress: an iterator, and an async iterator, of `Step`.

    Parameters are those of `generate`, of which `sampling` are fields of `Sampling`.  One thread at a time; `interrupt`
    may be called from any.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: Prompt,
        grammar: Constraint | None = None,
        *,
        max_tokens: int = 256,
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
        **sampling: Any,
    ) -> None:
        if alternatives < 0:
            raise ValueError(f"alternatives must be 0 or more, not {alternatives!r}")
        wishes = {"complete": complete, "healing": healing, "canonical": canonical}
        said = {name: value for name, value in sampling.items() if value is not None}
        drawn = replace(model.sampling, **said)
        self._model = model
        self._asked = model.encode_prompt(prompt, chat=chat)
        self._begin = deque(begin)
        matcher = None if grammar is None else matcher_for(model, grammar)
        self._origin = None if matcher is None else matcher.fork()
        self._recording = record
        self._log = CacheLog() if log is None else log
        self._first_mask = len(self._log)
        if matcher is not None and record:
            self._log.listen(matcher)
        self._engine, run = Engine.alone(model)
        self._recorder = Recorder(model, run, alternatives, people=record, log=self._log)
        self._row = self._engine.admit(
            self._asked,
            matcher,
            max_tokens=max_tokens,
            sampling=drawn,
            seed=seed,
            stop=stop,
            observer=self._recorder,
            **wishes,
        )
        self._healed = b"" if self._row.cutting is None else self._row.cutting.rest
        self._failed = False
        self._settings = {
            "temperature": drawn.temperature,
            "top_k": drawn.top_k,
            "top_p": drawn.top_p,
            **({} if drawn.min_p is None else {"min_p": drawn.min_p}),
            **drawn.penalties,
            "seed": self._row.seed,
            "max_tokens": max_tokens,
            "stop": [stop] if isinstance(stop, str) else list(stop),
            **{name: True for name, wished in wishes.items() if wished},
        }

    def run(self, on_step: Callable[[Step], object] | None = None) -> Generation:
        """To the end, or until the kernel's stop button is pressed (KeyboardInterrupt)."""
        try:
            for step in self:
                if on_step is not None:
                    on_step(step)
        except KeyboardInterrupt:
            self.interrupt()
        return self.generation

    def interrupt(self) -> None:
        """End before the next token; `generation` stays usable."""
        self._engine.cancel(self._row)

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the text ended; None while it goes on."""
        reason = self._row.finish_reason
        return "interrupted" if self._failed or reason == "error" else reason

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps so far."""
        return tuple(self._recorder.steps)

    @property
    def generation(self) -> Generation:
        """The generation so far; its `finish_reason` is "interrupted" as long as the stream has not ended."""
        return Generation(
            model=self._model.name,
            prompt=self._model.tokenizer.decode(self._row.prompt, skip_special=False),
            prompt_tokens=self._row.prompt,
            steps=self.steps,
            text_bytes=bytes(self._row.text),
            finish_reason=self.finish_reason or "interrupted",
            constrained=self._origin is not None,
            complete=self._is_complete(),
            settings=dict(self._settings),
            healed=self._healed,
            masks=self._log.record(first=self._first_mask) if self._origin is not None and self._recording else None,
            source=Source(self._model, self._origin, tuple(self._asked), generate),
        )

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        row, steps = self._row, self._recorder.steps
        if self.finish_reason is not None:
            raise StopIteration
        before = len(steps)
        try:
            given = self._begin.popleft() if self._begin and not row.cancelled else None
            if isinstance(given, Step):
                self._keep(given)
            elif given is not None:
                row.given.append(self._id_of(given))
            while row.finish_reason is None and len(steps) == before:  # a long prompt is read in pieces
                self._engine.step()
            if row.error is not None:
                raise row.error
        except BaseException:
            # The run's cache may hold a token that no step records: this stream cannot go on.
            self._failed = True
            raise
        if len(steps) == before:
            raise StopIteration
        return steps[-1]

    def __aiter__(self) -> AsyncIterator[Step]:
        return self

    async def __anext__(self) -> Step:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._failed = self.finish_reason is None
            raise
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    def __repr__(self) -> str:
        state = self.finish_reason or "in progress"
        return f"<TokenStream of {self._model.name}: {len(self.steps)} tokens, {state}>"

    def _keep(self, step: Step) -> None:
        """Take a step of another generation as it is recorded; the model reads its token with the next one's."""
        row, steps = self._row, self._recorder.steps
        if step.index != len(steps):
            raise BeginningError(f"step {step.index} of another generation cannot come as number {len(steps)}")
        if not row.take(self._id_of(step.token_id)):
            raise BeginningError(row.refusal_of(step.token_id))
        row.write(step.token_id)
        steps.append(step)

    def _id_of(self, token: SupportsIndex) -> int:
        """A token that is given."""
        if not 0 <= (number := index(token)) < self._model.vocab_size:
            raise BeginningError(f"{number} is not a token id of {self._model.name}")
        return number

    def _is_complete(self) -> bool | None:
        """Whether the text is a whole sentence of the grammar, read afresh: a stop string may have cut it."""
        if self._origin is None:
            return None
        reader = self._origin.fork()
        return bool(reader.accept_string(bytes(self._row.text)) and reader.is_completed())


def matcher_for(model: LanguageModel, grammar: Constraint) -> GrammarMatcher:
    """A matcher of its own for this generation, on the model's vocabulary."""
    if isinstance(grammar, GrammarMatcher):
        compile_output(grammar.compiled, model.compiler)  # whether it is of this vocabulary
        return grammar.fork()
    return GrammarMatcher(compile_output(grammar, model.compiler, for_a_model=True))


def stream(
    model: LanguageModel | str, prompt: Prompt, grammar: Constraint | None = None, **options: Any
) -> TokenStream:
    """`for step in stream(...)`: parameters as for `generate`; `.generation` is the result so far at any time.

    `async for step in astream(...)` is the same, and gives way to other tasks before each token.
    """
    return TokenStream(model_of(model, prompt), prompt, grammar, **options)


astream = stream


def generate(
    model: LanguageModel | str,
    prompt: Prompt,
    grammar: Constraint | None = None,
    *,
    max_tokens: int = 256,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    frequency_penalty: float | None = None,
    presence_penalty: float | None = None,
    repetition_penalty: float | None = None,
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
        What `workbench.languages.Source.of` takes (a text, a path, a schema, a pydantic model, a structural tag,
        tools), a `CompiledGrammar` for the model's vocabulary, or a `GrammarMatcher` whose present state is continued
        (it is forked: the caller's stays where it is).  Members of a schema's objects come in declared order, see
        `order` of `Grammar.from_json_schema`.
    max_tokens
        Budget of tokens; running out gives the finish reason "length", unless nothing could follow anyway.  A text that
        is cut before it is whole under its grammar warns (`IncompleteTextWarning`); see `complete`.
    temperature, top_k, top_p, min_p
        `Sampling`; temperature 0 is greedy, and 1 the model's own distribution.  None: as the model's makers draw from
        it (`LanguageModel.sampling`), which is temperature 1 where they say nothing.
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
    made = tokens.run(on_step)
    if made.finish_reason == "length" and made.complete is False:
        spent = f"max_tokens={max_tokens}" if len(made) >= max_tokens else f"the context of {model.name}"
        warnings.warn(
            f"the text is cut: {spent} ran out before it was whole under the grammar. With complete=True it ends in "
            "time, and a larger max_tokens leaves it more room",
            IncompleteTextWarning,
            stacklevel=outside("workbench"),
        )
    return made
