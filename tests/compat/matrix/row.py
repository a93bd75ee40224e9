"""One row of the behaviour matrix: a call that is made of XGrammar and of this project's module, and what came of it.

What comes of a call is told in a few words that can be compared: the texts of a list that were taken, a value, or that
it was refused (by whatever error).

Read on: `table.py` (the rows, and what is made of them), `calls.py`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

Call = Callable[[ModuleType], object]
"""Takes the module (XGrammar, or ours) and gives a value, or the texts that were taken as a `taken`."""


class taken(tuple[str, ...]):  # noqa: N801 - read as a word where rows are declared
    """Texts that were taken."""


@dataclass(frozen=True)
class Row:
    """`feature` in words, unique in its `group`; `shown` as code.

    theirs: what XGrammar gave, as the page has it; None where nothing is known.  why: the reason why this project's
    module gives something else; "" if nobody said.
    """

    group: str
    feature: str
    shown: str
    call: Call
    theirs: str | None = None
    why: str = ""


_PICTURES = {control: 0x2400 + control for control in range(32)}
_CONTROLS = {picture: control for control, picture in _PICTURES.items()}
_SPAN = re.compile(
    r"\(empty\)|(?<!`)`(?P<plain>[^`]+)`(?!`)"
    r"|(?<!`)(?P<fence>``+)(?!`)(?P<blank> ?)(?P<fenced>.+?)(?P=blank)(?P=fence)(?!`)"
)


def code(text: str) -> str:
    """Text as code in a cell of a Markdown table; a control character is shown as its picture."""
    shown = text.translate(_PICTURES).replace("|", "\\|")
    if not shown:
        return "(empty)"
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    blank = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def texts_of(cell: str) -> list[str]:
    """The texts that a cell shows as code."""
    found = (span["plain"] or span["fenced"] or "" for span in _SPAN.finditer(cell))
    return [text.replace("\\|", "|").translate(_CONTROLS) for text in found]


def outcome(row: Row, module: ModuleType) -> str:
    """What comes of a row's call, as a cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = row.call(module)
        except (RuntimeError, ValueError, TypeError, AttributeError, ImportError, UnicodeError):
            return "refused"
    if isinstance(found, taken):
        return " ".join(map(code, found)) or "none"
    return code(found if isinstance(found, str) else repr(found))
