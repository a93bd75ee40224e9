"""The table of keywords: one entry for each word of JSON Schema, in the order in which a schema is read.

A keyword is added by an entry in the module of what it speaks of, and by its tests; CONTRIBUTING.md walks through it.

Read on: `entry.py` (what an entry says), `../dialect.py` (drafts), `../reading.py` (the algebra), `quick.pyx` (quick
readers), `../explain.py`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from . import in_place, notes, of_arrays, of_numbers, of_objects, of_strings, of_values
from .entry import (
    BLAMELESS,
    InPlace,
    ItemKeyword,
    Keyword,
    MemberKeyword,
    Note,
    NumberKeyword,
    Schemas,
    StringKeyword,
    ValueKeyword,
)
from .quick import Quick, QuickTable

__all__ = [
    "IN_PLACE",
    "ITEMS",
    "KEYWORDS",
    "MEMBERS",
    "NOTES",
    "NUMBERS",
    "QUICK",
    "STRINGS",
    "TABLE",
    "VALUES",
    "InPlace",
    "ItemKeyword",
    "Keyword",
    "MemberKeyword",
    "Note",
    "NumberKeyword",
    "Quick",
    "Schemas",
    "StringKeyword",
    "ValueKeyword",
    "blamed",
    "schemas_in",
]

K = TypeVar("K", bound=Keyword)

TABLE: tuple[Keyword, ...] = (
    *of_numbers.ENTRIES,
    *of_strings.ENTRIES,
    *of_arrays.ENTRIES,
    *of_objects.ENTRIES,
    *of_values.ENTRIES,
    *in_place.ENTRIES,
    *notes.ENTRIES,
)
"""All entries."""

KEYWORDS: dict[str, Keyword] = {entry.name: entry for entry in TABLE}
"""The same by name."""


def _of(kind: type[K]) -> dict[str, K]:
    return {entry.name: entry for entry in TABLE if isinstance(entry, kind)}


NUMBERS, STRINGS, ITEMS, MEMBERS = _of(NumberKeyword), _of(StringKeyword), _of(ItemKeyword), _of(MemberKeyword)
VALUES, IN_PLACE = _of(ValueKeyword), _of(InPlace)
NOTES = frozenset(_of(Note))

QUICK = QuickTable(TABLE)
"""What the quick readers know of the table."""


def blamed(types: int) -> tuple[str, ...]:
    """The keywords to report where conditions on values of `types` go past a budget, the likeliest first."""
    found = [
        entry for entry in TABLE if entry.blame < BLAMELESS and (isinstance(entry, InPlace) or entry.types & types)
    ]
    return tuple(entry.name for entry in sorted(found, key=lambda entry: entry.blame))


def schemas_in(entry: Keyword, value: Any) -> list[tuple[tuple[str | int, ...], Any]]:
    """What stands where schemas do in the value of a keyword, each with the names and indices that lead there."""
    where = entry.schemas
    if where is Schemas.BY_NAME:
        return [((name,), one) for name, one in value.items()] if isinstance(value, dict) else []
    if where in (Schemas.LIST, Schemas.ONE_OR_LIST) and isinstance(value, list):
        return [((index,), one) for index, one in enumerate(value)]
    return [((), value)] if where in (Schemas.ONE, Schemas.ONE_OR_LIST) else []
