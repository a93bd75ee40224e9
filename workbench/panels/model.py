"""The model cockpit on the desk: the session's last generation, live while it runs, and the same prompt beside it.

The run is the session's own (`Session.generate`), so all panels follow it and its stop button works.

Read on: `workbench/reports/cockpit.py` (the view), `workbench/generation/generation.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernels_core import CompiledGrammar
from kernels_core.inspect.classic import in_common
from visualizers.glyphs import clip
from workbench.languages import Source
from workbench.panels.base import Desk, Message, Panel
from workbench.reports.cockpit import CockpitRun, CockpitShot, CockpitView, cockpit_run, likeliest
from workbench.screen.current import generate_call
from workbench.session import Change

if TYPE_CHECKING:
    from workbench.generation import Generation, Step, TokenStream

NO_GRAMMAR: Final = "without the grammar"
NAME: Final = 40  # letters of a source that has no name
ASKED: Final = 4  # refused tokens of the step at hand that are explained


class ModelPanel(Panel, name="model", title="Model", tab="first", rank=40, wide=True):
    """Each token before and after the mask, and the same prompt without the grammar beside it.

    The tokens are those of the generation that the session follows, or followed last.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: CockpitView = CockpitView()
        self._steps: Sequence[Step] = ()  # those of the run that the reasons are of
        self._reasons: dict[tuple[int, int], str] = {}
        self._beside: CockpitRun | None = None
        self._beside_of: object = None  # the generation that it stands beside
        self._second: TokenStream | None = None  # the run of the second strip, while it goes on
        self.actions = {"beside": self.attempt(lambda content: self.beside(str(content.get("source") or "")))}

    # -- what is shown -----------------------------------------------------------------------------------------------

    def update(self, change: Change | None) -> None:
        session = self.session
        run, trace = session.model.current, session.trace
        agree: int | None = None
        if run is not None:
            name, steps = self._named(run.constrained), run.stream.steps
            shown = CockpitRun(name, steps, run.constrained, "running", refused_from=run.refused_from)
            place = len(steps)
        elif trace is not None:
            generation = trace.generation
            name = self._named(generation.constrained)
            shown = cockpit_run(generation, name=name, refused_from=trace.refused_from)
            agree = self._agreeing(generation)
            place = min(session.index, agree + 1)  # the first that differs, at most
        else:
            self.view.show(CockpitShot((), message=self.message, call=generate_call(session)))
            return
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
                again=trace is not None and trace.generation.source is not None,
                message=self.message,
                apart=agree if agree is not None and agree < len(shown.steps) else None,
                cut=agree == len(session.steps),
            )
        )

    def _named(self, constrained: bool) -> str:
        trace = self.session.trace
        before = constrained and trace is not None and trace.source != self.session.document.text
        return "under the grammar of before" if before else "under the grammar" if constrained else NO_GRAMMAR

    def _agreeing(self, generation: Generation) -> int:
        """How many tokens the generation and the session's text, with what was undone of it, begin with in common."""
        return in_common(tuple(step.token_id for step in self.session.steps), generation.tokens)

    def _explained(self, run: CockpitRun, place: int) -> CockpitRun:
        """`run` with the reasons for what was refused in place of step `place`: asked where the step begins."""
        from workbench.session.matching import why_not

        session, number = self.session, max(0, place - 1)
        if run.steps[: len(self._steps)] != self._steps:
            self._reasons = {}
        self._steps = run.steps
        if number < len(run.steps) and session.index >= number:
            refused = [one.token_id for one in likeliest(run.steps[number]) if not one.allowed][:ASKED]
            asked = [token for token in refused if (number, token) not in self._reasons]
            if asked:
                before = session.inspect.shadow()
                before.rollback(session.place.offset + session.index - number)
                self._reasons |= {(number, token): why_not(before, token) for token in asked}
        return replace(run, reasons=dict(self._reasons))

    # -- what a person does ------------------------------------------------------------------------------------------

    def received(self, content: Message) -> None:
        if content.get("kind") == "stop" and self._second is not None:
            self._second.interrupt()
        if content.get("kind") == "goto":  # what was refused has no place in the text
            content["index"] = min(int(content["index"]), len(self.session.steps))
        super().received(content)

    def beside(self, other: str = "") -> threading.Thread:
        """The same prompt, seed and settings as a second strip, in a thread: under `other`, a source in any language,
        or without the grammar (under it, where the first strip is free)."""
        from workbench.generation import stream

        generation = self._generation()
        source = generation.source
        if source is None:
            raise ValueError("this generation has lost its model (it was pickled): generate again")
        grammar: Source | CompiledGrammar | None = None if generation.constrained else self.session.inspect.compiled
        name = NO_GRAMMAR if generation.constrained else "under the grammar"
        if other.strip():
            grammar = Source.of(other)
            name = f"under {grammar.name or clip(' '.join(other.split()), NAME)}"
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

    def close(self) -> None:
        second = self._second
        if second is not None:
            second.interrupt()
