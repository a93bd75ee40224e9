"""The ES modules and style sheets in `esm/`, ready to travel with a widget or a page.

A view's module imports shared helpers from `./common.js`.  A widget's module travels as one string, so the import
is replaced by the file itself; there is no bundler.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["module", "stylesheet"]

FOLDER: Final = Path(__file__).parent / "esm"
_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)


@cache
def module(name: str) -> str:
    """The ES module `esm/<name>.js` with its relative imports written out."""

    def inlined(match: re.Match[str]) -> str:
        return re.sub(r"^export ", "", _read(f"{match.group(1)}.js"), flags=re.MULTILINE)

    return _IMPORT.sub(inlined, _read(f"{name}.js"))


@cache
def stylesheet(*names: str) -> str:
    """The style sheets `esm/<name>.css` one after the other, without comments and indentation."""
    text = "".join(_read(f"{name}.css") for name in names)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*\n\s*", "", text)


def _read(file: str) -> str:
    return (FOLDER / file).read_text(encoding="utf-8")
