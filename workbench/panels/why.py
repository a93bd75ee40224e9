"""Why: one text or token explained, whatever it is that a person points at.

Read on: `workbench/next/why.py`, `frontend/src/why.js`.
"""

from __future__ import annotations

import traitlets as t

from visualizers.glyphs import parse
from visualizers.live_base import LiveView, Traits, synced
from visualizers.tables import card, pre
from workbench.next.why import Why, why, with_reasons
from workbench.panels.base import Desk, Message, Panel
from workbench.session import Change


class WhyView(LiveView[Traits]):
    """`show(why.state())` explains; an empty mapping shows how to ask.  `asked` is the text in the view's own box.

    `selection` is what all views share, of which this one sets `rule` and `pointer`.  Messages: {kind: "ask", text},
    and {kind: "type", what, number, position} to type a suggestion, the forced text or the end.
    """

    _module = "why"
    _height = 320

    why = synced(t.Dict())
    asked = synced(t.Unicode(""))
    selection = synced(t.Dict())

    def traits_of(self, snapshot: Traits) -> Traits:
        return {"why": dict(snapshot)}

    def __repr__(self) -> str:
        return f"WhyView({self.why['message']!r})" if self.why else "WhyView(empty)"


class WhyPanel(Panel, name="why", title="Why", rank=90):
    """Whether a text or a token may come here, and if not, who forbids it.

    Explained are the text asked last, the token chosen last, and a text that died in the text box.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: WhyView = WhyView()
        self._subject: str | bytes | int | None = None
        self._asked = ""  # the subject as it was typed into this panel's own box; "" when it came from elsewhere
        self._token: int | None = None
        self._found: Why | None = None
        self.view.answers("reasons", self._reasons)
        self.actions = {"ask": self._ask, "type": self._type}

    def update(self, change: Change | None) -> None:
        reading, token = self.desk.reading, self.desk.selection.get("token")
        if token != self._token and (token is not None or self._subject == self._token):
            # Another was chosen while nobody saw this, or the text has become another and none is chosen any more.
            self._token = self._subject = token
            self._asked = ""
        if reading is not None and not reading.ok:  # the text in the box went no further than this place
            self._explain(reading.text[reading.read :], lead=reading.text[: reading.read])
        elif self._subject is not None:
            self._explain(self._subject, self._asked)
        else:  # what was asked of another place is over
            self._token = self._subject = self.desk.selection.get("token")
            self._explain(self._subject)

    def chosen(self) -> None:
        token = self.desk.selection.get("token")
        if token == self._token:
            return
        self._token = token
        self._subject = token
        self._asked = ""
        self._explain(token)

    def static_html(self) -> str:
        return "" if self._found is None else card("Why", [], pre(str(self._found)))

    def _ask(self, content: Message) -> None:
        self._asked = str(content.get("text") or "")
        self._subject = parse(self._asked) or None
        self._explain(self._subject, self._asked)

    def _type(self, content: Message) -> None:
        found = self._found
        if found is None or content.get("position") != found.reading.start:
            return  # of another place
        what, number = content.get("what"), int(content.get("number", 0))
        if what == "suggestion":
            text = found.suggestions[number]
        else:
            text = found.read + ((found.forced if what == "forced" else found.end) or b"")
        self._subject = None
        self._asked = ""
        self.desk.do("text", text=text)

    def _explain(self, what: str | bytes | int | None, asked: str = "", lead: bytes = b"") -> None:
        """Show why `what` may come or not, with `asked` in the box: the box never belongs to another answer.

        `lead` was typed before `what`, and read.
        """
        self.view.asked = asked
        vocabulary = self.session.tokenizer.info.vocab_size
        if what is None or (isinstance(what, int) and not 0 <= what < vocabulary):
            self._found = None
            self.view.show({})
            return
        with self.session.inspect.held():
            self._found = why(self.session.inspect, what, reasons=False, lead=lead)
            self.view.show(self._found.state())

    def _reasons(self, _content: Traits) -> Traits:
        """What forbids it, in the words of the source: asked for once the rest is shown."""
        if self._found is not None:
            with self.session.inspect.held():
                if self._found.reading.start == self.session.inspect.position:
                    self._found = with_reasons(self.session.inspect, self._found)
                    self.view.show(self._found.state())
        return {}
