"""Live views without Python: the same front end over recorded traits, in one HTML file that opens anywhere.

A page loads nothing from outside (its content policy forbids it) and works from a file, from a server and inside
`<iframe srcdoc>`.  Views share the traits that `visualizers.live_base.LINKED` names, so one step bar drives them all.

Read on: `frontend/src/page.ts` (what runs), `frontend/src/still.ts` (the model), `visualizers/live_base.py`
(`LiveView.part`).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from visualizers import assets
from visualizers.glyphs import html_escape

POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; img-src data:"
)


Part = dict[str, Any]
"""One view of a page: its ES `module`, and the `state`, JSON values of traits, that it starts from.

`needs` are the parts of the bundle beside the views that a page has to carry for it.  `name`, `placed`, `given` and
`follows` are for pages with an arranger (see `LiveView.contract`).
"""


def page(
    parts: Sequence[Part],
    *,
    title: str = "Maskscope",
    heading: bool = True,
    theme: Literal["light", "dark"] | None = None,
    arranger: str = "",
    panels: Sequence[Mapping[str, object]] = (),
    place: Mapping[str, object] | None = None,
    places: Mapping[str, object] | None = None,
) -> str:
    """One HTML document with `parts`, below each other or as the module `arranger` lays them out.

    `theme` overrides the reader's preference; without `heading` the page has no title line and no margins, as in a
    frame.  `panels` are for the arranger.  `place` and `places` are where a panel stands and what it
    shows at other places, by key (see `frontend/src/host.js`, `fill`).
    """
    described = [{**part, "state": {**part["state"], "offline": True}} for part in parts]
    packed = {
        "parts": described,
        "arranger": arranger,
        "panels": list(panels),
        "place": place or {},
        "places": places or {},
    }
    carried = dict.fromkeys(("main", *(name for part in parts for name in part["needs"])))
    code = {name: base64.b64encode(assets.part(name)).decode() for name in carried}
    script = f"const PACKED = {json.dumps({'state': _packed(packed), 'parts': code})};\n{assets.script('page')}"
    mode = f' data-theme="{theme}"' if theme else ""
    framed = ("" if heading else " ms-framed") + (" ms-wide" if arranger else "")
    return "".join(
        (
            f'<!doctype html>\n<html lang="en" class="ms-page{framed}"{mode}>\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{html_escape(title)}</title>\n</head>\n",
            "<body>\n",
            f"<h1>{html_escape(title)}</h1>\n" if heading else "",
            '<div id="host"></div>\n',
            f'<script type="module">\n{script}</script>\n',
            "</body>\n</html>\n",
        )
    )


def save_html(path: str | Path, document: str) -> Path:
    """Write a page and return its path; `ValueError` for a name that does not end in `.html`."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"cannot save as {path.suffix or 'a file without suffix'!r}: use .html")
    path.write_text(document, encoding="utf-8")
    return path


def iframe(document: str, *, height: int = 420) -> str:
    """`document` in an `<iframe srcdoc>` of `height` pixels: scripts run, but apart from the page around it."""
    return (
        f'<iframe srcdoc="{html_escape(document)}" sandbox="allow-scripts" width="100%" height="{height}" '
        'style="border:0" loading="lazy"></iframe>'
    )


def _packed(value: object) -> str:
    """JSON, deflated, in base64: a tenth of the size, and no letter of it means anything to an HTML parser."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
