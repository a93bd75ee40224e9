"""What mechanisms of the engine are worth, measured from the screen, in a thread, on the session's own source.

Read on: `workbench/comparing/ablating.py` (what is measured), `frontend/src/ablate.ts` (the view).
"""

from __future__ import annotations

import math
import threading
from typing import Any, Final

import traitlets as t

from visualizers.live_base import LiveView, Traits, picked, synced
from workbench.comparing.ablating import FIRST, MECHANISMS, METRICS, NONE, Ablation, ablate
from workbench.panels.base import Desk, Message, Panel
from workbench.panels.screen import NAMES, load, models, vocabularies
from workbench.session import Change

MOST_REPEATS: Final = 100


class AblateView(LiveView[Ablation]):
    """`choices`: what can be chosen; `state`: what was, how far it is, and what was measured so far.

    Messages: {kind: "run", mechanisms, repeats, writer, prompts, vocabulary}, {kind: "stop"}; to the browser
    {copy: text}.
    """

    _module = "ablate"
    _height = 420

    choices = synced(t.Dict())
    state = synced(t.Dict())

    def traits_of(self, snapshot: Ablation) -> Traits:
        return {"state": {**self.state, **measured(snapshot)}}

    def static_html(self) -> str:
        return self._shown._repr_html_() if self._shown is not None else ""


def measured(found: Ablation) -> dict[str, Any]:
    """How far it is and what is known, for the browser, where a number that is not known is None."""
    effects = found.effects()
    return {
        "head": (found.verdict or found.headline) if found.trials else "",
        "on": found.headline if found.trials else "",
        **picked(found, "steps", "planned", "doing", "note"),
        "metrics": list(METRICS.items()),
        "effects": [
            [e.without, e.metric, *(None if math.isnan(x) else x for x in (e.us, e.ratio, e.low, e.high)), e.refused]
            for e in effects
        ],
        "table": found.summary().to_csv(sep="\t", index=False) if effects else "",
    }


class AblatePanel(Panel, name="ablate", title="Ablate", tab="first", rank=20, wide=True):
    """What each of some mechanisms of the engine is worth, on the source and texts that are shown."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: AblateView = AblateView()
        self.result: Ablation | None = None
        self._stop = threading.Event()
        self.actions = {"run": self.attempt(self.run), "stop": self.attempt(lambda _content: self._stop.set())}
        self._settings: dict[str, Any] = {
            "mechanisms": list(FIRST), "repeats": 5, "writer": "", "prompts": "", "vocabulary": "",  # the session's
        }  # fmt: skip
        self._drawn: Ablation | None = None
        self._choices = {
            "mechanisms": [[word, title, word in FIRST] for word, (title, _) in MECHANISMS.items()],
            "writers": [],
            "none": NONE,
        }

    def update(self, change: Change | None) -> None:
        there = vocabularies(self.session)
        if self._settings["vocabulary"] not in there:
            self._settings["vocabulary"] = there[0]
        if change is None:  # it comes into sight: a model may have been fetched meanwhile
            self._choices["writers"] = [["", "this text"], *models()]
        self.view.choices = {**self._choices, "vocabularies": there}
        with self.view.hold_sync():
            if self.result is not None and self.result is not self._drawn:
                self._drawn = self.result
                self.view.show(self.result)
            self.view.state = {
                **self.view.state,
                **self._settings,
                "running": self.running,
                "message": self.message,
                "code": self._call(),
            }

    @property
    def running(self) -> bool:
        """Whether something is being measured."""
        return self.thread is not None and self.thread.is_alive() and not self._stop.is_set()

    def _text(self) -> str:
        """The whole text on the screen, also behind the place; a character that is cut at its end is left out."""
        return b"".join(step.data for step in self.session.steps).decode(errors="ignore")

    def _call(self) -> str:
        """The line that measures the same in a cell."""
        chosen = self._settings
        texts = chosen["prompts"].splitlines() if chosen["writer"] else [self._text()]
        model = f"model={chosen['writer']!r}, " if chosen["writer"] else ""
        words = f"mechanisms={tuple(chosen['mechanisms'])!r}, repeats={chosen['repeats']}"
        own = chosen["vocabulary"] == self.session.tokenizer.name  # which is the default
        tokenizer = "" if own else f", tokenizer={chosen['vocabulary']!r}"
        return f"wb.ablate(wb.last().session, {texts!r}, {model}{words}{tokenizer})"

    # -- what a person does ------------------------------------------------------------------------------------------

    def run(self, asked: Message) -> None:
        """Measure in a thread, with the panel following; what was measured until a stop is kept."""
        session = self.session
        if self.thread is not None and self.thread.is_alive():
            raise ValueError("wait until the last trial has ended")
        if session.edits.draft is not None:
            session.edits.draft.refuse()
        writer = str(asked.get("writer") or "")
        if writer and writer not in NAMES:
            raise ValueError(f"no model {writer!r} writes here")
        if writer and session.model.is_running:
            raise ValueError("the model is writing: wait until it has ended, or stop it")
        vocabulary = str(asked.get("vocabulary") or session.tokenizer.name)
        self._settings = {
            "mechanisms": [str(word) for word in asked.get("mechanisms") or ()],
            "repeats": max(1, min(MOST_REPEATS, int(asked.get("repeats") or 1))),
            "writer": writer,
            "prompts": str(asked.get("prompts") or ""),
            "vocabulary": vocabulary,
        }
        prompts = [line for line in self._settings["prompts"].splitlines() if line.strip()]
        texts = prompts if writer else [self._text()]
        words: object = session.tokenizer if vocabulary == session.tokenizer.name else vocabulary
        if writer and not prompts:
            raise ValueError("what shall the model be asked?  Write one prompt a line")
        source, chosen, repeats = session.document, self._settings["mechanisms"], self._settings["repeats"]
        self._stop.clear()
        self.result = None

        def work() -> None:
            model = load(writer) if writer else None
            ablate(
                source, texts, model=model, mechanisms=chosen, repeats=repeats, tokenizer=words, progress=self._follow
            )

        self.begin(work, self._stop.set)

    def _follow(self, found: Ablation) -> bool:
        """Show what was measured so far; whether that is all."""
        self.result = found
        stopped = self._stop.is_set()
        if not stopped:
            self.desk.do("select")
        return stopped

    def close(self) -> None:
        self._stop.set()
