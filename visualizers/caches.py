"""The caches as one picture: how every mask was come by, what that took, what is held, and who shares it.

`CacheView` shows a `CacheRecord` (every mask of a text, `kernels_core.inspect.fills`) and a `Sharing` (who shares token
sets with whom, `kernels_core.inspect.sharing`); `figure` makes a plotly figure of the masks, `static` tables that
survive everywhere.  Times are microseconds of finding or making the mask alone, sizes are bytes.

Read on: `frontend/src/caches.ts` (the browser's side), `workbench/reports/caches.py` (`wb.caches`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import traitlets as t

from kernels_core.inspect.fills import CacheRecord, Visit
from kernels_core.inspect.sharing import SharedSet, Sharing, Use
from kernels_core.inspect.snapshots import CacheStats
from kernels_core.inspect.trace import FillEvent, FillKind
from visualizers.glyphs import clip, glyph, html_escape, many, size, written_name
from visualizers.live_base import LiveView, Traits, synced
from visualizers.tables import card, details, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_SHOWN: Final = 1_500  # masks drawn: the last ones of a longer run
MAX_SETS: Final = 40  # token sets listed
MAX_PARTS: Final = 8  # parts of grammars that have a column
MAX_STATIC: Final = 60

KINDS: Final[Mapping[FillKind, str]] = {
    "mask hit": "by pointer: this parser state was visited before",
    "token-set hit": "on a first visit, from token sets that this grammar has already",
    "pool hit": "on a first visit, with token sets from the cross-grammar cache, used as they are",
    "partial hit": "on a first visit, with token sets from the cross-grammar cache, filtered for what can follow",
    "walk": "on a first visit, by walking the trie from the parser state: little is allowed, or few tokens are left",
    "miss": "on a first visit, with at least one token set that had to be computed",
}
"""How a mask was come by, cheapest first: the legend of every picture here."""

NAMES: Final[Mapping[FillKind, tuple[str, str]]] = {
    "mask hit": ("found", ""),
    "token-set hit": ("put together", "known token sets"),
    "pool hit": ("put together", "from the cross-grammar cache"),
    "partial hit": ("put together", "from the cross-grammar cache, filtered"),
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

COLOURS: Final[Mapping[str, str]] = {"found": "#7cc4a8", "put together": "#5b8def", "made": "#b4509a"}
HELD: Final = (("arena_bytes", "parser states"), ("mask_bytes", "masks"), ("token_set_bytes", "token sets"))
COUNTERS: Final = (
    ("masks", "mask_hits", "found", "asked for where the parser state was visited before", "count"),
    ("masks", "mask_misses", "put together or made", "asked for on first visits", "count"),
    ("masks", "walks", "with a walk", "first visits that walked the trie, alone or with token sets beside", "count"),
    ("token sets", "token_set_hits", "known", "found in this grammar, while masks were put together or made", "count"),
    ("token sets", "pool_hits", "from the cross-grammar cache", "used as they are", "count"),
    ("token sets", "partial_hits", "from the cross-grammar cache, filtered", "filtered for what can follow", "count"),
    ("token sets", "token_set_misses", "made", "computed; a mask may need none or several", "count"),
    ("token sets", "nodes_walked", "trie nodes visited", "while token sets were computed", "count"),
    ("token sets", "lookahead_dropped", "dropped", "uncertain tokens that the lookahead filter left out", "count"),
    ("parser", "sets", "parser states", "interned Earley sets alive; masks were asked for at some of them", "alive"),
    ("parser", "frames", "return contexts", "of predicted rules, interned, alive", "alive"),
    ("parser", "states", "automaton states", "made so far", "alive"),
    ("parser", "step_hits", "steps found", "byte transitions between parser states that were known", "count"),
    ("parser", "step_misses", "steps made", "byte transitions made, those of walks included", "count"),
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


@dataclass(frozen=True)
class CacheShot:
    """What the view shows: a record, the sharing (None: not known), and the step one stands at.

    `tokens[k]` is the text of the token taken after the mask of step k, where it is known.  `stats`: the engine's
    counters.  `places[k]`: where in the source the text stood at step k, where that is known.  `tools` are the names of
    the source's tools: what belongs to one goes by its name, however its rules are called.  `present[k]` is the mask of
    the text on screen after k steps: others of the record belong to texts that were there before (None: to this one).
    `current`: which of the sharing's grammars is on screen (None: all are alike); the others were there before.
    `written` turns the engine's names of rules into those of the source.
    """

    record: CacheRecord
    sharing: Sharing | None = None
    step: int = 0
    tokens: Sequence[bytes] = ()
    stats: CacheStats | None = None
    places: Mapping[int, str] = field(default_factory=dict)
    tools: Sequence[str] = ()
    present: Sequence[FillEvent | None] | None = None
    current: int | None = None
    written: Callable[[str], str] = str

    @property
    def headline(self) -> str:
        """What one sees, in a sentence."""
        record = self.record
        words = dict.fromkeys(COLOURS, 0)
        for kind, count in record.totals().items():
            words[NAMES[kind][0]] += count
        told = ", ".join(f"{count:,} {word}" for word, count in words.items() if count)
        spent = sum(visit.event.nanoseconds for visit in record.visits)
        shown = record.visits[-MAX_SHOWN:]
        left = len(record) + record.dropped - len(shown)
        gone = 0 if self.present is None else _of_text(shown, self.present).count(False)
        others = f"; {gone:,} of them for texts before this one" if gone else ""
        others += f"; the first {left:,} are not drawn" if left else ""
        return (
            f"{many(len(record), 'mask')} in {_time(spent)}{': ' if told else ''}{told}, at "
            f"{many(len(record.times()), 'parser state')}{others}"
        )

    @property
    def shared(self) -> str:
        """What is shared, in a sentence."""
        sets = self.sets
        if not sets:
            return "no mask has needed a token set yet: all were found, or walked"
        several = [one for one in sets if len(one.parts) > 1]
        ready = [one for one in sets if one.origin != "a grammar"]
        told = f"{len(several):,} used by several parts" if several else "no part uses another's"
        made = f"; {len(ready):,} {'were' if len(ready) > 1 else 'was'} there before" if ready else ""
        return f"{many(len(sets), 'token set')} of {size(sum(one.nbytes for one in sets))}: {told}{made}"

    @property
    def sets(self) -> list[SharedSet]:
        """The token sets; of a grammar on screen, those that it uses."""
        found = () if self.sharing is None else self.sharing.sets
        return [one for one in found if self.current in (None, *one.grammars)]


class CacheView(LiveView[CacheShot]):
    """Every mask of a text over its steps, the bytes held then, and the token sets that parts share.

    `step` is the step one stands behind, and masks go by the step after which they were asked for; a click on a mask
    sends `{"kind": "goto", "index": step}`.
    """

    _module = "caches"
    _height = 420
    _follows = ("step",)

    head = synced(t.Unicode())
    ways = synced(t.List())
    visits = synced(t.Dict())
    strategies = synced(t.Dict(dict(STRATEGIES)))
    sharing = synced(t.Dict())
    stats = synced(t.Dict())
    counters = synced(t.List([list(row) for row in COUNTERS]))
    step = synced(t.Int(0))

    def traits_of(self, snapshot: CacheShot) -> Traits:
        return {
            "head": snapshot.headline,
            "ways": _ways(snapshot.record),
            "visits": _visits(snapshot),
            "sharing": _sharing(snapshot),
            "stats": {} if snapshot.stats is None else asdict(snapshot.stats),
            "step": snapshot.step,
        }

    def play_steps(self, shot: CacheShot, steps: int) -> None:
        """Show a finished run of `steps` tokens; the browser then moves the mark by `index` alone."""
        self.show(shot)
        self.steps = [{"step": step} for step in range(steps + 1)]
        self.index = 0

    def tables_of(self, snapshot: CacheShot) -> str:
        return static(snapshot)

    def __repr__(self) -> str:
        return f"CacheView({'empty' if self._shown is None else repr(self._shown.record)})"


def _ways(record: CacheRecord) -> list[list[Any]]:
    """[word, by what, in a sentence, masks, microseconds: the median, in all] for each kind that is there."""
    rows: list[list[Any]] = []
    for kind, told in KINDS.items():
        times = sorted(visit.event.nanoseconds / 1e3 for visit in record.visits if visit.event.kind == kind)
        if times:
            rows.append([*NAMES[kind], told, len(times), times[len(times) // 2], sum(times)])
    return rows


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


def _visits(shot: CacheShot) -> Traits:
    """Columns, one row a mask; `times`: how often its parser state was visited in all."""
    shown = shot.record.visits[-MAX_SHOWN:]
    times = shot.record.times()
    mine = [True] * len(shown) if shot.present is None else _of_text(shown, shot.present)
    latest = {visit.event.step: k for k, visit in enumerate(shown) if mine[k]}
    told = [latest.get(visit.event.step) == k for k, visit in enumerate(shown)]
    tokens = [
        clip(glyph(shot.tokens[visit.event.step]), 20) if visit.event.step < len(shot.tokens) and told[k] else ""
        for k, visit in enumerate(shown)
    ]
    return {
        "step": [visit.event.step for visit in shown],
        "word": [list(COLOURS).index(NAMES[visit.event.kind][0]) for visit in shown],
        "by": [NAMES[visit.event.kind][1] for visit in shown],
        "us": [round(visit.event.nanoseconds / 1e3, 3) for visit in shown],
        "bytes": [visit.event.nbytes for visit in shown],
        "made": [visit.event.token_sets_made for visit in shown],
        "pool": [visit.event.pool_hits + visit.event.partial_hits for visit in shown],
        "state": [visit.set_id for visit in shown],
        "times": [times[visit.renewal, visit.set_id] for visit in shown],
        "strategies": [list(visit.event.strategies) for visit in shown],
        "token": tokens,
        "other": [not one for one in mine],
        "place": [
            (shot.places.get(visit.event.step, "") if told[k] else "") or _place(shot, visit.where)
            for k, visit in enumerate(shown)
        ],
        "held": [[label, [round(getattr(visit.held, name)) for visit in shown]] for name, label in HELD],
        "pooled": [round(visit.held.pool_bytes) for visit in shown],
    }


def _place(shot: CacheShot, where: Sequence[str]) -> str:
    """The rules under way, each by the name that it was written with, and once."""
    names = [shot.written(written_name(name)) for name in where]
    return " › ".join(clip(name, 32) for k, name in enumerate(names) if not k or name != names[k - 1])


def _part(part: str, tools: Sequence[str]) -> str:
    """The tool that the rule `part` belongs to, else the rule as it was written."""
    for tool in sorted(tools, key=len, reverse=True):
        written = re.escape(re.sub(r"\W", "_", tool))
        if re.search(rf"(?<![^\W_]){written}(?![^\W_])", part):
            return tool
    return written_name(part)


def _sharing(shot: CacheShot) -> Traits:
    """`parts`: what has a column, the widest users first; `sets`: a row each, with the relation of each part to it."""
    found = shot.sharing
    if found is None:
        return {}
    users = {one.number: _users(shot, one) for one in shot.sets}
    count = Counter(name for used in users.values() for name in used)
    parts = [name for name, _ in count.most_common(MAX_PARTS)]
    return {
        "said": shot.shared,
        "parts": parts,
        "more_parts": len(count) - len(parts),
        "sets": [_set_row(shot, one, parts, users[one.number]) for one in shot.sets[:MAX_SETS]],
        "more_sets": max(0, len(shot.sets) - MAX_SETS),
        "grammars": [
            f"grammar {share.number}: {share.about or share.root} · {many(share.token_sets, 'token set')}, "
            f"{share.made:,} made, {share.found:,} found"
            for share in found.grammars
        ],
        "pool": f"the cross-grammar cache holds {many(found.pool_sets, 'token set')}, {size(found.pool_bytes)} of "
        f"{size(found.pool_budget)}: {found.pool_hits:,} found and used as they are, {found.pool_partial_hits:,} found "
        f"and then filtered, {found.pool_misses:,} not found, {many(found.pool_evictions, 'eviction')}",
    }


def _users(shot: CacheShot, one: SharedSet) -> dict[str, Use]:
    """The parts that use a token set, by name, the one that made it first."""
    several = shot.sharing is not None and len(shot.sharing.grammars) > 1
    names: dict[str, Use] = {}
    for use in one.uses:
        part = clip(shot.written(_part(use.part, shot.tools)), 24)
        other = f" · {use.grammar}" if shot.current is None else " · before" if use.grammar != shot.current else ""
        names.setdefault(part + other if several else part, use)
    return names


def _set_row(shot: CacheShot, one: SharedSet, parts: Sequence[str], used: Mapping[str, Use]) -> list[Any]:
    """[name, bytes, microseconds to make or None, in a sentence, the relation by part, uses without a column]"""
    first = one.uses[0]
    rule = shot.written(first.rule)
    told = f"state {first.state:,} of {rule}, for {_followed(first)}; {one.storage}; {SOURCES[one.origin]}"
    us = None if one.nanoseconds is None else round(one.nanoseconds / 1e3, 1)
    relations = [
        f"{use.relation} at {many(use.places, 'parser state')}" if (use := used.get(part)) else "" for part in parts
    ]
    return [
        clip(written_name(rule), 24),
        one.nbytes,
        us,
        told,
        relations,
        sum(name not in parts for name in used),
    ]


SOURCES: Final = {
    "a grammar": "made for the part that is marked so",
    "warm start": "made with the first compiler of the vocabulary (warm start)",
    "unknown": "from a file, or made by a grammar that is gone",
}


def _followed(use: Use) -> str:
    """For which callers the verdicts are."""
    if use.callers is None:
        return "any caller"
    if use.own:
        return f"callers that go on with {glyph(use.callers) or 'nothing'} of what the rule reads"
    return f"callers that go on with {glyph(use.callers)}" if use.callers else "callers that end here"


def static(shot: CacheShot) -> str:
    """The record and the sharing as tables: no scripts, no classes, nothing that a sanitiser drops."""
    rows = [
        [f"{_square(word)} {word}", by, f"{count:,}", f"{median:,.1f}", f"{total:,.1f}", html_escape(told)]
        for word, by, told, count, median, total in _ways(shot.record)
    ]
    heads = ["the mask was", "by", "masks", "µs, median", "µs, in all", ""]
    ways = table(heads, rows, align="llrrrl", mono=(2, 3, 4)) if rows else ""
    return card("Caches", [html_escape(shot.headline)], ways + _static_visits(shot) + _static_sharing(shot))


def _square(word: str) -> str:
    return f'<span style="color:{COLOURS[word]}">■</span>'


def said(kind: FillKind) -> str:
    """A kind in words: `put together, from the cross-grammar cache`."""
    return ", ".join(filter(None, NAMES[kind]))


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:,.1f} ms" if nanoseconds >= 1e6 else f"{nanoseconds / 1e3:,.1f} µs"


def _static_visits(shot: CacheShot) -> str:
    visits = shot.record.visits[-MAX_STATIC:]
    rows = [
        [
            str(visit.event.step),
            f"{_square(NAMES[visit.event.kind][0])} {said(visit.event.kind)}",
            ", ".join(visit.event.strategies),
            f"{visit.event.nanoseconds / 1e3:,.1f}",
            f"{visit.event.nbytes:,}",
            html_escape(_place(shot, visit.where)),
        ]
        for visit in visits
    ]
    if not rows:
        return ""
    last = f" (the last {len(visits)} of {len(shot.record):,})" if len(shot.record) > len(visits) else ""
    heads = ["after step", "the mask was", "strategies", "µs", "bytes", "rules under way"]
    return details(f"mask by mask{last}", table(heads, rows, align="rllrrl", mono=(0, 3, 4)))


def _static_sharing(shot: CacheShot) -> str:
    found = _sharing(shot)
    if not found or not found["sets"]:
        return ""
    heads = ["token set of", "bytes", *map(html_escape, found["parts"])]
    rows = [[html_escape(name), f"{size:,}", *relations] for name, size, _, _, relations, _ in found["sets"]]
    shared = table(heads, rows, align=f"lr{'l' * len(found['parts'])}", mono=(0, 1))
    return details(f"what is shared: {html_escape(found['said'])}", shared)


def figure(shot: CacheShot, *, note: str = "") -> go.Figure:
    """The time of each mask, how often its parser state was visited, and the bytes held, over the masks of a text;
    `note` (versions, seed) stands below."""
    from plotly.subplots import make_subplots

    visits = shot.record.visits
    times = shot.record.times()
    heights = [0.52, 0.06, 0.34]
    drawn = make_subplots(rows=3, cols=1, shared_xaxes=True, row_heights=heights, vertical_spacing=0.04)
    for word, colour in COLOURS.items():
        some = [(k, visit) for k, visit in enumerate(visits) if NAMES[visit.event.kind][0] == word]
        if some:
            drawn.add_bar(
                x=[k for k, _ in some],
                y=[max(visit.event.nanoseconds, 1) / 1e3 for _, visit in some],
                customdata=[(visit.event.step, visit.event.nbytes, _place(shot, visit.where)) for _, visit in some],
                hovertemplate="%{y:.1f} µs, %{customdata[1]:,} B<br>after step %{customdata[0]}, %{customdata[2]}",
                name=f"{word} ({len(some):,})",
                marker={"color": colour, "line": {"width": 0}},
                row=1,
                col=1,
            )
    if visits:
        counts = [[times[visit.renewal, visit.set_id] for visit in visits]]
        drawn.add_heatmap(z=counts, colorscale="Blues", zmin=0, showscale=False, name="visits", row=2, col=1)
    for (name, label), colour in zip(HELD, ("#9aa3ae", "#e69f00", "#56b4e9"), strict=True):
        held = [getattr(visit.held, name) / 1024 for visit in visits]
        drawn.add_scatter(y=held, stackgroup="held", name=label, line={"color": colour, "width": 0}, row=3, col=1)
    drawn.update_xaxes(title_text="masks, in the order asked for", row=3, col=1)
    drawn.update_yaxes(title_text="µs", type="log", row=1, col=1)
    drawn.update_yaxes(title_text="visits", showticklabels=False, row=2, col=1)
    drawn.update_yaxes(title_text="KiB held", rangemode="tozero", row=3, col=1)
    drawn.update_layout(height=420, bargap=0.05, template="plotly_white", margin={"t": 20, "b": 70 if note else 50})
    if note:
        drawn.add_annotation(
            text=html_escape(note), xref="paper", yref="paper", x=0, y=-0.2, showarrow=False, font={"size": 11}
        )
    return drawn
