"""Where everything goes: which engine lays out a scene, what is remembered, and how the panels are arranged.

Rules share no edges, so each rule is laid out by itself and the panels are packed in rows: small layouts are quick, a
panel that did not change is found again, and one that did moves nothing inside the others.  The `dot` program is asked
first; where it is missing, fails or takes too long, the built-in `visualizers/layered.py` draws, and the note says so.

Read on: `visualizers/svg.py` (writes the picture), `visualizers/live_automaton.py` (asks in the background).
"""

from __future__ import annotations

import math
import shutil
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from visualizers.dot import DotError, lay_out
from visualizers.geometry import Drawing, Sketch, sketch
from visualizers.layered import layered
from visualizers.scene import Panel, Scene

__all__ = ["Engine", "LayoutError", "Layouts", "Placed", "Plan", "available_engines", "plan"]

Engine = Literal["dot", "built-in"]
TIMEOUT: Final = 5.0
PADDING: Final = 12.0
TITLE: Final = 22.0
GUTTER: Final = 12.0
# Aspect ratio aimed at when panels are packed: notebooks are wider than high.
ASPECT: Final = 2.0
MAX_WIDTH: Final = 1300.0
REMEMBERED: Final = 512  # drawings of panels

LayoutError = DotError


@dataclass(frozen=True, slots=True)
class Placed:
    """A panel's drawing at (x, y) with a frame of (width, height)."""

    panel: Panel
    sketch: Sketch
    drawing: Drawing
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A laid-out picture: panels, overall size in pixels, who laid it out, and what there is to say about it."""

    scene: Scene
    placed: tuple[Placed, ...]
    width: float
    height: float
    engine: Engine
    note: str
    rules: tuple[Sketch, Drawing] | None = None


def available_engines() -> tuple[Engine, ...]:
    """The engines of this machine in the order of preference; "built-in" is always the last."""
    return ("dot", "built-in") if shutil.which("dot") else ("built-in",)


class Layouts:
    """Lays out sketches and remembers the drawings; safe to use from several threads."""

    def __init__(self, engine: Engine | None = None, timeout: float = TIMEOUT) -> None:
        if engine not in (None, "dot", "built-in"):
            raise ValueError(f"engine is {engine!r}: expected 'dot', 'built-in' or None")
        self._engine = engine
        self._timeout = timeout
        self._known: OrderedDict[object, Drawing] = OrderedDict()
        self._lock = threading.Lock()
        self._trouble = ""

    def known(self, sketches: Sequence[Sketch]) -> bool:
        """Whether all these sketches were laid out before, so that `drawings` answers at once."""
        with self._lock:
            return all(_key(one) in self._known for one in sketches)

    def drawings(self, sketches: Sequence[Sketch]) -> tuple[list[Drawing], Engine, str]:
        """The drawings, by whom, and a note.  Raises `LayoutError` only for an engine asked for by name."""
        keys = [_key(one) for one in sketches]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        missing = {key: one for key, one in zip(keys, sketches, strict=True) if key not in found}
        engine: Engine = self._engine or "dot"
        if not missing:
            engine = "built-in" if self._trouble else engine
        elif engine == "dot":
            try:
                found.update(zip(missing, lay_out(list(missing.values()), self._timeout), strict=True))
                self._trouble = ""
            except DotError as error:
                if self._engine:
                    raise
                engine = "built-in"
                self._trouble = f"drawn without Graphviz: {error}"
        if missing and engine == "built-in":
            found.update({key: layered(one) for key, one in missing.items()})
        with self._lock:
            for key in keys:
                self._known[key] = found[key]
                self._known.move_to_end(key)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return [found[key] for key in keys], engine, self._trouble


def _key(one: Sketch) -> object:
    return tuple(one.sizes.items()), one.edges, one.boxes


def plan(scene: Scene, layouts: Layouts | None = None) -> Plan:
    """Lay out a scene and arrange its panels."""
    layouts = layouts or Layouts()
    sketches = sketches_of(scene)
    drawings, engine, trouble = layouts.drawings(sketches)
    notes = [scene.note] if scene.note else []
    if scene.left_out:
        shown = ", ".join(scene.left_out[:4]) + (", ..." if len(scene.left_out) > 4 else "")
        notes.append(f"also at work: {shown}")
    if trouble:
        notes.append(trouble)
    if scene.rules is not None:
        (drawing,) = drawings
        size = drawing.width + 2 * PADDING, drawing.height + 2 * PADDING
        return Plan(scene, (), *size, engine, "; ".join(notes), (sketches[0], drawing))
    placed, width, height = _pack(list(zip(scene.panels, sketches, drawings, strict=True)))
    return Plan(scene, placed, width, height, engine, "; ".join(notes))


def sketches_of(scene: Scene) -> list[Sketch]:
    """What would have to be laid out."""
    if scene.rules is not None:
        return [sketch(scene.rules)]
    return [sketch(panel.graph) for panel in scene.panels]


def _title_width(panel: Panel) -> float:
    return min(len(panel.folded.rule.rule), 40) * 7.4 + (150 if panel.shown < len(panel.folded.states) else 30)


def _pack(items: Sequence[tuple[Panel, Sketch, Drawing]]) -> tuple[tuple[Placed, ...], float, float]:
    """Panels in rows, in reading order, about `ASPECT` times as wide as high."""
    sizes = [
        (max(drawing.width, _title_width(panel)) + 2 * PADDING, drawing.height + TITLE + 2 * PADDING)
        for panel, _, drawing in items
    ]
    area = sum((width + GUTTER) * (height + GUTTER) for width, height in sizes)
    limit = max([min(MAX_WIDTH, math.sqrt(area * ASPECT)), *(width for width, _ in sizes)], default=0.0)
    placed: list[Placed] = []
    x = y = row = right = 0.0
    for (panel, one, drawing), (width, height) in zip(items, sizes, strict=True):
        if x > 0 and x + width > limit:
            x, y, row = 0.0, y + row + GUTTER, 0.0
        placed.append(Placed(panel, one, drawing, x, y, width, height))
        x += width + GUTTER
        row = max(row, height)
        right = max(right, x - GUTTER)
    return tuple(placed), right, y + row
