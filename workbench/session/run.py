"""Generations that a session follows: each token the model draws is also a step of the session.

A run has a matcher of its own, so what it draws never depends on what is done to the session meanwhile; moving the
session by hand ends the run.  Without the constraint, the session reads along as far as the grammar allows, which
shows where the model would have gone wrong.

Read on: `trace.py` (what a run leaves behind), `workbench/generation/loop.py` (the stream that it follows).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from kernels_core import GrammarMatcher
from kernels_core.errors import MaskscopeError
from workbench.generation.step import Step
from workbench.session.core import Core
from workbench.session.edits import Edits
from workbench.session.history import Place
from workbench.session.inspector import Inspector
from workbench.session.result import Reading, StepError
from workbench.session.trace import RunningSession, Trace

if TYPE_CHECKING:
    from kernels_core.inspect.snapshots import Frontier
    from workbench.generation import LanguageModel, TokenStream
    from workbench.generation.model import Prompt


class RunError(MaskscopeError, RuntimeError):
    """A generation cannot start: one is already running in this session, or it cannot follow this one."""


class ModelLoop:
    """A model in the loop of one session (`session.model`)."""

    def __init__(self, core: Core, inspect: Inspector, edits: Edits, session: RunningSession) -> None:
        self._core = core
        self._inspect = inspect
        self._edits = edits
        self._session = session

    async def generate(
        self, model: LanguageModel, prompt: Prompt, *, constrained: bool = True, pace: float = 0.0, **options: Any
    ) -> Trace:
        """`Session.generate`."""
        with self._running(model, prompt, constrained, options) as run:
            async for step in run.stream:
                run.follow(step)
                await asyncio.sleep(pace)
        return run.trace

    def run(self, model: LanguageModel, prompt: Prompt, *, constrained: bool = True, **options: object) -> Trace:
        """`Session.run`."""
        with self._running(model, prompt, constrained, options) as run:
            try:
                for step in run.stream:
                    run.follow(step)
            except KeyboardInterrupt:
                run.stop()
        return run.trace

    def run_in_background(
        self, model: LanguageModel, prompt: Prompt, *, constrained: bool = True, **options: object
    ) -> Future[Trace]:
        """`run` in a thread of its own: the cell returns at once, `.result()` waits for the trace."""
        future: Future[Trace] = Future()

        def work() -> None:
            try:
                future.set_result(self.run(model, prompt, constrained=constrained, **options))
            except BaseException as error:
                future.set_exception(error)

        future.set_running_or_notify_cancel()
        threading.Thread(target=work, name="maskscope-generation", daemon=True).start()
        return future

    def stop(self) -> None:
        """End a running generation before its next token; without one, nothing happens."""
        run = self.current
        if run is not None:
            run.stop()

    def leave(self) -> None:
        """Go on without a running generation: what it has written stays, with its trace, it ends before its next token,
        and nothing of what it does until then is the session's."""
        with self._core.lock:
            run = self.current
            if run is not None:
                run.stop()
                self._forget(run)
        if run is not None:
            self._core.tell("run")

    @property
    def is_running(self) -> bool:
        """Whether a generation is stepping the session."""
        return self._core.run is not None

    @property
    def current(self) -> Run | None:
        """The generation that is stepping the session, if one is."""
        return cast("Run | None", self._core.run)

    @property
    def trace(self) -> Trace | None:
        """The trace of the last generation, also of one that was interrupted or failed."""
        run = self.current
        return cast("Trace | None", self._core.trace) if run is None else run.trace

    def copy(self, other: ModelLoop) -> None:
        """Show what `other`, of a session with the same text, has to show."""
        self._core.trace, self._core.model_replaced = other.trace, other.replaced

    @property
    def replaced(self) -> str:
        """The name of the vocabulary in whose place a model's came; "" where none did."""
        return self._core.model_replaced

    @contextmanager
    def _running(
        self, model: LanguageModel, prompt: Prompt, constrained: bool, options: dict[str, Any]
    ) -> Iterator[Run]:
        """Take over the model's vocabulary, if the session has another, and the order of members that is for models,
        put the session behind what it has read already of the tokens that are given, and count as running until the
        end."""
        from workbench.generation import stream

        core, edits = self._core, self._edits
        if options.get("healing"):
            raise RunError(
                "a session follows whole tokens, and the first ones of a healed text are partly the prompt's: use "
                "`wb.generate(..., healing=True)`"
            )
        begin = tuple(options.get("begin", ()))
        options = {**options, "begin": begin} if begin else options
        with core.lock:  # nobody opens another source before this has begun
            if self.is_running:
                raise RunError("a generation is already running in this session: call session.model.stop() first")
            if constrained and edits.draft is not None:
                edits.draft.refuse()
            with core.all_or_nothing() as untold:
                with edits.as_one():
                    if core.tokenizer.info.fingerprint != model.tokenizer.info.fingerprint:
                        before = core.model_replaced or core.tokenizer.name
                        edits.set_tokenizer(model.tokenizer)
                        core.model_replaced = "" if before == model.tokenizer.name else before
                    written = core.document.for_a_model()
                    data, ids = core.tape.data, [getattr(one, "token_id", one) for one in begin]
                    if constrained and written is not core.document:
                        # Else the rest asks for masks there, which are the generation's to ask for.
                        edits.keep(ids, data)
                        edits.set_grammar(written)
                    read = edits.keep(ids, data)
                grammar = GrammarMatcher(core.compiled) if constrained else None
                tokens = stream(model, prompt, grammar, log=core.log, **options)
                run = Run(core, self._inspect, edits, self._session, tokens, constrained, read)
                core.run = run
            core.undo.join(run)  # taken back at once, with what made room for it
        try:
            for change in dict.fromkeys(untold):
                core.tell(change)
            core.tell("run")
            yield run
        finally:
            with core.lock:
                if mine := core.run is run:
                    self._forget(run)
            if mine:
                core.tell("run")

    def _forget(self, run: Run) -> None:
        """Nothing steps the session any more; `run` leaves its trace."""
        core = self._core
        core.trace, core.run = run.trace, None
        self._edits.remember()
        core.log.listen(core.matcher)


