"""The view of what may come next by meaning: groups of chips, the members of the object that is being written, and the
refused and uncertain tokens by their reasons.

The state is plain data that `workbench` makes: `NextTokens.state()`, `Members.state()`, and lists of rows for tokens.
A chip that is taken comes back as the message `{kind: "take", group, chip, position}`; the panel knows what it types.

Read on: `frontend/src/next.js`, `workbench/panels/next.py`.
"""

from __future__ import annotations

from typing import Final

import traitlets as t

from visualizers.glyphs import clip, html_escape
from visualizers.live_base import LiveView, Traits, synced
from visualizers.standalone import Part
from visualizers.tables import card, chip, details, dim, table

SHOWN: Final = 60
ABOUT: Final = ("label", "pointer", "counts", "closes", "blocked")
"""What the line on an object tells of it."""
TABS: Final = ("next", "members", "refused", "uncertain")
STATES: Final = {
    "done": "written",
    "here": "being written",
    "next": "may come next",
    "later": "may come later",
    "passed": "cannot come any more",
}
"""What the states of members are called."""


class NextView(LiveView[Traits]):
    """`show(outlook.state())` shows the chips and `show_members(members.state())` the objects: `objects` has a line on
    each, and `members`, `refused` and `uncertain` hold the rows of those tabs, or nothing while another is in front.

    `tab` is the tab in front, `json` whether the source is of JSON, which alone has objects with members.  `selection`
    is what all views share, of which this one sets `token`, `rule` and `pointer`.
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

    def part(self) -> Part:
        part = super().part()
        return {**part, "state": {**part["state"], "members": self._members}}

    def static_html(self) -> str:
        html = outlook_html(self._shown) if self._shown else "<i>nothing shown yet</i>"
        html += members_html(self._members)
        if self.refused.get("rows"):
            html += refused_html(self.refused)
        return html

    def __repr__(self) -> str:
        if not self._shown:
            return "NextView(empty)"
        groups = ", ".join(f"{len(group['chips'])} {group['name']}" for group in self._shown["groups"])
        return f"NextView({groups or 'nothing'})"


def outlook_html(state: Traits) -> str:
    """What may come next as a table that survives every sanitiser; at most `SHOWN` chips a group."""
    rows = []
    for group in state["groups"]:
        labels = ("".join((one["lead"], one["label"], one["then"])) for one in group["chips"][:SHOWN])
        left = max(0, len(group["chips"]) - SHOWN) + group["more"]
        chips = " ".join(chip(label, "accepted", "") for label in labels) + (f" and {left:,} more" if left else "")
        rows.append([f"<b>{html_escape(group['name'])}</b>", chips, f"{group['tokens']:,}"])
    facts = [f"after {state['position']:,} bytes", f"{state['allowed']:,} of {state['size']:,} tokens allowed"]
    facts += [] if state["complete"] else ["there may be more than is listed"]
    facts += [html_escape(state["note"])] if state["note"] else []
    return card("What next", facts, table(["meaning", "what may come next", "tokens"], rows, align="llr"))


def members_html(state: Traits) -> str:
    """The objects that are being written, the innermost first; "" where none is."""
    parts = []
    for one in state.get("objects", ()):
        rows = [
            [said, html_escape(names)]
            for name, said in STATES.items()
            if (names := ", ".join(row[0] + "*" * row[2] for row in one["members"] if row[1] == name))
        ]
        body = table(["members", ""], rows, align="ll") + dim(html_escape(rule_of(one)))
        parts.append(card(f"object {html_escape(one['label'])}", [html_escape(one["summary"])], body))
    return "".join(parts)


def rule_of(one: Traits) -> str:
    """In which order members come, and which others may."""
    order = "members come in the schema's order" if one["ordered"] else "members come in any order"
    return f"* required; {order}; {'others: ' + one['others'] if one['others'] else 'no other names'}"


def refused_html(state: Traits) -> str:
    """The refused tokens by reason, as a table."""
    rows = [
        [
            f"{row['count']:,}",
            *(html_escape(clip(said, 120)) for said in (row["read"], row["fatal"], row["expected"], row["by"])),
        ]
        for row in state["rows"][:SHOWN]
    ]
    heads = ["tokens", "after reading", "refused bytes", "expected", "reason"]
    return details(f"{state['total']:,} tokens refused", table(heads, rows, align="rllll", mono=(1, 2, 3)))
