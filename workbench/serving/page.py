"""The page at `/`: what runs, of a chosen request the text, the frontier and the last mask, and a request of its own.

Everything it loads comes from here, and its content policy allows nothing else; texts of models and strangers are set
as text, never as markup.
Read on: `frontend/src/service.js`, `frontend/src/ask.ts`, `watching.py`.
"""

from __future__ import annotations

from typing import Final

from visualizers.glyphs import html_escape

__all__ = ["ASSETS", "POLICY", "document"]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ASSETS: Final = {"page.css": "text/css", "service.js": "text/javascript"}
"""What the page loads from `/assets`, and of which kind it is."""


def document(model: str) -> str:
    """The page of a server of `model`."""
    return (
        '<!doctype html>\n<html lang="en" class="ms-page ms-wide">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Maskscope: {html_escape(model)}</title>\n"
        '<link rel="stylesheet" href="/assets/page.css">\n<link rel="icon" href="data:,">\n</head>\n'
        f'<body>\n<h1>{html_escape(model)}</h1>\n<div id="service"></div>\n'
        '<script type="module" src="/assets/service.js"></script>\n</body>\n</html>\n'
    )
