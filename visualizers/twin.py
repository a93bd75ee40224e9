"""A widget and its static twin, displayed so that one of them is seen wherever the notebook is opened.

JupyterLab shows a widget or, where it does not trust the notebook, what else the same output holds.  A notebook that is
trusted but whose kernel is gone shows neither: the widget's renderer says "model not found".  So the twin is an output
of its own, after the widget's.  While the widget is in the document its style sheet hides the twin
(`frontend/src/host.js`), which is seen wherever there is no widget.  A rule of the twin's that looked for the widget
(`body:has(...)`) would have the browser search the document whenever a node comes or goes.

Read on: `visualizers/live_base.py`, `workbench/explorer/explorer.py` (who display themselves).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from visualizers.host import Host

__all__ = ["bundles", "display_with_twin"]

LATE_SECONDS: Final = 3
"""The twin waits so long for the widget to appear, so that it does not flash up before it."""
_MARK: Final = re.compile(r"[0-9a-f]{8,40}")


def bundles(host: Host, static: str, text: str) -> tuple[dict[str, object], dict[str, object]]:
    """Two outputs: the widget, and its twin (`static` is sanitiser-proof HTML, `text` what a terminal shows)."""
    mark = str(host.mark)
    if not _MARK.fullmatch(mark):
        raise ValueError(f"{mark!r} is no mark: some 8 to 40 hexadecimal digits")
    twin, child = f".ms-twin-{mark}", ".jp-OutputArea-child"
    style = (
        f"{twin}{{animation:ms-late 1ms {LATE_SECONDS}s both}}"
        "@keyframes ms-late{from{max-height:0;overflow:hidden;opacity:0}to{max-height:none;opacity:1}}"
        # The renderer's error is a line of text without any element.
        f"{child}:has(+ {child} {twin}) .jp-OutputArea-output.jupyter-widgets:not(:has(*)){{display:none}}"
    )
    data, _ = host.bundle()
    # The empty HTML keeps an untrusted notebook from showing `text` above the twin.
    live = {**data, "text/plain": text, "text/html": "<span></span>"}
    return live, {"text/plain": text, "text/html": f'<style>{style}</style><div class="ms-twin-{mark}">{static}</div>'}


def display_with_twin(
    host: Host, static: str, text: str, metadata: Mapping[str, object] | None = None
) -> Callable[[str, Mapping[str, object]], None]:
    """Display `host` with its twin in the running cell; returns what puts another picture in the twin's place.

    `metadata`, here and there, is what the notebook keeps with the twin.
    """
    from IPython.display import display

    live, twin = bundles(host, static, text)
    display(live, raw=True)  # type: ignore[no-untyped-call]
    told = dict(metadata or {})
    handle = display(twin, raw=True, display_id=True, metadata=told)  # type: ignore[no-untyped-call]

    def renew(now: str, told: Mapping[str, object]) -> None:
        if handle is not None:
            handle.update(bundles(host, now, text)[1], raw=True, metadata=dict(told))

    return renew
