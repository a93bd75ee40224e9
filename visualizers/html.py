"""Static displays of every snapshot: what a notebook keeps when there is no kernel, no script and no trust.

An untrusted notebook drops scripts, style sheets, inline SVG, iframes and every inline style that is not a plain
value (`var(...)` too).  So these are tables, inline styles with literal colours, `<details>` and `<img src="data:">`
only, and the colours are half transparent so that they read on white and on black.

Read on: `visualizers/formatters.py` (shows them by themselves), `visualizers/live.py` (the live twins).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Final, Protocol

from kernels_core.inspect.snapshots import Automaton, CacheStats, Frontier, TokenSets
from kernels_core.inspect.trace import Events, FillEvent, Operations
from visualizers.caches import NAMES, said
from visualizers.dot import DotError, lengths_label, repeat_label
from visualizers.folds import Folds
from visualizers.glyphs import clip, glyph, html_escape, size, split_dot, split_rules
from visualizers.marks import marks
from visualizers.png import data_uri, mask_png
from visualizers.scene import Request, scene
from visualizers.svg import scene_svg
from visualizers.tokens import Tab, TokenIndex, token_index
from visualizers.way import Travelled

__all__ = ["automaton", "cache_stats", "compiled_grammar", "events", "frontier", "grammar", "operations", "token_sets"]

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
MAX_SOURCE: Final = 20_000

_MONO: Final = "font-family:monospace"
_LINE: Final = "rgba(128,136,146,0.35)"
_TINTS: Final = {
    "accepted": (31, 157, 99),
    "uncertain": (214, 148, 20),
    "rejected": (128, 136, 146),
    "stop": (66, 116, 236),
    "active": (66, 116, 236),
}


class GrammarLike(Protocol):
    """What `grammar` reads of a grammar: its rules, and its text by `str`."""

    @property
    def ir(self) -> RulesLike: ...


class RulesLike(Protocol):
    """Rules by name, the root's name, and the text they came from."""

    @property
    def rules(self) -> dict[str, object]: ...
    @property
    def root(self) -> str: ...


class VocabularyLike(Protocol):
    """Anything with a vocabulary size."""

    @property
    def vocab_size(self) -> int: ...


class CompiledLike(Protocol):
    """What `compiled_grammar` reads of a compiled grammar."""

    @property
    def tokenizer_info(self) -> VocabularyLike: ...
    @property
    def memory_size_bytes(self) -> int: ...
    def automaton(self) -> Automaton: ...
    def cache_stats(self) -> CacheStats: ...


def frontier(snapshot: Frontier, *, limit: int = MAX_ITEMS) -> str:
    """The Earley items as a table, at most `limit` of them."""
    facts = [_after(snapshot.position), f"set {snapshot.set_id}", _many(len(snapshot), "item")]
    end = _badge("may end here", "accepted") if snapshot.completed else _badge("must go on", "rejected")
    rows = []
    for item in snapshot.items[:limit]:
        dotted = "<br>".join(map(_dotted, split_rules(item.dot)[:MAX_DOTS]))
        flags = _badge("scans", "active") * item.scannable + _badge("completes", "accepted") * item.accepting
        dotted += f"<br>{html_escape(item.members)}" if item.members else ""
        count = f"{item.count:,}" if item.count else ""
        rows.append([dotted, f"{item.origin:,}", count, str(item.state), flags])
    table = _table(["dotted rule", "origin", "count", "state", ""], rows, align="lrrrl", mono=(0, 1, 2, 3))
    return _card("Frontier", facts, table + _more(len(snapshot.items) - limit, "items"), end)


def _dotted(rule: str) -> str:
    """One dotted rule with its dot marked."""
    parts = split_dot(rule)
    if parts is None:
        return html_escape(rule)
    return f'{html_escape(parts[0])}<b style="color:#4274ec;padding:0 4px">•</b>{html_escape(parts[1])}'


def token_sets(snapshot: TokenSets, *, limit: int = MAX_CHIPS) -> str:
    """Counts, the mask as a picture, the scannable states, and the first `limit` tokens of each kind as chips."""
    index = token_index(snapshot)
    counts = index.counts
    facts = [_after(snapshot.position), f"mask allows {counts['allowed']:,} of {counts['all']:,}"]
    states = [
        [
            str(entry.state),
            "<br>".join(_dotted(clip(rule, 90)) for rule in split_rules(entry.dot)[:MAX_DOTS]),
            f"{len(entry.accepted):,}",
            f"{int(entry.uncertain.allowed.sum()):,} of {len(entry.uncertain):,}",
            f"{index.rejected_by(entry):,}",
            html_escape(entry.made_by) or "not made",
            f"{html_escape(entry.storage)}, {size(entry.nbytes)}" if entry.storage else "",
        ]
        for entry in snapshot.states[:MAX_RULES]
    ]
    heads = ["state", "dotted rule", "accepted", "uncertain taken", "rejected", "made by", "stored as"]
    body = _table(heads, states, align="rlrrrll", mono=(0, 1, 2, 3, 4))
    body += _more(len(snapshot.states) - MAX_RULES, "states")
    tabs: tuple[Tab, ...] = ("accepted", "uncertain", "stop", "rejected")
    for tab in tabs:
        if counts[tab]:
            body += _chips(index, tab, counts[tab], limit)
    picture = data_uri(mask_png(index.mask_bits(), snapshot.vocab_size))
    body += _details(
        "mask, one pixel a token id",
        f'<img alt="token mask" src="{picture}" '
        f'style="width:512px;max-width:100%;margin:4px 0;border:1px solid {_LINE}">',
        shown=True,
    )
    return _card("Token sets", facts, body)


