"""The name of a member that a text begins to write.

Read on: `workbench/next/naming.py` (why a name cannot come), `reasons.py` (which keyword forbids it).
"""

from __future__ import annotations

import json
import re
from typing import Final

from workbench.provenance.elements import STYLES
from workbench.provenance.reader import Content

_NAME: Final = re.compile(r'"((?:[^"\\]|\\.)*)("?)', re.S)
_BEHIND: Final = re.compile(r"\s*,?\s*" + _NAME.pattern, re.S)


def begun(content: Content, rest: bytes) -> tuple[int, str, bool] | None:
    """The name that is tried behind `content.text`: the bytes of it (and what leads to it) that stand there, the name,
    and whether it is whole."""
    prefix, more = content.prefix, rest.decode(errors="replace")
    if prefix.part == "after" and not content.style:
        match = _BEHIND.match(more) if prefix.levels[-1].is_object else None
        return None if match is None else (0, _read(match[1]), bool(match[2]))
    if prefix.part != "name":
        return None
    spelt, size = prefix.partial + more, len(prefix.partial.encode())
    if content.style:
        style = STYLES[content.style]
        if not spelt.lstrip().startswith(style.front):
            return None
        name = spelt.lstrip()[len(style.front) :]
        ends = [place for middle in style.middles.values() if (place := name.find(middle[0])) >= 0]
        return size, name[: min(ends)] if ends else name, bool(ends)
    match = _NAME.match(spelt.lstrip())
    return None if match is None else (size, _read(match[1]), bool(match[2]))


def _read(name: str) -> str:
    try:
        return str(json.loads(f'"{name}"', strict=False))
    except ValueError:  # an escape that is cut, or none
        return name
