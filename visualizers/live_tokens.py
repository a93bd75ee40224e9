"""The live views of token sets: every token with what became of it, and the mask as a picture.

The browser asks for rows by message: `{type: "page", tab, query, start, count}` is answered by `{total, rows}`, and
`{type: "token", id}` by `{row}`; who ties a table to a session also answers `{type: "hint", id}`.  A request names its
view and a sequence number, the reply repeats both, so a view can drop what it no longer waits for; what is wrong with a
request comes back as `error`.

Read on: `visualizers/tokens.py` (the index behind them), `frontend/src/tokens.js`, `frontend/src/mask.js`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import traitlets as t

from kernels_core.inspect.snapshots import TokenSets
from visualizers.glyphs import clip, html_escape, many, size
from visualizers.live_base import LiveView, Traits, synced
from visualizers.png import data_uri, mask_width
from visualizers.tables import LINE, badge, card, chip, details, dotted_rules, more, table
from visualizers.tokens import TABS, Ids, Tab, TokenIndex, as_tab, token_index

Members = Callable[[], npt.NDArray[np.bool_]]
"""The tokens of a group, when they are asked for: bool, shape (vocab_size,)."""
DOT_WIDTH: Final = 240
PAGE: Final = 40
STATIC_STATES: Final = 200
STATIC_CHIPS: Final = 60
STATIC_GLYPH: Final = 40
MAX_PAGE: Final = 500
MAX_QUERY: Final = 200
EXPORTED_ROWS: Final = 200
# A recorded run keeps fewer rows a step: its page should stay in the hundreds of kilobytes.
RECORDED_ROWS: Final = 40
FEW: Final = 60
"""Up to so many allowed tokens stand beside the picture of a mask, as texts."""


class _TokenView(LiveView[TokenSets]):
    """A view that answers requests about the token sets shown last."""

    selection = synced(t.Dict())

    _index: TokenIndex | None = None

    def __init__(self, token_sets: TokenSets | None = None) -> None:
        super().__init__(token_sets)
        self.answers("token", self._answer_token)

    def _answer_token(self, content: Traits) -> Traits:
        if self._index is None:
            raise ValueError("no token sets shown yet")
        return {"row": self._index.row(int(content["id"]))} if "id" in content else {}

    @property
    def token_sets(self) -> TokenSets | None:
        """The token sets shown last."""
        return self._shown

    def tables_of(self, snapshot: TokenSets) -> str:
        """Counts, the scannable states, the first tokens of each kind as chips, and the mask as a picture."""
        index = token_index(snapshot)
        counts = index.counts
        facts = [f"after {many(snapshot.position, 'byte')}", f"mask allows {counts['allowed']:,} of {counts['all']:,}"]
        states = [
            [
                str(entry.state),
                dotted_rules(self.written(entry.dot), 90),
                f"{len(entry.accepted):,}",
                f"{int(entry.uncertain.allowed.sum()):,} of {len(entry.uncertain):,}",
                f"{index.rejected_by(entry):,}",
                html_escape(entry.made_by) or "not made",
                f"{html_escape(entry.storage)}, {size(entry.nbytes)}" if entry.storage else "",
            ]
            for entry in snapshot.states[:STATIC_STATES]
        ]
        heads = ["state", "dotted rule", "accepted", "uncertain taken", "rejected", "made by", "stored as"]
        body = table(heads, states, align="rlrrrll", mono=(0, 1, 2, 3, 4))
        body += more(len(snapshot.states) - STATIC_STATES, "states")
        tabs: tuple[Tab, ...] = ("accepted", "uncertain", "stop", "rejected")
        body += "".join(self._chips(index, tab) for tab in tabs if counts[tab])
        picture = (
            f'<img alt="token mask" src="{data_uri(index.picture)}" '
            f'style="width:512px;max-width:100%;margin:4px 0;border:1px solid {LINE}">'
        )
        return card("Token sets", facts, body + details("mask, one pixel a token id", picture, shown=True))

    def _rows(self, index: TokenIndex, ids: Ids) -> list[Traits]:
        """The rows of these tokens, with the names of rules as the source has them."""
        return [row | ({"rule": self.written(row["rule"])} if "rule" in row else {}) for row in index.rows(ids)]

    def _chips(self, index: TokenIndex, tab: Tab) -> str:
        chips = []
        for row in self._rows(index, index.ids(tab)[:STATIC_CHIPS]):
            title, refused = f"id {row['id']}", False
            if row["kind"] == "uncertain":
                rest, refused = clip(row["suffix"], STATIC_GLYPH) or "nothing", not row["allowed"]
                verdict = "refused" if refused else "taken"
                title += f": leaves {row['rule']}, rest {rest}, {verdict}"
            chips.append(chip(clip(row["glyph"], STATIC_GLYPH) or "∅", row["kind"], title, struck=refused))
        count = index.counts[tab]
        first = f" · first {len(chips):,}" if len(chips) < count else ""
        line = f'<div style="padding:4px 0 6px;line-height:22px">{" ".join(chips)}</div>'
        return details(f"{badge(tab, tab)} <b>{count:,}</b>{first}", line, tab != "rejected")

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._index is None:
            return f"{name}(empty)"
        return f"{name}({self._index.counts['allowed']:,} of {self._index.counts['all']:,} tokens allowed)"


class TokenTable(_TokenView):
    """Every token of the vocabulary with what became of it: tabs by kind, search, and rows on demand.

    `tab`, `query`, `state` (one scannable state's id, or None for all) and `group` (one of `groups`, or "" for all) say
    what is listed and can be set from Python; `selection["token"]` is the id that was clicked, or None.  The browser
    asks for 40 rows at a time.
    """

    _module = "tokens"
    _placed = ("counts", "states", "groups", "version", "page")
    _given = ("tab", "query", "state", "group")
    _paged = ("page_by_tab",)
    _height = 440

    tab = synced(t.Enum(TABS, default_value="allowed"))
    query = synced(t.Unicode(""))
    state = synced(t.Int(None, allow_none=True))
    counts = synced(t.Dict())
    states = synced(t.List())
    group = synced(t.Unicode(""))
    groups = synced(t.List(t.Unicode()))
    version = synced(t.Int(0))
    # The first rows of what is listed travel with the step, so that showing a step asks nothing back.
    page = synced(t.Dict())
    page_by_tab = synced(t.Dict())

    def __init__(self, token_sets: TokenSets | None = None) -> None:
        self._members: Mapping[str, Members] = {}
        super().__init__(token_sets)
        self.answers("page", self._answer_page)

    def show(self, snapshot: TokenSets, groups: Mapping[str, Members] | None = None) -> None:
        """Show one step's token sets; tab and query stay, the other filters as long as there is such a state or group.

        `groups` are ways to choose tokens by name: functions that return bool arrays of shape (vocab_size,).
        """
        with self.hold_sync():
            self._members = groups or {}
            self.groups = list(self._members)
            if self.group not in self._members:
                self.group = ""
            if self.state is not None and all(entry.state != self.state for entry in snapshot.states):
                self.state = None
            index = token_index(snapshot) if self.state is None else TokenIndex(snapshot, self.state)
            self._index, self._shown = index, snapshot
            self._tell(index)

    def _tell(self, index: TokenIndex) -> None:
        self.counts = index.counts
        self.states = self._states(index)
        self.version += 1
        ids = index.ids(as_tab(self.tab), self.query, self._within(self.group))
        self.page = {
            "tab": self.tab,
            "query": self.query,
            "group": self.group,
            "version": self.version,
            "total": len(ids),
            "rows": self._rows(index, ids[:PAGE]),
        }

    def _within(self, group: str) -> npt.NDArray[np.bool_] | None:
        """The tokens of a group; None for all of them."""
        if group and group not in self._members:
            raise ValueError(f"there is no group {group!r} here: {', '.join(self._members) or 'none'}")
        return self._members[group]() if group else None

    @t.validate("query")  # type: ignore[misc]
    def _valid_query(self, proposal: Traits) -> str:
        return str(proposal["value"])[:MAX_QUERY]

    @t.observe("state")  # type: ignore[misc]
    def _state_changed(self, change: Traits) -> None:
        if self._shown is None or (self._index is not None and self._index.state == change["new"]):
            return
        try:
            index = TokenIndex(self._shown, change["new"])  # without a state: over all of them
        except KeyError:
            self.state = None
            return
        self._index = index
        with self.hold_sync():
            self._tell(index)

    def traits_of(self, snapshot: TokenSets) -> Traits:
        return self._exported(token_index(snapshot), RECORDED_ROWS)

    def _exported(self, index: TokenIndex, rows: int) -> Traits:
        return {
            "counts": index.counts,
            "states": self._states(index),
            "page_by_tab": {tab: self._rows(index, index.ids(tab)[:rows]) for tab in TABS},
        }

    def _states(self, index: TokenIndex) -> list[Traits]:
        return [
            {
                "state": entry.state,
                "rule": self.written(entry.rule),
                "dot": clip(self.written(entry.dot), DOT_WIDTH),
                "accepted": len(entry.accepted),
                "uncertain": len(entry.uncertain),
                "rejected": index.rejected_by(entry),
            }
            for entry in index.sets.states
        ]

    def page_state(self) -> Traits:
        state = super().page_state() | {"page": {}, "state": None, "group": "", "groups": []}
        return state if self._shown is None else state | self._exported(token_index(self._shown), EXPORTED_ROWS)

    def _answer_page(self, content: Traits) -> Traits:
        tab, query = as_tab(content.get("tab")), str(content.get("query") or "")[:MAX_QUERY]
        start, count = int(content.get("start", 0)), int(content.get("count", PAGE))
        if start < 0 or not 0 < count <= MAX_PAGE:
            raise ValueError(f"rows {start} to {start + count} were asked: expected at most {MAX_PAGE} from 0 on")
        if self._index is None:
            return {"total": 0, "rows": []}
        ids = self._index.ids(tab, query, self._within(str(content.get("group") or "")))
        return {"total": len(ids), "rows": self._rows(self._index, ids[start : start + count])}


class MaskMap(_TokenView):
    """The whole mask as a picture, one pixel a token id; `selection["token"]` is the id that was clicked, or None.

    `picture` is a `data:` URI, and `about` says how many tokens there are and are allowed, how many stand in a row, and
    which are allowed where these are few: a dot among thousands is not seen.
    """

    _module = "mask"
    _placed = ("about", "picture")
    _height = 460

    about = synced(t.Dict())
    picture = synced(t.Unicode(""))

    def show(self, snapshot: TokenSets) -> None:
        """Show one step's mask."""
        self._index = token_index(snapshot)
        super().show(snapshot)

    def traits_of(self, snapshot: TokenSets) -> Traits:
        index = token_index(snapshot)
        size = index.sets.vocab_size
        allowed = index.ids("allowed").tolist() if index.counts["allowed"] <= FEW else []
        few = [[token, index.vocabulary.glyph(token)] for token in allowed]
        about = {"size": size, "allowed": index.counts["allowed"], "columns": mask_width(size), "few": few}
        return {"about": about, "picture": data_uri(index.picture)}
