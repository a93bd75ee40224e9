"""The model cockpit on the desk: the session's last generation, live while it runs; branches, and a second strip.

The run is the session's own (`Session.generate`), so all panels follow it and its stop button works.  A branch keeps
the tokens before the place, writes something else there, and lets the model go on, in a thread of its own.

Read on: `visualizers/cockpit.py` (the view), `workbench/reports/cockpit.py` (what it shows),
`workbench/generation/trace.py`.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from visualizers.cockpit import CockpitRun, CockpitShot, CockpitStep, CockpitView
from workbench.explorer.current import generate_call
from workbench.panels.base import Desk, Panel
from workbench.reports.cockpit import cockpit_run, cockpit_steps
from workbench.session import Change

if TYPE_CHECKING:
    from workbench.generation import Generation, Step, TokenStream

__all__ = ["ModelPanel"]

NO_GRAMMAR = "without the grammar"
ASKED = 4  # refused tokens of the step at hand that are explained


class ModelPanel(Panel, name="model", title="Model", dock="right_bottom", rank=40):
    """Tokens of the generation that the session follows, or followed last."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: CockpitView = CockpitView()
        self._of: object = None  # the stream or generation whose steps were converted
        self._steps: list[CockpitStep] = []
        self._reasons: dict[tuple[int, int], str] = {}
        self._beside: CockpitRun | None = None
        self._beside_of: object = None  # the generation that it stands beside
        self._second: TokenStream | None = None  # the run of the second strip, while it goes on
        self.actions = {
            "branch": self.attempt(lambda content: self.branch(int(content["step"]), str(content.get("text") or ""))),
            "beside": self.attempt(lambda _content: self.beside()),
        }

    # -- what is shown -----------------------------------------------------------------------------------------------

    def update(self, change: Change | None) -> None:
        session = self.session
        run, trace = session.model.current, session.trace
        agree: int | None = None
        if run is not None:
            stream = run.stream
            self._convert(stream, stream.steps)
            shown = CockpitRun(self._named(run.constrained), self._steps, run.constrained, "running")
            place, refused_from = len(self._steps), run.refused_from
        elif trace is not None:
            generation = trace.generation
            self._convert(generation, generation.steps)
            shown = cockpit_run(generation, name=self._named(generation.constrained), steps=self._steps)
            agree = self._agreeing(generation)
            place, refused_from = min(session.index, agree + 1), trace.refused_from  # the first that differs, at most
        else:
            self.view.show(CockpitShot((), message=self.message, call=generate_call(session)))
            return
        if refused_from is not None:
            shown = shown.refused(refused_from)
        running = run is not None or self._second is not None
        first = run.stream if run is not None else generation.steps
        beside = self._beside if self._beside_of is first else None  # of another run it is no comparison
        runs = (shown,) if beside is None else (shown, beside)
        self.view.show(
            CockpitShot(
                tuple(self._explained(shown, place) if one is shown and not running else one for one in runs),
                place=place,
                vocab_size=session.tokenizer.info.vocab_size,
                running=running,
                can_branch=trace is not None and trace.generation.source is not None,
                message=self.message,
                apart=agree if agree is not None and agree < len(shown.steps) else None,
                cut=agree == len(session.steps),
            )
        )

    def _convert(self, source: object, steps: Sequence[Step]) -> None:
        """Steps as the view wants them; those of the same run are kept from call to call."""
        if source is not self._of and [step.token_id for step in steps[: len(self._steps)]] != [
            step.token_id for step in self._steps
        ]:
            self._steps, self._reasons = [], {}
        self._of = source
        self._steps = [*self._steps[: len(steps)], *cockpit_steps(steps[len(self._steps) :])]

    def _named(self, constrained: bool) -> str:
        trace = self.session.trace
        before = constrained and trace is not None and trace.source != self.session.document.text
        return "under the grammar of before" if before else "under the grammar" if constrained else NO_GRAMMAR

    def _agreeing(self, generation: Generation) -> int:
        """How many tokens the generation and the session's text, with what was undone of it, begin with in common."""
        pairs = enumerate(zip(self.session.steps, generation.tokens, strict=False))
        apart = next((number for number, (step, token) in pairs if step.token_id != token), None)
        return min(len(self.session.steps), len(generation)) if apart is None else apart

    def _explained(self, run: CockpitRun, place: int) -> CockpitRun:
        """`run` with the reasons for what was refused in place of step `place`: asked where the step begins."""
        from workbench.why_not import why_not

        session, number = self.session, max(0, place - 1)
        if number >= len(run.steps) or session.index < number:
            return run
        refused = [option for option in run.steps[number].options if not option.allowed][:ASKED]
        asked = [option.token_id for option in refused if (number, option.token_id) not in self._reasons]
        if asked:
            before = session.inspect.shadow()
            before.rollback(session.place.offset + session.index - number)
            self._reasons |= {(number, token): why_not(before, token) for token in asked}
        return run.explained(number, {option.token_id: self._reasons[number, option.token_id] for option in refused})

    # -- what a person does ------------------------------------------------------------------------------------------

    def received(self, content: Any) -> None:
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind == "stop" and self._second is not None:
            self._second.interrupt()
        if kind == "goto":  # of a token that the grammar refused there is no place in the text
            content["index"] = min(int(content["index"]), len(self.session.steps))
        super().received(content)

    def branch(self, step: int, text: str = "") -> Future[Any]:
        """Go on from before token `step` with `text` in its place; without a text, the model draws anew.

        The session follows it in a thread.  Raises what `beginning` does.
        """
        generation = self._generation()
        begin = generation.beginning(step, text or None)
        source = generation.source
        assert source is not None
        settings = dict(generation.settings)
        if not text:  # the same seed would draw the same again
            settings["seed"] = secrets.randbelow(2**32)
        self._beside, self.message = None, ""
        future = self.session.model.run_in_background(
            source.model, list(source.prompt), constrained=generation.constrained, begin=begin, **settings
        )
        future.add_done_callback(self._done)
        return future

    def beside(self) -> threading.Thread:
        """The same prompt, seed and settings without the grammar (or under it), as a second strip, in a thread."""
        from workbench.generation import stream

        generation = self._generation()
        source = generation.source
        if source is None:
            raise ValueError("this generation has lost its model (it was pickled): generate again")
        grammar = None if generation.constrained else self.session.inspect.compiled
        name = NO_GRAMMAR if generation.constrained else "under the grammar"
        self.message = ""
        second = self._second = stream(source.model, list(source.prompt), grammar, **generation.settings)

        def work() -> None:
            for _ in second:
                pass
            self._beside, self._beside_of = cockpit_run(second.generation, name=name), generation.steps

        def ended() -> None:
            self._second = None
            self.message = self.message and f"{name}: {self.message}"

        return self.begin(work, ended)

    def _generation(self) -> Generation:
        trace = self.session.trace
        if trace is None or self.session.model.is_running or self._second is not None:
            raise ValueError(
                "wait until the generation has ended" if trace is not None else "nothing was generated yet"
            )
        return trace.generation

    def _done(self, future: Future[Any]) -> None:
        error = future.exception()
        if error is not None:
            self.message = str(error) or type(error).__name__
            self.desk.do("select")

    def close(self) -> None:
        second = self._second
        if second is not None:
            second.interrupt()
