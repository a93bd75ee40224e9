"""Which keyword somebody means who writes a word that is none.

By the standard an unknown keyword is a note and forbids nothing; only names close to a keyword are told.

Read on: `keywords/` (the words), `explain.py` (who tells).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

from .keywords import KEYWORDS, NOTES, schemas_in
from .problems import child

MAX_SCHEMAS: Final = 20_000
_HOLDS_SCHEMA: Final = frozenset(("json_schema", "schema", "parameters", "input_schema"))

CLOSE: Final = 0.8
SHORT: Final = 5
_KNOWN: Final = tuple(KEYWORDS)
_TOLD: Final = tuple(name for name in KEYWORDS if name not in NOTES)


@lru_cache(maxsize=4096)
def meant_by(name: str) -> str:
    """The keyword that `name` is nearly, or "" for one that it is, or for a word of somebody's own.

    What is nearly a note forbids nothing either way, and is not told.
    """
    if name in _KNOWN or name.startswith("x-"):
        return ""
    folded = "".join(letter for letter in name.lower() if letter.isalpha())
    alike = [known for known in _TOLD if known.lower().lstrip("$") == folded]
    if not alike and len(name) < SHORT:  # in short words one letter is much: `note` is not `not`
        alike = [known for known in _TOLD if sorted(known) == sorted(name)]
    elif not alike:
        alike = get_close_matches(name, _KNOWN, 1, CLOSE)
    return alike[0] if alike and alike[0] in _TOLD else ""


def said_of(name: str, meant: str) -> tuple[str, str]:
    """What is wrong with a keyword that `misspelt_in` found, and how to mend it."""
    if name == meant:
        return "a Boolean requires nothing since draft 4", "list the name in `required` of the object around it"
    return f"`{name}` is no keyword: it forbids nothing", f"did you mean `{meant}`?"


def misspelt_in(value: object, *, is_schema: bool) -> Iterator[tuple[str, str, str]]:
    """(pointer of a schema, its keyword, the keyword that was meant), schema by schema; also `required: true`.

    `value`: a schema, or what holds schemas, such as a structural tag or a list of tools.
    """
    for pointer, schema in schemas_of([("#", value)] if is_schema else list(_schemas_inside(value))):
        for name, inner in schema.items():
            meant = name if name == "required" and inner is True else meant_by(name)
            if meant:
                yield pointer, name, meant


def schemas_of(waiting: list[tuple[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas in documents, each with its pointer, 20,000 at most; `waiting`: those to begin with."""
    for pointer, schema in waiting:
        if len(waiting) > MAX_SCHEMAS:
            return
        if not isinstance(schema, Mapping):
            continue
        yield pointer, schema
        for name, inner in schema.items():
            entry = KEYWORDS.get(name)
            if entry is not None:
                waiting += [(child(pointer, name, *keys), one) for keys, one in schemas_in(entry, inner)]


def _schemas_inside(value: object) -> Iterator[tuple[str, Any]]:
    waiting: list[tuple[str, Any]] = [("#", value)]
    for pointer, at in waiting:
        if isinstance(at, Mapping):
            for name, inner in at.items():
                if name in _HOLDS_SCHEMA and isinstance(inner, Mapping):
                    yield child(pointer, name), inner
                else:
                    waiting.append((child(pointer, name), inner))
        elif isinstance(at, list):
            waiting += [(child(pointer, index), inner) for index, inner in enumerate(at)]
        if len(waiting) > MAX_SCHEMAS:
            return
