"""Figures in pages that say where they come from, and are written anew with the results.

    Masks take 19.7<!-- leave-one-out | llama3, schemas | x mask | cross-grammar cache --> times as long.

Behind a number stands, in a comment that no reader sees: a section and one of its tables (its caption, or how that
begins), the head of a column, and cells of the row (a cell alone, or "head=cell"); or a section and the number of one
of its claims (`Claim.what`, or its text), with "low" or "high" behind it for an end of its interval.  Two sources with
"÷" between them are a quotient; "100 * " before a source makes per cent of a share.  A number keeps its number of
decimals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from experiments.record import Record, ShownTable

NUMBER: Final = re.compile(r"-?[\d,]*\d(?:\.\d+)?")
QUOTED: Final = re.compile(rf"(?P<number>{NUMBER.pattern})<!-- (?P<source>[^<>]+? \| [^<>]+?) -->")
TIMES: Final = " * "


def renewed(text: str, records: Mapping[str, Record]) -> str:
    """A page with its quoted figures as they are recorded; `KeyError` for a source that is not."""

    def again(at: re.Match[str]) -> str:
        decimals = len(at["number"].partition(".")[2])
        return f"{quoted(at['source'], records):,.{decimals}f}<!-- {at['source']} -->"

    return QUOTED.sub(again, text)


def quoted(source: str, records: Mapping[str, Record]) -> float:
    """The figure that a comment names."""
    if " ÷ " in source:
        above, _, below = source.partition(" ÷ ")
        return quoted(above, records) / quoted(below, records)
    if TIMES in source:
        factor, _, rest = source.partition(TIMES)
        return float(factor) * quoted(rest, records)
    section, *parts = source.split(" | ")
    if section not in records:
        raise KeyError(f"{source!r}: no section {section!r}; known: {', '.join(records)}")
    record = records[section]
    found = record.find(parts[0])
    if found is not None and len(parts) <= 2:
        return float(getattr(found, parts[1] if len(parts) == 2 else "size"))
    tables = [table for table in record.tables if table.caption == parts[0]]
    tables = tables or [table for table in record.tables if table.caption.startswith(parts[0])]
    if len(tables) != 1 or len(parts) < 2:
        raise KeyError(f"{source!r}: {section} has {len(tables)} tables and no claim that it could mean")
    return _cell(tables[0], parts[1], parts[2:], source)


def _cell(table: ShownTable, head: str, cells: list[str], source: str) -> float:
    """The number that the cell begins with."""
    rows = [row for row in table.rows if {*cells} <= {*row, *map("=".join, zip(table.heads, row, strict=True))}]
    if len(rows) != 1 or head not in table.heads:
        raise KeyError(f"{source!r}: {len(rows)} rows, of a table with the heads {', '.join(table.heads)}")
    number = NUMBER.match(rows[0][table.heads.index(head)])
    if number is None:
        raise KeyError(f"{source!r}: the cell is no number")
    return float(number[0].replace(",", ""))
