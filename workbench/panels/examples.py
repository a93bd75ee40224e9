"""Examples on the screen: texts that the source must and must not take, green and red while one edits.

Read on: `workbench/session/examples.py` (what is judged), `frontend/src/examples.ts` (the view).
"""

from __future__ import annotations

from typing import Any, Final

import traitlets as t

from visualizers.glyphs import box_text, html_escape
from visualizers.live_base import LiveView, Traits, synced
from visualizers.tables import card, table
from workbench.panels.base import Desk, Message, Panel
from workbench.provenance import forbidding
from workbench.session import Change, Session
from workbench.session.examples import Example, Judged, as_test

FORBIDS_MS: Final = 60.0


class ExamplesView(LiveView[list[list[Any]]]):
    """`rows`: [text, must, ok, characters taken, told] each; `draft`: the source is being edited, and the last that
    could be read is asked; `code`: the same as a test.

    Messages: {kind: "set", number, text, must} (a number behind the last adds one), {kind: "drop", number},
    {kind: "keep", must} for the text on the screen.
    """

    _module = "examples"

    rows = synced(t.List())
    draft = synced(t.Bool(False))
    code = synced(t.Unicode())

    def traits_of(self, snapshot: list[list[Any]]) -> Traits:
        return {"rows": snapshot}

    def static_html(self) -> str:
        rows = [
            ["✓" if ok else "✗", html_escape(text), f"{'must' if must else 'must not'} be taken", html_escape(told)]
            for text, must, ok, _, told in self.rows
        ]
        return card("Examples", [], table(["", "text", "", ""], rows, align="llll", mono=(1,))) if rows else ""

    def __repr__(self) -> str:
        return f"ExamplesView({sum(row[2] for row in self.rows)} of {len(self.rows)} as they must be)"


def _row(session: Session, judged: Judged) -> list[Any]:
    taken = len(judged.example.text.encode()[: judged.farthest].decode(errors="ignore"))
    return [judged.example.text, judged.example.must, judged.ok, taken, _told(session, judged)]


def _told(session: Session, judged: Judged) -> str:
    """Why it is not taken: the keyword that forbids it, where one does, and where it dies."""
    reading = judged.reading
    if reading is None or reading.ok:
        return judged.told
    reasons = forbidding(session.inspect, reading.text, afresh=True, budget_ms=FORBIDS_MS)
    return f"{reasons[0].label}: {judged.told}" if reasons else judged.told


class ExamplesPanel(Panel, name="examples", title="Examples", tab="first", rank=30):
    """Texts that must and must not be taken."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: ExamplesView = ExamplesView()
        self._known: object = None  # what was judged last
        self.actions = {"set": self._change, "drop": self._change, "keep": self._keep}

    def update(self, change: Change | None) -> None:
        session = self.session
        now = (session.inspect.compiled, session.examples)
        if self._known != now:
            self._known = now
            self.view.show([_row(session, one) for one in session.inspect.examples()])
            self.view.code = as_test(session.document, session.examples)
        self.view.draft = session.edits.draft is not None

    def _keep(self, content: Message) -> None:
        text = box_text(b"".join(step.data for step in self.session.steps))
        self.session.examples = (*self.session.examples, Example(text, bool(content.get("must", True))))
        self.desk.do("select")

    def _change(self, content: Message) -> None:
        """Put an example in the place of another, or behind the last; or nothing in its place."""
        examples = list(self.session.examples)
        number = max(0, int(content.get("number", len(examples))))
        new = Example(str(content.get("text") or ""), bool(content.get("must")))
        examples[number : number + 1] = [new] if content["kind"] == "set" else []
        self.session.examples = examples
        self.desk.do("select")
