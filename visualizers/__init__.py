"""Views of the engine's snapshots: pictures and tables that need nothing but `kernels_core.inspect.snapshots`.

Static: pure functions from a snapshot to DOT, SVG, PNG or HTML that survives an untrusted notebook.
Live: anywidget views with one small ES module each, which also run in a standalone page without Python.

Code map, in reading order:

- `glyphs`      bytes as readable text, and escaping
- `tokens`      the token sets of one step as an index: kinds, counts, search, rows
- `dot`         an automaton as DOT
- `layout`      where every state goes: Graphviz, pygraphviz or `layered`, and when to fold by rule
- `svg`         a layout as an SVG with an element id for every state
- `png`         a mask as a 1-bit PNG
- `html`        static displays of every snapshot
- `formatters`  makes snapshots display themselves in IPython
- `assets`      the ES modules and style sheets in `esm/`
- `standalone`  the same ES modules in one HTML file
- `live`        the anywidget views
"""

from __future__ import annotations

__all__ = ["get_mode", "set_mode"]

from visualizers.mode import get_mode, set_mode
