"""The parts of a text by name: free text, channels, reasoning, tools, arguments, members.

Formats of models name most of their parts in the text itself, by marks that are the same wherever they stand (`MARKS`);
the others are told by the modes of free text and by the source.

Read on: `state.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from kernels_core import CompiledGrammar
from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.dispatch import Segment, may_switch
from visualizers.triggers import hue
from workbench.provenance import pointers
from workbench.provenance.breadcrumbs import breadcrumbs
from workbench.session import Session
from workbench.session.history import Step

FREE_TEXT: Final = "free text"
"""What the mode of text outside of tags is called."""
HUES: Final = 5
MARKS: Final = re.compile(
    rb"(?P<channel><\|channel\|>(?P<in>\w+)(?: to=(?:functions\.)?(?P<to>[\w.-]+))?)"
    rb"|(?P<reasoning><think>|<\|START_THINKING\|>|\[THINK\])"
    rb"|<(?:function|invoke name|parameter|arg_key)(?:=\"?|>)(?P<xml>[\w.-]+)"
    rb"|(?P<end></think>|<\|END_THINKING\|>|\[/THINK\]|<\|(?:end|call|return)\|>|</(?:function|invoke|parameter)>)"
)
"""What begins a part whose name it says, and what ends one, in the formats of models: Harmony's channels and the tool
that a message is for, reasoning, functions and arguments in XML."""

_SWITCHES: WeakKeyDictionary[CompiledGrammar, bool] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text: its name, the class of its colour, how many tokens it has."""

    name: str
    hue: str
    count: int


def marked(text: bytes) -> list[tuple[int, str]]:
    """Where parts begin that marks in the text name, and their names; "" where one ends."""
    found = []
    for mark in MARKS.finditer(text):
        if mark["end"]:
            found.append((mark.end(), ""))
        elif mark["reasoning"]:
            found.append((mark.start(), "reasoning"))
        elif mark["channel"]:
            found.append((mark.start(), (mark["to"] or mark["in"]).decode()))
        else:
            found.append((mark.start(), mark["xml"].decode()))
    return found


def parts_of(session: Session) -> tuple[Part, ...]:
    """The parts of the text up to the session's place: what marks name, modes of free text, tags and tools by their
    names, else members of the outermost object; one part, called as the source, where nothing is named."""
    index = session.index
    if not index:
        return ()
    steps = session.steps[:index]
    names = [_named(*both) for both in zip(_of_marks(session, steps), _of_modes(session, steps), strict=True)]
    if not any(name for name, _ in names):
        names = [(session.document.name or session.document.title, "free")] * index
    order = list(dict.fromkeys(name for name, hue in names if hue == "tag"))
    coloured = [(name, f"tag-{order.index(name) % HUES}" if hue == "tag" else hue) for name, hue in names]
    return tuple(Part(name, hue, len(list(group))) for (name, hue), group in groupby(coloured))


def _named(mark: str, mode: tuple[str, str]) -> tuple[str, str]:
    return (mark, "tag") if mark else mode


def _of_marks(session: Session, steps: Sequence[Step]) -> list[str]:
    """The name that marks give to each step; none in a source that has no marks, whatever its strings hold."""
    names = [""] * len(steps)
    if session.document.language not in ("tools", "structural_tag"):
        return names
    for begin, name in marked(session.text):
        for number, step in enumerate(steps):
            if step.start >= begin or step.start < begin < step.end:
                names[number] = name
    return names


def _of_modes(session: Session, steps: Sequence[Step]) -> list[tuple[str, str]]:
    """The name and the colour that the mode of each step has, or the source's part in it."""
    found = step_modes(session)
    modes = () if isinstance(found, BudgetExceededError) else found
    named: list[tuple[str, str]] = []
    for number, name in enumerate(_of_source(session, steps)):
        mode, hue = modes[number] if modes else ("", "")
        if hue.startswith("tag"):  # where the source says nothing, what it said before
            before = named[-1][0] if named and named[-1][1] == "tag" else ""
            said = _tag_name(session, name) if session.document.language == "structural_tag" else name
            named.append((said or before or _tag_name(session, mode), "tag"))
        elif hue:
            named.append((mode.split(" ")[0] if hue == "trigger" else mode, hue))
        else:
            named.append((name, "tag" if name else "free"))
    return named


def _tag_name(session: Session, begin: str) -> str:
    """A tag by the tool it calls, else by the last word of what begins it."""
    source = session.document
    tools = source.tool_tag.names.values() if source.language == "tools" else ()
    return next((name for name in tools if name in begin), (re.findall(r"\w+", begin) or [begin])[-1])


def _of_source(session: Session, steps: Sequence[Step]) -> list[str]:
    """The tool, the tag or the member of the outermost object that each step belongs to, as far as the source says."""
    source = session.document
    if not source.is_json:
        return [""] * len(steps)
    names = (
        () if at is None else breadcrumbs(source.value, at).names
        for at in pointers(session.inspect, [s.start for s in steps])
    )
    return [found[0] if found else "" for found in names]


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