class Run:
    """One generation; `trace` is what there is so far, at any time.

    `read`: the frontiers before the given tokens that the session has read already, and behind the last of them.
    """

    def __init__(
        self,
        core: Core,
        inspect: Inspector,
        edits: Edits,
        session: RunningSession,
        stream: TokenStream,
        constrained: bool,
        read: Sequence[Frontier],
    ) -> None:
        self.stream = stream
        self.constrained = constrained
        self._core = core
        self._inspect = inspect
        self._edits = edits
        self._session = session
        self._compiled = core.compiled
        self._source = core.document.text
        self._read = read
        self._frontiers: list[Frontier] = [read[0]]
        self._place = Place(len(read) - 1)  # where `keep` left the session
        self._died: Reading | None = None
        self._reason = ""

    @property
    def trace(self) -> Trace:
        return Trace(
            generation=self.stream.generation,
            source=self._source,
            automaton=self._compiled.automaton(),  # as far as the run has made it
            frontiers=tuple(self._frontiers),
            died=self._died,
            reason=self._reason,
            session=self._session,
        )

    @property
    def refused_from(self) -> int | None:
        """The number of the first token that the grammar refused; None while it took all."""
        return None if self._died is None else len(self._frontiers) - 1

    def stop(self) -> None:
        """End before the next token."""
        self.stream.interrupt()

    def follow(self, step: Step) -> None:
        """Take the model's token in the session too, as long as the grammar allows it."""
        if self._reason:
            return
        if self._core.place != self._place:
            self._reason = "the session was moved by hand"
            self.stop()
            return
        if len(self._frontiers) < len(self._read):
            self._frontiers.append(self._read[len(self._frontiers)])
            return
        try:
            taken = self._edits.take(step.token_id, step.fill, run=self)
        except StepError as error:
            self._died, self._reason = error.reading, error.reason
            self._core.tell("place")  # the model goes on without the session, which views say
            return
        if not taken:
            self._reason = "another text was begun"
            return
        self._place = self._core.place
        self._frontiers.append(self._inspect.frontier())
