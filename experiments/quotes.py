"""Figures in pages that say where they come from, and are written anew with the results.

    Masks take 19.7<!-- leave-one-out | llama3, schemas | x mask | cross-grammar cache --> times as long.

Behind a number stands, in a comment that no reader sees: a section and one of its tables (its caption, or how that
begins), the head of a column, and cells of the row; or a section and the number of one of its claims (`Claim.what`, or
its text), with "low" or "high" behind it for an end of its interval.  A number keeps its number of decimals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from experiments.record import Record, ShownTable

QUOTED: Final = re.compile(r"(?P<number>-?[\d,]*\d(?:\.\d+)?)<!-- (?P<source>[^<>]+? \| [^<>]+?) -->")
PER_CENT: Final = "100 * "


def renewed(text: str, records: Mapping[str, Record]) -> str:
    """A page with its quoted figures as they are recorded; `KeyError` for a source that is not."""

    def again(at: re.Match[str]) -> str:
        decimals = len(at["number"].partition(".")[2])
        return f"{quoted(at['source'], records):,.{decimals}f}<!-- {at['source']} -->"

    return QUOTED.sub(again, text)


def quoted(source: str, records: Mapping[str, Record]) -> float:
    """The figure that a comment names; of a share "100 *" before it makes per cent."""
    section, *parts = source.removeprefix(PER_CENT).split(" | ")
    if section not in records:
        raise KeyError(f"{source!r}: no section {section!r}; known: {', '.join(records)}")
    record = records[section]
    found = record.find(parts[0])
    if found is not None and len(parts) <= 2:
        number = float(getattr(found, parts[1] if len(parts) == 2 else "size"))
    else:
        tables = [table for table in record.tables if table.caption.startswith(parts[0])]
        if len(tables) != 1 or len(parts) < 2:
            raise KeyError(f"{source!r}: {section} has {len(tables)} tables and no claim that it could mean")
        number = _cell(tables[0], parts[1], parts[2:], source)
    return 100 * number if source.startswith(PER_CENT) else number


def _cell(table: ShownTable, head: str, cells: list[str], source: str) -> float:
    rows = [row for row in table.rows if all(cell in row for cell in cells)]
    if len(rows) != 1 or head not in table.heads:
        raise KeyError(f"{source!r}: {len(rows)} rows, of a table with the heads {', '.join(table.heads)}")
    return float(rows[0][table.heads.index(head)].replace(",", ""))
