"""One request's way: read, its grammar compiled, handed to the runner; and what runs, for those who ask.

`Service.open` does in an executor what takes long, so that the event loop and the running rows go on meanwhile; the
answer is read from the job.  A request counts from its arrival to its end, whatever it waits for.
Read on: `app.py` (who calls), `runner.py`, `constraint.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final

from kernels_core import GrammarCompiler, GrammarMatcher
from kernels_core.errors import (
    BudgetExceededError,
    DeadEndError,
    MaskscopeError,
    OperationCancelledError,
    TokenizerError,
    TooFewTokensError,
    UnsupportedFeatureError,
)
from workbench.generation.cutting import Cutting, heal
from workbench.generation.drafts import Drafts
from workbench.generation.errors import ModelError, PromptTooLongError
from workbench.generation.model import LanguageModel
from workbench.generation.row import Chunk
from workbench.languages.positions import child
from workbench.serving.answers import Writer
from workbench.serving.body import Body
from workbench.serving.constraint import Maker, check_tool_format, too_much
from workbench.serving.endpoints import CHAT, Endpoint, Running
from workbench.serving.errors import RequestError
from workbench.serving.fields import Asked, read
from workbench.serving.limits import Limits
from workbench.serving.metrics import Health, Metrics
from workbench.serving.runner import Draw, Runner, TimeIsUpError
from workbench.serving.telling import Teller
from workbench.serving.thoughts import Block

KEPT: Final = 20  # requests that have ended and can still be looked at
CUT: Final = "send complete false, which lets an answer be cut"
SHOWN: Final = 2_000  # characters of a prompt that are kept for those who look on


class Service:
    """A model with its limits.

    name: what requests call the model.  tool_format: how it writes calls (`workbench compat` names the templates);
    None takes that of its chat template.  tell_schema: the model is told the schema that its answer must fit, where no
    tools are sent.  complete: answers under a grammar are whole when their tokens run out, unless a request says
    otherwise.  pause: seconds between two steps.  drafts, guess_forced: tokens that are guessed
    ahead (`Runner`).  `ValueError` and `ModelError` for what cannot be served.
    """

    def __init__(
        self,
        model: LanguageModel,
        limits: Limits | None = None,
        *,
        name: str | None = None,
        tool_format: str | None = None,
        tell_schema: bool = True,
        complete: bool = True,
        pause: float = 0.0,
        drafts: Drafts | int = 0,
        guess_forced: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self.model = model
        self.name = name or model.name
        self.created = int(time.time())
        if tool_format is not None:
            check_tool_format(tool_format)
        self.teller = Teller.of(model, tool_format)
        self.tool_format = self.teller.tool_format
        self.tell_schema = tell_schema
        self.complete = complete
        self.sampling = model.sampling
        self.compiler = GrammarCompiler(
            model.tokenizer.info, options=self.limits.options, cache_bytes=self.limits.cache_bytes
        )
        self.metrics = Metrics(self.health)
        self.runner = Runner(model, self.limits, pause=pause, drafts=drafts, guess_forced=guess_forced)
        self.running: dict[int, Running] = {}
        self.ended: deque[Running] = deque(maxlen=KEPT)
        self.answered = 0
        self._numbers = count(1)
        self._threads = ThreadPoolExecutor(self.limits.compile_threads, thread_name_prefix="maskscope-compile")
        self.draining = False  # new requests are refused

    # -- requests ---------------------------------------------------------------------------------------------------

    def arrive(self, endpoint: Endpoint = CHAT) -> Running:
        """Take a request in; `RequestError` 429 where too many are there, 503 where the server is ending."""
        if self.draining:
            raise RequestError(503, "the server is ending", code="shutting_down")
        try:
            self._check_room(1)
        except RequestError:
            self.metrics.refused(endpoint.path)
            raise
        one = Running(next(self._numbers), time.monotonic(), endpoint)
        self.running[one.number] = one
        return one

    def _check_room(self, wanted: int) -> None:
        """`RequestError` 429 where with so many more answers too many would run or wait; a request is at least one."""
        most = self.limits.rows + self.limits.max_waiting
        taken = sum(max(1, len(one.jobs)) for one in self.running.values())
        if taken + wanted > most:
            message = f"{taken} of at most {most} answers are running or waiting: try again later"
            raise RequestError(429, message, code="queue_full")

    def leave(self, one: Running, outcome: str = "gone", trouble: str = "") -> None:
        """The request is over, whatever its state; its row is free at the next step."""
        one.done(outcome, trouble)
        one.cancel.cancel()
        for job in one.jobs:
            self.runner.cancel(job)
        if self.running.pop(one.number, None) is not None:
            self.ended.appendleft(one)
            self.answered += 1
            self.metrics.left(one)
            one.answer = None  # which holds the request's body

    async def open(self, one: Running, data: bytes) -> None:
        """Read and compile the request, and hand it to the runner; `RequestError` for what is wrong with it."""
        loop = asyncio.get_running_loop()
        try:
            draws = await loop.run_in_executor(self._threads, self._prepare, one, data)
        except OperationCancelledError:
            raise RequestError(503, "the request was called off", code="cancelled") from None
        if one.outcome:
            raise RequestError(503, "the request was called off", code="cancelled")
        assert one.constraint is not None
        self._check_room(len(draws) - 1)
        until, compiled = one.began + self.limits.max_seconds, one.constraint.compiled
        for prompt, draw in draws:
            one.jobs.append(self.runner.submit(prompt, compiled, draw, until=until, beside=one.job))

    def _prepare(self, one: Running, data: bytes) -> list[tuple[list[int], Draw]]:
        """In a thread: what takes processor time.  The prompt of each choice, and how it is drawn."""
        one.cancel.check()
        body = Body(data)
        asked = one.request = read(body, one.endpoint.request)
        if asked.model != self.name:
            message = f"there is no model {asked.model!r} here; there is {self.name!r}"
            raise body.wrong("#/model", message, code="model_not_found", status=404)
        if asked.limit is not None and asked.limit[1] > self.limits.max_tokens:
            name, _ = asked.limit
            raise body.wrong(
                f"#/{name}",
                f"an answer has at most {self.limits.max_tokens:,} tokens here; `serve --max-tokens` allows more",
            )
        most = self.limits.max_tokens if asked.limit is None else asked.limit[1]
        prompts = self._encoded(one.endpoint, body, asked)
        tokenizer = self.model.tokenizer
        texts = [tokenizer.decode(prompt, skip_special=False) for prompt in prompts]
        one.prompt = self._shown(asked, texts)
        one.constraint = Maker(
            asked,
            body,
            self.compiler,
            self.tool_format,
            self.limits,
            one.cancel,
            alone=self.teller.tells_tools,
            block=self._block(asked, texts[0]),
        ).constraint()
        sampling = asked.draws(self.sampling)
        complete = self.complete if asked.complete is None else asked.complete
        if asked.canonical and not tokenizer.has_library:
            message = "this model's vocabulary has no tokenizer behind it, so that no cut of a text is canonical"
            raise body.wrong("#/canonical", message, code="unsupported_value")
        if complete:
            for prompt in [max(prompts, key=len)] if not asked.healing else prompts:
                self._check_end(body, asked, one, prompt, most)
        draws = []
        for index in range(len(prompts) * asked.choices):
            number, choice = divmod(index, asked.choices)
            one.writers.append(Writer(one.constraint, tokenizer.info, asked.stops, index, asked.likeliest, number))
            draw = Draw(
                sampling=sampling,
                max_tokens=most,
                seed=None if asked.seed is None else asked.seed + choice,
                stop=asked.stops,
                complete=complete,
                healing=asked.healing,
                canonical=asked.canonical,
                logprobs=asked.likeliest,
            )
            draws.append((prompts[number], draw))
        said = [text if isinstance(text, str) else shown for text, shown in zip(asked.texts, texts, strict=False)]
        one.answer = one.endpoint.answer(
            asked, one.writers, model=self.name, body=body, sampling=sampling, prompts=said
        )
        return draws

    def _check_end(self, body: Body, asked: Asked, one: Running, prompt: list[int], most: int) -> None:
        """`RequestError` where no answer to `prompt` is certain to end within `most` tokens."""
        if one.constraint is None or one.constraint.compiled is None:
            return
        matcher = GrammarMatcher(one.constraint.compiled)
        matcher.cancel_token = one.cancel
        tokenizer = self.model.tokenizer
        kept, healed = heal(tokenizer.info, prompt) if asked.healing else (prompt, b"")
        within = min(most, self.runner.engine.max_length - len(kept))
        cut = tokenizer.cut if asked.canonical else None
        try:
            Cutting(tokenizer.info, healed=healed, cut=cut, within=within).begin(matcher)
        except BudgetExceededError as error:
            raise too_much(body, one.constraint.pointer, error) from None
        except TooFewTokensError as error:
            name = "max_tokens" if asked.limit is None else asked.limit[0]
            message = (
                f"the shortest answer that was found takes {error.shortest:,} tokens, and {within:,} may be written"
            )
            raise body.wrong(
                f"#/{name}", message, cure=self._more(error.shortest, len(kept)), code="max_tokens_too_small"
            ) from None
        except (UnsupportedFeatureError, DeadEndError) as error:
            raise body.wrong(
                one.constraint.pointer, f"no end is certain: {error}", cure=CUT, code="unsupported_value"
            ) from None

    def _more(self, tokens: int, prompt: int) -> str:
        """What to do where an answer takes so many tokens behind a prompt of so many."""
        if tokens > self.limits.max_tokens:
            return f"no answer has more than {self.limits.max_tokens:,} tokens here: ask for less, or {CUT}"
        if tokens > self.runner.engine.max_length - prompt:
            return f"prompt and answer have at most {self.runner.engine.max_length:,} tokens: ask for less, or {CUT}"
        return f"allow at least {tokens:,} tokens, or {CUT}"

    def _encoded(self, endpoint: Endpoint, body: Body, asked: Asked) -> list[list[int]]:
        """The tokens of what the model reads: of a chat, or of each text."""
        pointer, encode = f"#/{endpoint.messages}", self.model.encode_prompt
        if asked.turns is not None:
            turns, tools = self.teller.told(asked, tell_schema=self.tell_schema)
            chat = partial(encode, turns, tools=tools, prompted=asked.prompted, continues=asked.continues)
            return [self._tokens(body, pointer, "the messages have", chat)]
        places = [pointer] if len(asked.texts) == 1 else [child(pointer, number) for number in range(len(asked.texts))]
        return [
            self._tokens(body, place, "the prompt has", partial(encode, text, chat=False))
            for place, text in zip(places, asked.texts, strict=True)
        ]

    def _tokens(self, body: Body, pointer: str, what: str, encode: Callable[[], list[int]]) -> list[int]:
        """What `encode` gives, if it leaves room for an answer; `RequestError` about `pointer` otherwise."""
        try:
            prompt = encode()
        except PromptTooLongError as error:
            raise body.wrong(pointer, str(error), code="context_length_exceeded") from None
        except (ModelError, TokenizerError) as error:
            raise body.wrong(pointer, str(error)) from None
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            # A template of the model's own makers that was not made for such messages.
            raise body.wrong(pointer, f"the model's chat template fails on these messages: {error}") from None
        room = self.runner.engine.max_length
        if len(prompt) >= room:
            message = f"{what} {len(prompt):,} tokens; with the answer there is room for {room:,}"
            raise body.wrong(pointer, message, code="context_length_exceeded")
        return prompt

    def _block(self, asked: Asked, prompt: str) -> Block | None:
        """The block of reasoning that may stand in front of an answer to `prompt`; None where there is none."""
        block = self.teller.block
        if block is None or asked.turns is None:
            return None
        if asked.continues:  # perhaps inside a block that its sender has opened
            said = asked.turns[-1].content
            return replace(block, opened=said.rfind(block.begin) > said.rfind(block.end))
        return replace(block, opened=prompt.rstrip().endswith(block.begin))

    @staticmethod
    def _shown(asked: Asked, texts: list[str]) -> str:
        """What those who look on see of a prompt."""
        if asked.turns is None:
            return "\n".join(texts)[-SHOWN:]
        return "\n".join(f"{turn.role}: {turn.content}" for turn in asked.turns)[-SHOWN:]

    def trouble(self, one: Running, error: Exception) -> RequestError:
        """What a request is told whose answer failed."""
        partial = one.writers[0].text if one.writers else None
        if isinstance(error, RequestError):
            return error
        if isinstance(error, TimeIsUpError):
            return RequestError(504, str(error), code="timeout", partial=partial)
        return self._of_row(one, error, partial or "")

    def failed(self, one: Running, chunk: Chunk) -> RequestError | None:
        """What ended a row, if that was an error."""
        if chunk.finish_reason == "interrupted":
            return RequestError(
                503, "the request was called off", code="cancelled", partial=chunk.row.text.decode(errors="replace")
            )
        if chunk.finish_reason != "error":
            return None
        error = chunk.row.error or RuntimeError("no reason")
        return self._of_row(one, error, chunk.row.text.decode(errors="replace"))

    @staticmethod
    def _of_row(one: Running, error: Exception, partial: str) -> RequestError:
        """What ended a running request, and no other: 422 where the grammar and this vocabulary do not go together, so
        that trying again would not help, or it takes too much; 500 where it is no fault of the request."""
        if isinstance(error, BudgetExceededError) and one.answer is not None and one.constraint is not None:
            return too_much(one.answer.body, one.constraint.pointer, error, partial=partial)
        if isinstance(error, DeadEndError):
            return RequestError(422, str(error), code="dead_end", partial=partial)
        known = isinstance(error, MaskscopeError)
        message = str(error) if known else f"the server failed while it wrote ({type(error).__name__})"
        return RequestError(500, message, code="internal_error", partial=partial)

    # -- the end ----------------------------------------------------------------------------------------------------

    def drain(self, seconds: float | None = None) -> None:
        """Refuse new requests; those that run may end within so many seconds (None: `Limits.grace_seconds`)."""
        self.draining = True
        grace = self.limits.grace_seconds if seconds is None else seconds
        self.runner.drain(grace, RequestError(503, "the server is ending", code="shutting_down"))

    def close(self) -> None:
        """End the thread that writes; what still runs is cancelled."""
        self.draining = True
        for one in list(self.running.values()):
            one.cancel.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.runner.close()

    def health(self) -> Health:
        """Numbers of what is going on."""
        state = "failed" if not self.runner.alive else "draining" if self.draining else "ok"
        return Health(
            status=state,
            model=self.name,
            rows=self.limits.rows,
            running=self.runner.engine.active,
            requests=len(self.running),
            answered=self.answered,
            steps=self.runner.steps,
            guesses=dict(self.runner.guesses),
            cache_bytes=self.runner.engine.cache_bytes,
            grammar_bytes=self.compiler.get_cache_size_bytes(),
        )