def _chips(index: TokenIndex, tab: Tab, count: int, limit: int) -> str:
    chips = []
    for row in index.rows(index.ids(tab)[:limit]):
        text = clip(row["glyph"], MAX_GLYPH) or "∅"
        title = f"id {row['id']}"
        if row["kind"] == "uncertain":
            rest = clip(row["suffix"], MAX_GLYPH) or "nothing"
            title += f": leaves {row['rule']}, rest {rest}, {'taken' if row['allowed'] else 'refused'}"
        refused = row["kind"] == "uncertain" and not row["allowed"]
        chips.append(_chip(text, row["kind"], title, struck=refused))
    shown = min(count, limit)
    summary = f"{_badge(tab, tab)} <b>{count:,}</b>" + (f" · first {shown:,}" if shown < count else "")
    return _details(
        summary, f'<div style="padding:4px 0 6px;line-height:22px">{" ".join(chips)}</div>', tab != "rejected"
    )


def operations(snapshot: Operations, *, limit: int = MAX_ITEMS) -> str:
    """What the parser did in one step, an operation a row, at most `limit` of them."""
    span = f"bytes {snapshot.begin:,} to {snapshot.position:,}" if snapshot.position else "before the first byte"
    rows = [
        [
            f"{event.position:,}",
            _badge(event.kind, OPERATION_KINDS[event.kind]),
            html_escape(clip(event.cause, MAX_GLYPH)),
            "<br>".join(map(_dotted, split_rules(event.item.dot)[:MAX_DOTS])),
            f"{event.item.origin:,}",
        ]
        for event in snapshot.events[:limit]
    ]
    table = _table(["byte", "operation", "by", "brings", "origin"], rows, align="rlllr", mono=(0, 2, 3, 4))
    facts = [span, _many(len(snapshot), "operation")]
    return _card("Operations", facts, table + _more(len(snapshot) - limit, "operations"))


def events(snapshot: Events, *, limit: int = MAX_ITEMS) -> str:
    """A matcher's events in order of time: steps with the parser's operations, masks with how they were found."""
    rows = []
    for event in snapshot[:limit]:
        micros = f"{event.nanoseconds / 1000:,.2f}"
        if isinstance(event, FillEvent):
            made = f"{_many(event.token_sets_made, 'token set')} made" if event.token_sets_made else ""
            badge = _badge(said(event.kind), "uncertain" if NAMES[event.kind][0] == "made" else "accepted")
            rows.append([f"{event.position:,}", "mask", badge, micros, size(event.nbytes), made])
            continue
        text = _chip(clip(glyph(event.text), MAX_GLYPH) or "∅", "active", f"token {event.token}", struck=False)
        counts: dict[str, int] = {}
        for done in event.parser:
            counts[done.kind] = counts.get(done.kind, 0) + 1
        made = f"{_many(event.transitions_made, 'transition')} made" if event.transitions_made else "known"
        told = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        rows.append([f"{event.position:,}", "step", text, micros, made, told])
    table = _table(["after", "event", "", "µs", "", "operations"], rows, align="rllrll", mono=(0, 3))
    facts = [_many(len(snapshot.steps()), "step"), _many(len(snapshot.fills()), "mask")]
    return _card("Events", facts, table + _more(len(snapshot) - limit, "events"))


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
        _table(
            ["interned", ""], [[name.replace("_", " "), f"{values[name]:,}"] for name in plain], align="lr", mono=(1,)
        ),
        _table(["memoised", "found", "made", "share found"], rates, align="lrrr", mono=(1, 2, 3)),
        _table(["memory", ""], memory, align="lr", mono=(1,)),
    )
    cells = "".join(
        f'<td style="vertical-align:top;text-align:left;padding:0 24px 0 0;border:none">{table}</td>'
        for table in tables
    )
    columns = f'<table style="border:none;margin:0;border-collapse:collapse"><tr>{cells}</tr></table>'
    return _card("Counters", [], columns)


