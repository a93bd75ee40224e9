"""The view of what may come next by meaning: groups of chips, the members of the object that is being written, and the
refused and uncertain tokens by their reasons.

The state is plain data that `workbench` makes: `NextTokens.state()`, `Members.state()`, and lists of rows for tokens.
A chip that is taken comes back as the message `{kind: "take", group, chip, position}`; the panel knows what it types.

Read on: `frontend/src/next.js`, `workbench/panels/next.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import traitlets as t

from visualizers.asked import AskedView
from visualizers.glyphs import clip, html_escape
from visualizers.live_base import Traits, synced
from visualizers.standalone import Part

__all__ = ["NextView", "outlook_html"]

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


class NextView(AskedView[Mapping[str, Any]]):
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

    def traits_of(self, snapshot: Mapping[str, Any]) -> Traits:
        return {"outlook": dict(snapshot)}

    def show_members(self, members: Traits) -> None:
        """Show the objects that are being written; their members travel while somebody looks at them."""
        self._members = members
        with self.hold_sync():
            self.objects = [{key: one[key] for key in ABOUT} for one in members.get("objects", ())]
            self._list_members()

    @t.observe("tab")  # type: ignore[misc]
    def _list_members(self, _change: object = None) -> None:
        self.members = self._members if self.tab == "members" else {}

    def part(self) -> Part:
        part = super().part()
        return replace(part, state={**part.state, "members": self._members})

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


_CHIP: Final = (
    "margin:1px 4px 1px 0;padding:0 6px;border-radius:4px;font-family:monospace;background-color:rgba(31,157,99,0.16)"
)
_DIM: Final = "opacity:0.6"
_CELL: Final = "padding:3px 10px;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,136,146,0.35)"


def outlook_html(state: Mapping[str, Any], *, limit: int = SHOWN) -> str:
    """What may come next as a table that survives every sanitiser; at most `limit` chips a group."""
    rows = []
    for group in state["groups"]:
        chips = "".join(
            f'<span style="{_CHIP}"><span style="{_DIM}">{html_escape(chip["lead"])}</span>{html_escape(chip["label"])}'
            f'<span style="{_DIM}">{html_escape(chip["then"])}</span></span> '
            for chip in group["chips"][:limit]
        )
        more = len(group["chips"]) - limit + group["more"] if len(group["chips"]) > limit else group["more"]
        chips += f"<i>and {more:,} more</i>" if more else ""
        rows.append(
            f'<tr><td style="{_CELL}"><b>{html_escape(group["name"])}</b></td><td style="{_CELL}">{chips}</td>'
            f'<td style="{_CELL}">{group["tokens"]:,}</td></tr>'
        )
    head = f"{state['allowed']:,} of {state['size']:,} tokens allowed"
    if not state["complete"]:
        head += "; there may be more than is listed"
    if state["note"]:
        head += f"; {html_escape(state['note'])}"
    heads = "".join(f'<th style="{_CELL}">{name}</th>' for name in ("meaning", "what may come next", "tokens"))
    table = f'<table style="border-collapse:collapse"><tr>{heads}</tr>{"".join(rows)}</table>'
    return f"<div><b>What next</b> after {state['position']:,} bytes: {head}</div>{table}"


def members_html(state: Mapping[str, Any]) -> str:
    """The objects that are being written, the innermost first; "" where none is."""
    parts = []
    for one in state.get("objects", ()):
        rows = "".join(
            f'<tr><td style="{_CELL}">{said}</td><td style="{_CELL}">{html_escape(names)}</td></tr>'
            for name, said in STATES.items()
            if (names := ", ".join(row[0] + "*" * row[2] for row in one["members"] if row[1] == name))
        )
        parts.append(
            f"<div><b>object {html_escape(one['label'])}</b>: {html_escape(one['summary'])}</div>"
            f'<table style="border-collapse:collapse">{rows}</table><div>{html_escape(rule_of(one))}</div>'
        )
    return "".join(parts)


def rule_of(one: Mapping[str, Any]) -> str:
    """In which order members come, and which others may."""
    order = "members come in the schema's order" if one["ordered"] else "members come in any order"
    return f"* required; {order}; {'others: ' + one['others'] if one['others'] else 'no other names'}"


def refused_html(state: Mapping[str, Any], *, limit: int = SHOWN) -> str:
    """The refused tokens by reason, as a table."""
    heads = ("tokens", "after reading", "refused bytes", "expected", "reason")
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}">{html_escape(clip(str(cell), 120))}</td>'
            for cell in (f"{row['count']:,}", row["read"] or "(nothing)", row["fatal"], row["expected"], row["by"])
        )
        + "</tr>"
        for row in state["rows"][:limit]
    )
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in heads)
    return (
        f"<details><summary>{state['total']:,} tokens refused</summary>"
        f'<table style="border-collapse:collapse"><tr>{head}</tr>{rows}</table></details>'
    )
