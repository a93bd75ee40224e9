"""Free text with tags: what was read as what, what is watched for.

Read on: `kernels_core/inspect/dispatch.py`, `visualizers/triggers.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from kernels_core import CompiledGrammar
from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.dispatch import Segment, may_switch
from visualizers.triggers import TriggerView, hue
from workbench.panels.base import Desk, Panel
from workbench.provenance import reader_of, tags
from workbench.provenance.tags import all_tags
from workbench.session import Change, Session

FREE_TEXT: Final = "free text"
"""What the mode of text outside of tags is called."""

_SWITCHES: WeakKeyDictionary[CompiledGrammar, bool] = WeakKeyDictionary()


class TriggersPanel(Panel, name="triggers", title="Triggers", rank=50):
    """Free text and tags: what is open, what is watched for, and what may fire."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: TriggerView = TriggerView()

    def update(self, change: Change | None) -> None:
        found = tags(self.session.inspect)
        self.view.known = [one.state() for one in all_tags(reader_of(self.session.inspect))]
        self.view.show(self.session.inspect.modes())
        self.view.tags = found.state()
        if found.beginning:  # the source knows the names of tags, the grammar only those of rules
            self.view.about = {**self.view.about, "sentence": found.beginning, "mode": "trigger"}


class StepMode(NamedTuple):
    """The mode in which a step was read: "free text", "trigger <call=", a tag's name, or ""; and its colour (`hue`)."""

    name: str
    hue: str


def step_modes(session: Session) -> tuple[StepMode, ...] | BudgetExceededError:
    """In which mode each step taken was read; nothing for grammars without free text.

    What was said where the grammar has too many rules for that, or the text is too long to be read again.
    """
    matcher = session.inspect.matcher
    switches = _SWITCHES.get(matcher.compiled)
    if switches is None:
        switches = _SWITCHES[matcher.compiled] = may_switch(matcher)
    if not switches:
        return ()
    try:
        found = session.inspect.modes()
    except BudgetExceededError as error:
        return error
    named = []
    for step in session.steps[: session.index]:
        segment = found.at(step.end - 1) if step.end > step.start else None
        named.append(StepMode("", "") if segment is None else StepMode(_mode_name(segment), hue(segment)))
    return tuple(named)


def _mode_name(segment: Segment) -> str:
    match segment.mode:
        case "free":
            return FREE_TEXT
        case "trigger" | "stop":
            return f"{segment.mode} {segment.label}"
        case "tag":
            return segment.label
    return ""
