"""What a session can be turned into: a panel in the cell, a picture, a page, a file that opens it again.

Read on: `workbench/keeping.py` (the file), `workbench/keepsake.py` (the page), `visualizers/svg.py` (the picture).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from kernels_core import Options
    from workbench.explorer import Explorer
    from workbench.session import Session

__all__ = ["Shareable"]


class Shareable:
    """`Session`'s ways out."""

    def show(self) -> Explorer:
        """Open the explorer on this session; as the last line of a cell it displays itself."""
        from workbench.explorer import Explorer

        return Explorer(cast("Session", self))

    def to_svg(self) -> str:
        """The automaton with the active states lit, as one SVG document."""
        from visualizers.svg import to_svg

        session = cast("Session", self)
        with session.held():
            return to_svg(session.automaton(), active=session.frontier().active_states())

    def to_json(self) -> dict[str, Any]:
        """The session as JSON values: see `workbench.keeping`."""
        from workbench.keeping import as_json

        return as_json(cast("Session", self))

    def save(self, path: str | Path) -> Path:
        """Write the session to a `.json` file (`Session.load` opens it), or its whole panel to an `.html` page that
        steps through the history without Python; returns the path."""
        from workbench.explorer import Explorer

        path = Path(path)
        if path.suffix == ".json":
            path.write_text(json.dumps(self.to_json(), ensure_ascii=False, indent=1), encoding="utf-8")
            return path
        if path.suffix.lower() in (".html", ".htm"):
            with Explorer(cast("Session", self)) as explorer:
                return explorer.save(path)
        raise ValueError(f"cannot save a session as {path.suffix or 'a file without suffix'!r}: use .json or .html")

    @classmethod
    def load(
        cls, source: str | Path | Mapping[str, Any], tokenizer: Any = None, *, options: Options | None = None
    ) -> Session:
        """The session of a file that `save` wrote (or of what `to_json` returned), at the place where it stood.

        `tokenizer` is needed where the session's own had no name or path to find it by.  `options` are taken in place
        of the file's own, whose limits of time and memory are held to the defaults, with a warning where it asks for
        more.  `KeptError` says what is wrong with a file.
        """
        from workbench.keeping import read_session

        return read_session(source, tokenizer, options)
