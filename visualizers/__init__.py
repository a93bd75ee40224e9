"""Views of the engine's snapshots: pictures and tables that need nothing but `kernels_core.inspect.snapshots`.

Static: pure functions from a snapshot to DOT, SVG, PNG or HTML that survives an untrusted notebook.
Live: anywidget views with one small ES module each, which also run in a standalone page without Python.

Code map, in reading order:

- `glyphs`      bytes as readable text, and escaping
- `tokens`      the token sets of one step as an index: kinds, counts, search, rows
- `fold`        the rules of an automaton as a person writes them (with `utf8`)
- `scene`       which part of an automaton is drawn; `labels` what stands on its edges
- `way`, `marks`  where the text went and what is lit
- `dot`         a scene as DOT, which Graphviz draws: in the browser, and for files the program `dot`
- `svg`         a scene as an SVG or a PDF with an element id for every state
- `png`         a mask as a PNG of two bits a token
- `tables`      what static displays are made of
- `assets`      the front end's bundle, which `make build` makes of `frontend/`
- `standalone`  the same ES modules in one HTML file
- `host`        the one widget that carries views; `live_base` is what all views share
- `live_automaton`, `live_frontier`, `live_tokens`, `operations`, `stack`, `tree`, `triggers`, `caches`
                the views of snapshots
- `screen`, `source`, `compare`  the views of what the workbench says beside them
- `formatters`  makes snapshots display themselves in notebooks, live or not as `mode` says
"""

from __future__ import annotations

__all__ = ["get_mode", "set_mode"]

from visualizers.mode import get_mode, set_mode


def __maskscope_displays__() -> None:  # noqa: N807  (see kernels_core/display.py)
    """Snapshots display themselves."""
    from visualizers.formatters import register_all

    register_all()
