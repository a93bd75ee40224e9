"""The sources that a person opened last, kept between kernels: five, in one small file of the user's.

Read on: `workbench/panels/screen.py` (who offers them), `kept.py` (whether anything is kept).
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from kernels_core.inspect.classic import in_common
from visualizers.glyphs import clip
from workbench.languages import LANGUAGES, Source
from workbench.screen.kept import keeps, users_folder, write
from workbench.session.file import KeptError, source_of_json, source_to_json

KEPT: Final = 5


def _file() -> Path:
    return users_folder() / "opened.json"


def opened_last() -> tuple[Source, ...]:
    """The sources, the last one first; none where nothing was opened, what was kept cannot be read, or nothing is to
    be kept."""
    if not keeps():
        return ()
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
        return tuple(source_of_json(one) for one in found if one["language"] in LANGUAGES)
    except (OSError, ValueError, KeyError, TypeError, KeptError):
        return ()


def called(source: Source) -> str:
    """A source in a list: its name, else its language and how it begins."""
    return clip(f"{source.name or source.title}: {' '.join(source.text.split())}", 40)


def is_edit(before: Source, after: Source) -> bool:
    """Whether `after` is `before` with something changed in the middle, rather than another source."""
    old, new = before.text, after.text
    same = in_common(old, new) + in_common(old[::-1], new[::-1])
    return before.language == after.language and 2 * same >= min(len(old), len(new))


def note_opened(source: Source, instead_of: Source | None = None) -> None:
    """Keep `source` as the last one, for `instead_of` where it was made from that."""
    gone = [(one.language, one.text) for one in (source, instead_of) if one is not None]
    others = [one for one in opened_last() if (one.language, one.text) not in gone]
    with suppress(KeptError):  # options that are no JSON
        write(_file(), json.dumps([source_to_json(one) for one in (source, *others)[:KEPT]]))
