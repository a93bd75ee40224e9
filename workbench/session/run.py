"""A generation that a session follows: each token the model draws is also a step of the session.

The run has a matcher of its own, so what it draws never depends on what is done to the session meanwhile; moving the
session by hand ends the run.  Without the constraint, the session reads along as far as the grammar allows, which
shows where the model would have gone wrong.

Read on: `workbench/session/trace.py` (what a run leaves behind), `workbench/generation/loop.py` (the loop itself).
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from kernels_core.errors import MaskscopeError
from workbench.session.result import Reading, StepError
from workbench.session.trace import Trace

if TYPE_CHECKING:
    from kernels_core.inspect.snapshots import Frontier
    from workbench.generation import LanguageModel, Step
    from workbench.session import Session

__all__ = ["Run", "RunError"]


class RunError(MaskscopeError, RuntimeError):
    """A generation cannot start: one is already running in this session, or it cannot follow this one."""


class Run:
    """One generation, as a context manager: inside it the session counts as running.

    Starting one takes over the model's vocabulary, if the session has another, and the order of members that is for
    models, and puts the session at the beginning.
    `trace` is what there is so far, at any time.
    """

    def __init__(
        self, session: Session, model: LanguageModel, prompt: Any, *, constrained: bool, options: dict[str, Any]
    ) -> None:
        from workbench.generation import stream

        self._session = session
        self.constrained = constrained
        if session.is_running:
            raise RunError("a generation is already running in this session: call session.stop() first")
        if options.get("healing"):
            raise RunError(
                "a session follows whole tokens, and the first ones of a healed text are partly the prompt's: use "
                "`wb.generate(..., healing=True)`"
            )
        if session.tokenizer.info.fingerprint != model.tokenizer.info.fingerprint:
            before = session._before_model or session.tokenizer.name
            session.set_tokenizer(model.tokenizer)
            session._before_model = "" if before == model.tokenizer.name else before
        session.reset()
        written = session.document.for_a_model()
        if constrained and written is not session.document:
            session.set_grammar(written)
        grammar = session.matcher if constrained else None
        self.stream = stream(model, prompt, grammar, log=session._log, **options)
        self._compiled = session.compiled
        self._frontiers: list[Frontier] = [session.frontier()]
        self._place = session.place
        self._died: Reading | None = None
        self._reason = ""

    def __enter__(self) -> Run:
        self._session._begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._session._finish(self)

    @property
    def trace(self) -> Trace:
        return Trace(
            generation=self.stream.generation,
            source=self._session.source,
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
        session = self._session
        if session.place != self._place:
            self._reason = "the session was moved by hand"
            self.stop()
            return
        try:
            session._take(step.token_id, step.fill)
        except StepError as error:
            self._died, self._reason = error.reading, error.reason
            return
        self._place = session.place
        self._frontiers.append(session.frontier())
