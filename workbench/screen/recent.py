"""The sources that a person opened last, kept between kernels: five, in one small file of the user's.

Read on: `workbench/panels/screen.py` (who offers them).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from workbench.languages import LANGUAGES, Source

KEPT: Final = 5


def _file() -> Path:
    from platformdirs import user_state_path

    return user_state_path("maskscope") / "opened.json"


def opened_last() -> tuple[Source, ...]:
    """The sources, the last one first; none where nothing was opened, or what was kept cannot be read."""
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
        return tuple(
            Source(one["language"], one["text"], one["options"], one["name"])
            for one in found
            if one["language"] in LANGUAGES
        )
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def note_opened(source: Source) -> None:
    """Keep `source` as the last one.  Where nothing can be written, nothing is kept."""
    others = [one for one in opened_last() if (one.language, one.text) != (source.language, source.text)]
    kept = [source, *others][:KEPT]
    value = [
        {"language": one.language, "text": one.text, "options": dict(one.options), "name": one.name} for one in kept
    ]
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps(value), encoding="utf-8")
    except (OSError, TypeError):  # a home that is read only; options that are no JSON
        return
