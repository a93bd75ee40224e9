"""A picture of an automaton as a file: SVG that follows the reader's light or dark theme, or PDF for a paper.

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
from visualizers.dot import TIMEOUT, run, scene_dot
from visualizers.folds import Folds, Mode
from visualizers.marks import Marks, marks
from visualizers.scene import Request, Scene, scene
from visualizers.way import Travelled

__all__ = ["automaton_pdf", "lit_scene", "scene_svg", "to_svg"]

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
    `travelled` lights the way of the text (`visualizers.way.Way`).  Raises `ValueError` for an unknown rule.
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


def to_svg(automaton: Automaton, *, timeout: float = TIMEOUT, **looks: Unpack[Looks]) -> str:
    """The automaton as a self-contained SVG document; `looks` as in `lit_scene`.

    Raises `visualizers.dot.DotError` where `dot` is missing or fails.
    """
    return scene_svg(*lit_scene(automaton, **looks), timeout)


def automaton_pdf(automaton: Automaton, *, timeout: float = TIMEOUT, **looks: Unpack[Looks]) -> bytes:
    """The same as a PDF, black on white."""
    return run(scene_dot(*lit_scene(automaton, **looks)), "pdf", timeout)


def scene_svg(chosen: Scene, lit: Marks | None = None, timeout: float = TIMEOUT) -> str:
    """A scene as an SVG document with its style sheet."""
    drawn = _SAID.sub("", run(scene_dot(chosen, lit), "svg", timeout).decode())
    return _ROOT.sub(
        r'<svg width="\1" height="\2"\3 class="ms-svg ms-picture" role="img" aria-label="automaton">'
        f'<style>{stylesheet("svg")}</style><rect class="paper" width="100%" height="100%" rx="6"/>',
        drawn,
        count=1,
    )
