"""What was done before the kernel was restarted, offered above the first screen: one button brings it back.

Nothing is lost by it: the text that is there goes where every edit leaves it, and Ctrl+Z takes the restoring back.

Read on: `workbench/screen/kept.py` (what is kept, and where), `frontend/src/kept.ts`.
"""

from __future__ import annotations

import base64
import sys
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final
from weakref import WeakSet

import traitlets as t

from visualizers.glyphs import box_text, clip, glyph
from visualizers.live_base import LiveView, Traits, synced
from workbench.panels.base import Desk, Message, Panel
from workbench.screen.gallery import FIRST
from workbench.screen.kept import State, kept, kept_lately, same_source
from workbench.screen.recent import called, note_opened
from workbench.session import Change
from workbench.session.examples import Example
from workbench.session.file import source_of_json

SHOWN: Final = 60


class KeptView(LiveView[Mapping[str, Any]]):
    """`offer`: `{text, examples, source, when}` of what can be restored, or empty; `source` names another one."""

    _module = "kept"
    _height = 40

    offer = synced(t.Dict())

    def traits_of(self, snapshot: Mapping[str, Any]) -> Traits:
        return {"offer": dict(snapshot)}

    def page_state(self) -> Traits:
        return super().page_state() | {"offer": {}}  # a page is for others

    def static_html(self) -> str:
        return ""


class KeptPanel(Panel, name="kept", title="Before", tab="", rank=20):
    """The offer: it is made when the explorer opens, and when another source is opened in it, and stays until it is
    taken or sent away.  An explorer that nobody gave a source offers what was done last with any.  What is still open
    in this kernel is not offered, unless its cell is run again."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: KeptView = KeptView()
        self.explorer = uuid.uuid4().hex
        self._cell = _cell()
        _open.add(self)
        self._asked: object = None  # the source for which was asked what is kept
        self._state: State | None = None

    def update(self, change: Change | None) -> None:
        source = self.session.document.key
        if source == self._asked or (self._asked is not None and self.session.steps):
            return
        fresh = self._asked is None and source == FIRST.source.key
        self._asked, self._state, self.view.offer = source, None, {}
        session = self.session.to_json()
        there = {one.explorer for one in _open if one is self or self._cell is None or one._cell != self._cell}
        found = kept(session, there)
        if found is None and fresh:
            found = kept_lately(session["tokenizer"]["fingerprint"], there)
        if found is None or found["session"]["steps"] == session["steps"]:
            return
        self._state, saved = found, found["session"]
        self.view.offer = {
            "text": clip(glyph(_text(saved["steps"])), SHOWN),
            "examples": len(saved.get("examples", ())),
            "source": "" if same_source(saved, session) else called(source_of_json(saved["grammar"])),
            "when": float(found.get("when", 0.0)),
        }

    def received(self, content: Message) -> None:
        state, self._state = self._state, None
        self.view.offer = {}
        if content.get("kind") == "restore" and state is not None:
            self._restore(state)

    def close(self) -> None:
        _open.discard(self)

    def _restore(self, state: State) -> None:
        self.session.model.leave()
        saved, draft = state["session"], state["session"].get("draft")
        with self.session.edits.as_one():
            if not same_source(saved, self.session.to_json()):
                source = source_of_json(saved["grammar"])
                note_opened(source)
                self._asked = source.key
                self.desk.do("open", text=source.text, language=source.language, options=dict(source.options))
                if self.session.document.key != source.key:
                    return  # it cannot be read here; the source's editor says why
            # A draft that is there now could not be brought back.
            if draft is not None and self.session.edits.draft is None:
                self.desk.do("source", **{key: draft[key] for key in ("text", "language", "options")})
            self.desk.do("prefix", text=state.get("typed", box_text(_text(saved["steps"]))))
            there = {one.text for one in self.session.examples}
            fresh = [Example(one["text"], one["must"]) for one in saved.get("examples", ()) if one["text"] not in there]
            self.session.examples = (*self.session.examples, *fresh)
        place = saved["place"]
        read = len(_text(saved["steps"][: place["index"]])) + place["offset"]
        index = sum(step.end <= read for step in self.session.steps)
        if index < len(self.session.steps):
            self.desk.do("goto", index=index)
        self.desk.arrange(state.get("arrangement") or {})


_open: Final[WeakSet[KeptPanel]] = WeakSet()


def _cell() -> str | None:
    """The notebook's cell that runs now; None where nobody says: it is no notebook, or an older front end."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    asked: Mapping[str, Any] = getattr(shell, "get_parent", dict)() or {}
    found = asked.get("metadata", {}).get("cellId")
    return found if isinstance(found, str) else None


def _text(steps: Iterable[Mapping[str, str]]) -> bytes:
    return b"".join(base64.b64decode(step["bytes"]) for step in steps)
