"""What may come next by meaning, what may not and why, and what callers decide.

Read on: `workbench/next/next_tokens.py`, `workbench/next/refusals.py`, `frontend/src/next.js`.
"""

from __future__ import annotations

from typing import Final

import traitlets as t

from visualizers.glyphs import glyph
from visualizers.live_base import LiveView, Traits, synced
from visualizers.tables import card, pre
from visualizers.tokens import token_index
from workbench.next.probes import LONGEST, short_end
from workbench.next.refusals import Callers, callers
from workbench.panels.base import Desk, Message, Panel
from workbench.session import Change, Session

TOKENS: Final = 120
QUICK: Final = 0.03
"""Seconds of search at a step; a search that needs longer goes on when the browser asks for the rest."""
REST: Final = 0.25
"""Seconds of search for the rest: so long, at most, does a key that is pressed meanwhile wait."""

ABOUT: Final = ("label", "pointer", "counts", "closes", "blocked")
"""What the line on an object tells of it."""
TABS: Final = ("next", "members", "refused", "uncertain")

_GIVEN_UP: Final = (
    f"none was found: it has more than {LONGEST:,} bytes, or a token without text, or it takes too long to calculate"
)


class NextView(LiveView[Traits]):
    """`show(outlook.state())` shows the chips and `show_members(members.state())` the objects: `objects` has a line on
    each, and `members`, `refused` and `uncertain` hold the rows of those tabs, or nothing while another is in front.

    `tab` is the tab in front, `json` whether the source is of JSON, which alone has objects with members.  `selection`
    is what all views share, of which this one sets `token`, `rule` and `pointer`.  A chip that is taken comes back as
    {kind: "take", group, chip, position}.
    """

    _module = "next"
    _height = 360
    _placed = ("outlook", "objects", "members", "refused", "uncertain")
    _given = ("tab",)

    outlook = synced(t.Dict())
    objects = synced(t.List())
    members = synced(t.Dict())
    refused = synced(t.Dict())
    uncertain = synced(t.Dict())
    tab = synced(t.Enum(TABS, default_value="next"))
    json = synced(t.Bool(True))
    selection = synced(t.Dict())

    def __init__(self) -> None:
        self._members: Traits = {}
        super().__init__()

    def traits_of(self, snapshot: Traits) -> Traits:
        return {"outlook": dict(snapshot)}

    def show_members(self, members: Traits) -> None:
        """Show the objects that are being written; their members travel while somebody looks at them."""
        self._members = members
        with self.hold_sync():
            self.objects = [
                {key: value for key, value in one.items() if key in ABOUT} for one in members.get("objects", ())
            ]
            self._list_members()

    @t.observe("tab")  # type: ignore[misc]
    def _list_members(self, _change: object = None) -> None:
        self.members = self._members if self.tab == "members" else {}

    def page_state(self) -> Traits:
        return super().page_state() | {"members": self._members}

    def __repr__(self) -> str:
        if not self._shown:
            return "NextView(empty)"
        groups = ", ".join(f"{len(group['chips'])} {group['name']}" for group in self._shown["groups"])
        return f"NextView({groups or 'nothing'})"


