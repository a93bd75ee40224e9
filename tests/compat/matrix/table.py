"""Rows run, compared, and written as the page docs/compat-matrix.md.

Most rows are on the page alone: which of some texts is taken by a grammar that the page shows with its options.  Such a
row is added there, with empty cells behind its call: `--write` fills all but the last, which says why the two differ.
Those that need a function are in `grammars`, `tags` and `objects`.  XGrammar's column is made where XGrammar is
installed; elsewhere it is read from the page, which says of which version it is.

Read on: `row.py`.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import workbench.compat.xgrammar as ours

from .grammars import ROWS as GRAMMARS
from .objects import ROWS as OBJECTS
from .row import Row, grammar_row, outcome, texts_of
from .tags import ROWS as TAGS

__all__ = ["PAGE", "ROWS", "Comparison", "compare", "page", "recorded"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compat-matrix.md"
_CELLS = re.compile(r"(?<!\\)\|")
_VERSION = re.compile(r"XGrammar (\S+) gave")
_SAME = "the same"


def _of_schema(xgr: Any, shown: str) -> Any:
    schema, end = json.JSONDecoder().raw_decode(shown)
    options = ast.parse(f"options({shown[end:].removeprefix(',')})", mode="eval").body
    assert isinstance(options, ast.Call)
    return xgr.Grammar.from_json_schema(schema, **{one.arg: ast.literal_eval(one.value) for one in options.keywords})


# How a grammar is made of what the page shows, by the group's name up to a colon.
MADE: Mapping[str, Callable[[Any, str], Any]] = {
    "JSON Schema": _of_schema,
    "EBNF": lambda xgr, shown: xgr.Grammar.from_ebnf(shown),
    "Regular expressions": lambda xgr, shown: xgr.Grammar.from_regex(shown),
    "Lark": lambda xgr, shown: xgr.Grammar.from_lark(shown),
    "Structural tags": lambda xgr, shown: xgr.Grammar.from_structural_tag(
        {"type": "structural_tag", "format": json.loads(shown)}
    ),
}


class Line(NamedTuple):
    """A row as the page has it."""

    group: str
    feature: str
    call: str
    theirs: str
    here: str
    why: str


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
        return "" if self.is_alike else _reasons().get((self.row.group, self.row.feature), "")


@cache
def _page() -> tuple[str, Sequence[Line]]:
    """XGrammar's version, and the rows."""
    version, found, group = "", [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if (told := _VERSION.search(line)) is not None:
            version = told[1]
        if line.startswith("## "):
            group = line.removeprefix("## ")
        cells = [cell.strip() for cell in _CELLS.split(line)][1:-1]
        if len(cells) == 5 and cells[0] not in ("feature", "---"):
            feature, call, theirs, here, why = cells
            found.append(Line(group, feature, call, theirs, theirs if here == _SAME else here, why))
    return version, found


@cache
def _reasons() -> Mapping[tuple[str, str], str]:
    return {(line.group, line.feature): line.why for line in _page()[1]}


def _rows() -> Sequence[Row]:
    """The rows of the page, and behind the others of their group those that are not on it yet."""
    functions = {(row.group, row.feature): row for row in (*GRAMMARS, *TAGS, *OBJECTS)}
    found = [functions.pop((line.group, line.feature), None) or _read(line) for line in _page()[1]]
    groups = [row.group for row in (*found, *functions.values())]
    return sorted((*found, *functions.values()), key=lambda row: groups.index(row.group))


def _read(line: Line) -> Row:
    shown, *texts = texts_of(line.call)
    make = MADE[line.group.partition(":")[0]]
    return grammar_row(line.group, line.feature, lambda xgr: make(xgr, shown), shown, texts)


ROWS = _rows()


def recorded() -> tuple[str, Mapping[tuple[str, str], tuple[str, str]]]:
    """XGrammar's version and, by group and feature, what it and we gave, as the page has them."""
    version, lines = _page()
    return version, {(line.group, line.feature): (line.theirs, line.here) for line in lines}


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
    known = recorded()[1]
    found = []
    for row in rows:
        theirs = known.get((row.group, row.feature), (None, ""))[0] if module is None else outcome(row, module)
        found.append(Comparison(row, theirs, outcome(row, ours)))
    return found


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
        "feed, ␉ a tab.",
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
