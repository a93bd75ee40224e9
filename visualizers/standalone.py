"""Live views without Python: the same ES modules and a small model in one HTML file that opens anywhere.

A page loads nothing from outside (its content policy forbids it) and works from a file, from a server and inside
`<iframe srcdoc>`.  Views that share a trait named in `link` follow each other, so one step bar drives them all.

Read on: `visualizers/esm/page.js` (the model), `visualizers/live.py` (`LiveView.part`).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from visualizers.assets import module, stylesheet
from visualizers.glyphs import html_escape

__all__ = ["Part", "iframe", "page"]

POLICY: Final = "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True, slots=True)
class Part:
    """One view of a page: the name of its ES module, its style sheets, and the traits it starts from.

    `state` holds JSON values and `bytes`, nested as one likes.
    """

    module: str
    styles: tuple[str, ...]
    state: Mapping[str, Any]


def page(
    parts: Sequence[Part],
    *,
    title: str = "Maskscope",
    link: Sequence[str] = ("index",),
    heading: bool = True,
    theme: Literal["light", "dark"] | None = None,
) -> str:
    """One HTML document with `parts` below each other.

    `link` are traits kept equal between all parts that have them; `theme` overrides the reader's preference;
    without `heading` the page has no title line and no margins, as in a frame.
    """
    described = [
        {"module": part.module, "state": _plain({**part.state, "offline": True}), "link": list(link)} for part in parts
    ]
    modules = {part.module: module(part.module) for part in parts}
    script = module("page").replace('"PACKED"', f'"{_packed({"parts": described, "modules": modules})}"', 1)
    styles = tuple(dict.fromkeys(("theme", "base", "page", *(name for part in parts for name in part.styles))))
    mode = f' data-theme="{theme}"' if theme else ""
    framed = "" if heading else " ms-framed"
    return "".join(
        (
            f'<!doctype html>\n<html lang="en" class="ms-page{framed}"{mode}>\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{html_escape(title)}</title>\n<style>{stylesheet(*styles)}</style>\n</head>\n<body>\n",
            f"<h1>{html_escape(title)}</h1>\n" if heading else "",
            "".join(f'<div class="part" id="part{index}"></div>\n' for index in range(len(parts))),
            f'<script type="module">\n{script}</script>\n</body>\n</html>\n',
        )
    )


def iframe(document: str, *, height: int = 420) -> str:
    """`document` in an `<iframe srcdoc>` of `height` pixels: scripts run, but apart from the page around it."""
    return (
        f'<iframe srcdoc="{html_escape(document)}" sandbox="allow-scripts" width="100%" height="{height}" '
        'style="border:0" loading="lazy"></iframe>'
    )


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _packed(value: Any) -> str:
    """JSON, deflated, in base64: a tenth of the size, and no letter of it means anything to an HTML parser."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
