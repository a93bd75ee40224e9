"""Rows run, compared, and written as the page docs/compat-matrix.md.

All rows are on the page alone: a call, or a grammar and texts of which it takes some.  A row is added there, with empty
cells behind its call: `--write` fills all but the last, which says why the two differ.  XGrammar's column is made where
XGrammar is installed; elsewhere it is read from the page, which says of which version it is.

Read on: `row.py`, `calls.py` (what a call on the page means).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType

import workbench.compat.xgrammar as ours

from .calls import call_of
from .row import Row, outcome, texts_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compat-matrix.md"
_CELLS = re.compile(r"(?<!\\)\|")
_VERSION = re.compile(r"XGrammar (\S+) gave")
_SAME = "the same"


@dataclass(frozen=True)
class Comparison:
    """A row with what XGrammar gave (None: nothing is known of it) and what comes of it here."""

    row: Row
    theirs: str | None
    here: str

    @property
    def is_alike(self) -> bool:
        """Is it the same on both sides?"""
        return self.theirs == self.here

    @property
    def is_explained(self) -> bool:
        """Is it the same, or is it said why not?"""
        return self.is_alike or (self.theirs is not None and bool(self.reason))

    @property
    def reason(self) -> str:
        """Why the two differ; "" if they do not, or nobody said."""
        return "" if self.is_alike else self.row.why


def _read() -> tuple[str, list[Row]]:
    """XGrammar's version, and the rows of the page."""
    version, found, group = "", [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if (told := _VERSION.search(line)) is not None:
            version = told[1]
        if line.startswith("## "):
            group = line.removeprefix("## ")
        cells = [cell.strip() for cell in _CELLS.split(line)][1:-1]
        if len(cells) == 5 and cells[0] not in ("feature", "---"):
            feature, call, theirs, _, why = cells
            shown, *texts = texts_of(call)
            found.append(Row(group, feature, call, call_of(group, shown, texts), theirs, why))
    return version, found


VERSION, ROWS = _read()
"""Of XGrammar, as the page says; and the page's rows."""


def peer() -> ModuleType | None:
    """XGrammar, if it is installed (a stand-in for it is not)."""
    try:
        found = importlib.import_module("xgrammar")
        importlib.import_module("xgrammar.testing")
    except ImportError:
        return None
    return None if found is ours else found


def compare(rows: Sequence[Row] = ROWS, *, live: bool = True) -> list[Comparison]:
    """Each row run here, and run over XGrammar or (not `live`, or not installed) looked up in the page."""
    importlib.import_module("workbench.compat.xgrammar.testing")
    module = peer() if live else None
    return [Comparison(row, row.theirs if module is None else outcome(row, module), outcome(row, ours)) for row in rows]


def page(comparisons: Sequence[Comparison], version: str) -> str:
    """The Markdown page; `version` is XGrammar's."""
    alike = sum(one.is_alike for one in comparisons)
    explained = sum(one.is_explained for one in comparisons)
    lines = [
        "# Behaviour matrix",
        "",
        "What programs that were written for XGrammar meet here, call by call: `python -m tests.compat.matrix`",
        "makes the calls anew. XGrammar's column is run where XGrammar is installed and read from this page elsewhere",
        "(`--write` writes the page). Of a list of texts the cells name those that are taken as a whole; ␊ is a line",
        "feed, ␉ a tab. Calls without texts are Python, with the names of the module and a few more, those of",
        "`tests/compat/matrix/calls.py`: `info()` has the tokens `</s>`, `a`, `b`, `ab` and `c`, and `matcher()` reads",
        '`"a" "b"*` unless it is given another grammar.',
        "",
        f"XGrammar {version} gave its column; {ours.__version__} is the version whose interface is served. Of "
        f"{len(comparisons)} rows {alike} are alike,",
        f"{explained - alike} differ for the reason that is given, {len(comparisons) - explained} without one.",
    ]
    for group, members in groupby(comparisons, key=lambda one: one.row.group):
        lines += [
            "",
            f"## {group}",
            "",
            "| feature | call | XGrammar | here | why |",
            "| --- | --- | --- | --- | --- |",
        ]
        for one in members:
            here = _SAME if one.is_alike else one.here
            lines.append(f"| {one.row.feature} | {one.row.shown} | {one.theirs or '?'} | {here} | {one.reason} |")
    return "\n".join(lines) + "\n"
