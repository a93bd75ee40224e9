"""One request's way: read, its grammar compiled, handed to the runner; and what runs, for those who ask.

`Service.open` does in an executor what takes long, so that the event loop and the running rows go on meanwhile; the
answer is read from the job.  A request counts from its arrival to its end, whatever it waits for.
Read on: `app.py` (who calls), `runner.py`, `constraint.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from kernels_core import CancelToken, GrammarCompiler, GrammarMatcher
from kernels_core.errors import (
    BudgetExceededError,
    DeadEndError,
    OperationCancelledError,
    TokenizerError,
    TooFewTokensError,
    UnsupportedFeatureError,
)
from workbench.generation.drafts import Drafts
from workbench.generation.engine import Chunk
from workbench.generation.errors import PromptTooLongError
from workbench.generation.model import LanguageModel, ModelError
from workbench.generation.sampling import Sampling
from workbench.serving.answers import Writer
from workbench.serving.body import Body
from workbench.serving.constraint import Constraint, check_tool_format, constraint_of
from workbench.serving.errors import RequestError, of_row
from workbench.serving.fields import ChatRequest, read_request
from workbench.serving.limits import Limits
from workbench.serving.runner import Draw, Job, Runner, TimeIsUpError
from workbench.serving.telling import Teller

__all__ = ["Running", "Service"]

KEPT: Final = 20  # requests that have ended and can still be looked at
SHOWN: Final = 2_000  # characters of a prompt that are kept for those who look on


@dataclass(eq=False)
class Running:
    """A request that was taken, until its answer has ended, and a while after it.

    `state`: "reading", "waiting", "running", or how it ended: a finish reason, "error" or "gone"; `trouble` says why.
    `writers` and `jobs`: one for each choice that was asked for; those who look on see the first.
    """

    number: int
    began: float
    cancel: CancelToken = field(default_factory=CancelToken)
    request: ChatRequest | None = None
    constraint: Constraint | None = None
    writers: list[Writer] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    prompt: str = ""
    trouble: str = ""
    ended: float | None = None
    outcome: str = ""

    @property
    def job(self) -> Job | None:
        """The first choice's; None until the request was read."""
        return self.jobs[0] if self.jobs else None

    @property
    def state(self) -> str:
        if self.outcome:
            return self.outcome
        if self.job is None:
            return "reading"
        return "running" if self.job.row is not None and self.job.row.tokens else "waiting"

    def done(self, outcome: str, trouble: str = "") -> None:
        """It has ended; the first word counts."""
        if not self.outcome:
            self.outcome, self.trouble, self.ended = outcome, trouble, time.monotonic()


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
        self.sampling = _sampling_of(model)
        self.compiler = GrammarCompiler(
            model.tokenizer.info, options=self.limits.options, cache_bytes=self.limits.cache_bytes
        )
        self.runner = Runner(model, self.limits, pause=pause, drafts=drafts, guess_forced=guess_forced)
        self.running: dict[int, Running] = {}
        self.ended: deque[Running] = deque(maxlen=KEPT)
        self.answered = 0
        self._numbers = count(1)
        self._threads = ThreadPoolExecutor(self.limits.compile_threads, thread_name_prefix="maskscope-compile")
        self._draining = False

    # -- requests ---------------------------------------------------------------------------------------------------

    def arrive(self) -> Running:
        """Take a request in; `RequestError` 429 where too many are there, 503 where the server is ending."""
        if self._draining:
            raise RequestError(503, "the server is ending", code="shutting_down")
        self._check_room(1)
        one = Running(next(self._numbers), time.monotonic())
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

    async def open(self, one: Running, data: bytes) -> None:
        """Read and compile the request, and hand it to the runner; `RequestError` for what is wrong with it."""
        loop = asyncio.get_running_loop()
        try:
            prompt, draws = await loop.run_in_executor(self._threads, self._prepare, one, data)
        except OperationCancelledError:
            raise RequestError(503, "the request was called off", code="cancelled") from None
        if one.outcome:
            raise RequestError(503, "the request was called off", code="cancelled")
        assert one.constraint is not None
        self._check_room(len(draws) - 1)
        until = one.began + self.limits.max_seconds
        for draw in draws:
            one.jobs.append(self.runner.submit(prompt, one.constraint.compiled, draw, until=until))

    def _prepare(self, one: Running, data: bytes) -> tuple[list[int], list[Draw]]:
        """In a thread: what takes processor time."""
        one.cancel.check()
        body = Body(data)
        request = one.request = read_request(body)
        if request.model != self.name:
            message = f"there is no model {request.model!r} here; there is {self.name!r}"
            raise body.wrong("#/model", message, code="model_not_found", status=404)
        asked = request.max_completion_tokens or request.max_tokens
        if asked is not None and asked > self.limits.max_tokens:
            field_name = "#/max_tokens" if request.max_completion_tokens is None else "#/max_completion_tokens"
            raise body.wrong(field_name, f"an answer has at most {self.limits.max_tokens:,} tokens here")
        one.prompt = "\n".join(f"{turn['role']}: {turn['content']}" for turn in request.turns)[-SHOWN:]
        one.constraint = constraint_of(
            request,
            body,
            self.compiler,
            self.tool_format,
            self.limits,
            one.cancel,
            alone=self.teller.tells_tools,
        )
        prompt = self._encoded(body, request)
        info = self.model.tokenizer.info
        one.writers = [
            Writer(self.name, one.constraint, info, request.stops, index) for index in range(request.choices)
        ]
        asks = {name: getattr(request, name) for name in ("temperature", "top_k", "top_p", "min_p")}
        sampling = replace(self.sampling, **{name: value for name, value in asks.items() if value is not None})
        most = asked or self.limits.max_tokens
        complete = self.complete if request.complete is None else request.complete
        if complete:
            self._check_end(body, request, one, min(most, self.runner.engine.max_length - len(prompt)))
        seeds = [None if request.seed is None else request.seed + index for index in range(request.choices)]
        return prompt, [
            Draw(sampling=sampling, max_tokens=most, seed=seed, stop=request.stops, complete=complete) for seed in seeds
        ]

    def _check_end(self, body: Body, request: ChatRequest, one: Running, most: int) -> None:
        """`RequestError` where no answer is certain to end within `most` tokens."""
        if one.constraint is None or one.constraint.compiled is None:
            return
        matcher = GrammarMatcher(one.constraint.compiled)
        matcher.cancel_token = one.cancel
        try:
            matcher.complete_within(most)
        except (TooFewTokensError, UnsupportedFeatureError, BudgetExceededError, DeadEndError) as error:
            asked = "#/max_tokens" if request.max_completion_tokens is None else "#/max_completion_tokens"
            message = f"{error} (complete false lets an answer be cut)"
            code = "max_tokens_too_small" if isinstance(error, TooFewTokensError) else "unsupported_value"
            raise body.wrong(asked, message, code=code) from None

    def _encoded(self, body: Body, request: ChatRequest) -> list[int]:
        turns, tools = self.teller.told(request, tell_schema=self.tell_schema)
        try:
            prompt = self.model.encode_prompt(turns, tools=tools)
        except PromptTooLongError as error:
            raise body.wrong("#/messages", str(error), code="context_length_exceeded") from None
        except (ModelError, TokenizerError) as error:
            raise body.wrong("#/messages", str(error)) from None
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            # A template of the model's own makers that was not made for such messages.
            raise body.wrong("#/messages", f"the model's chat template fails on these messages: {error}") from None
        room = self.runner.engine.max_length
        if len(prompt) >= room:
            message = f"the messages have {len(prompt):,} tokens; with the answer there is room for {room:,}"
            raise body.wrong("#/messages", message, code="context_length_exceeded")
        return prompt

    def trouble(self, one: Running, error: Exception) -> RequestError:
        """What a request is told whose answer failed."""
        partial = one.writers[0].text if one.writers else None
        if isinstance(error, RequestError):
            return error
        if isinstance(error, TimeIsUpError):
            return RequestError(504, str(error), code="timeout", partial=partial)
        return of_row(error, partial or "")

    def failed(self, one: Running, chunk: Chunk) -> RequestError | None:
        """What ended a row, if that was an error."""
        if chunk.finish_reason == "interrupted":
            return RequestError(
                503, "the request was called off", code="cancelled", partial=chunk.row.text.decode(errors="replace")
            )
        if chunk.finish_reason != "error":
            return None
        error = chunk.row.error or RuntimeError("no reason")
        return of_row(error, chunk.row.text.decode(errors="replace"))

    # -- the end ----------------------------------------------------------------------------------------------------

    @property
    def draining(self) -> bool:
        """Whether new requests are refused."""
        return self._draining

    def drain(self, seconds: float | None = None) -> None:
        """Refuse new requests; those that run may end within so many seconds (None: `Limits.grace_seconds`)."""
        self._draining = True
        grace = self.limits.grace_seconds if seconds is None else seconds
        self.runner.drain(grace, RequestError(503, "the server is ending", code="shutting_down"))

    def close(self) -> None:
        """End the thread that writes; what still runs is cancelled."""
        self._draining = True
        for one in list(self.running.values()):
            one.cancel.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.runner.close()

    def health(self) -> dict[str, Any]:
        """Numbers of what is going on."""
        state = "failed" if not self.runner.alive else "draining" if self._draining else "ok"
        return {
            "status": state,
            "model": self.name,
            "rows": self.limits.rows,
            "running": self.runner.running,
            "requests": len(self.running),
            "answered": self.answered,
            "steps": self.runner.steps,
            "guesses": dict(self.runner.guesses),
            "cache_bytes": self.runner.engine.cache_bytes,
            "grammar_bytes": self.compiler.get_cache_size_bytes(),
        }


def _sampling_of(model: LanguageModel) -> Sampling:
    """How requests are drawn that say nothing of it: as the model's makers say in its `generation_config.json`."""
    said = model.model.generation_config.to_diff_dict()
    known = {name: said[name] for name in ("temperature", "top_k", "top_p", "min_p") if said.get(name) is not None}
    return Sampling(**known)