def automaton(
    snapshot: Automaton,
    *,
    active: Sequence[int] = (),
    around: int | None = 2,
    travelled: Travelled | None = None,
) -> str:
    """The picture around the active states (of a small automaton all of it) and a table of the rules."""
    way = travelled or Travelled()
    folds = Folds(snapshot)
    request = Request(
        active=tuple(active),
        waiting=way.callers,
        visited=way.states,
        steps=2 if around is None else around,
        whole=around is None,
    )
    chosen = scene(folds, request)
    picture, notes = "", [chosen.note, "" if chosen.whole else "the part around the parser"]
    try:
        svg = scene_svg(chosen, marks(folds, chosen, active, way))
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
    table = _table(
        ["rule", "bounds", "states", "edges", "accepting", "calls"], rows, align="llrrrl", mono=(0, 1, 2, 3, 4, 5)
    )
    table += _more(len(snapshot.rules) - MAX_RULES, "rules")
    facts = [f"{len(snapshot.rules):,} rules", f"{snapshot.state_count():,} states"]
    said = "; ".join(filter(None, notes))
    note = f'<div style="font-size:12px;opacity:0.7">{html_escape(said)}</div>' if said else ""
    return _card("Automaton", facts, picture + note + _details("rules", table, shown=not picture))


def grammar(grammar_object: GrammarLike) -> str:
    """A grammar's text, and how many rules it has."""
    rules = grammar_object.ir
    text = str(grammar_object)
    cut = clip(text, MAX_SOURCE)
    lines = text.count("\n") + 1
    source = _pre(cut) + _more(len(text) - len(cut), "characters")
    return _card(
        "Grammar",
        [f"root <b>{html_escape(rules.root)}</b>", f"{len(rules.rules):,} rules", f"{lines:,} lines"],
        _details("EBNF", source, shown=lines <= 30),
    )


def compiled_grammar(compiled: CompiledLike) -> str:
    """A compiled grammar: its automaton, its counters, its size."""
    snapshot = compiled.automaton()
    facts = [
        f"root <b>{html_escape(snapshot.root)}</b>",
        f"{snapshot.state_count():,} states",
        f"{compiled.tokenizer_info.vocab_size:,} tokens",
        size(compiled.memory_size_bytes),
    ]
    body = _details("automaton", automaton(snapshot), shown=True)
    body += _details("counters", cache_stats(compiled.cache_stats()), shown=False)
    if snapshot.source:
        body += _details("source", _pre(clip(snapshot.source, MAX_SOURCE)), shown=False)
    return _card("Compiled grammar", facts, body)


def _card(title: str, facts: Iterable[str], body: str, end: str = "") -> str:
    told = "".join(f'<span style="opacity:0.7"> · {fact}</span>' for fact in facts)
    head = f'<div style="padding:2px 0 4px;font-size:13px"><b>{title}</b>{told} {end}</div>'
    return f'<div style="font-size:13px;line-height:1.45;max-width:1100px;text-align:left">{head}{body}</div>'


def _details(summary: str, body: str, shown: bool) -> str:
    state = " open" if shown else ""
    return f'<details{state}><summary style="font-size:12px;padding:3px 0">{summary}</summary>{body}</details>'


def _pre(text: str) -> str:
    style = (
        f"{_MONO};font-size:12px;line-height:1.45;white-space:pre-wrap;padding:8px 10px;"
        f"border:1px solid {_LINE};border-radius:4px"
    )
    return f'<pre style="{style}">{html_escape(text)}</pre>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, align: str, mono: tuple[int, ...]) -> str:
    """Rows of ready-made HTML; `align` is one of l, r for each column."""
    sides = {"l": "left", "r": "right"}
    rule = f"border:none;border-bottom:1px solid {_LINE}"

    def style(column: int) -> str:
        face = f"{_MONO};" if column in mono else ""
        return (
            f"{face}text-align:{sides[align[column]]};padding:3px 12px 3px 4px;font-size:12px;{rule};vertical-align:top"
        )

    head = "".join(
        f'<th style="text-align:{sides[align[i]]};padding:3px 12px 3px 4px;font-size:12px;font-weight:500;{rule}">'
        f'<span style="opacity:0.65">{name}</span></th>'
        for i, name in enumerate(heads)
    )
    body = "".join(
        "<tr>" + "".join(f'<td style="{style(i)}">{cell}</td>' for i, cell in enumerate(row)) + "</tr>" for row in rows
    )
    return (
        f'<table style="border-collapse:collapse;border:none;margin:2px 0 6px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _tint(kind: str, alpha: str) -> str:
    return f"rgba({','.join(map(str, _TINTS[kind]))},{alpha})"


def _badge(text: str, kind: str) -> str:
    style = (
        f"background-color:{_tint(kind, '0.18')};border-radius:9px;padding:1px 7px;font-size:11px;white-space:nowrap"
    )
    return f'<span style="{style}">{text}</span>'


def _chip(text: str, kind: str, title: str, *, struck: bool) -> str:
    line = "text-decoration:underline wavy;" if struck else ""
    style = (
        f"{_MONO};font-size:12px;background-color:{_tint(kind, '0.15')};border:1px solid {_tint(kind, '0.45')};"
        f"border-radius:3px;padding:1px 4px;{line}white-space:pre"
    )
    return f'<span title="{html_escape(title)}" style="{style}">{html_escape(text)}</span>'


def _more(count: int, what: str) -> str:
    return f'<div style="font-size:12px;opacity:0.7">{count:,} more {what}</div>' if count > 0 else ""


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + "s" * (count != 1)


def _after(position: int) -> str:
    return f"after {_many(position, 'byte')}"
