"""Static displays of every snapshot: what a notebook keeps when there is no kernel, no script and no trust.

An untrusted notebook drops scripts, style sheets, inline SVG, iframes and every inline style that is not a plain
value (`var(...)` too).  So these are tables, inline styles with literal colours, `<details>` and `<img src="data:">`
only, and the colours are half transparent so that they read on white and on black.

Read on: `visualizers/formatters.py` (shows them by themselves), `visualizers/live.py` (the live twins).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from kernels_core.inspect.snapshots import Automaton, CacheStats, Frontier, TokenSets
from kernels_core.inspect.trace import Events, FillEvent, Operations
from visualizers.caches import NAMES, said
from visualizers.dot import DotError, lengths_label, repeat_label
from visualizers.glyphs import clip, glyph, html_escape, size, split_rules
from visualizers.png import data_uri
from visualizers.svg import lit_scene, scene_svg
from visualizers.tables import LINE, badge, card, chip, details, dim, dotted, many, more, table
from visualizers.tokens import Tab, TokenIndex, token_index
from visualizers.way import Travelled

__all__ = ["automaton", "cache_stats", "events", "frontier", "operations", "token_sets"]

MAX_ITEMS: Final = 100
OPERATION_KINDS: Final = {
    "scan": "active",
    "token": "active",
    "predict": "rejected",
    "dispatch": "uncertain",
    "complete": "accepted",
    "iteration": "uncertain",
}
"""The colour of each operation: what is read, what begins, what ends."""
MAX_RULES: Final = 200
MAX_DOTS: Final = 6
MAX_CHIPS: Final = 60
MAX_GLYPH: Final = 40


def frontier(snapshot: Frontier, *, limit: int = MAX_ITEMS) -> str:
    """The Earley items as a table, at most `limit` of them."""
    facts = [f"after {many(snapshot.position, 'byte')}", f"set {snapshot.set_id}", many(len(snapshot), "item")]
    end = badge("may end here", "accepted") if snapshot.completed else badge("must go on", "rejected")
    rows = []
    for item in snapshot.items[:limit]:
        rules = "<br>".join(map(dotted, split_rules(item.dot)[:MAX_DOTS]))
        flags = badge("scans", "active") * item.scannable + badge("completes", "accepted") * item.accepting
        rules += f"<br>{html_escape(item.members)}" if item.members else ""
        count = f"{item.count:,}" if item.count else ""
        rows.append([rules, f"{item.origin:,}", count, str(item.state), flags])
    body = table(["dotted rule", "origin", "count", "state", ""], rows, align="lrrrl", mono=(0, 1, 2, 3))
    return card("Frontier", facts, body + more(len(snapshot.items) - limit, "items"), end)


def token_sets(snapshot: TokenSets, *, limit: int = MAX_CHIPS) -> str:
    """Counts, the mask as a picture, the scannable states, and the first `limit` tokens of each kind as chips."""
    index = token_index(snapshot)
    counts = index.counts
    facts = [f"after {many(snapshot.position, 'byte')}", f"mask allows {counts['allowed']:,} of {counts['all']:,}"]
    states = [
        [
            str(entry.state),
            "<br>".join(dotted(clip(rule, 90)) for rule in split_rules(entry.dot)[:MAX_DOTS]),
            f"{len(entry.accepted):,}",
            f"{int(entry.uncertain.allowed.sum()):,} of {len(entry.uncertain):,}",
            f"{index.rejected_by(entry):,}",
            html_escape(entry.made_by) or "not made",
            f"{html_escape(entry.storage)}, {size(entry.nbytes)}" if entry.storage else "",
        ]
        for entry in snapshot.states[:MAX_RULES]
    ]
    heads = ["state", "dotted rule", "accepted", "uncertain taken", "rejected", "made by", "stored as"]
    body = table(heads, states, align="rlrrrll", mono=(0, 1, 2, 3, 4))
    body += more(len(snapshot.states) - MAX_RULES, "states")
    tabs: tuple[Tab, ...] = ("accepted", "uncertain", "stop", "rejected")
    for tab in tabs:
        if counts[tab]:
            body += _chips(index, tab, counts[tab], limit)
    picture = data_uri(index.picture)
    body += details(
        "mask, one pixel a token id",
        f'<img alt="token mask" src="{picture}" '
        f'style="width:512px;max-width:100%;margin:4px 0;border:1px solid {LINE}">',
        shown=True,
    )
    return card("Token sets", facts, body)


def _chips(index: TokenIndex, tab: Tab, count: int, limit: int) -> str:
    chips = []
    for row in index.rows(index.ids(tab)[:limit]):
        text = clip(row["glyph"], MAX_GLYPH) or "∅"
        title = f"id {row['id']}"
        if row["kind"] == "uncertain":
            rest = clip(row["suffix"], MAX_GLYPH) or "nothing"
            title += f": leaves {row['rule']}, rest {rest}, {'taken' if row['allowed'] else 'refused'}"
        refused = row["kind"] == "uncertain" and not row["allowed"]
        chips.append(chip(text, row["kind"], title, struck=refused))
    shown = min(count, limit)
    summary = f"{badge(tab, tab)} <b>{count:,}</b>" + (f" · first {shown:,}" if shown < count else "")
    return details(
        summary, f'<div style="padding:4px 0 6px;line-height:22px">{" ".join(chips)}</div>', tab != "rejected"
    )


def operations(snapshot: Operations, *, limit: int = MAX_ITEMS) -> str:
    """What the parser did in one step, an operation a row, at most `limit` of them."""
    span = f"bytes {snapshot.begin:,} to {snapshot.position:,}" if snapshot.position else "before the first byte"
    rows = [
        [
            f"{event.position:,}",
            badge(event.kind, OPERATION_KINDS[event.kind]),
            html_escape(clip(event.cause, MAX_GLYPH)),
            "<br>".join(map(dotted, split_rules(event.item.dot)[:MAX_DOTS])),
            f"{event.item.origin:,}",
        ]
        for event in snapshot.events[:limit]
    ]
    body = table(["byte", "operation", "by", "brings", "origin"], rows, align="rlllr", mono=(0, 2, 3, 4))
    facts = [span, many(len(snapshot), "operation")]
    return card("Operations", facts, body + more(len(snapshot) - limit, "operations"))


def events(snapshot: Events, *, limit: int = MAX_ITEMS) -> str:
    """A matcher's events in order of time: steps with the parser's operations, masks with how they were found."""
    rows = []
    for event in snapshot[:limit]:
        micros = f"{event.nanoseconds / 1000:,.2f}"
        if isinstance(event, FillEvent):
            made = f"{many(event.token_sets_made, 'token set')} made" if event.token_sets_made else ""
            found = badge(said(event.kind), "uncertain" if NAMES[event.kind][0] == "made" else "accepted")
            rows.append([f"{event.position:,}", "mask", found, micros, size(event.nbytes), made])
            continue
        text = chip(clip(glyph(event.text), MAX_GLYPH) or "∅", "active", f"token {event.token}")
        counts: dict[str, int] = {}
        for done in event.parser:
            counts[done.kind] = counts.get(done.kind, 0) + 1
        made = f"{many(event.transitions_made, 'transition')} made" if event.transitions_made else "known"
        told = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        rows.append([f"{event.position:,}", "step", text, micros, made, told])
    body = table(["after", "event", "", "µs", "", "operations"], rows, align="rllrll", mono=(0, 3))
    facts = [many(len(snapshot.steps()), "step"), many(len(snapshot.fills()), "mask")]
    return card("Events", facts, body + more(len(snapshot) - limit, "events"))


def cache_stats(snapshot: CacheStats) -> str:
    """All counters in three columns: interned objects, found and made, memory."""
    values = asdict(snapshot)
    placed = {f"{name}_{kind}" for name in ("step", "mask", "token_set") for kind in ("hits", "misses", "bytes")}
    plain = [name for name in values if name not in placed and name != "arena_bytes"]
    rates = []
    for name, label in (("step", "steps"), ("mask", "masks"), ("token_set", "token sets")):
        hits, misses = values[f"{name}_hits"], values[f"{name}_misses"]
        share = f"{100 * hits / (hits + misses):.1f} %" if hits + misses else "–"
        rates.append([label, f"{hits:,}", f"{misses:,}", share])
    memory = [[name.replace("_", " "), size(values[f"{name}_bytes"])] for name in ("arena", "mask", "token_set")]
    tables = (
        table(
            ["interned", ""], [[name.replace("_", " "), f"{values[name]:,}"] for name in plain], align="lr", mono=(1,)
        ),
        table(["memoised", "found", "made", "share found"], rates, align="lrrr", mono=(1, 2, 3)),
        table(["memory", ""], memory, align="lr", mono=(1,)),
    )
    cells = "".join(
        f'<td style="vertical-align:top;text-align:left;padding:0 24px 0 0;border:none">{table}</td>'
        for table in tables
    )
    columns = f'<table style="border:none;margin:0;border-collapse:collapse"><tr>{cells}</tr></table>'
    return card("Counters", [], columns)


def automaton(
    snapshot: Automaton,
    *,
    active: Sequence[int] = (),
    around: int | None = 2,
    travelled: Travelled | None = None,
) -> str:
    """The picture around the active states (of a small automaton all of it) and a table of the rules."""
    chosen, lit = lit_scene(snapshot, active=active, around=around, travelled=travelled)
    picture, notes = "", [chosen.note, "" if chosen.whole else "the part around the parser"]
    try:
        svg = scene_svg(chosen, lit)
    except DotError as error:
        notes = [f"not drawn: {error}"]
    else:
        picture = (
            f'<img alt="automaton" src="{data_uri(svg.encode(), "image/svg+xml")}" '
            'style="max-width:100%;height:auto;margin:6px 0">'
        )
    if chosen.left_out:
        notes.append(f"also at work: {', '.join(chosen.left_out[:4])}{', …' if len(chosen.left_out) > 4 else ''}")
    rows = [
        [
            html_escape(clip(rule.rule, 60)),
            repeat_label(rule.repeat) or lengths_label(rule.lengths),
            f"{len(rule.states):,}",
            f"{len(rule.edges):,}",
            f"{sum(state.accepting for state in rule.states):,}",
            html_escape(clip(", ".join(dict.fromkeys(edge.rule for edge in rule.edges if edge.rule)), 80)),
        ]
        for rule in snapshot.rules[:MAX_RULES]
    ]
    body = table(
        ["rule", "bounds", "states", "edges", "accepting", "calls"], rows, align="llrrrl", mono=(0, 1, 2, 3, 4, 5)
    )
    body += more(len(snapshot.rules) - MAX_RULES, "rules")
    facts = [f"{len(snapshot.rules):,} rules", f"{snapshot.state_count():,} states"]
    note = dim(html_escape("; ".join(filter(None, notes))))
    return card("Automaton", facts, picture + note + details("rules", body, shown=not picture))
