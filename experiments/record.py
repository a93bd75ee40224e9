"""What a recorded run came to, as a file: `experiments/results/NAME.json`, of which all pages of results are made.

A record holds what was measured: where it comes from, the number of each claim with its interval, and the tables as
they are read.  Whether a claim is held is worked out when a page is made, by the rules of today (`claims.decide`).
Read on: `pages.py` (the pages), `evidence.py` (the one page of all of them).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from typing import Any, Final

import pandas as pd

from experiments.claims import Claim, ClaimVerdict, decide
from experiments.columns import Row

RESULTS_FOLDER: Final = Path(__file__).with_name("results")
NUMBERS: Final = ("size", "low", "high")


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as it is read.  numbers: which of its columns hold numbers; rows: the text of each cell."""

    caption: str
    heads: Sequence[str]
    numbers: Sequence[bool]
    rows: Sequence[Sequence[str]]

    def cell(self, head: str, where: Mapping[str, str]) -> str:
        """The cell under `head` in the one row with the cells of `where`; `KeyError` where none or several are."""
        found = [row for row in self.rows if all(row[self.heads.index(name)] == cell for name, cell in where.items())]
        if len(found) != 1 or head not in self.heads:
            raise KeyError(f"{self.caption!r} has {len(found)} rows with {dict(where)} (looked for {head!r})")
        return found[0][self.heads.index(head)]


def check_section(section: str) -> None:
    """`ValueError` for a name that cannot be a file's."""
    if not re.fullmatch(r"[\w -]+", section):
        raise ValueError(f"a section is named by words, not {section!r}")


@dataclass(frozen=True)
class Record:
    """One section of the results.

    origin: lines of Markdown that say where the numbers come from (`report.provenance`).  day: of the last trial.
    figure: the name of its picture, if there is one.  note: what a reader must know of this run; its first paragraph
    stands in the evidence.
    measured: the claims with their numbers.
    """

    section: str
    experiment: str
    title: str
    origin: Sequence[str]
    day: str
    figure: str | None
    note: str
    measured: Sequence[ClaimVerdict]
    tables: Sequence[ShownTable] = field(default=())

    @property
    def file_name(self) -> str:
        """Of its page and its file, without what comes behind the dot."""
        return self.section.replace(" ", "-")

    @cached_property
    def verdicts(self) -> list[ClaimVerdict]:
        """What became of its claims, by the rules of today."""
        return decide(self.measured)

    def find(self, number: str) -> ClaimVerdict | None:
        """The verdict on the claim with this number (`Claim.what`) or text; None where it has none."""
        found = [one for one in self.verdicts if number in (one.claim.what, one.claim.text)]
        if len(found) > 1:
            raise KeyError(f"{self.section} has {len(found)} claims on {number!r}")
        return found[0] if found else None

    def table(self, caption: str) -> ShownTable:
        """The table with this caption."""
        found = [table for table in self.tables if table.caption == caption]
        if len(found) != 1:
            raise KeyError(f"{self.section} has {len(found)} tables {caption!r}")
        return found[0]

    def told(self, what: str) -> str:
        """What its origin says of one thing: the "Commit", the "Command"."""
        lines = [line for line in self.origin if line.startswith(f"{what}: ")]
        return lines[0].partition(": ")[2] if lines else ""

    def save(self, folder: Path, name: str = "") -> Path:
        """Write the file, under its own name unless another is given; a row of a table is a line of it."""
        check_section(self.section)
        rows: list[str] = []

        def held(row: Sequence[str]) -> str:
            rows.append(json.dumps(list(row), ensure_ascii=False))
            return f"row {len(rows) - 1} of all"

        known = {
            name: getattr(self, name) for name in ("section", "experiment", "title", "origin", "day", "figure", "note")
        }
        known["claims"] = [_written(one) for one in self.measured]
        known["tables"] = [
            {"caption": one.caption, "heads": held(one.heads), "numbers": [*map(int, one.numbers)]}
            | {"rows": [held(row) for row in one.rows]}
            for one in self.tables
        ]
        text = re.sub(
            r'"row (\d+) of all"', lambda at: rows[int(at[1])], json.dumps(known, indent=1, ensure_ascii=False)
        )
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name or self.file_name}.json"
        path.write_text(text + "\n")
        return path

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read what `save` wrote."""
        known = json.loads(path.read_text())
        tables = [
            ShownTable(one["caption"], one["heads"], [*map(bool, one["numbers"])], one["rows"])
            for one in known.pop("tables")
        ]
        return cls(measured=[_read(one) for one in known.pop("claims")], tables=tables, **known)


def load_records(folder: Path = RESULTS_FOLDER) -> dict[str, Record]:
    """All that is recorded, by section."""
    found = [Record.load(path) for path in sorted(folder.glob("*.json"))]
    return {record.section: record for record in found}


def _written(one: ClaimVerdict) -> dict[str, Any]:
    claim = asdict(one.claim)
    del claim["effect"]
    numbers = {name: None if isnan(number := getattr(one, name)) else number for name in NUMBERS}
    said = {name: value for name, value in claim.items() if not (value is None or value is False or value == "")}
    return said | ({**numbers, "units": one.units, "unit": one.unit} if one.units else {})


def _read(known: Row) -> ClaimVerdict:
    size, low, high = (nan if known.get(name) is None else float(known[name]) for name in NUMBERS)
    about = {name: value for name, value in known.items() if name not in (*NUMBERS, "units", "unit")}
    claim = Claim(effect=_unknown, **about)
    return ClaimVerdict(claim, "undecided", size, low, high, known.get("units", 0), known.get("unit", ""))


def _unknown(frame: pd.DataFrame) -> None:
    """Of a claim that was read from a file, nobody knows how it was computed."""
