"""The source in its own language: what is read is lit in it, mistakes are marked, a click chooses a rule or a pointer.

What each language said last is kept, so that one can look at another and come back.

Read on: `visualizers/source.py` (the view), `workbench/provenance` (the places), `workbench/languages` (the sources).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from kernels_core.grammar.json_schema.keywords import KEYWORDS
from visualizers.live_base import picked
from visualizers.source import SourceView
from workbench.languages import LANGUAGES, NOTHING, OPTIONS, TITLES, Language, Mistake, Source
from workbench.languages.examples import EXAMPLES
from workbench.languages.positions import parts_of
from workbench.languages.warnings import doubts, misspelt, open_objects, unread_ends
from workbench.panels.base import Desk, Message, Panel, Selection
from workbench.provenance import SourcePlace, place_at, provenance
from workbench.provenance.rules import called, spans_of_rules, written
from workbench.session import Change, Session
from workbench.session.result import describe_bytes

MAX_PLACES = 300
State = dict[str, Any]


def shown_source(session: Session) -> Source:
    """The source on the screen: the draft, if there is one, else the source in use."""
    return session.document if session.edits.draft is None else session.edits.draft.source


def document_state(session: Session) -> State:
    """The text, its language, the languages there are, and the options of this one."""
    source = shown_source(session)
    name = f"{source.name} · " if source.name else ""
    # The strip says whose tokens the text is cut into; here only where they are no longer those that one began with.
    other = f" · vocabulary {session.inspect.vocabulary}" if session.model.replaced else ""
    unread = session.edits.draft is not None and session.edits.draft.in_use == NOTHING
    return {
        "text": source.text,
        "language": source.language,
        "title": source.title,
        "languages": [{"name": language, "title": TITLES[language]} for language in LANGUAGES],
        "options": [
            picked(option, "name", "kind", "default", "help")
            | {"label": option.label or option.name.replace("_", " ")}
            | {"value": source.option(option.name), "choices": list(option.choices)}
            for option in OPTIONS[source.language]
        ],
        "summary": f"{name}{f'{source.title}, not in use yet' if unread else written(session.inspect)}{other}",
        "why": f"read as {source.title}: {source.why}",
    }


def offered(session: Session) -> tuple[Source | None, str, str]:
    """A source that was probably meant, what a click on it does in words, and what there is to say first.

    An object of a schema takes members that it does not name unless it says otherwise, which a model makes use of.
    """
    draft, source = session.edits.draft, session.document
    if draft is not None:
        return draft.offer, draft.taking, draft.status
    has_schemas = source.language in ("json_schema", "tools")
    opened = open_objects(source) if has_schemas and not source.option("strict_mode") else ()
    if not opened:
        return None, "", ""
    more = f" and {len(opened) - 1} more" if len(opened) > 1 else ""
    told = f"The object at {opened[0]}{more} also takes members that the schema does not name."
    return replace(source, options={**source.options, "strict_mode": True}), "close it", told


def place_state(source: Source, place: SourcePlace) -> State:
    """A place for the browser: its range, and what to light of it (`from`, `to`): all of one line, else its key.

    There may be hundreds, so what there is nothing to say of is left out, as are `from` and `to` of all of the range.
    """
    state: State = {"role": place.role, "label": place.label}
    if place.pointer is not None:
        state["pointer"] = place.pointer
    if place.rule is not None:
        state["rule"] = place.rule
    if place.span is not None:
        state["start"], state["end"] = place.span
        lit = _lit(source, place.pointer, place.span)
        if lit != place.span:
            state["from"], state["to"] = lit
    return state


def _lit(source: Source, pointer: str | None, span: tuple[int, int]) -> tuple[int, int]:
    """What is lit of a range: all of one line; of more, its key or its first sign, or else its first line."""
    line = source.text.find("\n", *span)
    if line < 0:
        return span
    if source.is_json and pointer in source.json.entries:
        entry = source.json.entries[pointer]
        return entry.key if entry.key is not None else (entry.start, entry.start + 1)
    return span[0], line


def mistake_state(mistake: Mistake) -> State:
    return picked(mistake, "start", "end", "line", "column", "message", "cure", "pointer")


RULE_NAME: Final = re.compile(r"[?!]?[\w.-]+")
"""A rule's name where it is defined, which may be called otherwise within the engine."""


def selected_span(session: Session, selection: Selection) -> State | None:
    """The range of the pointer or the rule that is chosen; None where it is not in this source."""
    source = session.document
    pointer, rule = selection.get("pointer"), selection.get("rule")
    if session.edits.draft is not None:
        return None
    if source.is_json and isinstance(pointer, str) and pointer in source.json.entries:
        start, end = span = source.json.entries[pointer].span
        first, last = _lit(source, pointer, span)
        return {"start": start, "end": end, "from": first, "to": last}
    if isinstance(rule, str):
        spans = spans_of_rules(session.inspect)
        # A rule made while lowering is called after the one it was made of: `value_2`.
        found = spans.get(rule) or spans.get(rule.rpartition("_")[0])
        if found is not None:
            start, end = found
            name = RULE_NAME.match(source.text, start, end) if rule in spans else None
            return {"start": start, "end": end, "from": start, "to": name.end() if name else end}
    return None


