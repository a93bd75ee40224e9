"""The ES modules and style sheets in `esm/`, ready to travel with a widget or a page.

A view's module imports shared helpers from `./common.js`.  A host loads its views' modules and what they import
from their sources (`sources`); its own module travels as one string, in which the import is replaced by the file
itself (`module`).  There is no bundler.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["module", "sources", "stylesheet"]

FOLDER: Final = Path(__file__).parent / "esm"
_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)


@cache
def module(name: str) -> str:
    """The ES module `esm/<name>.js` with its relative imports, and theirs, written out."""
    written: set[str] = set()

    def inlined(match: re.Match[str]) -> str:
        other = match.group(1)
        if other in written:
            return ""
        written.add(other)
        return re.sub(r"^export ", "", _IMPORT.sub(inlined, _read(f"{other}.js")), flags=re.MULTILINE)

    return _IMPORT.sub(inlined, _read(f"{name}.js"))


def sources(*names: str) -> dict[str, str]:
    """The ES modules `esm/<name>.js` as they are, with all that they import from each other, by name."""
    found: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _source(name)
            waiting += [match.group(1) for match in _IMPORT.finditer(found[name])]
    return dict(sorted(found.items()))


@cache
def _source(name: str) -> str:
    """A module without the comments that begin a line."""
    return re.sub(r"^[ \t]*//.*\n", "", _read(f"{name}.js"), flags=re.MULTILINE)


@cache
def stylesheet(*names: str) -> str:
    """The style sheets `esm/<name>.css` one after the other, without comments and indentation."""
    text = "".join(_read(f"{name}.css") for name in names)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*\n\s*", "", text)


def _read(file: str) -> str:
    return (FOLDER / file).read_text(encoding="utf-8")
