"""Makes snapshots display themselves in notebooks of every kind: as their views are without a kernel.

Read on: `kernels_core/display.py` (who asks), `visualizers/tables.py` (what an untrusted notebook leaves standing).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from kernels_core.display import register
from kernels_core.inspect.derivation import CallStack, Chain, Derivation
from kernels_core.inspect.dispatch import Modes
from kernels_core.inspect.snapshots import Automaton, CacheStats, Frontier, TokenSets
from kernels_core.inspect.trace import Events, FillEvent, Operations
from visualizers.caches import COUNTERS, NAMES, said
from visualizers.glyphs import clip, glyph, html_escape, many, size
from visualizers.live_base import LiveView
from visualizers.live_frontier import FrontierView
from visualizers.live_tokens import TokenTable
from visualizers.operations import OperationView
from visualizers.stack import StackView
from visualizers.svg import automaton_html
from visualizers.tables import badge, card, chip, more, table
from visualizers.tree import TreeView
from visualizers.triggers import TriggerView

MAX_ITEMS: Final = 100
MAX_GLYPH: Final = 40


def static_of(view: type[LiveView[Any]]) -> Callable[[Any], str]:
    """How a snapshot is displayed that `view` shows: as the view is without a kernel."""

    def display(snapshot: Any) -> str:
        shown = view()
        shown.written = getattr(snapshot, "written", str)
        shown.show(snapshot)
        return shown.static_html()

    return display


def events(snapshot: Events) -> str:
    """A matcher's events in order of time: steps with the parser's operations, masks with how they were found."""
    rows = []
    for event in snapshot[:MAX_ITEMS]:
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
    return card("Events", facts, body + more(len(snapshot) - MAX_ITEMS, "events"))


def cache_stats(snapshot: CacheStats) -> str:
    """All counters, each with what it counts, and which share of the steps, masks and token sets was found."""
    values = asdict(snapshot)
    rows = []
    for what, name, label, told, unit in COUNTERS:
        value = size(values[name]) if unit == "bytes" else f"{values[name]:,}"
        asked = values[name] + values.get(name.replace("_hits", "_misses"), 0)
        share = f"{100 * values[name] / asked:.1f} %" if name.endswith("_hits") and asked > values[name] else ""
        rows.append([what, label, value, share, html_escape(told)])
    return card("Counters", [], table(["of", "", "", "share", ""], rows, align="llrrl", mono=(2, 3)))


DISPLAYS: Final[dict[type, Callable[[Any], str]]] = {
    Frontier: static_of(FrontierView),
    TokenSets: static_of(TokenTable),
    CacheStats: cache_stats,
    Automaton: automaton_html,
    Operations: static_of(OperationView),
    Events: events,
    CallStack: static_of(StackView),
    Derivation: static_of(TreeView),
    Chain: static_of(OperationView),
    Modes: static_of(TriggerView),
}


def register_all() -> None:
    """Register the displays; calling it again changes nothing."""
    for kind, function in DISPLAYS.items():
        register(kind, html=function)