def hover_lines(session: Session, offset: int, places: tuple[SourcePlace, ...]) -> list[str]:
    """What to tell of the character at `offset`: its rule or pointer, its part in the text, what may come."""
    place = place_at(session.inspect, offset)
    if place is None:
        return []
    lit = [one for one in places if one.span is not None and one.span[0] <= offset < one.span[1]]
    lit.sort(key=lambda one: (one.span[1] - one.span[0] if one.span else 0, one.role != "here"))
    lines = [place.pointer or f"rule {called(session.document, place.rule or '')}"]
    if place.pointer is not None:
        lines += _keyword_lines(session.document, place.pointer)
    if place.rule is not None:
        dots = [item.dot for item in session.inspect.frontier().items if item.rule == place.rule]
        lines += [f"waits at {dot}" for dot in list(dict.fromkeys(dots))[:3]]
    active = next((one for one in lit if one.role in ("here", "next")), None)
    if active is not None:
        lines.append(f"{'is read now' if active.role == 'here' else 'may come next'}: {active.label}")
        if active.role == "here":
            lines.append(f"next byte: {describe_bytes(session.inspect.next_bytes())}")
    return lines


def _keyword_lines(source: Source, pointer: str) -> list[str]:
    """What the keyword of a schema means that a pointer ends in."""
    parts = parts_of(pointer)
    if source.language == "structural_tag" or not parts or parts[-1] not in KEYWORDS:
        return []
    named = len(parts) > 1 and parts[-2] in ("properties", "patternProperties", "$defs", "definitions")
    return [] if named else [f"{parts[-1]}: {KEYWORDS[parts[-1]].meaning}"]


class SourcePanel(Panel, name="source", title="Source", tab="", rank=30):
    """The source as it was typed."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: SourceView = SourceView()
        self._answer: State = {}
        self._kept: dict[Language, Source] = {}
        self._shown: tuple[object, ...] | None = None
        self._opened, self._ours = 0, False  # texts that came from elsewhere; whether the next one is written here
        self._places: tuple[SourcePlace, ...] = ()
        self._offer: Source | None = None
        self.actions = {
            "source": self._write,
            "offer": self._take_offer,
            "language": lambda content: self._speak(content.get("language")),
            "option": lambda content: self._set(str(content.get("name")), content.get("value")),
            "choose": self._choose,
        }
        self.view.answers("hover", self._hover)

    def update(self, change: Change | None) -> None:
        session, view, draft = self.session, self.view, self.session.edits.draft
        source = shown_source(session)
        self._kept[source.language] = source
        key = (source, draft is None, session.inspect.vocabulary, tuple(self._answer.items()))
        if self._shown is None or any(new is not old and new != old for new, old in zip(key, self._shown, strict=True)):
            self._opened += not self._ours and self._shown is not None and source.text != view.document["text"]
            self._shown = key
            view.document = {**document_state(session), **self._answer, "opened": self._opened}
            found = doubts(source, session.inspect.compiled.grammar) if draft is None else misspelt(source)
            found = (*found, *unread_ends(source))
            warned = [{**mistake_state(one), "warning": True} for one in found]
            view.mistakes = [mistake_state(one) for one in (draft.mistakes if draft is not None else ())] + warned
            self._offer, view.offer, view.status = offered(session)
        self._places, view.places = self.at_place("places", None, self._read) if draft is None else ((), [])
        view.forbids = [place_state(session.document, place) for place in self.desk.forbids if draft is None]
        view.selected = selected_span(session, self.desk.selection)

    def _read(self) -> tuple[tuple[SourcePlace, ...], list[State]]:
        """What is read here and may come, and the same for the browser."""
        found = provenance(self.session.inspect)
        return found, [place_state(self.session.document, place) for place in found[:MAX_PLACES]]

    def chosen(self) -> None:
        self.view.selected = selected_span(self.session, self.desk.selection)

    # -- what a person does ------------------------------------------------------------------------------------------

    def _write(self, content: Message) -> None:
        self._answer = {"client": content.get("client"), "seq": content.get("seq")}
        self._edit(text=str(content.get("text", "")))

    def _edit(self, **source: Any) -> None:
        self._ours = True
        self.desk.do("source", **source)
        self._ours = False

    def _take_offer(self, _content: Message) -> None:
        if (offer := self._offer) is not None:
            self._edit(text=offer.text, language=offer.language, options=dict(offer.options))

    def _speak(self, language: object) -> None:
        """Go on in another language: with what was written in it last, else with an example."""
        if language not in LANGUAGES:
            return
        other = self._kept.get(language) or Source(language, EXAMPLES[language], name="example")
        with self.session.edits.as_one():  # the editor's own undo ends here
            self.desk.do("source", text=other.text, language=language, options=dict(other.options))

    def _set(self, name: str, value: object) -> None:
        source = shown_source(self.session)
        if name not in {option.name for option in OPTIONS[source.language]}:
            return
        default = next(option.default for option in OPTIONS[source.language] if option.name == name)
        options = {key: kept for key, kept in source.options.items() if key != name}
        if value != default:
            options[name] = value
        self._edit(text=source.text, language=source.language, options=options)

    def _choose(self, content: Message) -> None:
        """Choose the rule or the pointer at a character, or the one that is named."""
        offset = content.get("offset")
        if not isinstance(offset, int):
            self.desk.select(pointer=content.get("pointer"), rule=content.get("rule"))
            return
        place = place_at(self.session.inspect, offset) if self.session.edits.draft is None else None
        if place is not None:
            self.desk.select(pointer=place.pointer, rule=place.rule)

    def _hover(self, content: State) -> State:
        if self.session.edits.draft is not None:
            return {"lines": []}
        with self.session.inspect.held():
            return {"lines": hover_lines(self.session, int(content["offset"]), self._places)}
