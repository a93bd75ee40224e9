"""The one thread that steps the engine: requests come in at any time, chunks go out to the loops that wait for them.

    runner = Runner(model, limits)
    job = runner.submit(prompt, constraint, settings)       # in an event loop
    async for chunk in job: ...

Between two steps the thread admits what has come, cancels what has gone or is out of time, and looks at the rows that
somebody watches.  An error of a row ends that row; an error of the model (no memory) ends all
requests that were in the engine, and the next ones are written as if nothing had been.
Read on: `workbench/generation/engine.py` (admit, step, cancel), `service.py` (who submits), `watching.py` (who looks
on).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Final, TypeAlias

from kernels_core import CompiledGrammar, GrammarMatcher
from kernels_core.inspect.trace import Fill, FillEvent
from kernels_core.mask_rows import MaskRows
from workbench.generation.drafts import Drafts
from workbench.generation.engine import Engine
from workbench.generation.model import LanguageModel, fit_threads
from workbench.generation.row import Chunk, Row
from workbench.generation.sampling import Sampling
from workbench.serving.limits import Limits

Event: TypeAlias = Chunk | Exception
IDLE_SECONDS: Final = 0.5  # after which an idle thread looks whether it should end


class TimeIsUpError(Exception):
    """A request took longer than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """How one answer is drawn; as `Engine.admit` has it."""

    sampling: Sampling
    max_tokens: int
    seed: int | None = None
    stop: tuple[str, ...] = ()
    complete: bool = False
    healing: bool = False
    canonical: bool = False
    logprobs: int | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of a row after a step: its tokens, how many may come next, and how their mask was found; None for a
    text without a grammar."""

    tokens: int
    allowed: int
    fill: FillEvent | None = None


@dataclass(eq=False)
class Job:
    """A request on its way through the engine; iterate over it in the event loop that submitted it.

    `row` is None until the thread has admitted it.  `watchers`: how many look on; `sight`: what they see.  `gone`: its
    client left; `over`: its last event was sent.  Events go through `queue`, which is the loop's alone, and which the
    jobs of one request share: each with the `id` of its job, since a job that its own queue held would outlive a client
    that left.
    """

    prompt: tuple[int, ...]
    compiled: CompiledGrammar | None
    draw: Draw
    until: float
    row: Row | None = None
    watchers: int = 0
    sight: Sight | None = None
    why: Exception | None = None
    gone: bool = False
    over: bool = False
    queue: asyncio.Queue[tuple[int, Event]] = field(default_factory=asyncio.Queue)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        """The chunks, the last of which has a `finish_reason`; raises what ended it instead.

        `together` reads jobs that were handed over beside others.
        """
        async for _, chunk in together([self]):
            yield chunk


async def together(jobs: Sequence[Job]) -> AsyncGenerator[tuple[int, Chunk], None]:
    """The chunks of all jobs of a request as they come, each with its job's number; raises what ends the first of
    them."""
    left = {id(job): number for number, job in enumerate(jobs)}
    while left:
        which, event = await jobs[0].queue.get()
        if isinstance(event, Exception):
            raise event
        if event.finish_reason == "interrupted" and (why := jobs[left[which]].why) is not None:
            raise why
        yield left[which], event
        if event.finish_reason is not None:
            del left[which]


class Runner:
    """Owns an `Engine` and its thread.  `submit`, `cancel` and `close` may be called from any thread.

    pause: seconds to wait between two steps, for those who look on.  drafts, guess_forced: what is guessed ahead, as
    `Engine` has it (`jump="guess"`); answers are the same as without.
    """

    def __init__(
        self,
        model: LanguageModel,
        limits: Limits,
        *,
        pause: float = 0.0,
        drafts: Drafts | int = 0,
        guess_forced: bool = False,
    ) -> None:
        self._model = model
        self._limits = limits
        self.pause = pause
        context = model.context
        length = limits.max_length if context is None else min(limits.max_length, context)
        self.engine = Engine.of(
            model,
            rows=limits.rows,
            max_length=length,
            prefix_bytes=limits.prefix_bytes,
            drafts=drafts,
            jump="guess" if guess_forced else False,
        )
        self.steps = 0
        self.guesses = {"refused": 0, "drafted": 0, "accepted": 0}  # of rows that have ended
        self._wake = threading.Condition()
        self._inbox: list[Job] = []
        self._jobs: dict[Row, Job] = {}
        self._closing = False
        self._until: float | None = None  # when running requests are cancelled, and why
        self._why: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="maskscope-engine", daemon=True)
        self._thread.start()

    # -- from other threads -----------------------------------------------------------------------------------------

    def submit(
        self,
        prompt: Sequence[int],
        compiled: CompiledGrammar | None,
        draw: Draw,
        *,
        until: float | None = None,
        beside: Job | None = None,
    ) -> Job:
        """Hand a request over; it gets its first token when a row is free.  `until`: its end, by `time.monotonic`.
        `beside`: another job of the same request."""
        job = Job(tuple(prompt), compiled, draw, until or time.monotonic() + self._limits.max_seconds)
        if beside is not None:
            job.queue = beside.queue
        with self._wake:
            if self._closing:
                raise RuntimeError("the runner is closed")
            self._inbox.append(job)
            self._wake.notify()
        return job

    def cancel(self, job: Job, why: Exception | None = None) -> None:
        """End a request before its next token; one that has ended stays as it is."""
        job.why = job.why or why
        job.gone = True
        if job.row is not None:
            self.engine.cancel(job.row)

    def drain(self, seconds: float, why: Exception) -> None:
        """Cancel what still runs after so many seconds."""
        with self._wake:
            self._until, self._why = time.monotonic() + seconds, why

    def close(self) -> None:
        """End the thread; what still runs is cancelled."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=30)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        fit_threads(self._model)
        try:
            while self._turn():
                pass
        finally:
            lost = RuntimeError("the thread that writes has ended")
            with self._wake:
                self._closing = True
                self._deliver([(job, lost) for job in [*self._inbox, *self._jobs.values()]])
                self._inbox, self._jobs = [], {}

    def _turn(self) -> bool:
        """One step, or a wait for something to do; False at the end."""
        with self._wake:
            if not self._inbox and not self._jobs and not self._closing:
                self._wake.wait(IDLE_SECONDS)
            coming, self._inbox = self._inbox, []
        if self._closing:
            for job in [*coming, *self._jobs.values()]:
                job.why = job.why or RuntimeError("the server has ended")
                self.cancel(job)
        for job in coming:
            self._admit(job)
        if not self._jobs:
            return not self._closing
        self._end_the_late()
        try:
            chunks = self.engine.step()
        except Exception as error:
            # No row took a token.  Without those that were being written the next step is another one.
            self._fail_all(error)
            return True
        self.steps += 1
        self._deliver([(self._jobs[chunk.row], chunk) for chunk in chunks if chunk.row in self._jobs])
        for chunk in chunks:
            if chunk.finish_reason is not None:
                self._jobs.pop(chunk.row, None)
                for name in self.guesses:
                    self.guesses[name] += getattr(chunk.row, name)
        self._look()
        if self.pause:
            time.sleep(self.pause)
        return True

    def _admit(self, job: Job) -> None:
        try:
            matcher = None if job.compiled is None else GrammarMatcher(job.compiled)
            row = self.engine.admit(
                job.prompt, matcher, **{one.name: getattr(job.draw, one.name) for one in fields(Draw)}
            )
        except Exception as error:
            self._deliver([(job, error)])
            return
        self._jobs[row], job.row = job, row
        if job.gone:  # it went while it was admitted
            self.engine.cancel(row)

    def _end_the_late(self) -> None:
        now = time.monotonic()
        for job in self._jobs.values():
            if now > job.until and not job.gone:
                self.cancel(job, TimeIsUpError(f"the answer was not ready after {self._limits.max_seconds:g} seconds"))
            elif self._until is not None and now > self._until and not job.gone:
                self.cancel(job, self._why)

    def _fail_all(self, error: Exception) -> None:
        for row, job in list(self._jobs.items()):
            self.engine.cancel(row)
            self._deliver([(job, error)])
            del self._jobs[row]
        with suppress(Exception):
            self.engine.step()  # rows that were cancelled leave before the model is asked

    def _deliver(self, events: Sequence[tuple[Job, Event]]) -> None:
        """Put events into the queues of their jobs, in one call for each event loop."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, Event]]] = {}
        for job, event in events:
            if not job.over:
                job.over = isinstance(event, Exception) or event.finish_reason is not None
                by_loop.setdefault(job.loop, []).append((job, event))
        for loop, some in by_loop.items():
            try:
                loop.call_soon_threadsafe(_put, some)
            except RuntimeError:  # the loop was closed: nobody waits any more
                for job, _ in some:
                    self.cancel(job)

    # -- those who look on ------------------------------------------------------------------------------------------

    def _look(self) -> None:
        for job in self._jobs.values():
            if job.watchers and job.row is not None and job.row.finish_reason is None:
                job.sight = sight_of(job.row, self.engine.info.vocab_size)


def _put(events: list[tuple[Job, Event]]) -> None:
    for job, event in events:
        job.queue.put_nowait((id(job), event))


def sight_of(row: Row, vocab_size: int) -> Sight:
    """Ask for the mask of the next token, which the next step will find then; for the thread that steps."""
    if row.matcher is None:
        return Sight(len(row.tokens), vocab_size)
    masks = MaskRows([row.matcher])
    with Fill(row.matcher) as fill:
        masks.read()  # an error of the mask is the next step's affair, which tells the request
    return Sight(len(row.tokens), max(0, int(masks.populations()[0])), fill.event)
