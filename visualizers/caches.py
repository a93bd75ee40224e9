"""The cache observatory: how every mask was found, which parser states are visited, what is held, what is shared.

`CacheView` shows a `CacheRecord` (every mask of a text, `kernels_core.inspect.fills`) and a `Sharing` (who shares token
sets with whom, `kernels_core.inspect.sharing`) in four tabs; `figure` makes a plotly figure of the same, `static`
tables that survive everywhere.  Times are microseconds of finding or making the mask alone, sizes are bytes.

Read on: `frontend/src/caches.js` (the browser's side), `workbench/reports/caches.py` (`wb.caches`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import traitlets as t

from kernels_core.inspect.fills import CacheRecord, Visit
from kernels_core.inspect.sharing import SharedSet, Sharing, Use
from kernels_core.inspect.snapshots import CacheStats
from kernels_core.inspect.trace import FillEvent, FillKind
from visualizers.glyphs import clip, glyph, html_escape, size, written_name
from visualizers.live_base import LiveView, Traits, synced

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["KINDS", "NAMES", "STRATEGIES", "CacheShot", "CacheView", "figure", "said", "static"]

MAX_SHOWN: Final = 1_500  # masks drawn: the last ones of a longer run
MAX_SETS: Final = 120  # token sets listed
MAX_USES: Final = 40
MAX_STATIC: Final = 60

KINDS: Final[Mapping[FillKind, str]] = {
    "mask hit": "by pointer: this parser state was visited before",
    "token-set hit": "on a first visit, from token sets that this grammar has already",
    "pool hit": "on a first visit, with token sets from the cross-grammar cache (the pool), used as they are",
    "partial hit": "on a first visit, with token sets from the pool that were filtered for what can follow",
    "walk": "on a first visit, by walking the vocabulary's trie from the parser state itself: little is allowed",
    "miss": "on a first visit, with at least one token set that had to be computed",
}
"""How a mask was come by, cheapest first: the legend of every picture here."""

NAMES: Final[Mapping[FillKind, tuple[str, str]]] = {
    "mask hit": ("found", ""),
    "token-set hit": ("put together", "known token sets"),
    "pool hit": ("put together", "the pool's token sets"),
    "partial hit": ("put together", "the pool's, filtered"),
    "walk": ("made", "a walk"),
    "miss": ("made", "new token sets"),
}
"""The three words for it, and what tells apart those of one word.  A mask is *found* by pointer, *put together* from
token sets that are known, or *made*."""

STRATEGIES: Final[Mapping[str, str]] = {
    "direct walk": "the vocabulary's trie was followed from the parser state itself, as that walk is short",
    "self-loop": "a direct walk came to a state that bytes lead back to itself, and took the ready row of such tokens",
    "token edge": "the grammar names tokens by id here; no parser is asked",
    "iteration profile": "the iterations that each token needs of a counted rule are known, and were compared with it",
    "excluded words": "the tokens of any text, less those that would end an excluded word",
    "string body": "strings with equal bodies keep the same tokens; where they may close was added",
    "difference": "the token set of a reference state, walked only where this state differs from it",
    "vocabulary walk": "the whole vocabulary was walked, as none of the others applied",
}
"""What each strategy did for a mask (`FillEvent.strategies`), as in docs/concepts/how-a-mask-is-made.md."""

COLOURS: Final[Mapping[FillKind, str]] = {
    "mask hit": "#1f9d63",
    "token-set hit": "#3aa6b9",
    "pool hit": "#4274ec",
    "partial hit": "#8a5cd6",
    "walk": "#d69414",
    "miss": "#d2463c",
}
COUNTERS: Final = (
    ("masks", "mask_hits", "found", "asked for where the parser state was visited before", "count"),
    ("masks", "mask_misses", "put together or made", "asked for on first visits", "count"),
    (
        "masks",
        "walks",
        "with a walk",
        "first visits that walked the trie: the timeline's “a walk” alone, or with token sets beside",
        "count",
    ),
    ("token sets", "token_set_hits", "known", "found in this grammar, while masks were put together or made", "count"),
    ("token sets", "pool_hits", "from the pool", "found in the cross-grammar cache and used as they are", "count"),
    ("token sets", "partial_hits", "from the pool, filtered", "found there and filtered for what can follow", "count"),
    ("token sets", "token_set_misses", "made", "computed; a mask may need none or several", "count"),
    ("token sets", "nodes_walked", "trie nodes visited", "while token sets were computed", "count"),
    ("token sets", "lookahead_dropped", "dropped", "uncertain tokens that the lookahead filter left out", "count"),
    ("parser", "sets", "parser states", "interned Earley sets alive; masks were asked for at some of them", "alive"),
    ("parser", "frames", "return contexts", "of predicted rules, interned, alive", "alive"),
    ("parser", "states", "automaton states", "made so far", "alive"),
    ("parser", "step_hits", "steps found", "byte transitions between parser states that were known", "count"),
    (
        "parser",
        "step_misses",
        "steps made",
        "byte transitions made, those of walks included",
        "count",
    ),
    ("parser", "renewals", "renewals", "times that all of this was made anew to stay within the budget", "count"),
    ("held", "masks", "masks", "parser states with a mask", "alive"),
    ("held", "distinct_masks", "different masks", "among them; equal masks are one", "alive"),
    ("held", "token_sets", "token sets", "accepted, rejected and uncertain tokens of an automaton state", "alive"),
    ("held", "arena_bytes", "parser states", "memory", "bytes"),
    ("held", "mask_bytes", "masks", "memory", "bytes"),
    ("held", "token_set_bytes", "token sets", "memory; those that others hold as well in equal shares", "bytes"),
)
"""The engine's counters as the view lists them: of what, name in `CacheStats`, what it is called here, what it counts,
unit."""

_NUMBER: Final = {kind: number for number, kind in enumerate(KINDS)}


@dataclass(frozen=True)
class CacheShot:
    """What the view shows: a record, the sharing (None: not asked for), and the step one stands at.

    `tokens[k]` is the text of the token taken after the mask of step k, where it is known.  `stats`: the engine's
    counters.  `places[k]`: where in the source the text stood at step k, where that is known.  `tools` are the names of
    the source's tools: what belongs to one goes by its name, however its rules are called.  `present[k]` is the mask of
    the text on screen after k steps: others of the record belong to texts that were there before (None: to this one).
    """

    record: CacheRecord
    sharing: Sharing | None = None
    step: int = 0
    tokens: Sequence[bytes] = ()
    stats: CacheStats | None = None
    places: Mapping[int, str] = field(default_factory=dict)
    tools: Sequence[str] = ()
    present: Sequence[FillEvent | None] | None = None


class CacheView(LiveView[CacheShot]):
    """Timeline, parser states, memory and sharing of one text's masks.

    `step` is the step one stands behind, and masks go by the step after which they were asked for; a click on a mask or
    a parser state sends `{"kind": "goto", "index": step}`.
    """

    _module = "caches"
    _height = 360
    _follows = ("step",)

    about = synced(t.Dict())
    visits = synced(t.Dict())
    states = synced(t.List())
    held = synced(t.Dict())
    sharing = synced(t.Dict())
    stats = synced(t.Dict())
    counters = synced(t.List())
    step = synced(t.Int(0))
    tab = synced(t.Unicode("timeline"))

    def __init__(self, shot: CacheShot | None = None) -> None:
        super().__init__()
        if shot is not None:
            self.show(shot)

    def traits_of(self, snapshot: CacheShot) -> Traits:
        record = snapshot.record
        return {
            "about": _about(record),
            "visits": _visits(record, snapshot.tokens, snapshot.places, snapshot.present),
            "states": _states(record, snapshot.places),
            "held": _held(record),
            "sharing": {} if snapshot.sharing is None else _sharing(snapshot.sharing, snapshot.tools),
            "stats": {} if snapshot.stats is None else asdict(snapshot.stats),
            "counters": [] if snapshot.stats is None else [list(row) for row in COUNTERS],
            "step": snapshot.step,
        }

    def play_steps(self, shot: CacheShot, steps: int) -> None:
        """Show a finished run of `steps` tokens; the browser then moves the mark by `index` alone."""
        self.show(shot)
        self.steps = [{"step": step} for step in range(steps + 1)]
        self.index = 0

    def static_html(self) -> str:
        return static(self._shown) if self._shown else "<i>no masks shown yet</i>"

    def __repr__(self) -> str:
        return f"CacheView({self._shown.record!r})" if self._shown else "CacheView(empty)"


def _about(record: CacheRecord) -> Traits:
    shown = record.visits[-MAX_SHOWN:]
    return {
        "kinds": [[kind, told, record.totals()[kind], *NAMES[kind]] for kind, told in KINDS.items()],
        "strategies": dict(STRATEGIES),
        "masks": len(record),
        "hidden": len(record) - len(shown) + record.dropped,
        "states": len({(visit.renewal, visit.set_id) for visit in record.visits}),
        "nanoseconds": sum(visit.event.nanoseconds for visit in record.visits),
    }


def _of_text(shown: Sequence[Visit], present: Sequence[FillEvent | None]) -> list[bool]:
    """Which masks belong to the text that is there: those of `present`, and what was asked again after them."""
    reached: set[int] = set()
    found = []
    for visit in shown:
        step = visit.event.step
        if step < len(present) and present[step] == visit.event:
            reached.add(step)
        found.append(step in reached)
    return found


def _visits(
    record: CacheRecord,
    tokens: Sequence[bytes],
    places: Mapping[int, str],
    present: Sequence[FillEvent | None] | None,
) -> Traits:
    shown = record.visits[-MAX_SHOWN:]
    order = {key: number for number, key in enumerate(_order(record))}
    mine = [True] * len(shown) if present is None else _of_text(shown, present)
    latest = {visit.event.step: k for k, visit in enumerate(shown) if mine[k]}
    told = [latest.get(visit.event.step) == k for k, visit in enumerate(shown)]
    texts = [
        clip(glyph(tokens[visit.event.step]), 20) if visit.event.step < len(tokens) and told[k] else ""
        for k, visit in enumerate(shown)
    ]
    return {
        "step": [visit.event.step for visit in shown],
        "kind": [_NUMBER[visit.event.kind] for visit in shown],
        "us": [round(visit.event.nanoseconds / 1e3, 3) for visit in shown],
        "bytes": [visit.event.nbytes for visit in shown],
        "made": [visit.event.token_sets_made for visit in shown],
        "pool": [visit.event.pool_hits + visit.event.partial_hits for visit in shown],
        "state": [order[visit.renewal, visit.set_id] for visit in shown],
        "strategies": [", ".join(visit.event.strategies) for visit in shown],
        "token": texts,
        "other": [not one for one in mine],
        "place": [places.get(visit.event.step, "") if told[k] else "" for k, visit in enumerate(shown)],
    }


def _order(record: CacheRecord) -> list[tuple[int, int]]:
    return list(dict.fromkeys((visit.renewal, visit.set_id) for visit in record.visits))


def _states(record: CacheRecord, places: Mapping[int, str]) -> list[list[Any]]:
    """[set id, visits, first step, how the mask was come by first, where it stands, microseconds in all]."""
    latest = {(visit.renewal, visit.set_id): visit.event.step for visit in record.visits}
    return [
        [state.set_id, state.visits, state.first_step, _NUMBER[state.first_kind],
         places.get(latest[state.renewal, state.set_id]) or _place(state.where), round(state.nanoseconds / 1e3, 3)]
        for state in record.states()[:MAX_SHOWN]
    ]  # fmt: skip


def _held(record: CacheRecord) -> Traits:
    shown = record.visits[-MAX_SHOWN:]
    names = (
        "sets",
        "masks",
        "token_sets",
        "arena_bytes",
        "mask_bytes",
        "token_set_bytes",
        "pool_bytes",
    )
    return {name: [round(getattr(visit.held, name)) for visit in shown] for name in names}


def _place(where: Sequence[str]) -> str:
    """The rules under way, each by the name that it was written with, and once."""
    names = [written_name(name) for name in where]
    return " › ".join(clip(name, 32) for k, name in enumerate(names) if not k or name != names[k - 1])


def _part(part: str, tools: Sequence[str]) -> str:
    """The tool that the rule `part` belongs to, else the rule as it was written."""
    for tool in sorted(tools, key=len, reverse=True):
        written = re.escape(re.sub(r"\W", "_", tool))
        if re.search(rf"(?<![^\W_]){written}(?![^\W_])", part):
            return tool
    return written_name(part)


def _sharing(found: Sharing, tools: Sequence[str]) -> Traits:
    return {
        "grammars": [
            [share.number, share.root, share.about, share.token_sets, share.made, share.found, share.nbytes]
            for share in found.grammars
        ],
        "sets": [_set_row(one, tools) for one in found.sets[:MAX_SETS]],
        "hidden": max(0, len(found.sets) - MAX_SETS),
        "pool": {
            "sets": found.pool_sets,
            "idle": found.idle_sets,
            "bytes": found.pool_bytes,
            "budget": found.pool_budget,
            "hits": found.pool_hits,
            "partial": found.pool_partial_hits,
            "misses": found.pool_misses,
            "evictions": found.pool_evictions,
        },
    }


def _set_row(one: SharedSet, tools: Sequence[str]) -> Traits:
    first = one.uses[0]
    return {
        "number": one.number,
        "rule": clip(first.rule, 40),
        "bytes": one.nbytes,
        "storage": one.storage,
        "us": None if one.nanoseconds is None else round(one.nanoseconds / 1e3, 1),
        "origin": one.origin,
        "followed": _followed(first),
        "in_pool": one.in_pool,
        "uses": [
            [
                use.grammar,
                clip(_part(use.part, tools), 40),
                clip(use.rule, 40),
                use.state,
                use.relation,
                _place(use.inside),
                use.places,
            ]
            for use in one.uses[:MAX_USES]
        ],
        "more": max(0, len(one.uses) - MAX_USES),
    }


def _followed(use: Use) -> str:
    """For which callers the verdicts are."""
    if use.callers is None:
        return "any caller"
    return f"callers that go on with {glyph(use.callers)}" if use.callers else "callers that end here"


def static(shot: CacheShot) -> str:
    """The record and the sharing as tables: no scripts, no classes, nothing that a sanitiser drops."""
    record = shot.record
    total = sum(visit.event.nanoseconds for visit in record.visits)
    rows = "".join(
        f'<tr><td style="text-align:left"><span style="color:{COLOURS[kind]}">■</span> {said(kind)}</td>'
        f"<td>{count:,}</td><td>{_microseconds(record, kind)}</td>"
        f'<td style="text-align:left;opacity:0.75">{html_escape(KINDS[kind])}</td></tr>'
        for kind, count in ((kind, record.totals()[kind]) for kind in KINDS)
        if count
    )
    head = (
        f"<div><b>Caches</b> · {_many(len(record), 'mask')}, {_many(len(record.states()), 'parser state')}, "
        f"{total / 1e3:,.1f} µs in all</div>"
    )
    kinds = f"<table><tr><th>the mask was</th><th>masks</th><th>µs, median</th><th></th></tr>{rows}</table>"
    shared = _static_sharing(shot.sharing, shot.tools)
    return f'<div style="font-size:13px">{head}{kinds}{_static_visits(shot)}{shared}</div>'


def said(kind: FillKind) -> str:
    """A kind in words: `put together, with the pool`."""
    return ", ".join(filter(None, NAMES[kind]))


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _microseconds(record: CacheRecord, kind: FillKind) -> str:
    times = sorted(visit.event.nanoseconds for visit in record.visits if visit.event.kind == kind)
    return f"{times[len(times) // 2] / 1e3:,.1f}" if times else ""


def _static_visits(shot: CacheShot) -> str:
    visits = shot.record.visits[-MAX_STATIC:]
    rows = "".join(
        f"<tr><td>{visit.event.step}</td>"
        f'<td style="text-align:left"><span style="color:{COLOURS[visit.event.kind]}">■</span> '
        f"{said(visit.event.kind)}</td>"
        f'<td style="text-align:left">{", ".join(visit.event.strategies)}</td>'
        f"<td>{visit.event.nanoseconds / 1e3:,.1f}</td><td>{visit.event.nbytes:,}</td><td>{visit.set_id}</td>"
        f'<td style="text-align:left">{html_escape(_place(visit.where))}</td></tr>'
        for visit in visits
    )
    if not rows:
        return ""
    more = len(shot.record) - len(visits)
    left = f" (the last {len(visits)} of {len(shot.record):,})" if more else ""
    return (
        f"<details><summary>mask by mask{left}</summary><table><tr><th>after step</th><th>the mask was</th>"
        f"<th>strategies</th><th>µs</th><th>bytes</th><th>parser state</th><th>rules under way</th></tr>"
        f"{rows}</table></details>"
    )


def _static_sharing(found: Sharing | None, tools: Sequence[str]) -> str:
    if found is None or not found.sets:
        return ""
    rows = []
    for one in found.sets[:MAX_STATIC]:
        made = (
            f"{_part(one.uses[0].part, tools)} (grammar {one.uses[0].grammar})"
            if one.origin == "a grammar"
            else one.origin
        )
        uses = ", ".join(
            dict.fromkeys(f"{_part(use.part, tools)} (grammar {use.grammar}, {use.relation})" for use in one.uses)
        )
        rows.append(
            f'<tr><td style="text-align:left">{html_escape(clip(one.uses[0].rule, 40))}</td><td>{one.nbytes:,}</td>'
            f'<td style="text-align:left">{html_escape(made)}</td>'
            f'<td style="text-align:left">{html_escape(clip(uses, 300))}</td></tr>'
        )
    return (
        f"<details><summary>who shares token sets with whom: {_many(len(found.sets), 'token set')}, "
        f"pool {size(found.pool_bytes)}</summary><table><tr><th>rule</th><th>bytes</th><th>made by</th>"
        f"<th>used by</th></tr>{''.join(rows)}</table></details>"
    )


def figure(shot: CacheShot, *, note: str = "") -> go.Figure:
    """Timeline, visits by parser state, and memory, under each other; `note` (versions, seed) stands below."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    record = shot.record
    states = record.states()
    titles = (
        f"Time of each mask (n = {len(record):,})",
        f"Visits of each parser state (n = {len(states):,})",
        "What this grammar's caches hold",
    )
    drawn = make_subplots(rows=3, cols=1, subplot_titles=titles, vertical_spacing=0.13)
    for kind, told in KINDS.items():
        some = [(i, visit) for i, visit in enumerate(record.visits) if visit.event.kind == kind]
        if some:
            drawn.add_trace(
                go.Scatter(
                    x=[i for i, _ in some],
                    y=[max(visit.event.nanoseconds, 1) / 1e3 for _, visit in some],
                    customdata=[(visit.event.step, visit.event.nbytes, _place(visit.where)) for _, visit in some],
                    hovertemplate="%{y:.1f} µs, %{customdata[1]:,} B<br>after step %{customdata[0]}, %{customdata[2]}",
                    mode="markers",
                    name=f"{said(kind)} ({len(some):,})",
                    marker={"color": COLOURS[kind], "size": 6},
                    hoverlabel={"namelength": -1},
                    meta=told,
                ),
                row=1,
                col=1,
            )
    drawn.add_trace(
        go.Bar(
            x=[f"set {state.set_id}" for state in states],
            y=[state.visits for state in states],
            marker={"color": [COLOURS[state.first_kind] for state in states]},
            customdata=[_place(state.where) for state in states],
            hovertemplate="%{x}: %{y} visits<br>%{customdata}<extra></extra>",
            showlegend=False,
        ),
        row=2,
        col=1,
    )
    for name, label in (("arena_bytes", "parser states"), ("mask_bytes", "masks"), ("token_set_bytes", "token sets")):
        drawn.add_trace(
            go.Scatter(
                x=list(range(len(record))),
                y=[getattr(visit.held, name) / 1024 for visit in record.visits],
                stackgroup="held",
                name=label,
            ),
            row=3,
            col=1,
        )
    drawn.update_xaxes(title_text="mask, in the order asked for", row=1, col=1)
    drawn.update_yaxes(title_text="µs (log)", type="log", row=1, col=1)
    drawn.update_xaxes(title_text="parser state, by first visit (colour: how its mask was found)", row=2, col=1)
    drawn.update_xaxes(showticklabels=len(states) <= 40, row=2, col=1)
    drawn.update_yaxes(title_text="visits", row=2, col=1)
    drawn.update_xaxes(title_text="mask, in the order asked for", row=3, col=1)
    drawn.update_yaxes(title_text="KiB", row=3, col=1)
    drawn.update_layout(height=860, template="plotly_white", margin={"t": 60, "b": 90})
    if note:
        drawn.add_annotation(
            text=html_escape(note), xref="paper", yref="paper", x=0, y=-0.1, showarrow=False, font={"size": 11}
        )
    return drawn
