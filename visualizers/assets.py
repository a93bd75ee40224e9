"""The front end's bundle, ready to travel with a notebook or a page: what `make build` makes of `frontend/`.

`script(name)` is one file of it; `part(name)` is the same deflated, as a library or a page carries it.

Read on: `frontend/build.mjs` (what each file is for), `visualizers/host.py`, `visualizers/standalone.py`.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "bundle"
PARTS: Final = ("main", "editor", "graphviz")
"""What a page loads: the views, and what only some need: the editor of a source, and Graphviz, which draws graphs."""


@cache
def script(name: str) -> str:
    """The ES module `name` of the bundle."""
    return _read(f"{name}.js")


@cache
def stylesheet(name: str) -> str:
    """The style sheet `name` of the bundle: "page" of a server, or "svg" of pictures in files."""
    return _read(f"{name}.css")


@cache
def part(name: str) -> bytes:
    """The ES module `name`, deflated."""
    return zlib.compress(script(name).encode(), 9)


@cache
def version() -> str:
    """Tells this bundle from others."""
    return hashlib.sha256("".join(map(script, PARTS)).encode()).hexdigest()[:16]


def _read(file: str) -> str:
    try:
        return (FOLDER / file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"the front end is not built: {FOLDER / file} is missing. Run `make build` in the checkout"
        ) from None
