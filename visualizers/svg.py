"""Pictures of automata without a browser: SVG that follows the reader's light or dark theme, PDF for a paper, and a
static display with a table of the rules.

The program `dot` writes it.  The SVG carries no colours of its own that a style sheet could not change, only classes:
`frontend/src/picture.css`, which is embedded, gives them meaning.

Read on: `visualizers/dot.py` (what `dot` is given), `frontend/src/drawing.ts` (the live picture).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, TypedDict, Unpack

from kernels_core.inspect.snapshots import Automaton
from visualizers.assets import stylesheet
from visualizers.dot import TIMEOUT, DotError, Written, lengths_label, repeat_label, run, scene_dot
from visualizers.fold import Folds, Mode
from visualizers.glyphs import clip, html_escape
from visualizers.marks import Marks, marks
from visualizers.png import data_uri
from visualizers.scene import Request, Scene, scene
from visualizers.tables import card, details, dim, more, table
from visualizers.way import Travelled

MAX_RULES: Final = 200
_SAID: Final = re.compile(r"<!--.*?-->\s*|<title>[^<]*</title>\s*", re.DOTALL)
_ROOT: Final = re.compile(r'.*<svg width="(\d+)pt" height="(\d+)pt"([^>]*)>', re.DOTALL)


class Looks(TypedDict, total=False):
    """How an automaton is drawn, as `lit_scene` says."""

    active: Collection[int]
    around: int | None
    travelled: Travelled | None
    rules: Sequence[str]
    mode: Mode


def lit_scene(
    automaton: Automaton,
    *,
    active: Collection[int] = (),
    around: int | None = 2,
    travelled: Travelled | None = None,
    rules: Sequence[str] = (),
    mode: Mode = "characters",
) -> tuple[Scene, Marks]:
    """What is drawn of an automaton, and what is lit in it.

    `active` are ids of states to light, and `around` how many steps around them are drawn of a large automaton (a
    small one is drawn whole); None draws all of it.  `rules` draws only these; `mode="bytes"` folds nothing.
    `travelled` lights the way of the text (`visualizers.way.travelled`).  Raises `ValueError` for an unknown rule.
    """
    folds = Folds(automaton, mode)
    way = travelled or Travelled()
    request = Request(
        active=tuple(active),
        waiting=way.callers,
        visited=way.states,
        steps=2 if around is None else around,
        whole=around is None,
        focus=tuple(rules),
    )
    chosen = scene(folds, request)
    return chosen, marks(folds, chosen, active, way)


def to_svg(automaton: Automaton, *, timeout: float = TIMEOUT, written: Written = str, **looks: Unpack[Looks]) -> str:
    """The automaton as a self-contained SVG document; `looks` as in `lit_scene`, `written` as in `scene_dot`.

    Raises `visualizers.dot.DotError` where `dot` is missing or fails.
    """
    return scene_svg(*lit_scene(automaton, **looks), timeout, written)


def automaton_pdf(
    automaton: Automaton, *, timeout: float = TIMEOUT, written: Written = str, **looks: Unpack[Looks]
) -> bytes:
    """The same as a PDF, black on white."""
    return run(scene_dot(*lit_scene(automaton, **looks), written), "pdf", timeout)


def scene_svg(chosen: Scene, lit: Marks | None = None, timeout: float = TIMEOUT, written: Written = str) -> str:
    """A scene as an SVG document with its style sheet."""
    drawn = _SAID.sub("", run(scene_dot(chosen, lit, written), "svg", timeout).decode())
    return _ROOT.sub(
        r'<svg width="\1" height="\2"\3 class="ms-svg ms-picture" role="img" aria-label="automaton">'
        f'<style>{stylesheet("svg")}</style><rect class="paper" width="100%" height="100%" rx="6"/>',
        drawn,
        count=1,
    )


def automaton_html(snapshot: Automaton, *, written: Written = str, **looks: Unpack[Looks]) -> str:
    """The picture around the active states (of a small automaton all of it) and a table of the rules.

    `written` turns the engine's names of rules into those of the source; `looks` as in `lit_scene`.
    """
    chosen, lit = lit_scene(snapshot, **looks)
    picture, notes = "", [chosen.note, "" if chosen.whole else "the part around the parser"]
    try:
        svg = scene_svg(chosen, lit, written=written)
    except DotError as error:
        notes = [f"not drawn: {error}"]
    else:
        picture = (
            f'<img alt="automaton" src="{data_uri(svg.encode(), "image/svg+xml")}" '
            'style="max-width:100%;height:auto;margin:6px 0">'
        )
    if chosen.left_out:
        notes.append(
            f"also at work: {', '.join(map(written, chosen.left_out[:4]))}{', …' if len(chosen.left_out) > 4 else ''}"
        )
    rows = [
        [
            html_escape(clip(written(rule.rule), 60)),
            repeat_label(rule.repeat) or lengths_label(rule.lengths),
            f"{len(rule.states):,}",
            f"{len(rule.edges):,}",
            f"{sum(state.accepting for state in rule.states):,}",
            html_escape(clip(", ".join(dict.fromkeys(written(edge.rule) for edge in rule.edges if edge.rule)), 80)),
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