class NextPanel(Panel, name="next", title="What next", rank=80):
    """What may come by meaning, the members of the object, and what is refused and why.

    Chips type themselves; the tabs of refused and uncertain tokens are filled when they are looked at.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: NextView = NextView()
        self._callers: Callers | None = None
        self._told: dict[str, object] = {}  # what is shown, for a page without a kernel
        self.view.answers("tokens", lambda content: tokens_of_chip(self.session, content))
        self.view.answers("more", self._rest)
        self.view.answers("end", self._end)
        self.view.answers("reasons", self._reasons)
        self.view.answers("refusal", self._tokens_of_refusal)
        self.view.answers("caller", self._tokens_of_caller)
        self.view.observe(self._fill, names="tab")
        self.actions = {"take": self._take}

    def update(self, change: Change | None) -> None:
        self._told = {}
        here, members = self.session.inspect.next(seconds=QUICK), self.session.inspect.members()
        with self.view.hold_sync():
            self.view.json = self.session.document.is_json
            self.view.show(here.state())
            self.view.show_members(members.state())
            self._told = {"next": here, "members": members}
            self.view.refused, self.view.uncertain = {}, {}
            self._fill()

    def static_html(self) -> str:
        return card("What next", [], "".join(pre(str(one)) for one in self._told.values() if one))

    def _fill(self, _change: object = None) -> None:
        """The rows of the tab in front; the others wait until somebody looks."""
        with self.session.inspect.held():
            if self.view.tab == "refused" and not self.view.refused:
                self.view.refused = self._refusals()
            elif self.view.tab == "uncertain" and not self.view.uncertain:
                self._callers = callers(self.session.inspect.token_sets(), self.session.inspect.rest_callers())
                self.view.uncertain = self._callers.state()

    def _take(self, content: Message) -> None:
        with self.session.inspect.held():
            here = self.session.inspect.next(seconds=QUICK)
            if content.get("position") != here.position:
                return  # the session has moved on: the chip is gone
            if content.get("group") == "forced":
                text, token = here.forced, None
            elif content.get("group") == "shortest":
                text, token = self._shortest() or b"", None
            else:
                chip = here.chip(str(content.get("group")), str(content.get("chip")))
                text, token = chip.text, chip.token
        if token is not None:
            self.desk.do("token", id=token)
        elif text:
            self.desk.do("text", text=text)

    def _rest(self, _content: Traits) -> Traits:
        with self.session.inspect.held():
            self.view.show(self.session.inspect.next(seconds=REST).state())
        return {}

    def _shortest(self) -> bytes | None:
        # The end is read before it is told, which makes states: so it is read by the shadow.
        return short_end(self.session.inspect.shadow())

    def _end(self, _content: Traits) -> Traits:
        """The shortest end of the text from here; `end` is None where none was found, and `note` says why."""
        with self.session.inspect.held():
            end = self._shortest()
        told = {"end": None if end is None else glyph(end), "bytes": len(end or b"")}
        return {**told, "note": _GIVEN_UP} if end is None else told

    def _reasons(self, _content: Traits) -> Traits:
        with self.session.inspect.held():
            self.view.refused = self._refusals(reasons=True)
        return {}

    def _refusals(self, *, reasons: bool = False) -> Traits:
        """The refused tokens, and how their number comes about from those of the token sets."""
        counts = token_index(self.session.inspect.token_sets()).counts
        refused = counts["all"] - counts["allowed"]
        uncertain = refused - counts["rejected"]
        told = f"{refused:,} refused = {counts['rejected']:,} rejected (by the token sets alone)"
        told += f" + {uncertain:,} uncertain that the callers refuse"
        self._told["refused"] = found = self.session.inspect.refusals(reasons=reasons)
        return {**found.state(), "sum": told}

    def _tokens_of_refusal(self, content: Traits) -> Traits:
        with self.session.inspect.held():
            found = self.session.inspect.refusals()
            number = int(content["row"])
            return _listed(self.session, found.ids(number, TOKENS), found.groups[number].count)

    def _tokens_of_caller(self, content: Traits) -> Traits:
        if self._callers is None:
            raise ValueError("no uncertain tokens were listed")
        ids = self._callers.ids[int(content["row"])]
        return _listed(self.session, ids[:TOKENS], len(ids))


def tokens_of_chip(session: Session, content: Traits) -> Traits:
    """The tokens with which a writer of a chip may begin: the answer to {group, chip}."""
    with session.inspect.held():
        here = session.inspect.next(seconds=QUICK)
        chip = here.chip(str(content["group"]), str(content["chip"]))
        return _listed(session, here.tokens(chip, TOKENS), chip.tokens)


def _listed(session: Session, ids: list[int], total: int) -> Traits:
    vocab = session.tokenizer.info.decoded_vocab
    tokens = [{"id": token, "glyph": glyph(bytes(vocab[token]))} for token in ids]
    return {"tokens": tokens, "more": max(0, total - len(ids))}
